"""Migration: memories of a live Pattern store of the older layout are copied into ours; the old store is only read.

Run it again and nothing happens: what is here already, or was forgotten here, stays as it is. Memories of others that the
caller cannot own are counted and left.
Deliberately absent: the old layout itself (`core.legacy`), connecting to the old broker (the caller brings its feed).
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Sequence

import msgspec

from identity.errors import LoomError, Unavailable
from identity.keys import GLOBAL_BUCKET, Kind, Root, Space, project_bucket
from identity.ports import CaughtUp, Entry, Event, Feed, Marker, Progress, Reset
from identity.visibility import Scope
from loomem.core.legacy import Left, Moved, OldBucket, Source, buckets, newest, translated
from loomem.core.record import Memory
from loomem.results import Migrated
from loomem.store.write import Door

log = logging.getLogger(__name__)

ABSENT_S = 2.0
"""How long a bucket is waited for before it counts as absent."""
READ_S = 300.0
"""How long the reading of one bucket may take."""
CHUNK = 200
_PROBLEMS_LIMIT = 200


class _Tally(msgspec.Struct):
    read: int = 0
    skipped: Counter[str] = msgspec.field(default_factory=Counter[str])
    scopes: Counter[str] = msgspec.field(default_factory=Counter[str])
    absent: list[str] = msgspec.field(default_factory=list[str])
    problems: list[str] = msgspec.field(default_factory=list[str])
    warnings: int = 0

    def leave(self, reason: str, problem: str | None = None) -> None:
        self.skipped[reason] += 1
        if problem is not None and len(self.problems) < _PROBLEMS_LIMIT:
            self.problems.append(problem)


async def migrate(
    door: Door, feed: Feed, source: Source, *, dry_run: bool = False, progress: Progress | None = None
) -> Migrated:
    """Copy what `source` asks for out of an old store that `feed` reads.

    Raises: Unavailable (either broker; what was copied until then stays, and a second run goes on), AccessDenied.
    """
    tally = _Tally()
    found: list[Moved] = []
    for bucket, entries in await _read_each(feed, buckets(source)):
        if entries is None:
            tally.absent.append(bucket.name)
            continue
        tally.read += len(entries)
        found += _translated_all(door, bucket, entries, source, tally)
    if progress is not None:
        await progress(0.0, None, f"{tally.read} records read")
    chosen, older = newest(found)
    if older:
        tally.skipped["older copy of another record"] += older
    await door.projection.ready()
    await door.projection.sync()
    fresh = [moved for moved in chosen if _is_new(door, moved.memory, tally)]
    for start in range(0, len(fresh), CHUNK):
        part = fresh[start : start + CHUNK]
        await _take_in(door, _screened_all(door, part, tally), source, tally, dry_run=dry_run)
        if progress is not None:
            done = start + len(part)
            await progress(float(done), float(len(fresh)), f"{done} of {len(fresh)} memories migrated")
    log.info("event=migrated read=%d migrated=%d dry_run=%s", tally.read, tally.scopes.total(), dry_run)
    return Migrated(
        read=tally.read,
        migrated=tally.scopes.total(),
        skipped=dict(tally.skipped),
        by_scope={str(scope): tally.scopes[scope] for scope in Scope if tally.scopes[scope]},
        dry_run=dry_run,
        absent=tally.absent,
        problems=tally.problems,
        warnings=tally.warnings,
    )


async def read_all(feed: Feed, bucket: str) -> list[Entry] | None:
    """Return what every key of a bucket holds now, or None when there is no such bucket.

    Raises: Unavailable (the reading does not come to an end), AccessDenied.
    """
    held: dict[str, Entry] = {}
    complete = asyncio.Event()

    def on_event(event: Event) -> None:
        match event:
            case Entry():
                held[event.key] = event
            case Marker():
                held.pop(event.key, None)
            case Reset():
                held.clear()
            case CaughtUp():
                complete.set()

    patience, opened = asyncio.timeout(ABSENT_S), False
    try:
        async with patience, feed.follow(bucket, ">", on_event):
            opened = True
            patience.reschedule(asyncio.get_running_loop().time() + READ_S)
            await complete.wait()
    except TimeoutError:
        if not opened:
            return None
        raise Unavailable(f"The old bucket {bucket} could not be read to its end within {READ_S:g} s") from None
    return sorted(held.values(), key=lambda entry: entry.revision)


async def _read_each(feed: Feed, old: Sequence[OldBucket]) -> list[tuple[OldBucket, list[Entry] | None]]:
    """Read several buckets at a time: an absent one shows only by its silence. Raises: as `read_all`."""

    async def attempt(bucket: OldBucket) -> list[Entry] | LoomError | None:
        try:
            return await read_all(feed, bucket.name)
        except LoomError as error:
            return error

    async with asyncio.TaskGroup() as group:
        reading = [group.create_task(attempt(bucket)) for bucket in old]
    found: list[tuple[OldBucket, list[Entry] | None]] = []
    for bucket, task in zip(old, reading, strict=True):
        outcome = task.result()
        if isinstance(outcome, LoomError):
            raise outcome
        found.append((bucket, outcome))
    return found


def _translated_all(
    door: Door, bucket: OldBucket, entries: Sequence[Entry], source: Source, tally: _Tally
) -> list[Moved]:
    found: list[Moved] = []
    for entry in entries:
        became = translated(
            bucket, entry.key, entry.value, caller=door.caller, source=source, limits=door.limits, now_ms=door.now_ms
        )
        match became:
            case Moved():
                found.append(became)
            case Left(reason, detail):
                tally.leave(reason, f"{bucket.name} {entry.key}: {detail}" if detail else None)
    return found


def _is_new(door: Door, memory: Memory, tally: _Tally) -> bool:
    """Say whether nothing here has the id of a memory, and nobody has forgotten it."""
    records = door.projection.records
    if records.find(memory.id):
        tally.leave("here already")
    elif records.forgotten(memory.id):
        tally.leave("forgotten here")
    else:
        return True
    return False


def _screened_all(door: Door, part: Sequence[Moved], tally: _Tally) -> list[Moved]:
    """Return memories as the scan policy lets them in."""
    passed: list[Moved] = []
    for moved in part:
        try:
            memory, notices = door.screen_memory(moved.memory)
        except LoomError as error:
            tally.leave("refused by the scan policy", f"{moved.memory.id}: {error.message}")
            continue
        tally.warnings += len(notices)
        passed.append(Moved(memory, moved.creator))
    return passed


async def _take_in(door: Door, part: Sequence[Moved], source: Source, tally: _Tally, *, dry_run: bool) -> None:
    """Store memories: the caller's through the one door with its quotas, others' as the operator under their prefix."""
    own = [moved.memory for moved in part if moved.creator == door.caller.agent_id]
    others = [moved for moved in part if moved.creator != door.caller.agent_id and source.operator]
    if dry_run:
        tally.scopes.update(str(moved.memory.scope) for moved in part)
        return
    by_bucket: dict[str, list[Memory]] = {}
    for memory in own:
        by_bucket.setdefault(door.space_of(memory).bucket, []).append(memory)
    for bucket, memories in by_bucket.items():
        await _create(door, bucket, memories, tally)
    for moved in others:
        await _write_for(door, moved, tally)


async def _create(door: Door, bucket: str, memories: Sequence[Memory], tally: _Tally) -> None:
    try:
        await door.create_all(bucket, memories)
    except LoomError:
        # Which record it was, or that this server has no batches, shows when they go one by one.
        for memory in memories:
            try:
                await door.create(memory)
            except Unavailable:
                raise
            except LoomError as error:
                tally.leave(f"not stored ({error.code})", f"{memory.id}: {error.message}")
            else:
                tally.scopes[str(memory.scope)] += 1
    else:
        tally.scopes.update(str(memory.scope) for memory in memories)


async def _write_for(door: Door, moved: Moved, tally: _Tally) -> None:
    """Store the team or public memory of another creator."""
    memory = moved.memory
    bucket = project_bucket(door.caller.project_id) if memory.scope is Scope.TEAM else GLOBAL_BUCKET
    _, put = door.put(memory)
    key = Space(bucket, Root.SHARED, moved.creator).key(Kind.MEMORY, memory.id)
    try:
        await door.send(bucket, msgspec.structs.replace(put, key=key))
    except Unavailable:
        raise
    except LoomError as error:
        tally.leave(f"not stored ({error.code})", f"{memory.id}: {error.message}")
    else:
        tally.scopes[str(memory.scope)] += 1
