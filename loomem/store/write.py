"""The one door of every write: place it, keep room for it, give it an end, send it, and tell what became of it.

Log first: nothing here touches a view. A write is done when the bucket has acknowledged it; the projection hears of it as
of everybody else's, and the writer's next read waits for that echo.
Deliberately absent: what may be written (`core.limits`, `core.plan`), the broker (behind `ports.Buckets`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from contextvars import ContextVar
from datetime import datetime
from typing import Any

import msgspec

from identity.agent import Caller
from identity.errors import InvalidInput, NotFound
from identity.keys import Kind, Root, Space, parse_key, stream_of_token
from identity.ports import Bucket, Buckets, Change, Clock, Ids, Marker, Put, Reason, Remove, Trail
from identity.visibility import Scope, space_for, stream_space
from loomem.core import plan
from loomem.core.audit.lines import Line, Record
from loomem.core.audit.notes import Action, Blocked, noted
from loomem.core.knowledge import Role
from loomem.core.limits import Limits, clean_content, clean_metadata, clean_text, is_uuid
from loomem.core.position import format_position
from loomem.core.record import Category, Memory, decode, encode
from loomem.core.row import Row
from loomem.core.scan import ScanPolicy, apply_policy
from loomem.core.sources import is_source, source_op
from loomem.core.times import iso, millis
from loomem.results import Notice
from loomem.store.quota import Quotas, Slot
from loomem.views.projection import Projection

TRIES = 3
"""How often a change is decided anew when somebody else was quicker."""


_DOING: ContextVar[Action | None] = ContextVar("doing", default=None)
_REMOVED = {
    Reason.FORGET: Action.FORGOTTEN,
    Reason.MOVE: Action.MOVED,
    Reason.EXPIRE: Action.EXPIRED,
    Reason.EVICT: Action.EVICTED,
    Reason.OTHER: Action.FORGOTTEN,
}


@contextmanager
def doing(action: Action) -> Generator[None]:
    """Have the record of changes say that what is stored inside is this; else it says what can be told from the memory."""
    token = _DOING.set(action)
    try:
        yield
    finally:
        _DOING.reset(token)


class Written(msgspec.Struct, frozen=True):
    """An acknowledged write."""

    bucket: str
    key: str
    revision: int

    @property
    def position(self) -> str:
        return format_position({self.bucket: self.revision})


class Held(msgspec.Struct, frozen=True):
    """A memory as its bucket holds it at this moment."""

    bucket: str
    key: str
    memory: Memory
    revision: int
    trail: Trail = ()
    """To be passed on by what is written over it."""

    @property
    def stream(self) -> str | None:
        """Id of the stream it lies in, if it is in one."""
        key = parse_key(self.key)
        return stream_of_token(key.owner) if key is not None and key.root is Root.STREAMS else None


def held_of(row: Row) -> Held:
    """Return what the view believes the bucket holds."""
    return Held(row.place.bucket, row.key, row.memory, row.revision)


class Door:
    """Writes for one caller."""

    def __init__(
        self,
        caller: Caller,
        buckets: Buckets,
        projection: Projection,
        limits: Limits,
        clock: Clock,
        ids: Ids,
        scan: ScanPolicy,
        record: Record | None = None,
    ) -> None:
        self.caller = caller
        self.limits = limits
        self.ids = ids
        self.projection = projection
        self.quotas = Quotas(projection, limits)
        self._buckets = buckets
        self._clock = clock
        self._scan = scan
        self._record = record

    @property
    def now(self) -> datetime:
        return self._clock.now()

    @property
    def now_ms(self) -> int:
        """The present in milliseconds since 1970."""
        return millis(self._clock.now())

    async def bucket(self, name: str) -> Bucket:
        """Return an open bucket. Raises: Unavailable, AccessDenied."""
        return await self._buckets.open(name)

    # --- what goes in ---

    def screen(
        self,
        content: str | None,
        metadata: dict[str, Any] | None,
        *,
        fact: bool = False,
        max_bytes: int | None = None,
    ) -> tuple[str | None, dict[str, Any] | None, list[Notice]]:
        """Return content and metadata as the scan policy lets them in, and what it found; `fact` as in `clean_content`,
        and `max_bytes` where content has a limit of its own.

        Raises: InvalidInput (the policy blocks it, or what redaction made of it is too large).
        """
        screened = apply_policy(self._scan, content, metadata)
        notices = [Notice(**msgspec.structs.asdict(finding)) for finding in screened.warnings]
        if screened.content != content and screened.content is not None:
            if max_bytes is None:
                content = clean_content(screened.content, self.limits, fact=fact)
            else:
                content = clean_text("content", screened.content, max_bytes=max_bytes)
        if screened.metadata != metadata:
            metadata = clean_metadata(screened.metadata, self.limits)
        return content, metadata, notices

    def screen_memory(self, memory: Memory) -> tuple[Memory, list[Notice]]:
        """Return a memory as the scan policy lets it in, and what it found. Raises: as `screen`."""
        content, metadata, notices = self.screen(memory.content, memory.metadata, fact=memory.knowledge is not None)
        if content != memory.content or metadata != memory.metadata:
            memory = msgspec.structs.replace(memory, content=content, metadata=metadata)
        return memory, notices

    def space_of(self, memory: Memory, stream: str | None = None) -> Space:
        """Return where the caller writes such a memory: in the stream it belongs to as long as it is personal."""
        if stream is not None and memory.scope is Scope.PERSONAL:
            return stream_space(self.caller, stream)
        return space_for(self.caller, memory.scope, core=memory.category is Category.CORE)

    def put(
        self,
        memory: Memory,
        *,
        stream: str | None = None,
        expected: int = 0,
        op: str | None = None,
        trail: Trail = (),
        blocked: Sequence[Blocked] = (),
    ) -> tuple[str, Put]:
        """Return the bucket and the change that stores a memory; its end travels along.

        `blocked` are those whose place it was to take and may not.
        """
        space = self.space_of(memory, stream)
        if op is None:
            op = source_op(self.ids.op_id()) if is_source(memory) else self.ids.op_id()
        action = _DOING.get() or _done(memory, new=expected == 0)
        old = memory.knowledge.supersedes if memory.knowledge is not None and action in _NEW else ()
        return space.bucket, Put(
            key=space.key(Kind.MEMORY, memory.id),
            value=encode(memory),
            expected=expected,
            op=op,
            ttl_s=plan.server_ttl_s(memory, self.now_ms, self.limits),
            trail=trail,
            did=self._did(action, space.root, old, blocked),
        )

    def moved(self, change: Change) -> Change:
        """Return the change that ends a move, signed for the record of changes."""
        key = parse_key(change.key)
        did = self._did(Action.MOVED, key.root if key is not None else Root.SHARED)
        return msgspec.structs.replace(change, did=did)

    def _did(self, action: Action, root: Root, old: Sequence[str] = (), blocked: Sequence[Blocked] = ()) -> str:
        """Return the note of a change for the record of changes; who the user is goes to that user's own spaces only."""
        user = "" if root is Root.SHARED else self.caller.user_id
        return noted(self.caller.agent_id, self.caller.project_id, user, action, old, blocked)

    def remove(self, row: Held, reason: Reason, *, whole: bool = False) -> Change:
        """Return the change that erases a memory; what was forgotten leaves a tombstone for as long as the limits say.

        What took another's place leaves a stub, unless it is to go as a `whole`, as if it had never been there.
        """
        key = parse_key(row.key)
        did = self._did(_REMOVED[reason], key.root if key is not None else Root.SHARED)
        if plan.takes_a_place(row.memory) and not whole:
            return Put(
                key=row.key,
                value=encode(plan.stub_of(row.memory)),
                expected=row.revision,
                op=plan.stub_op(self.ids.op_id()) if reason is not Reason.MOVE else self.ids.op_id(),
                trail=row.trail,
                did=did,
            )
        return Remove(
            key=row.key,
            expected=row.revision,
            op=self.ids.op_id(),
            reason=reason,
            ttl_s=self.limits.tombstone_s if reason is Reason.FORGET else None,
            did=did,
        )

    # --- sending ---

    async def create(
        self,
        memory: Memory,
        *,
        stream: str | None = None,
        op: str | None = None,
        blocked: Sequence[Blocked] = (),
    ) -> Written:
        """Store a new memory, in a stream or where its scope belongs; `blocked` as in `put`.

        Raises: LimitExceeded, Conflict (the key is taken), Unavailable.
        """
        core = int(memory.category is Category.CORE)
        async with self.room(memory.scope, stream, new=1, core=core) as slot:
            bucket, change = self.put(memory, stream=stream, op=op, blocked=blocked)
            written = await self.send(bucket, change)
            slot.note(written.bucket, written.key, written.revision)
        return written

    async def create_all(
        self, bucket: str, memories: Sequence[Memory], also: Sequence[Change] = (), *, leaves: Scope | None = None
    ) -> list[Written]:
        """Store new memories of one bucket and apply other changes to it, all or nothing; tells of the memories only.

        `leaves` is the scope that loses a memory by the other changes.

        Raises: as `create`.
        """
        new = Counter(memory.scope for memory in memories)
        core = Counter(memory.scope for memory in memories if memory.category is Category.CORE)
        async with AsyncExitStack() as stack:
            slots = {
                scope: await stack.enter_async_context(
                    self.room(scope, new=count - (scope is leaves), core=core[scope])
                )
                for scope, count in new.items()
            }
            changes = [self.put(memory)[1] for memory in memories]
            written = await self.send_all(bucket, [*changes, *also])
            for memory, one in zip(memories, written, strict=False):
                slots[memory.scope].note(one.bucket, one.key, one.revision)
        return written[: len(memories)]

    async def replace(self, held: Held, memory: Memory) -> Written:
        """Store a memory over what its key holds. Raises: LimitExceeded (it becomes core, or is back), Conflict, Unavailable."""
        back = held.memory.deleted_at is not None and memory.deleted_at is None
        becomes_core = memory.category is Category.CORE and (back or held.memory.category is not Category.CORE)
        async with self.room(memory.scope, held.stream, new=int(back), core=int(becomes_core)) as slot:
            bucket, change = self.put(memory, stream=held.stream, expected=held.revision, trail=held.trail)
            written = await self.send(bucket, change)
            slot.note(written.bucket, written.key, written.revision)
        return written

    @asynccontextmanager
    async def room(self, scope: Scope, stream: str | None = None, *, new: int, core: int) -> AsyncGenerator[Slot]:
        """Hold room in the caller's part of a scope or in a stream of its own, once there is a view to count in.

        Near a limit, the view has one's own writes in it.

        Raises: LimitExceeded, Unavailable.
        """
        await self.projection.ready((scope,))
        if self.quotas.is_near(scope, stream, new=new, core=core):
            await self.projection.settle((scope,))
        with self.quotas.slot(scope, self.now_ms, stream, new=new, core=core) as slot:
            yield slot

    async def send(self, bucket: str, change: Change) -> Written:
        """Apply one change. Raises: Conflict, LimitExceeded, InvalidInput, Unavailable."""
        revision = await (await self.bucket(bucket)).write(change)
        self.projection.wrote(bucket, change.key, revision)
        return Written(bucket, change.key, revision)

    async def send_all(self, bucket: str, changes: Sequence[Change]) -> list[Written]:
        """Apply several changes of one bucket, all or nothing. Raises: as `send`."""
        revisions = await (await self.bucket(bucket)).write_all(changes)
        written = [Written(bucket, c.key, revision) for c, revision in zip(changes, revisions, strict=True)]
        for one in written:
            self.projection.wrote(one.bucket, one.key, one.revision)
        return written

    async def tell(self, action: Action, **details: str | int) -> None:
        """Put on record what the caller does that is no change of one memory. Raises: AccessDenied, Unavailable."""
        if self._record is None:
            return
        caller = self.caller
        line = Line(
            action=str(action),
            at=iso(self.now),
            op=self.ids.op_id(),
            agent=caller.agent_id,
            project=caller.project_id,
            user=caller.user_id,
            details=details,
        )
        await self._record.tell(line)

    # --- finding what is to be changed ---

    async def look_up(self, idents: Sequence[str]) -> None:
        """Return when the views know these ids, if anybody does.

        A view may not have heard of what another process has just written, so before "no" the buckets are asked.

        Raises: Unavailable.
        """
        await self.projection.settle()
        if not all(map(self.projection.records.find, idents)):
            await self.projection.sync()

    def rows(self, ident: str) -> list[Row]:
        """Return the visible rows with an id that has been looked up, the caller's own first; at least one.

        Raises: NotFound, InvalidInput (there is none, and it is no UUID).
        """
        if rows := self.projection.records.find(ident):
            return rows
        raise unknown(ident)

    async def held(self, row: Row, *, at_least: int = 0) -> Held | None:
        """Return what the bucket holds for a row now (`at_least` as in the port), or None when it is gone.

        Raises: Corrupt, Unavailable.
        """
        bucket = row.place.bucket
        entry = await (await self.bucket(bucket)).get(row.key, at_least=at_least)
        if entry is None or isinstance(entry, Marker):
            return None
        return Held(bucket, row.key, decode(entry.value), entry.revision, plan.trail_after(entry, self.now_ms))


_NEW = frozenset({Action.STORED, Action.INGESTED, Action.IMPORTED, Action.MIGRATED})


def _done(memory: Memory, *, new: bool) -> Action:
    """Return what is done when a memory is stored, as far as it tells by itself."""
    if memory.deleted_at is not None:
        return Action.DELETED
    if not new:
        return Action.CHANGED
    known = memory.knowledge
    taken = known is not None and (known.source_id is not None or known.role is Role.EVIDENCE)
    return Action.INGESTED if taken else Action.STORED


def unknown(ident: str) -> NotFound | InvalidInput:
    """Return the error for an id that nothing visible has."""
    if is_uuid(ident):
        return NotFound("No memory with this id is visible to you", memoryId=ident)
    return InvalidInput(
        "memoryId must be the id of a memory, a UUID such as 3f0c2a9e-6a52-4c1d-9d57-0e2b7c6a1f10", field="memoryId"
    )
