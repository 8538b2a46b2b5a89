"""Which rows may be shown, for the moments that a question asks for. Pure."""

from __future__ import annotations

from datetime import datetime

import msgspec

from loomem.core.record import Memory
from loomem.core.row import Row
from loomem.core.times import millis, stored_millis


class Since(msgspec.Struct, frozen=True):
    """From the first moment of a day in the reader's zone until now."""

    moment: int
    """Milliseconds since 1970."""
    day: str
    today: str
    """Days in that zone: an event is known by its day, which is the same day everywhere."""


def since(start: datetime, now: datetime) -> Since:
    """Return the time from the beginning of a day, an aware moment in the reader's zone, until now."""
    return Since(millis(start), start.date().isoformat(), now.astimezone(start.tzinfo).date().isoformat())


def was_valid(memory: Memory, until: int | None, at: int) -> bool:
    """Say whether a memory held at a moment, until when it does being known; one that does not tell since when always did."""
    known = memory.knowledge
    since = None if known is None else stored_millis(known.valid_from)
    return (since is None or since <= at) and (until is None or at < until)


def happened_within(row: Row, time: Since) -> bool:
    """Say whether what a row tells happened in a time.

    When that is not known it is when the row was written, save for rows whose date somebody looked for and did not find:
    what was taken from a conversation (those have a contract) happened when it says so, or nobody knows when.
    """
    known = row.memory.knowledge
    if known is not None and known.event_date and stored_millis(known.event_date) is not None:
        return time.day <= known.event_date[:10] <= time.today
    if known is not None and (known.contract is not None or known.event_unknown):
        return False
    return row.updated >= time.moment
