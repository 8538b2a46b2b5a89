"""Deleting so that it can be undone: a deleted memory is hidden at once and everywhere, kept for a while, then erased.

It is the record that says so (`deletedAt`), so every process hears of it as of any change, and the server or the expiry
worker erases it when its time is over. What was taken from a source goes with the source, and comes back with it.
Deliberately absent: erasing at once (`lifecycle.forget`), the purge (`loomem.workers`).
"""

from __future__ import annotations

from collections.abc import Sequence

from identity.errors import AccessDenied, Conflict, InvalidInput, LoomError, NotFound
from identity.ports import Reason
from loomem.core import plan
from loomem.core.plan import text_of
from loomem.core.row import Row
from loomem.core.streams import Stream, word_of
from loomem.core.times import stored_millis
from loomem.fact_results import Deleted, DeletedMemories, DeletedMemory, Restored
from loomem.store.bulk import position_of
from loomem.store.lifecycle import checked_own, decided
from loomem.store.write import Door, Held, Written, held_of

_PREVIEW_CHARS = 120


def elsewhere(ident: str) -> AccessDenied:
    """Return the error for a memory that is not in the stream that was named."""
    return AccessDenied("Access denied: this memory belongs to another stream.", memoryId=ident)


async def delete(door: Door, ident: str, stream: Stream | None) -> Deleted:
    """Hide one of the caller's own memories, and what was taken from it.

    Raises: NotFound, AccessDenied (another agent's, or in another stream), CoreProtected, Conflict, Unavailable.
    """
    await door.look_up([ident])
    records = door.projection.records
    found = records.find(ident)
    rows = [row for row in found if stream is None or stream.holds(row.place)]
    if found and not rows:
        raise elsewhere(ident)
    written: list[Written] = []
    if rows:
        row = checked_own(rows, ident)
        plan.check_unprotected(row.memory, force=False)
        for copy in records.copies(ident):
            if copy is not row:
                await _drop(door, copy)
        now_ms = door.now_ms
        done = await _hide(door, row, now_ms)
        written += [done] if done else []
    else:
        # Deleted before, perhaps by a call that was cut short: then what was taken from it is still to go.
        gone = [row for row in records.deleted(ident) if row.place.mine and (stream is None or stream.holds(row.place))]
        if not gone or not _taken_from(door, gone[0]):
            raise NotFound(f"Memory {ident} not found.", memoryId=ident)
        row, now_ms = gone[0], stored_millis(gone[0].memory.deleted_at) or door.now_ms
    failed = False
    for derived in _taken_from(door, row):
        try:
            done = await _hide(door, derived, now_ms)
        except LoomError:
            failed = True
        else:
            written += [done] if done else []
    known = row.memory.knowledge
    return Deleted(
        memory_id=ident,
        stream=word_of(row.place),
        restorable_until=text_of(now_ms + door.limits.retention_s * 1_000),
        source_id=None if known is None else known.source_id,
        derived=max(0, len(written) - 1),
        failed_steps=["derived"] if failed else None,
        position=position_of(written),
    )


async def restore(door: Door, ident: str) -> Restored:
    """Bring back one of the caller's own deleted memories, and what was deleted with it.

    Raises: NotFound (nothing deleted has this id, or its time is over), AccessDenied, LimitExceeded, Conflict, Unavailable.
    """
    records = door.projection.records
    await door.projection.settle()
    if not records.deleted(ident):
        await door.projection.sync()
    if not (rows := records.deleted(ident)):
        known = " It is not deleted." if records.find(ident) else ""
        raise NotFound(f"No deleted memory {ident} can be restored.{known}", memoryId=ident)
    row = checked_own(rows, ident)
    with_it = [
        other
        for other in records.deleted_rows()
        if other.place == row.place
        and other.memory.deleted_at == row.memory.deleted_at
        and other.memory.knowledge is not None
        and other.memory.knowledge.source_id == ident
    ]
    written = [await _bring_back(door, each) for each in (row, *with_it)]
    return Restored(
        memory_id=ident,
        stream=word_of(row.place),
        derived=len(with_it),
        revision=written[0].revision,
        position=position_of(written) or written[0].position,
    )


async def deleted(door: Door) -> DeletedMemories:
    """Return what the caller could restore, the last deleted first. Raises: Unavailable."""
    await door.projection.settle()
    rows = [row for row in door.projection.records.deleted_rows() if row.place.mine]
    rows.sort(key=lambda row: (row.memory.deleted_at or "", row.id), reverse=True)
    return DeletedMemories(memories=[_shown(door, row) for row in rows])


# --- within -----------------------------------------------------------------------------------------------------------


async def _hide(door: Door, row: Row, now_ms: int) -> Written | None:
    """Delete one row; tells nothing written when somebody else did."""

    async def once(held: Held) -> Written | None:
        if held.memory.deleted_at is not None:
            return None
        plan.check_unprotected(held.memory, force=False)
        return await door.replace(held, plan.deleted(held.memory, now_ms))

    try:
        return await decided(door, row, once)
    except NotFound:
        return None


async def _bring_back(door: Door, row: Row) -> Written:
    async def once(held: Held) -> Written:
        if held.memory.deleted_at is None or held.memory.erased:
            raise NotFound(f"No deleted memory {row.id} can be restored.", memoryId=row.id)
        return await door.replace(held, plan.restored(held.memory, door.now_ms))

    return await decided(door, row, once)


async def _drop(door: Door, copy: Row) -> None:
    """Remove an older copy that an unfinished move has left: it would be back when the newer one is hidden."""
    try:
        await door.send(copy.place.bucket, door.remove(held_of(copy), Reason.MOVE))
    except Conflict as error:
        raise InvalidInput(
            "This memory is on its way to another space; try again in a moment", memoryId=copy.id
        ) from error


def _taken_from(door: Door, source: Row) -> Sequence[Row]:
    """Return what was taken from a source and lies in the same space."""
    place = source.place
    return [
        row
        for shelf in door.projection.records.own(place.scope, place.stream)
        for row in shelf.rows
        if row.memory.knowledge is not None and row.memory.knowledge.source_id == source.id and row.place == place
    ]


def _shown(door: Door, row: Row) -> DeletedMemory:
    gone = row.memory.deleted_at or row.memory.updated_at
    until = (stored_millis(gone) or 0) + door.limits.retention_s * 1_000
    return DeletedMemory(
        memory_id=row.id,
        stream=word_of(row.place),
        category=str(row.memory.category),
        content=row.memory.content[:_PREVIEW_CHARS],
        deleted_at=gone,
        restorable_until=text_of(until),
    )
