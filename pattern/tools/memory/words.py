"""Arguments that several memory_* tools share, each said once."""

from __future__ import annotations

from pattern.server.tool import Shape

STREAM = Shape(
    type="string",
    about="Which memory: an id or alias from memory_namespaces. Left out: your personal one to write to, all you may see to read.",
)
CHUNK = Shape(type="string", about="Id of the memory.")
