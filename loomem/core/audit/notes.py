"""What a writer says beside a change, as headers hold it: short, ASCII, and readable by whoever may read the memory.

Hence `user` is only named where all readers are that user's own. It is the writer's word; what the broker vouches for is
the key, and with it the space and its owner. What cannot be read of a note is as if it were not there: anybody may have
written it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import StrEnum
from typing import TypeVar

import msgspec

from identity.keys import Kind, parse_key
from identity.ports import Entry, Marker

T = TypeVar("T")

TOLD_MAX = 12
"""Changes of one key that are passed on with all that is known of them."""
BARE_MAX = 300
"""Changes before those of which only that they happened is passed on."""


class Action(StrEnum):
    """What was done."""

    STORED = "stored"
    INGESTED = "ingested"
    """Stored as a conversation, or as what was taken from one."""
    IMPORTED = "imported"
    MIGRATED = "migrated"
    CHANGED = "changed"
    COMMITTED = "committed"
    SHARED = "shared"
    """Stored for others, from a memory of one's own."""
    MOVED = "moved"
    """It left this space for another; there stands why."""
    DELETED = "deleted"
    """Hidden; it can be restored for a while."""
    RESTORED = "restored"
    FORGOTTEN = "forgotten"
    EXPIRED = "expired"
    """Erased because its time was over, or the time in which it could be restored."""
    EVICTED = "evicted"
    PURGED = "purged"
    SUPERSEDED = "superseded"
    """Another memory took its place."""
    BLOCKED = "trust_guard_blocked"
    """Another memory was to take its place, and is not trusted far enough."""
    EXPORTED = "exported"
    OVERWRITTEN = "overwritten"
    """Some change, of which nothing else is known: it was overwritten before anybody recorded it."""


_ACTIONS = frozenset(Action)


class Blocked(msgspec.Struct, frozen=True, array_like=True):
    """A memory that kept its place because it is trusted further."""

    old: str
    old_trust: str
    """`none` for one without."""
    new_trust: str
    context: str
    """What was being done."""


class Note(msgspec.Struct, frozen=True, array_like=True):
    """What a writer says of its change."""

    do: str
    agent: str
    project: str = ""
    user: str = ""
    old: tuple[str, ...] = ()
    """Ids of the memories whose place this one takes by this change."""
    blocked: tuple[Blocked, ...] = ()

    @property
    def action(self) -> Action | None:
        return Action(self.do) if self.do in _ACTIONS else None


class Passed(msgspec.Struct, frozen=True, array_like=True):
    """A change that came before, as it is passed on."""

    revision: int
    at_ms: int
    op: str
    did: str
    """Its note, as it was."""
    gone: str = ""
    """When it was a removal: why."""
    created: bool = False


class Past(msgspec.Struct, frozen=True, array_like=True):
    """What came before a change, newest first."""

    told: tuple[Passed, ...] = ()
    bare: tuple[int, ...] = ()
    """Revisions of those before."""


NO_PAST = Past()


def note_text(note: Note) -> str:
    return _ascii(note)


def note_of(text: str) -> Note | None:
    return _read(text, Note)


def past_text(past: Past) -> str:
    return _ascii(past) if past.told or past.bare else ""


def past_of(text: str) -> Past:
    return _read(text, Past) or NO_PAST


def is_recorded(key: str) -> bool:
    """Say whether changes of a key are put on record: those of memories are."""
    parsed = parse_key(key)
    return parsed is not None and parsed.kind is Kind.MEMORY


def past_over(held: Entry | Marker) -> Past:
    """Return what a change passes on that is written over what a key holds."""
    before = past_of(held.past)
    gone = str(held.reason) if isinstance(held, Marker) else ""
    last = Passed(held.revision, int(held.at.timestamp() * 1000), held.op or "", held.did, gone, held.first)
    told = (last, *before.told)
    bare = (*(passed.revision for passed in told[TOLD_MAX:]), *before.bare)
    return Past(told[:TOLD_MAX], bare[:BARE_MAX])


def _ascii(value: msgspec.Struct) -> str:
    return json.dumps(msgspec.to_builtins(value), ensure_ascii=True, separators=(",", ":"))


def _read(text: str, kind: type[T]) -> T | None:
    if not text:
        return None
    try:
        return msgspec.json.decode(text.encode("utf-8", "replace"), type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def noted(agent: str, project: str, user: str, do: Action, old: Sequence[str], blocked: Sequence[Blocked]) -> str:
    """Return the note of a change, as its header."""
    return note_text(Note(str(do), agent, project, user, tuple(old), tuple(blocked)))
