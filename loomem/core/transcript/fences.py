"""Code between fences, as Markdown has it. Pure."""

from __future__ import annotations

import re

_FENCE = re.compile(r"^[ \t]{0,3}(```+|~~~+)[^\n]*$", re.MULTILINE)


def fences(text: str) -> tuple[list[tuple[int, int]], str]:
    """Return where code stands between fences that are closed, and the mark that would close one left open, or nothing."""
    found: list[tuple[int, int]] = []
    opened: tuple[int, str] | None = None
    for match in _FENCE.finditer(text):
        mark = match[1]
        if opened is None:
            opened = match.start(), mark
        elif mark.startswith(opened[1]) and not match[0].strip().strip(mark[0]):
            found.append((opened[0], match.end()))
            opened = None
    return found, "" if opened is None else opened[1]
