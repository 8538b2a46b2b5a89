"""What is put on record of a change, and how people are shown it. Pure; content never comes here: only headers do.

One `Line` per change of a memory: `{bucket, space, owner, id, revision}` names it, and no two lines do alike. What else a
change did (whose place it took, whose it was refused) stands in the same line, so that it cannot be lost or doubled apart from
it, and is shown as lines of its own (`shown`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import msgspec

from identity.keys import Key, parse_key, unescape_token
from identity.ports import Entry, Marker, Reason
from loomem.core.audit.notes import Action, Blocked, Note, Passed, note_of, past_of
from loomem.core.moves import parse_move
from loomem.core.plan import is_stub
from loomem.core.times import iso, millis, moment_of

VERSION = 1
_GONE = {
    Reason.FORGET: Action.FORGOTTEN,
    Reason.MOVE: Action.MOVED,
    Reason.EXPIRE: Action.EXPIRED,
    Reason.EVICT: Action.EVICTED,
    Reason.OTHER: Action.FORGOTTEN,
}
_STUB = "stub "


class Line(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One entry of the record."""

    v: int = VERSION
    action: str
    at: str = ""
    """When the broker took the change; empty = not known."""
    id: str = ""
    bucket: str = ""
    space: str = ""
    """Root of the key: agents, core, shared, personal, streams."""
    owner: str = ""
    """Whose part of the space; as the broker enforces it, where it does."""
    revision: int = 0
    op: str = ""
    agent: str = ""
    """Who did it, in the writer's own word; empty = a worker, the server, or somebody who did not say."""
    project: str = ""
    user: str = ""
    old: tuple[str, ...] = ()
    """Ids of the memories whose place it took."""
    blocked: tuple[Blocked, ...] = ()
    late: bool = False
    """Whether it was overwritten before it was recorded, and is known from what came after."""
    details: dict[str, str | int] = {}
    """Of what is no change of one memory."""


class Shown(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What people are shown: one thing that happened."""

    at: str | None = None
    action: str
    id: str | None = None
    agent: str | None = None
    project: str | None = None
    user: str | None = None
    bucket: str | None = None
    space: str | None = None
    owner: str | None = None
    revision: int | None = None
    operation: str | None = None
    by: str | None = None
    """Id of the memory that took its place, or was to."""
    trust: str | None = None
    by_trust: str | None = None
    context: str | None = None
    late: bool = False
    details: dict[str, str | int] | None = None


class Record(Protocol):
    """Where an agent says what it did that is no change of one memory."""

    async def tell(self, line: Line) -> None:
        """Put it on record, under the agent's own name. Raises: AccessDenied, Unavailable."""
        ...


def lines_of(bucket: str, change: Entry | Marker) -> list[Line]:
    """Return a line for a change of a memory and one for each that it tells of, oldest first; none for other keys."""
    key = parse_key(change.key)
    if key is None:
        return []
    past = past_of(change.past)
    gone = str(change.reason) if isinstance(change, Marker) else ""
    own = Passed(change.revision, millis(change.at), change.op or "", change.did, gone, change.first)
    bare = [_line(bucket, key, Passed(revision, 0, "", ""), late=True) for revision in reversed(past.bare)]
    told = [_line(bucket, key, passed, late=True) for passed in reversed(past.told)]
    return [*bare, *told, _line(bucket, key, own, late=False, again=bool(past.told and past.told[0].gone))]


def shown(line: Line) -> Iterator[Shown]:
    """Yield what a line tells of: the change, then each memory whose place it took, or was not allowed to take."""
    base = Shown(
        at=line.at or None,
        action=line.action,
        id=line.id or None,
        agent=line.agent or None,
        project=line.project or None,
        user=line.user or None,
        bucket=line.bucket or None,
        space=line.space or None,
        owner=line.owner or None,
        revision=line.revision or None,
        operation=line.op or None,
        late=line.late,
        details=line.details or None,
    )
    yield base
    for old in line.old:
        yield msgspec.structs.replace(base, action=Action.SUPERSEDED, id=old, by=line.id, details=None)
    for each in line.blocked:
        yield msgspec.structs.replace(
            base,
            action=Action.BLOCKED,
            id=each.old,
            by=line.id,
            trust=each.old_trust,
            by_trust=each.new_trust,
            context=each.context,
            details=None,
        )


def encode(line: Line) -> bytes:
    return msgspec.json.encode(line)


def decode(data: bytes) -> Line | None:
    """Return a line, or None when it cannot be read."""
    try:
        return msgspec.json.decode(data, type=Line)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _line(bucket: str, key: Key, passed: Passed, *, late: bool, again: bool = False) -> Line:
    note = note_of(passed.did) or Note(do="", agent="")
    return Line(
        action=str(note.action or _unsaid(passed, again=again)),
        at=iso(moment_of(passed.at_ms)) if passed.at_ms else "",
        id=_plain(key.id),
        bucket=bucket,
        space=str(key.root),
        owner=_plain(key.owner),
        revision=passed.revision,
        op=passed.op,
        agent=note.agent,
        project=note.project,
        user=note.user,
        old=note.old,
        blocked=note.blocked,
        late=late,
    )


def _unsaid(passed: Passed, *, again: bool) -> Action:
    """Return what a change was of which its writer said nothing, as far as its key tells."""
    if passed.gone:
        return _GONE[Reason(passed.gone)]
    if is_stub(passed.op):
        reason = passed.op.removeprefix(_STUB).split(" ")[0]
        return _GONE[Reason(reason)] if reason in frozenset(Reason) else Action.FORGOTTEN
    if not passed.at_ms:
        return Action.OVERWRITTEN
    if passed.created or again:
        return Action.STORED
    return Action.MOVED if parse_move(passed.op) else Action.CHANGED


def _plain(token: str) -> str:
    text = unescape_token(token)
    return token if text is None else text
