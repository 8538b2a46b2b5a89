"""What happens to a memory after it was remembered: edited, committed, shared, forgotten.

Each change is decided on what is known of the memory, sent with a compare-and-set, and decided anew (three times at
most) on what the bucket says when somebody else was quicker. Only `edit` is not: there the caller said which revision
it knows, and is told what came between.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from identity.errors import AccessDenied, Conflict, InvalidInput, NotFound
from identity.ports import Reason
from identity.visibility import Scope
from loomem.core import plan
from loomem.core.audit.notes import Action
from loomem.core.record import Category, to_fields
from loomem.core.row import Row
from loomem.core.sources import check_changeable, check_whole, is_part, is_source
from loomem.results import Committed, Forgotten, Notice, Shared, Updated
from loomem.store.move import move
from loomem.store.write import TRIES, Door, Held, Written, doing, held_of
from loomem.views.records import Records

_OWN_SCOPES = (Scope.PRIVATE, Scope.PERSONAL)
T = TypeVar("T")


async def edit(door: Door, ident: str, edit: plan.Edit, expected: int, notices: list[Notice]) -> Updated:
    """Change a memory that is still at the revision its editor knows.

    Raises: NotFound, AccessDenied, Conflict (with the current revision and content in its details), InvalidInput (it is a
    source, or was taken from one), InvalidCategory, CoreProtected, LimitExceeded, Unavailable.
    """
    row = await _own_row(door, ident)
    held = await _held(door, row, at_least=expected)
    if held.revision != expected:
        raise _overtaken(held, expected)
    check_changeable(held.memory)
    memory = plan.edited(held.memory, edit, door.now_ms, door.limits)
    try:
        if door.space_of(memory, held.stream) == door.space_of(held.memory, held.stream):
            written = await door.replace(held, memory)
        else:  # into core, which has keys of its own
            with doing(Action.CHANGED):
                written, notice = await move(door, held, memory)
            notices = [*notices, *([notice] if notice else [])]
    except Conflict as conflict:
        raise _overtaken(await _held(door, row, at_least=_heard(conflict, held)), expected) from None
    return Updated(
        memory_id=memory.id,
        scope=str(memory.scope),
        category=str(memory.category),
        updated_at=memory.updated_at,
        expires_at=memory.expires_at,
        revision=written.revision,
        position=written.position,
        warnings=notices or None,
    )


async def commit(door: Door, ident: str, content: str | None, target: Scope | None, notices: list[Notice]) -> Committed:
    """Make a temporary memory last.

    Raises: NotFound (not among the caller's own private and personal ones, or expired), InvalidInput (it lasts already),
    CoreProtected, LimitExceeded, Conflict, Unavailable.
    """
    row = await _own_private_row(door, ident, "committed")

    async def once(held: Held) -> Committed:
        memory = plan.committed(held.memory, target or held.memory.scope, door.caller, content, door.now_ms)
        notice = None
        if memory.scope is held.memory.scope:
            written = await door.replace(held, memory)
        else:
            written, notice = await move(door, held, memory)
        found = [*notices, *([notice] if notice else [])]
        return Committed(
            memory_id=memory.id,
            previous_category=str(held.memory.category),
            previous_scope=str(held.memory.scope),
            new_scope=str(memory.scope),
            revision=written.revision,
            position=written.position,
            warnings=found or None,
        )

    with doing(Action.COMMITTED):
        return await decided(door, row, once)


async def share(door: Door, ident: str, category: Category, *, keep_original: bool, force: bool) -> Shared:
    """Make a team memory of one of the caller's own lasting ones.

    Raises: NotFound, InvalidCategory, CoreProtected (the original would go, without force), InvalidInput (scan policy),
    LimitExceeded, Conflict, Unavailable.
    """
    row = await _own_private_row(door, ident, "shared")

    async def once(held: Held) -> Shared:
        if is_source(held.memory) or is_part(held.memory):
            raise InvalidInput(
                "A conversation is not shared as it is; take it in again with stream __project__", memoryId=ident
            )
        memory = plan.shared(held.memory, door.caller, category, door.ids.memory_id(), door.now_ms)
        if not keep_original:
            plan.check_unprotected(held.memory, force=force)
        memory, notices = door.screen_memory(memory)
        if keep_original:
            written, notice = await door.create(memory), None
        else:
            written, notice = await move(door, held, memory)
        found = [*notices, *([notice] if notice else [])]
        return Shared(
            team_memory_id=memory.id,
            original_deleted=not keep_original and notice is None,
            revision=written.revision,
            position=written.position,
            warnings=found or None,
        )

    with doing(Action.SHARED):
        return await decided(door, row, once)


async def forget(door: Door, ident: str, *, force: bool) -> Forgotten:
    """Erase a memory of the caller's own, also one that was deleted, and every copy of it that an unfinished move has left.

    Raises: NotFound, AccessDenied (another agent's), CoreProtected, Conflict, Unavailable.
    """
    await door.look_up([ident])
    row = own_row(door, ident, deleted=True)
    category, written = await erase_copies(door, row, force=force)
    return Forgotten(
        deleted=written is not None,
        category=str(category),
        memory_id=ident,
        position=written.position if written else None,
    )


async def erase_copies(door: Door, row: Row, *, force: bool) -> tuple[Category, Written | None]:
    """Erase all copies of one of the caller's own memories; tells its last category and the last write.

    An older copy that an unfinished move has left would else come back. What was taken from a source goes before it, so that
    what is cut short can be repeated.

    Raises: as `forget`.
    """
    records = door.projection.records
    check_whole(row.memory, "erased")
    for taken in records.taken.of(row):
        await _erase(door, taken, force=force)
    category, written = row.memory.category, None
    copies = _all_copies(records, row.id) or [row]
    for _ in range(TRIES):
        for copy in copies:
            category, last = await _erase(door, copy, force=force)
            written = last or written
        if written is not None:
            break
        # Somebody was quicker. That may have been a move, and then the memory lives on under another key.
        await door.projection.sync()
        if not (copies := _all_copies(records, row.id)):
            break
    return category, written


def own_row(door: Door, ident: str, *, deleted: bool = False) -> Row:
    """Return the newest of the caller's own rows with an id that has been looked up; if asked, a deleted one when there is no other.

    Raises: NotFound (none, or only one of the parent's), InvalidInput (no id), AccessDenied (the team or public memory
    of another agent).
    """
    rows = (
        deleted and not door.projection.records.find(ident) and door.projection.records.deleted(ident)
    ) or door.rows(ident)
    return checked_own(rows, ident)


def checked_own(rows: Sequence[Row], ident: str) -> Row:
    """Return the first of some rows of an id if it is the caller's own. Raises: NotFound, AccessDenied, as `own_row`."""
    if rows[0].place.mine:
        return rows[0]
    if rows[0].place.scope in _OWN_SCOPES:
        raise NotFound(
            "No memory of your own has this id; your parent agent's memories can only be read", memoryId=ident
        )
    raise AccessDenied(
        "Another agent created this memory; only its creator may change or delete it",
        memoryId=ident,
        creator=rows[0].memory.agent_id,
    )


async def decided(door: Door, row: Row, once: Callable[[Held], Awaitable[T]]) -> T:
    """Decide a change on what is known of a row, and anew on what its bucket says when somebody else was quicker.

    Raises: Conflict (somebody was, every time), NotFound (it is gone), and what `once` raises.
    """
    held = held_of(row)
    for left in reversed(range(TRIES)):
        try:
            return await once(held)
        except Conflict as conflict:
            now = await _held(door, row, at_least=_heard(conflict, held))
            if not left:
                raise _beaten(row, held, now) from conflict
        held = now
    raise AssertionError  # TRIES is at least one


# --- within -----------------------------------------------------------------------------------------------------------


async def _own_row(door: Door, ident: str) -> Row:
    await door.look_up([ident])
    return own_row(door, ident)


async def _own_private_row(door: Door, ident: str, done: str) -> Row:
    await door.look_up([ident])
    rows = door.rows(ident)
    if not rows[0].place.mine or rows[0].place.scope not in _OWN_SCOPES:
        raise NotFound(
            f"No private or personal memory of your own has this id; only those can be {done}", memoryId=ident
        )
    if (successor := door.projection.records.chains.superseded_by(rows[0])) is not None:
        # Elsewhere it would stand without what replaced it, as if it still held.
        raise InvalidInput(
            f"This memory was superseded by {successor}; only what holds can be {done}",
            field="memoryId",
            memoryId=ident,
            supersededBy=successor,
        )
    return rows[0]


def _all_copies(records: Records, ident: str) -> list[Row]:
    """Return the caller's own rows with an id, deleted ones too."""
    return [*records.copies(ident), *(row for row in records.deleted(ident) if row.place.mine)]


async def _held(door: Door, row: Row, *, at_least: int) -> Held:
    held = await door.held(row, at_least=at_least)
    if held is None:
        raise NotFound("This memory was deleted in the meantime", memoryId=row.id)
    return held


def _heard(conflict: Conflict, held: Held) -> int:
    """Return which revision of what is held a conflict tells of; a move may have met it elsewhere."""
    return conflict.actual if conflict.key == held.key else held.revision


async def _erase(door: Door, row: Row, *, force: bool) -> tuple[Category, Written | None]:
    """Erase one copy; tells its last category, and nothing written when somebody else has erased it."""
    held: Held | None = held_of(row)
    last = row.memory.category
    for left in reversed(range(TRIES)):
        if held is None:
            break
        last = held.memory.category
        plan.check_unprotected(held.memory, force=force)
        try:
            return last, await door.send(held.bucket, door.remove(held, Reason.FORGET))
        except Conflict as conflict:
            heard = _heard(conflict, held)
            if not left:
                raise _overtaken(held, held.revision) from conflict
        held = await door.held(row, at_least=heard)
    return last, None


def _beaten(row: Row, tried: Held, now: Held) -> Conflict:
    if now.revision != tried.revision:
        return _overtaken(now, tried.revision)
    return Conflict(
        "Another copy of this memory is in the way where it was to go; forget the memory, or try again later",
        key=tried.key,
        expected=0,
        actual=0,
        memoryId=row.id,
    )


def _overtaken(held: Held, expected: int) -> Conflict:
    return Conflict(
        f"This memory is at revision {held.revision} by now, not {expected}; look at what it says and decide again",
        key=held.key,
        expected=expected,
        actual=held.revision,
        memoryId=held.memory.id,
        expectedRevision=expected,
        currentRevision=held.revision,
        current=to_fields(held.memory),
    )
