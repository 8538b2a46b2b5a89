"""Purging: a memory and all that was made of it are erased at once, for good, and that is verified.

With an operator's credentials (the embedded broker's are), past all views: what is there is read from the streams themselves.
Of a memory go its record, vectors, graph contributions, job states and ratings; with a source goes what was taken from it,
before it. What stays is a marker, or a stub where the memory had taken another's place: both without content.

In this order, so that it may be cut short anywhere and done again:

1. An intent is written to the system bucket. The next purge, whatever it is asked, first ends what has one.
2. The server overwrites the record in its files and takes it out. Only then a marker is written, by which every view hears of
   it; the record of changes does too, by the note of the marker.
3. What was made of it goes the same way.
4. The stream is scanned: no key of it holds anything, and no sequence number of it can be read. Then the intent goes.

Where a stub has to stay, a stand-in with the same effect is written first, under an id of its own, and goes last: there is
no moment at which nothing keeps the replaced memory from coming back.

What "erased" means at the server stands in docs/purging.md. Deliberately absent: who may do it (the broker decides), backups.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import suppress

import msgspec

from identity.agent import Caller
from identity.errors import Conflict, CoreProtected, Corrupt, InvalidInput, NotFound, Unavailable
from identity.keys import SYSTEM_BUCKET, Key, Kind, Root, escape_token, parse_key, purge_key, unescape_token
from identity.ports import Bucket, Clock, Entry, Event, Feed, Marker, Put, Reason, Remove
from identity.visibility import Sight, sights
from loomem.core import plan
from loomem.core.audit.notes import Action, noted, past_over, past_text
from loomem.core.limits import Limits
from loomem.core.rating import decode as ratings_of
from loomem.core.receipt import Purged, Receipt
from loomem.core.record import Category, Memory, decode, encode
from loomem.core.times import iso
from loomem.nats.streams import Streams
from loomem.nats.topology import KvBuckets

SYNC_S = 600.0
TRIES = 5
_NAMES = {
    Kind.MEMORY: "memory",
    Kind.VECTOR: "vectors",
    Kind.FEEDBACK: "ratings",
    Kind.GRAPH: "graph",
    Kind.JOB: "jobs",
}
_STAND_IN = uuid.UUID("6f1d2a30-50c9-4a0e-9a35-0d4b7a6f5f10")


class Intent(msgspec.Struct, frozen=True):
    """A purge under way."""

    bucket: str
    key: str
    past: str = ""
    """What the record of changes may not have heard of the memory yet (`core.audit.notes`)."""


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A memory to purge."""

    bucket: str
    key: Key
    memory: Memory | None
    """None = what is there cannot be read, or nothing is left but what was made of it."""
    taken_from: str | None = None
    past: str = ""
    """As in `Intent`."""

    @property
    def path(self) -> str:
        return f"{self.key.prefix}.{Kind.MEMORY}.{self.key.id}"

    @property
    def id(self) -> str:
        return unescape_token(self.key.id) or self.key.id


