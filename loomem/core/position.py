"""Positions: how far the buckets were when somebody wrote or read. Opaque to callers; only this file spells them.

A position is `{bucket}@{sequence}`, or several of them joined by commas when it spans several buckets.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from identity.errors import InvalidInput

_PART = re.compile(r"([A-Za-z0-9_-]{1,255})@(0|[1-9][0-9]{0,18})\Z")
_LIMIT = 4_096
"""Characters of a position; a caller's buckets are few."""

Position = Mapping[str, int]
"""Sequence by bucket name."""


def format_position(position: Position) -> str:
    """Return the text of a position."""
    return ",".join(f"{bucket}@{sequence}" for bucket, sequence in sorted(position.items()))


def parse_position(field: str, text: object) -> Position:
    """Return the position that a text spells.

    Raises: InvalidInput naming the field.
    """
    position: dict[str, int] = {}
    if isinstance(text, str) and 0 < len(text) <= _LIMIT:
        for part in text.split(","):
            match = _PART.match(part)
            if match is None:
                break
            position[match[1]] = max(int(match[2]), position.get(match[1], 0))
        else:
            return position
    raise InvalidInput(f"{field} must be a position as a result of this service gives it, unchanged", field=field)
