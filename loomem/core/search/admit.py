"""Which rows may be shown, for the moments that a question asks for. Pure."""

from __future__ import annotations

from loomem.core.record import Memory
from loomem.core.row import Row
from loomem.core.times import stored_millis

_NOON_MS = 43_200_000
"""An event is known by its day, in whatever zone: its noon there tells on which side of a midnight elsewhere it is."""


def was_valid(memory: Memory, until: int | None, at: int) -> bool:
    """Say whether a memory held at a moment, until when it does being known; one that does not tell since when always did."""
    known = memory.knowledge
    since = None if known is None else stored_millis(known.valid_from)
    return (since is None or since <= at) and (until is None or at < until)


def happened_within(row: Row, after: int, now_ms: int) -> bool:
    """Say whether what a row tells happened between two moments.

    When that is not known it is when the row was written, save for rows whose date somebody looked for and did not find.
    """
    known = row.memory.knowledge
    event = None if known is None else stored_millis(known.event_date)
    if event is not None:
        return after <= event + _NOON_MS and event - _NOON_MS <= now_ms
    if known is not None and (known.contract is not None or known.event_unknown):
        return False
    return row.updated >= after
