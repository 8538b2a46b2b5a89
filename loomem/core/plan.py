"""What becomes of a memory: pure decisions that give the next record, or say why there is none. Nothing here writes."""

from __future__ import annotations

from typing import Any

import msgspec

from identity.agent import Caller
from identity.errors import CoreProtected, InvalidCategory, InvalidInput, NotFound
from identity.ports import Entry, Trail
from identity.visibility import Scope
from loomem.core.knowledge import Knowledge
from loomem.core.limits import Limits
from loomem.core.record import CATEGORIES, COMMON, SCHEMA_VERSION, TEMPORARY, Category, Memory
from loomem.core.times import iso, millis, moment_of, stored_millis

_STUB = "stub "
TRAIL_MS = 60_000
TRAIL_MAX = 32
"""A write is tried for fifteen seconds; even a key that everybody fights for sees fewer changes until its writer looks again."""


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """A checked memory on its way in."""

    scope: Scope
    category: Category
    content: str
    metadata: dict[str, Any] | None = None
    ttl_s: int | None = None


def text_of(ms: int) -> str:
    """Return a moment as records hold it."""
    return iso(moment_of(ms))


def created(draft: Draft, caller: Caller, ident: str, now_ms: int, limits: Limits) -> Memory:
    """Return the new record of a draft.

    Raises: InvalidInput, when a core memory is given an end.
    """
    now = text_of(now_ms)
    return Memory(
        id=ident,
        agent_id=caller.agent_id,
        project_id=caller.project_id,
        scope=draft.scope,
        category=draft.category,
        content=draft.content,
        metadata=draft.metadata,
        created_at=now,
        updated_at=now,
        expires_at=_expiry(draft.category, draft.ttl_s, now_ms, limits),
        version=SCHEMA_VERSION,
    )


def committed(memory: Memory, scope: Scope, caller: Caller, content: str | None, now_ms: int) -> Memory:
    """Return a temporary memory as a lasting one, in its own scope or another of the caller's.

    A private memory belongs to the agent under whose key it lies, so one that comes from the personal space is the caller's.

    Raises: NotFound (its time is over), CoreProtected, InvalidInput (it lasts already).
    """
    check_alive(memory, now_ms)
    if memory.category is Category.CORE:
        raise CoreProtected(
            "A core memory lasts already and is protected; there is nothing to commit", memoryId=memory.id
        )
    if memory.category not in TEMPORARY:
        raise InvalidInput(
            f"This memory is of category '{memory.category}' already; only recent and tasks can be committed",
            field="memoryId",
            memoryId=memory.id,
        )
    return msgspec.structs.replace(
        memory,
        agent_id=caller.agent_id if scope is Scope.PRIVATE else memory.agent_id,
        scope=scope,
        category=Category.LONGTERM,
        content=memory.content if content is None else content,
        updated_at=_later(memory, now_ms),
        expires_at=None,
    )


class Edit(msgspec.Struct, frozen=True, kw_only=True):
    """A checked change; None = as it is."""

    content: str | None = None
    metadata: dict[str, Any] | None = None
    """Replaces all of it; empty = none."""
    category: Category | None = None
    ttl_s: int | None = None

    def is_empty(self) -> bool:
        return self == _NO_EDIT


_NO_EDIT = Edit()


def edited(memory: Memory, edit: Edit, now_ms: int, limits: Limits) -> Memory:
    """Return a memory as an edit leaves it. Its end is kept unless the edit sets one or changes the category.

    Raises: NotFound (its time is over), InvalidCategory, CoreProtected, InvalidInput.
    """
    check_alive(memory, now_ms)
    category = memory.category if edit.category is None else edit.category
    if category not in CATEGORIES[memory.scope]:
        allowed = CATEGORIES[memory.scope]
        raise InvalidCategory(
            f"category '{category}' is not allowed in scope '{memory.scope}'; allowed are {', '.join(allowed)}",
            field="category",
            allowed=list(map(str, allowed)),
        )
    if memory.category is Category.CORE and category is not Category.CORE:
        raise CoreProtected("A core memory keeps its category; forget it with force=true instead", memoryId=memory.id)
    expires_at = memory.expires_at
    if category is not memory.category or edit.ttl_s is not None:
        expires_at = _expiry(category, edit.ttl_s, now_ms, limits)
    metadata = memory.metadata if edit.metadata is None else edit.metadata or None
    return msgspec.structs.replace(
        memory,
        category=category,
        content=memory.content if edit.content is None else edit.content,
        metadata=metadata,
        updated_at=_later(memory, now_ms),
        expires_at=expires_at,
    )


def shared(memory: Memory, caller: Caller, category: Category, ident: str, now_ms: int) -> Memory:
    """Return the new team memory made of one of the caller's own.

    Its creator is the caller, who alone may delete it later.

    Raises: NotFound (its time is over), InvalidCategory (it is not a lasting one).
    """
    check_alive(memory, now_ms)
    if memory.category in TEMPORARY:
        raise InvalidCategory(
            f"A memory of category '{memory.category}' cannot be shared; commit it first (longterm and core can)",
            field="memoryId",
            allowed=["longterm", "core"],
        )
    now = text_of(now_ms)
    return Memory(
        id=ident,
        agent_id=caller.agent_id,
        project_id=caller.project_id,
        scope=Scope.TEAM,
        category=category,
        content=memory.content,
        metadata=memory.metadata,
        created_at=now,
        updated_at=now,
        version=SCHEMA_VERSION,
        knowledge=_unchained(memory.knowledge),
    )


