"""What a new fact means for an older one."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Kind(StrEnum):
    UPDATES = "updates"
    """Both cannot be true now; the older one is out of date as a whole."""
    EXTENDS = "extends"
    """Both are true, and the new one says more."""
    NONE = "none"


class Verdict(msgspec.Struct, frozen=True):
    """What a new fact means for an older one, and why: in words of our own and of the new fact, none of the older one."""

    kind: Kind
    reason: str = ""


NOTHING = Verdict(Kind.NONE)
