"""Rating memories: each rater keeps its own record beside them, and may take back what it said."""

from __future__ import annotations

from identity.errors import Conflict, Corrupt
from identity.keys import Kind, Space
from identity.ports import Entry, Marker, Put, Reason, Remove
from identity.visibility import space_for, stream_space
from loomem.core.rating import Given, Ratings, decode, encode, rated
from loomem.core.row import Row
from loomem.fact_results import Rated, Rejected
from loomem.store.write import TRIES, Door, Written

NOT_FOUND = "not_found_in_stream"


async def rate(door: Door, ident: str, given: Given) -> Rated:
    """Add a rating to what the caller said of a memory.

    Raises: Conflict (others were quicker, every time), Unavailable.
    """
    row = await _rateable(door, ident)
    if row is None:
        return Rated(ok=True, accepted=0, rejected=[Rejected(chunk_id=ident, reason=NOT_FOUND)])
    key, bucket = _key(door, row)
    known, at_least = 0, 0
    for left in reversed(range(TRIES)):
        held = await (await door.bucket(bucket)).get(key, at_least=at_least)
        before = _readable(held)
        known = held.revision if isinstance(held, Entry) else 0
        after = rated(before, given, ident=row.id, owner=row.place.owner, agent_id=door.caller.agent_id)
        try:
            written = await door.send(bucket, Put(key=key, value=encode(after), expected=known, op=door.ids.op_id()))
        except Conflict as conflict:
            if not left:
                raise
            at_least = conflict.actual
        else:
            return _accepted(after, written)
    raise AssertionError  # TRIES is at least one


async def withdraw(door: Door, ident: str) -> Rated:
    """Take back all that the caller said of a memory. Raises: Conflict (it is being rated right now), Unavailable."""
    row = await _rateable(door, ident)
    if row is None:
        return Rated(ok=True, accepted=0, rejected=[Rejected(chunk_id=ident, reason=NOT_FOUND)])
    key, bucket = _key(door, row)
    held = await (await door.bucket(bucket)).get(key)
    mine = _readable(held)
    if not isinstance(held, Entry) or (mine is not None and mine.owner != row.place.owner):
        return Rated(ok=True, accepted=0, rejected=[Rejected(chunk_id=ident, reason="not_rated_by_you")])
    gone = Remove(key=key, expected=held.revision, op=door.ids.op_id(), reason=Reason.OTHER)
    written = await door.send(bucket, gone)
    return Rated(ok=True, accepted=1, rejected=[], ratings=0, position=written.position)


async def _rateable(door: Door, ident: str) -> Row | None:
    """Return the row of an id that the caller can see, if there is one."""
    await door.look_up([ident])
    rows, now_ms = door.projection.records.find(ident), door.now_ms
    return next((row for row in rows if not row.expired(now_ms)), None)


def _key(door: Door, row: Row) -> tuple[str, str]:
    """Return the key and the bucket of what the caller says of a row."""
    stream = row.place.stream
    space: Space = space_for(door.caller, row.place.scope) if stream is None else stream_space(door.caller, stream)
    return space.key(Kind.FEEDBACK, row.id), space.bucket


def _readable(held: Entry | Marker | None) -> Ratings | None:
    if not isinstance(held, Entry):
        return None
    try:
        return decode(held.value)
    except Corrupt:
        return None  # nobody's ratings any more, and the rater's own to write over


def _accepted(mine: Ratings, written: Written) -> Rated:
    return Rated(
        ok=True,
        accepted=1,
        rejected=[],
        ratings=mine.n,
        alpha=1 + mine.good,
        beta=1 + mine.bad,
        harmful=mine.harmful,
        position=written.position,
    )