def deleted(memory: Memory, now_ms: int) -> Memory:
    """Return a memory as deleting it leaves it: hidden, and to be restored within the limits' time."""
    return msgspec.structs.replace(memory, deleted_at=text_of(now_ms), updated_at=_later(memory, now_ms))


def restored(memory: Memory, now_ms: int) -> Memory:
    """Return a deleted memory as it is when it is back. Raises: NotFound (its time is over)."""
    if is_expired(memory, now_ms):
        raise NotFound("This memory has expired", memoryId=memory.id)
    return msgspec.structs.replace(memory, deleted_at=None, updated_at=_later(memory, now_ms))


def takes_a_place(memory: Memory) -> bool:
    """Say whether a memory stands in another's place: then something of it has to stay, or the other would be back."""
    return memory.knowledge is not None and bool(memory.knowledge.supersedes)


def stub_of(memory: Memory) -> Memory:
    """Return what is left of a memory that is erased but took another's place; the same whoever makes it."""
    known = memory.knowledge or Knowledge()
    return Memory(
        id=memory.id,
        agent_id=memory.agent_id,
        project_id=memory.project_id,
        scope=memory.scope,
        category=memory.category,
        content="",
        created_at=memory.created_at,
        updated_at=memory.updated_at,
        version=memory.version,
        deleted_at=memory.deleted_at or memory.updated_at,
        erased=True,
        knowledge=Knowledge(
            trust=known.trust,
            valid_from=known.valid_from,
            supersedes=known.supersedes,
            root_id=known.root_id,
            chain_version=known.chain_version,
        ),
    )


def stub_op(op: str) -> str:
    """Return the operation id of the write of a stub, which says that it is one."""
    return f"{_STUB}{op}"


def is_stub(op: str | None) -> bool:
    """Say whether an operation wrote a stub where a memory was erased."""
    return op is not None and op.startswith(_STUB)


def share_category(category: object) -> Category:
    """Return the team category of a share; `learnings` when none is asked for. Raises: InvalidCategory."""
    if category is None:
        return Category.LEARNINGS
    if isinstance(category, str) and category in COMMON:
        return Category(category)
    raise InvalidCategory(
        f"category must be one of {', '.join(COMMON)}", field="category", allowed=list(map(str, COMMON))
    )


def check_alive(memory: Memory, now_ms: int) -> None:
    """Raises: NotFound, when the time of a memory is over, or it was deleted."""
    if memory.deleted_at is not None:
        raise NotFound("This memory was deleted in the meantime", memoryId=memory.id)
    if is_expired(memory, now_ms):
        raise NotFound("This memory has expired", memoryId=memory.id)


def check_unprotected(memory: Memory, *, force: bool) -> None:
    """Raises: CoreProtected, when a core memory would go without force."""
    if memory.category is Category.CORE and not force:
        raise CoreProtected(
            "This is a core memory, which is protected; pass force=true if it really shall go", memoryId=memory.id
        )


def is_expired(memory: Memory, now_ms: int) -> bool:
    """Say whether the time of a memory is over: strictly before now; an unreadable time never is."""
    expires = stored_millis(memory.expires_at)
    return expires is not None and expires < now_ms


def server_ttl_s(memory: Memory, now_ms: int, limits: Limits) -> int | None:
    """Return after how many seconds the server shall erase a record: its remaining life and the grace, or when it was
    deleted, the time in which it can be restored, whatever ends first.

    What took another's place is not the server's to erase: the expiry worker does, and leaves a stub.
    """
    if memory.erased or takes_a_place(memory):
        return None
    expires, gone = stored_millis(memory.expires_at), stored_millis(memory.deleted_at)
    ends = [] if expires is None else [expires + limits.ttl_grace_s * 1_000]
    ends += [] if gone is None else [gone + limits.retention_s * 1_000]
    return max(1, -((now_ms - min(ends)) // 1_000)) if ends else None


def trail_after(entry: Entry, now_ms: int) -> Trail:
    """Return what a write over an entry passes on: what was there so lately that its writer may still ask what became of it."""
    if entry.op is None or ";" in entry.op or abs(now_ms - millis(entry.at)) > TRAIL_MS:
        return ()
    return ((entry.op, entry.revision), *entry.trail)[:TRAIL_MAX]


def _expiry(category: Category, ttl_s: int | None, now_ms: int, limits: Limits) -> str | None:
    if ttl_s is not None and category is Category.CORE:
        raise InvalidInput("ttlSeconds: a core memory does not expire", field="ttlSeconds")
    if ttl_s is None and category in TEMPORARY:
        ttl_s = limits.ttl_recent_s
    return None if ttl_s is None else text_of(now_ms + ttl_s * 1_000)


def _unchained(known: Knowledge | None) -> Knowledge | None:
    """Return what is known of a memory, for a copy of it elsewhere: its chain, and what it was taken from, stay behind."""
    if known is None:
        return None
    return msgspec.structs.replace(
        known,
        supersedes=(),
        root_id=None,
        chain_version=1,
        source_id=None,
        source_ids=(),
        byte_start=None,
        byte_end=None,
    )


def _later(memory: Memory, now_ms: int) -> str:
    """Return the time of a change: now, yet later than the last one, so that the newest of two copies is always known.

    Nothing is later than the end of time, which only an import can have brought.
    """
    last = stored_millis(memory.updated_at)
    return text_of(now_ms if last is None else max(now_ms, last + 1))
