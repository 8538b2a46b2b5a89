"""Arguments that several memory_* tools share, each said once."""

from __future__ import annotations

import re

from pattern.server.tool import Shape

_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def one_line(text: str) -> str:
    """Return a stored text on one line and without control characters, so that it cannot pass for a line of the answer."""
    return " ".join(_CONTROLS.sub(" ", text).split())


STREAM = Shape(
    type="string",
    about="Which memory: an id or alias from memory_namespaces. Left out: your personal one to write to, all you may see to read.",
)
CHUNK = Shape(type="string", about="Id of the memory.")
