"""The ports at the bottom: what the rules ask of the outside world.

Deliberately absent: any adapter, any name of a broker library. A change is a value (`Put`, `Remove`), so one key or
several are changed by the same words; what a bucket tells is a value too (`Entry`, `Marker`, and in a feed `CaughtUp`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from enum import StrEnum
from typing import Protocol

import msgspec


class Reason(StrEnum):
    """Why a key holds nothing any more; kept in its marker."""

    FORGET = "forget"
    """Somebody deleted it. The marker is a tombstone: an import does not bring it back unasked."""
    MOVE = "move"
    """It lives under another key now."""
    EXPIRE = "expire"
    """Its time was over (the server, the expiry worker or cleanup erased it)."""
    EVICT = "evict"
    """It was the oldest of a category with a soft limit."""
    OTHER = "other"
    """A marker somebody else wrote."""


Trail = tuple[tuple[str, int], ...]
"""Operations and the revisions they had under a key, newest first."""


class Put(msgspec.Struct, frozen=True, kw_only=True):
    """Write a value under a key that must still be as the writer knows it."""

    key: str
    value: bytes
    expected: int
    """Revision the key must have; 0 = the key must hold nothing (it never did, or a marker stands there)."""
    op: str
    """Operation id, unique for this change: how a writer who heard no answer recognises its own write."""
    ttl_s: int | None = None
    """The server erases the value after so many seconds (>= 1); None = never."""
    trail: Trail = ()
    """What stood here before, passed on: a writer who heard no answer and was overtaken finds its own write in it."""
    did: str = ""
    """What the writer says it is doing, for the record of changes (`loomem.core.audit`); opaque here."""
    past: str = ""
    """What is passed on for that record, by a writer who knows what the key does not show any more."""


class Remove(msgspec.Struct, frozen=True, kw_only=True):
    """Purge a key that must still be as the remover knows it; a marker stays."""

    key: str
    expected: int
    """Revision the key must have (> 0)."""
    op: str
    reason: Reason
    ttl_s: int | None = None
    """How long the marker stays; None = as long as the bucket's markers live."""
    did: str = ""
    past: str = ""
    """Both as in `Put`."""


Change = Put | Remove


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A key and the value it holds."""

    key: str
    value: bytes
    revision: int
    """Sequence of the change in the bucket's stream; grows with every change of the bucket."""
    at: datetime
    """When the server took the change; aware, UTC."""
    op: str | None = None
    trail: Trail = ()
    """What stood here before, as far as its writer passed it on."""
    did: str = ""
    """What its writer said it was doing."""
    past: str = ""
    """What its writer passed on for the record of changes; opaque here, as `did` is."""
    first: bool = False
    """Whether its writer knew that the key held nothing before."""


class Marker(msgspec.Struct, frozen=True, kw_only=True):
    """A key that holds nothing any more, and why."""

    key: str
    revision: int
    at: datetime
    reason: Reason
    op: str | None = None
    did: str = ""
    past: str = ""
    """As in `Entry`."""
    first: bool = False


class CaughtUp(msgspec.Struct, frozen=True):
    """The feed has told everything that the bucket held when the feed was (re)opened."""

    bucket: str
    filter: str


class Reset(msgspec.Struct, frozen=True):
    """The feed starts over (it was away longer than markers live): what is not told again until `CaughtUp` is gone."""

    bucket: str
    filter: str


Event = Entry | Marker | CaughtUp | Reset


class Witness(msgspec.Struct, frozen=True):
    """A change that a store has taken: no other store has one of the same time under the same key."""

    key: str
    revision: int
    at: datetime


class Bookmark(msgspec.Struct, frozen=True, kw_only=True):
    """How far a feed has told, for another one to go on from."""

    revision: int
    """Everything up to this sequence has been told."""
    heard: float
    """When the broker was last heard, in seconds since 1970."""
    witnesses: tuple[Witness, ...]
    """The last change told, and some of before: by one that still stands the store is recognised."""


class Bucket(Protocol):
    """One key-value bucket. Keys are relative to it (`identity.keys` spells them)."""

    @property
    def name(self) -> str: ...

    async def get(self, key: str, *, at_least: int = 0) -> Entry | Marker | None:
        """Return what the key holds now, the marker that stands there, or None when it never held anything.

        In a cluster "now" may be a moment ago, as a replica tells it. A caller that has heard of a revision asks for
        `at_least` that one, and gets an older answer only when there is no newer one to be had.

        Raises: Unavailable.
        """
        ...

    async def write(self, change: Change) -> int:
        """Apply one change and return the revision it got, once the server has acknowledged it.

        Retries idempotently within the deadline of the running call; the same `op` is never applied twice.

        Raises: Conflict (nothing was changed), LimitExceeded (store full), InvalidInput (value too large), Unavailable
        (nothing is known: the change may or may not have happened).
        """
        ...

    async def write_all(self, changes: Sequence[Change]) -> list[int]:
        """Apply all changes or none of them (1 to 1 000, distinct keys) and return their revisions in order.

        Raises: as `write`; Conflict names the first key that was not as expected, as far as the server tells.
        """
        ...


class Buckets(Protocol):
    """Opens buckets by name, creating them when the caller may and they are absent."""

    async def open(self, name: str) -> Bucket:
        """Return the bucket; creation is idempotent and race-safe.

        Raises: Unavailable, AccessDenied (absent, and this connection may not create it).
        """
        ...


class Following(Protocol):
    """A running subscription of a feed."""

    @property
    def bookmark(self) -> Bookmark | None:
        """How far it has told; None = nothing yet."""
        ...

    async def sync(self) -> None:
        """Return when everything the bucket held under the filter at the time of this call has been told.

        Raises: Unavailable.
        """
        ...


class Feed(Protocol):
    """Tells the changes of a bucket under one subject filter: first what every key holds now, then live."""

    def follow(
        self, bucket: str, filter: str, on_event: Callable[[Event], None], *, since: Bookmark | None = None
    ) -> AbstractAsyncContextManager[Following]:
        """Call `on_event` (in order, on the event loop, never concurrently) until the context is left.

        With `since` it goes on where another feed stopped, if that is still possible; else it tells `Reset` first.

        `filter` is a key pattern of the bucket with NATS wildcards (`agents.A.>`). The feed heals gaps and reconnects
        by itself, without telling a change twice. Entering waits for the bucket to exist, not for `CaughtUp`.
        """
        ...


class Clock(Protocol):
    def now(self) -> datetime:
        """Return the present, aware, in UTC."""
        ...


class Ids(Protocol):
    def memory_id(self) -> str:
        """Return a new UUID v4."""
        ...

    def op_id(self) -> str:
        """Return a new operation id."""
        ...


Progress = Callable[[float, float | None, str], Awaitable[None]]
"""`await progress(done, total, message)`: how long work tells how far it is."""
