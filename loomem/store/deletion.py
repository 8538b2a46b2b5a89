"""Deleting so that it can be undone: a deleted memory is hidden at once and everywhere, kept for a while, then erased.

It is the record that says so (`deletedAt`), so every process hears of it as of any change, and the server or the expiry
worker erases it when its time is over. What was taken from a source goes with the source, in the same batches, and comes back
with it. When that is cut short, repeating it completes it; so does the worker that hears of the source's end.
Deliberately absent: erasing at once (`lifecycle.forget`), the purge (`loomem.workers`).
"""

from __future__ import annotations

from collections.abc import Sequence

from identity.errors import AccessDenied, Conflict, InvalidInput, LoomError, NotFound, Unavailable
from identity.ports import Put, Reason
from loomem.core import plan
from loomem.core.plan import text_of
from loomem.core.record import Memory
from loomem.core.row import Row
from loomem.core.sources import check_whole
from loomem.core.streams import Stream, word_of
from loomem.core.times import stored_millis
from loomem.fact_results import Deleted, DeletedMemories, DeletedMemory, Restored
from loomem.store.bulk import CHUNK, position_of
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
    if rows:
        row, now_ms = checked_own(rows, ident), door.now_ms
        plan.check_unprotected(row.memory, force=False)
        check_whole(row.memory, "deleted")
        for copy in records.copies(ident):
            if copy is not row:
                await _drop(door, copy)
        written, failed = await _hide_all(door, [row, *_left(door, row)], now_ms, must=row)
        derived = len(written) - 1
    else:
        # Deleted before, perhaps by a call that was cut short: then what was taken from it is still to go.
        gone = [row for row in records.deleted(ident) if row.place.mine and (stream is None or stream.holds(row.place))]
        if not gone or not _left(door, gone[0]):
            raise NotFound(f"Memory {ident} not found.", memoryId=ident)
        row, now_ms = gone[0], stored_millis(gone[0].memory.deleted_at) or door.now_ms
        written, failed = await _hide_all(door, _left(door, row), now_ms)
        derived = len(written)
    known = row.memory.knowledge
    return Deleted(
        memory_id=ident,
        stream=word_of(row.place),
        restorable_until=text_of(now_ms + door.limits.retention_s * 1_000),
        source_id=None if known is None else known.source_id,
        derived=max(0, derived),
        failed_steps=["derived"] if failed else None,
        position=position_of(written),
    )


async def restore(door: Door, ident: str) -> Restored:
    """Bring back one of the caller's own deleted memories, and what was deleted with it.

    Raises: NotFound (nothing deleted has this id, or its time is over), InvalidInput (it went with its source), AccessDenied,
    LimitExceeded, Conflict, Unavailable.
    """
    records = door.projection.records
    await door.projection.settle()
    if not records.deleted(ident):
        await door.projection.sync()
    if not (rows := records.deleted(ident)):
        known = " It is not deleted." if records.find(ident) else ""
        raise NotFound(f"No deleted memory {ident} can be restored.{known}", memoryId=ident)
    row = checked_own(rows, ident)
    check_whole(row.memory, "restored")
    if _comes_along(door, row):
        source = row.memory.knowledge.source_id if row.memory.knowledge is not None else None
        raise InvalidInput(
            f"Memory {ident} was deleted with the source {source}; restore that", memoryId=ident, sourceId=source
        )
    with_it = [other for other in records.taken.of(row) if other.memory.deleted_at == row.memory.deleted_at]
    # Itself last: as long as it is deleted, the rest of what was cut short can be brought back.
    written = await _bring_back_all(door, [*with_it, row])
    return Restored(
        memory_id=ident,
        stream=word_of(row.place),
        derived=len(with_it),
        revision=written[-1].revision,
        position=position_of(written) or written[-1].position,
    )


async def deleted(door: Door) -> DeletedMemories:
    """Return what the caller could restore, the last deleted first. Raises: Unavailable."""
    await door.projection.settle()
    rows = [row for row in door.projection.records.deleted_rows() if row.place.mine and not _comes_along(door, row)]
    rows.sort(key=lambda row: (row.memory.deleted_at or "", row.id), reverse=True)
    return DeletedMemories(memories=[_shown(door, row) for row in rows])


# --- within -----------------------------------------------------------------------------------------------------------


async def _hide_all(
    door: Door, rows: Sequence[Row], now_ms: int, *, must: Row | None = None
) -> tuple[list[Written], bool]:
    """Delete rows of one bucket in their order; says whether any were left.

    Raises: what deleting the one raises that must go.
    """
    written: list[Written] = []
    failed = False
    for start in range(0, len(rows), CHUNK):
        chunk = rows[start : start + CHUNK]
        puts = [_replacing(door, held_of(row), plan.deleted(row.memory, now_ms)) for row in chunk]
        try:
            written += await door.send_all(chunk[0].place.bucket, puts)
        except LoomError:
            # Which of them it was, or that this broker has no batches, shows when they go one by one.
            for row in chunk:
                try:
                    done = await _hide(door, row, now_ms)
                except LoomError:
                    if row is must:
                        raise
                    failed = True
                else:
                    written += [done] if done else []
    return written, failed


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


async def _bring_back_all(door: Door, rows: Sequence[Row]) -> list[Written]:
    """Bring back rows of one place, in order. Raises: NotFound, LimitExceeded, Conflict, Unavailable."""
    written: list[Written] = []
    place = rows[0].place
    for start in range(0, len(rows), CHUNK):
        chunk = rows[start : start + CHUNK]
        puts = [_replacing(door, held_of(row), plan.restored(row.memory, door.now_ms)) for row in chunk]
        async with door.room(place.scope, place.stream, new=len(chunk), core=0) as slot:
            try:
                done = await door.send_all(place.bucket, puts)
            except (Conflict, Unavailable):
                done = []
            else:
                slot.note(place.bucket, done[-1].key, done[-1].revision)
        # Which of them was changed meanwhile, or that this broker has no batches, shows when they go one by one.
        written += done or [await _bring_back(door, row) for row in chunk]
    return written


def _replacing(door: Door, held: Held, memory: Memory) -> Put:
    """Return the change that stores a memory over what its key holds."""
    return door.put(memory, stream=held.stream, expected=held.revision, trail=held.trail)[1]


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


def _left(door: Door, source: Row) -> list[Row]:
    """Return what was taken from a source and is not deleted yet."""
    return [row for row in door.projection.records.taken.of(source) if row.memory.deleted_at is None]


def _comes_along(door: Door, row: Row) -> bool:
    """Say whether a row went with its source, and comes back with it."""
    known = row.memory.knowledge
    if known is None or known.source_id is None:
        return False
    sources = door.projection.records.deleted(known.source_id)
    return any(source.place == row.place and source.memory.deleted_at == row.memory.deleted_at for source in sources)


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
