"""Many items in one call: in chunks, each one atomic batch, for speed; one by one where a chunk fails, to find which item it was.

The order of the input is kept where it can be seen: ids in input order, errors by index, and with `stop_on_error`
everything before the first failure is done and nothing after it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby, product
from typing import Protocol

import msgspec

from identity.errors import Conflict, InvalidInput, LoomError, NotFound, Unavailable
from identity.ports import Progress, Reason
from identity.visibility import Scope
from loomem.core import plan
from loomem.core.position import format_position
from loomem.core.record import TEMPORARY, Category, Memory
from loomem.core.row import Row
from loomem.core.sources import is_linked
from loomem.results import BulkForgotten, BulkRemembered, Cleaned, ItemError, Notice
from loomem.store.lifecycle import erase_copies, own_row
from loomem.store.write import Door, Written, held_of

CHUNK = 200
"""Items of one atomic batch."""

Outcome = Written | LoomError | None
"""What became of one item; None = there was nothing to do any more."""


class Item(msgspec.Struct, frozen=True):
    """One memory of a bulk call, or why it is none."""

    memory: Memory | LoomError
    notices: list[Notice] = []


async def remember_all(
    door: Door, items: Sequence[Item], *, stop_on_error: bool, progress: Progress | None
) -> BulkRemembered:
    """Store the items that are memories, and tell of each.

    Raises: Unavailable, when nothing could be stored for that reason.
    """
    outcomes = await _run(_Creating(door, items), len(items), stop_on_error=stop_on_error, progress=progress)
    return _remembered(items, outcomes)


async def remember_atomically(door: Door, items: Sequence[Item]) -> BulkRemembered:
    """Store all items or none, in one batch.

    Raises: InvalidInput (an item is none, or they fall in more than one bucket), LimitExceeded, Unavailable.
    """
    memories: list[Memory] = []
    for item in items:
        if isinstance(item.memory, LoomError):
            raise item.memory
        memories.append(item.memory)
    buckets = {door.space_of(memory).bucket for memory in memories}
    if len(buckets) > 1:
        raise InvalidInput(
            "atomic: all memories must lie in one store: private and team together, or only personal, or only public",
            field="atomic",
        )
    written = await door.create_all(buckets.pop(), memories) if memories else []
    return _remembered(items, dict(enumerate(written)))


async def forget_all(
    door: Door, idents: Sequence[str | ItemError], *, stop_on_error: bool, force: bool, progress: Progress | None
) -> BulkForgotten:
    """Erase memories; what cannot be erased is told by its id.

    Raises: Unavailable, when nothing could be erased for that reason.
    """
    await door.look_up([ident for ident in idents if isinstance(ident, str)])
    outcomes = await _run(
        _Forgetting(door, idents, force=force), len(idents), stop_on_error=stop_on_error, progress=progress
    )
    errors: list[ItemError] = []
    for index, outcome in sorted(outcomes.items()):
        if isinstance(outcome, LoomError):
            ident = idents[index]
            name = ident.memory_id if isinstance(ident, ItemError) else ident
            errors.append(ItemError(memory_id=name, error=outcome.message, code=outcome.code))
    return BulkForgotten(
        deleted=len(outcomes) - len(errors),
        failed=len(errors),
        errors=errors,
        position=position_of(_written(outcomes)),
    )


async def clean(door: Door, *, expire_only: bool) -> Cleaned:
    """Erase what has expired of the caller's own, then evict the oldest beyond the soft limits; core is only reported.

    Raises: Unavailable, when the views are not ready.
    """
    await door.projection.settle()
    due, errors = _due(door, expire_only=expire_only)
    outcomes = await _run(_Erasing(door, due), len(due), stop_on_error=False, progress=None)
    counts: Counter[Reason] = Counter()
    for index, outcome in sorted(outcomes.items()):
        row, reason = due[index]
        if isinstance(outcome, LoomError):
            errors.append(f"{row.id}: {outcome.message}")
        elif outcome is not None:
            counts[reason] += 1
    return Cleaned(
        expired=counts[Reason.EXPIRE],
        deleted=counts[Reason.EVICT],
        errors=errors,
        position=position_of(_written(outcomes)),
    )


def position_of(written: Sequence[Written]) -> str | None:
    """Return the position at which all of these writes stand, or None when there are none."""
    position: dict[str, int] = {}
    for one in written:
        position[one.bucket] = max(position.get(one.bucket, 0), one.revision)
    return format_position(position) if position else None


# --- the three kinds of work ------------------------------------------------------------------------------------------


class _Work(Protocol):
    """How the items of one call are done: many of one bucket in one batch, or one alone."""

    def bucket_of(self, index: int) -> str | LoomError:
        """Return where an item goes, or why it is refused beforehand."""
        ...

    async def at_once(self, indexes: Sequence[int]) -> Sequence[Outcome]: ...

    async def alone(self, index: int) -> Outcome: ...


class _Creating:
    def __init__(self, door: Door, items: Sequence[Item]) -> None:
        self._door = door
        self._items = items

    def bucket_of(self, index: int) -> str | LoomError:
        memory = self._items[index].memory
        return memory if isinstance(memory, LoomError) else self._door.space_of(memory).bucket

    async def at_once(self, indexes: Sequence[int]) -> Sequence[Outcome]:
        memories = [self._memory(index) for index in indexes]
        return await self._door.create_all(self._door.space_of(memories[0]).bucket, memories)

    async def alone(self, index: int) -> Outcome:
        return await self._door.create(self._memory(index))

    def _memory(self, index: int) -> Memory:
        memory = self._items[index].memory
        if isinstance(memory, LoomError):
            raise memory
        return memory


class _Forgetting:
    def __init__(self, door: Door, idents: Sequence[str | ItemError], *, force: bool) -> None:
        self._door = door
        self._idents = idents
        self._force = force
        self._rows: dict[int, Row] = {}
        self._named: set[str] = set()

    def bucket_of(self, index: int) -> str | LoomError:
        ident = self._idents[index]
        if isinstance(ident, ItemError):
            return InvalidInput(ident.error)
        if ident in self._named:
            return NotFound("This id was named before in the same call", memoryId=ident)
        self._named.add(ident)
        try:
            row = own_row(self._door, ident, deleted=True)
            plan.check_unprotected(row.memory, force=self._force)
        except LoomError as error:
            return error
        self._rows[index] = row
        return row.place.bucket

    async def at_once(self, indexes: Sequence[int]) -> Sequence[Outcome]:
        rows = [self._rows[index] for index in indexes]
        copies = [copy for row in rows for copy in self._door.projection.records.copies(row.id)]
        if len(copies) != len(rows) or any(is_linked(row.memory) for row in rows):
            raise Conflict("unfinished moves and sources are erased one by one", key=rows[0].key, expected=0, actual=0)
        removes = [self._door.remove(held_of(row), Reason.FORGET) for row in rows]
        return await self._door.send_all(rows[0].place.bucket, removes)

    async def alone(self, index: int) -> Outcome:
        _, written = await erase_copies(self._door, self._rows[index], force=self._force)
        return written


class _Erasing:
    def __init__(self, door: Door, due: Sequence[tuple[Row, Reason]]) -> None:
        self._door = door
        self._due = due

    def bucket_of(self, index: int) -> str | LoomError:
        return self._due[index][0].place.bucket

    async def at_once(self, indexes: Sequence[int]) -> Sequence[Outcome]:
        removes = [self._door.remove(held_of(row), reason) for row, reason in map(self._due.__getitem__, indexes)]
        return await self._door.send_all(self._due[indexes[0]][0].place.bucket, removes)

    async def alone(self, index: int) -> Outcome:
        row, reason = self._due[index]
        try:
            return await self._door.send(row.place.bucket, self._door.remove(held_of(row), reason))
        except Conflict:
            if await self._door.held(row) is None:
                return None  # somebody else has cleaned up
            raise Conflict(
                "it was changed in the meantime and stays", key=row.key, expected=row.revision, actual=0
            ) from None


# --- how they are done ------------------------------------------------------------------------------------------------


async def _run(work: _Work, count: int, *, stop_on_error: bool, progress: Progress | None) -> dict[int, Outcome]:
    """Do every item and return what became of each that was tried.

    Raises: Unavailable, when nothing was done for that reason.
    """
    outcomes: dict[int, Outcome] = {}
    tried: list[tuple[int, str]] = []
    stop: tuple[int, LoomError] | None = None
    for index in range(count):
        bucket = work.bucket_of(index)
        if isinstance(bucket, str):
            tried.append((index, bucket))
        elif stop_on_error:
            stop = (index, bucket)
            break
        else:
            outcomes[index] = bucket
    lost: Unavailable | None = None
    for chunk in _chunks(tried, keep_order=stop_on_error):
        if lost is not None:
            outcomes.update(dict.fromkeys(chunk, lost))
            continue
        lost, failed = await _chunk(work, chunk, outcomes, stop_on_error=stop_on_error)
        if stop_on_error and failed:
            stop = None
            break
        if progress is not None:
            await progress(len(outcomes), count, f"{len(outcomes)} of {count}")
    if stop is not None:
        outcomes[stop[0]] = stop[1]
    if lost is not None and not any(isinstance(outcome, Written) for outcome in outcomes.values()):
        raise lost
    return outcomes


async def _chunk(
    work: _Work, chunk: Sequence[int], outcomes: dict[int, Outcome], *, stop_on_error: bool
) -> tuple[Unavailable | None, bool]:
    """Do the items of one chunk; tells whether the broker was lost, and whether an item failed."""
    if len(chunk) > 1:
        try:
            outcomes.update(zip(chunk, await work.at_once(chunk), strict=True))
            return None, False
        except Unavailable as error:
            if not error.unsupported:
                # Whether the batch was taken is not known, and one by one would only wait as often as there are items.
                outcomes.update(dict.fromkeys(chunk if not stop_on_error else chunk[:1], error))
                return error, True
        except LoomError:
            pass  # one of them; find out which
    failed = False
    for at, index in enumerate(chunk):
        try:
            outcomes[index] = await work.alone(index)
        except Unavailable as error:
            outcomes.update(dict.fromkeys(chunk[at:] if not stop_on_error else chunk[at : at + 1], error))
            return error, True
        except LoomError as error:
            outcomes[index] = error
            failed = True
            if stop_on_error:
                break
    return None, failed


def _chunks(tried: Sequence[tuple[int, str]], *, keep_order: bool) -> Iterator[list[int]]:
    """Yield indexes, at most `CHUNK` of one bucket at a time."""
    ordered = tried if keep_order else sorted(tried, key=lambda job: job[1])
    for _, jobs in groupby(ordered, key=lambda job: job[1]):
        indexes = [index for index, _ in jobs]
        for start in range(0, len(indexes), CHUNK):
            yield indexes[start : start + CHUNK]


def _written(outcomes: dict[int, Outcome]) -> list[Written]:
    return [outcome for _, outcome in sorted(outcomes.items()) if isinstance(outcome, Written)]


def _remembered(items: Sequence[Item], outcomes: dict[int, Outcome]) -> BulkRemembered:
    stored: list[str] = []
    notices: list[Notice] = []
    errors: list[ItemError] = []
    for index, outcome in sorted(outcomes.items()):
        item = items[index]
        if isinstance(outcome, LoomError):
            errors.append(ItemError(index=index, error=outcome.message, code=outcome.code))
        elif isinstance(item.memory, Memory):
            stored.append(item.memory.id)
            notices += [msgspec.structs.replace(notice, index=index) for notice in item.notices]
    written = _written(outcomes)
    return BulkRemembered(
        stored=len(stored),
        failed=len(errors),
        errors=errors,
        memory_ids=stored,
        revisions=[one.revision for one in written],
        position=position_of(written),
        warnings=notices or None,
    )


def _due(door: Door, *, expire_only: bool) -> tuple[list[tuple[Row, Reason]], list[str]]:
    """Return the caller's own rows that are to go, and what is wrong but not ours to mend."""
    now_ms, limits = door.now_ms, door.limits
    soft = {Category.RECENT: limits.recent, Category.TASKS: limits.tasks, Category.CORE: limits.core}
    due: list[tuple[Row, Reason]] = []
    errors: list[str] = []
    records = door.projection.records
    streams = [(Scope.PERSONAL, place.stream) for place in records.streams() if place.mine]
    for shelf in (shelf for where in (*product(Scope, (None,)), *streams) for shelf in records.own(*where)):
        due += [(row, Reason.EXPIRE) for row in shelf.rows if row.expired(now_ms)]
        if expire_only or shelf.category not in soft:
            continue
        live = sorted((row for row in shelf.rows if not row.expired(now_ms)), key=lambda row: row.created)
        excess = max(0, len(live) - soft[shelf.category])
        if shelf.category in TEMPORARY:
            due += [(row, Reason.EVICT) for row in live[:excess]]
        elif excess:
            errors.append(
                f"{len(live)} core memories in scope {shelf.scope} are {excess} more than the allowed {limits.core}; "
                "core memories are never deleted by themselves, forget some with force=true"
            )
    return due, errors