class Purge:
    """What an operator may erase. With `everybody` also what is not the caller's own."""

    def __init__(
        self,
        *,
        caller: Caller,
        buckets: KvBuckets,
        feed: Feed,
        streams: Streams,
        limits: Limits,
        clock: Clock,
        everybody: bool = False,
    ) -> None:
        self._caller = caller
        self._buckets = buckets
        self._feed = feed
        self._streams = streams
        self._limits = limits
        self._clock = clock
        self._everybody = everybody
        self._scans: dict[tuple[str, str], dict[str, Entry]] = {}

    # --- what there is ---

    async def by_ids(self, idents: Sequence[str]) -> tuple[list[Found], list[str]]:
        """Return what stands under these ids, what was taken from it first; and the ids of which nothing does.

        Raises: AccessDenied, Unavailable.
        """
        found: list[Found] = []
        absent: list[str] = []
        for ident in dict.fromkeys(idents):
            here = [each async for each in self._of(ident)]
            found += here
            absent += [] if here else [ident]
        return _once(found), absent

    async def deleted(self) -> list[Found]:
        """Return what was deleted and could still be restored. Raises: AccessDenied, Unavailable."""
        found: list[Found] = []
        for bucket, pattern in await self._own():
            for entry in (await self._scan(bucket, f"{pattern}.{Kind.MEMORY}.*")).values():
                memory = _readable(entry)
                if memory is not None and memory.deleted_at is not None and not memory.erased:
                    found += await self._with_taken(_found(bucket, entry.key, memory))
        return _once(found)

    async def in_space(self, bucket: str, prefix: str) -> list[Found]:
        """Return everything in a space. Raises: AccessDenied, Unavailable."""
        entries = (await self._scan(bucket, f"{prefix}.{Kind.MEMORY}.*")).values()
        return [_found(bucket, entry.key, _readable(entry)) for entry in entries]

    async def _own(self) -> list[tuple[str, str]]:
        """Return bucket and key pattern of each stretch that may be purged."""
        if self._everybody:
            return [(name, "*.*") for name in sorted(await self._streams.buckets()) if name != SYSTEM_BUCKET]
        mine = [row for row in sights(self._caller) if row.mine]
        there = await self._streams.buckets()
        return [(row.bucket, self._pattern(row)) for row in mine if row.bucket in there]

    def _pattern(self, row: Sight) -> str:
        if row.owner is None:
            owner = "*" if row.root is Root.STREAMS else escape_token(self._caller.agent_id)
        else:
            owner = escape_token(row.owner)
        return f"{row.root}.{owner}"

    async def _of(self, ident: str) -> AsyncGenerator[Found, None]:
        token = escape_token(ident)
        for bucket, pattern in await self._own():
            keys, _ = await self._streams.held(bucket, f"{pattern}.*.{token}")
            vectors, _ = await self._streams.held(bucket, f"{pattern}.{Kind.VECTOR}.{token}.*")
            owners = {
                key.prefix for path in (*keys, *vectors) if (key := parse_key(path)) and key.kind is not Kind.FEEDBACK
            }
            for prefix in sorted(owners):
                held = await (await self._buckets.open(bucket)).get(f"{prefix}.{Kind.MEMORY}.{token}")
                memory = _readable(held) if isinstance(held, Entry) else None
                one = _found(bucket, f"{prefix}.{Kind.MEMORY}.{token}", memory)
                if isinstance(held, Entry) or await self._made(one):
                    for each in await self._with_taken(one):
                        yield each

    async def _with_taken(self, one: Found) -> list[Found]:
        """Return a memory after what was taken from it."""
        known = one.memory.knowledge if one.memory is not None else None
        if known is None or (known.role == "claim" and known.contract is None) or known.source_id is not None:
            return [one]
        entries = await self._scan(one.bucket, f"{one.key.prefix}.{Kind.MEMORY}.*")
        taken = [
            msgspec.structs.replace(_found(one.bucket, entry.key, memory), taken_from=one.id)
            for entry in entries.values()
            if (memory := _readable(entry)) and memory.knowledge and memory.knowledge.source_id == one.id
        ]
        return [*taken, one]

    async def _scan(self, bucket: str, pattern: str) -> dict[str, Entry]:
        """Return what a bucket holds under a pattern, read once."""
        if (bucket, pattern) not in self._scans:
            held: dict[str, Entry] = {}

            def keep(event: Event) -> None:
                if isinstance(event, Entry):
                    held[event.key] = event

            async with self._feed.follow(bucket, pattern, keep) as following, asyncio.timeout(SYNC_S):
                await following.sync()
            self._scans[bucket, pattern] = held
        return self._scans[bucket, pattern]

    async def _made(self, one: Found) -> list[tuple[str, int]]:
        """Return keys and revisions of what was made of a memory: all that hold something."""
        key, bucket = one.key, await self._buckets.open(one.bucket)
        beside, _ = await self._streams.held(one.bucket, f"{key.prefix}.*.{key.id}")
        vectors, _ = await self._streams.held(one.bucket, key.vectors)
        root = Root.AGENTS if key.root is Root.CORE else key.root
        ratings, _ = await self._streams.held(one.bucket, f"{root}.*.{Kind.FEEDBACK}.{key.id}")
        found: list[tuple[str, int]] = []
        for path in sorted({*beside, *vectors, *ratings} - {one.path}):
            held = await bucket.get(path)
            if isinstance(held, Entry) and (path not in ratings or _rates(held, key.owner)):
                found.append((path, held.revision))
        return found

    # --- erasing ---

    async def preview(self, found: Sequence[Found], absent: Sequence[str]) -> Receipt:
        """Return what would be erased. Raises: AccessDenied, Unavailable."""
        purged: list[Purged] = []
        for one in found:
            made = await self._made(one)
            purged.append(self._row(one, made, stub=self._keeps_stub(one, found)))
        return self._receipt(purged, absent, dry_run=True)

    async def run(
        self, found: Sequence[Found], absent: Sequence[str], on_each: Callable[[], None] | None = None
    ) -> Receipt:
        """Erase, and return the receipt.

        Raises: AccessDenied (these credentials may not), Unavailable. It can be repeated then.
        """
        system = await self._buckets.open(SYSTEM_BUCKET)
        begun = await self._begun()
        purged: list[Purged] = []
        for named in _once([*begun, *found]):
            mark = purge_key(named.bucket, named.path)
            one = await self._intend(system, mark, named)
            purged.append(await self._erase(one, stub=self._keeps_stub(one, found)))
            held = await system.get(mark)
            if isinstance(held, Entry):
                op = f"purged {held.revision}"
                await system.write(Remove(key=mark, expected=held.revision, op=op, reason=Reason.OTHER))
            if on_each is not None:
                on_each()
        receipt = self._receipt(purged, absent, dry_run=False)
        return msgspec.structs.replace(receipt, resumed=len(begun))

    async def _begun(self) -> list[Found]:
        """Return what an earlier purge began and did not end."""
        entries = await self._scan(SYSTEM_BUCKET, "purge.*")
        found: list[Found] = []
        for entry in entries.values():
            with suppress(msgspec.MsgspecError):
                intent = msgspec.json.decode(entry.value, type=Intent)
                if (key := parse_key(intent.key)) is not None and self._may(intent.bucket, key):
                    held = await (await self._buckets.open(intent.bucket)).get(intent.key)
                    memory = _readable(held) if isinstance(held, Entry) else None
                    found.append(Found(bucket=intent.bucket, key=key, memory=memory, past=intent.past))
        return found

    def _may(self, bucket: str, key: Key) -> bool:
        own = {(row.bucket, self._pattern(row)) for row in sights(self._caller) if row.mine}
        return self._everybody or bool({(bucket, key.prefix), (bucket, f"{key.root}.*")} & own)

    async def _intend(self, system: Bucket, mark: str, one: Found) -> Found:
        """Write down that a memory is being purged, and what may not be on record of it; return it with that."""
        held = await (await self._buckets.open(one.bucket)).get(one.path)
        if isinstance(held, Entry):
            one = msgspec.structs.replace(one, past=past_text(past_over(held)))
        value = msgspec.json.encode(Intent(one.bucket, one.path, one.past))
        with suppress(Conflict):
            await system.write(Put(key=mark, value=value, expected=0, op=f"purge {uuid.uuid4()}"))
        return one

    async def _erase(self, one: Found, *, stub: bool) -> Purged:
        made = await self._made(one)
        revisions, overwritten = await self._erase_record(one, stub=stub)
        row = self._row(one, made, stub=stub)
        for path, revision in made:
            overwritten &= await self._take_out(one.bucket, path, revision)
            revisions.append(revision)
            key = parse_key(path)
            if key is not None and key.kind in (Kind.FEEDBACK, Kind.JOB):
                await self._mark(one.bucket, path, Reason.OTHER)
        return msgspec.structs.replace(
            row,
            revisions=tuple(revisions),
            overwritten=overwritten,
            verified=await self._is_gone(one, revisions),
        )

    async def _erase_record(self, one: Found, *, stub: bool) -> tuple[list[int], bool]:
        """Erase the record itself; tell which revisions, and whether their bytes are overwritten."""
        bucket = await self._buckets.open(one.bucket)
        stand_in = await self._stand_in(one)
        revisions: list[int] = []
        overwritten = True
        for _ in range(TRIES):
            held = await bucket.get(one.path)
            if isinstance(held, Entry) and plan.is_stub(held.op):
                break
            memory = _readable(held) if isinstance(held, Entry) else None
            past = past_text(past_over(held)) if isinstance(held, Entry) else one.past
            if memory is not None and stub:
                stand_in = (
                    await self._put(bucket, self._stand_in_path(one), plan.stub_of(memory), final=False) or stand_in
                )
            if isinstance(held, Entry):
                overwritten &= await self._take_out(one.bucket, one.path, held.revision)
                revisions.append(held.revision)
            if stand_in is not None:
                if await self._put(bucket, one.path, stand_in, past=past) is not None:
                    break
            elif isinstance(held, Marker) or await self._mark(one.bucket, one.path, Reason.FORGET, past):
                break
        else:
            raise Unavailable(f"Memory {one.id} changes faster than it can be erased", memoryId=one.id)
        if stand_in is not None:
            left = await bucket.get(self._stand_in_path(one))
            if isinstance(left, Entry):
                op = f"purge {uuid.uuid4()}"
                await bucket.write(
                    Remove(key=left.key, expected=left.revision, op=op, reason=Reason.MOVE, did=self._did(Action.MOVED))
                )
        return revisions, overwritten

    def _stand_in_path(self, one: Found) -> str:
        return f"{one.key.prefix}.{Kind.MEMORY}.{uuid.uuid5(_STAND_IN, one.id)}"

    async def _stand_in(self, one: Found) -> Memory | None:
        """Return the stand-in that an earlier purge has left."""
        held = await (await self._buckets.open(one.bucket)).get(self._stand_in_path(one))
        return _readable(held) if isinstance(held, Entry) else None

    async def _put(
        self, bucket: Bucket, path: str, stub: Memory, *, past: str = "", final: bool = True
    ) -> Memory | None:
        """Write a stub where nothing stands; None = something does."""
        key = parse_key(path)
        if key is not None:
            stub = msgspec.structs.replace(stub, id=unescape_token(key.id) or key.id)
        op = plan.stub_op(f"purge {uuid.uuid4()}")
        did = self._did(Action.PURGED if final else Action.MOVED)
        try:
            await bucket.write(Put(key=path, value=encode(stub), expected=0, op=op, did=did, past=past))
        except Conflict as conflict:
            held = await bucket.get(path, at_least=conflict.actual)
            return _readable(held) if isinstance(held, Entry) and plan.is_stub(held.op) else None
        return stub

    async def _mark(self, bucket: str, path: str, reason: Reason, past: str = "") -> bool:
        """Leave a marker where nothing stands, so that every view hears of it; False = something was written meanwhile."""
        tombstone_s = self._limits.tombstone_s if reason is Reason.FORGET else None
        did = self._did(Action.PURGED) if reason is Reason.FORGET else ""
        op = f"purge {uuid.uuid4()}"
        mark = Remove(key=path, expected=0, op=op, reason=reason, ttl_s=tombstone_s, did=did, past=past)
        try:
            await (await self._buckets.open(bucket)).write(mark)
        except Conflict:
            return False
        return True

    async def _take_out(self, bucket: str, path: str, revision: int) -> bool:
        """Take one change out of the stream; say whether its bytes are overwritten."""
        if (done := await self._streams.erase(bucket, revision)) is False:
            await self._streams.unlink(bucket, path, revision)
        return done is not False

    async def _is_gone(self, one: Found, revisions: Iterable[int]) -> bool:
        """Say whether the stream has nothing of a memory any more, by key and by sequence number."""
        held = await (await self._buckets.open(one.bucket)).get(one.path)
        if isinstance(held, Entry) and not plan.is_stub(held.op):
            return False
        if await self._made(one):
            return False
        return not any([await self._streams.stands(one.bucket, revision) for revision in revisions])

    def _keeps_stub(self, one: Found, all_of_it: Sequence[Found]) -> bool:
        """Say whether something has to stay so that what this memory replaced does not come back."""
        known = one.memory.knowledge if one.memory is not None else None
        if known is None or not known.supersedes:
            return False
        going = {other.id for other in all_of_it if (other.bucket, other.key.prefix) == (one.bucket, one.key.prefix)}
        return not going.issuperset(known.supersedes)

    def _row(self, one: Found, made: Sequence[tuple[str, int]], *, stub: bool) -> Purged:
        keys = {"memory": 1} if one.memory is not None else {}
        for path, _ in made:
            if (key := parse_key(path)) is not None:
                keys[_NAMES[key.kind]] = keys.get(_NAMES[key.kind], 0) + 1
        return Purged(
            id=one.id,
            bucket=one.bucket,
            stream=f"KV_{one.bucket}",
            space=one.key.prefix,
            keys=keys,
            taken_from=one.taken_from,
            stub=stub,
        )

    def _receipt(self, purged: list[Purged], absent: Sequence[str], *, dry_run: bool) -> Receipt:
        return Receipt(
            dry_run=dry_run,
            at=iso(self._clock.now()),
            agent=self._caller.agent_id,
            project=self._caller.project_id,
            purged=purged,
            not_found=list(absent),
            verified=not dry_run and all(one.verified for one in purged),
        )

    def _did(self, action: Action) -> str:
        return noted(self._caller.agent_id, self._caller.project_id, "", action, (), ())

    # --- forgetting anybody's ---

    async def forget(self, ident: str, *, force: bool) -> list[Found]:
        """Erase the memories of an id, whoever made them, as their creators' `forget` would; return them.

        Raises: NotFound, CoreProtected, AccessDenied, Unavailable, Conflict.
        """
        found, _ = await self.by_ids([ident])
        live = [one for one in found if one.memory is not None and not one.memory.erased]
        if not live:
            raise NotFound(f"No memory has the id {ident}", memoryId=ident)
        if not force and any(one.memory and one.memory.category is Category.CORE for one in live):
            raise CoreProtected("This is a core memory; --force if it really shall go", memoryId=ident)
        for one in live:
            bucket = await self._buckets.open(one.bucket)
            held = await bucket.get(one.path)
            memory = _readable(held) if isinstance(held, Entry) else None
            if held is None or memory is None:
                continue
            op, did = str(uuid.uuid4()), self._did(Action.FORGOTTEN)
            if plan.takes_a_place(memory):
                value = encode(plan.stub_of(memory))
                await bucket.write(Put(key=one.path, value=value, expected=held.revision, op=plan.stub_op(op), did=did))
            else:
                await bucket.write(
                    Remove(
                        key=one.path,
                        expected=held.revision,
                        op=op,
                        reason=Reason.FORGET,
                        ttl_s=self._limits.tombstone_s,
                        did=did,
                    )
                )
        return live


def check_selection(idents: Sequence[str], *, deleted: bool, stream: str | None) -> None:
    """Raises: InvalidInput, unless exactly one kind of selection is made."""
    if sum((bool(idents), deleted, stream is not None)) != 1:
        raise InvalidInput("Say what to purge: ids, or --deleted, or --stream NAME", field="ids")


def _found(bucket: str, path: str, memory: Memory | None) -> Found:
    key = parse_key(path)
    assert key is not None  # noqa: S101 - the filter lets no other key through
    return Found(bucket=bucket, key=key, memory=memory)


def _once(found: Iterable[Found]) -> list[Found]:
    there: dict[tuple[str, str], Found] = {}
    for one in found:
        there.setdefault((one.bucket, one.path), one)
    return list(there.values())


def _readable(entry: Entry) -> Memory | None:
    try:
        return decode(entry.value)
    except Corrupt:
        return None


def _rates(held: Entry, owner: str) -> bool:
    try:
        return ratings_of(held.value).owner == owner
    except Corrupt:
        return True  # nobody's any more
