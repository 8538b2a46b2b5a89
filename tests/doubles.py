"""In-memory doubles of the ports, as strict as the real broker where it counts; the contracts hold them to it.

A write is compared and set like on the server; what it changes reaches followers later, in order, and no sooner than
the next turn of the loop, so a test that forgets to wait for its view fails here as it would there.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime, timedelta
from uuid import UUID

import msgspec

from identity.errors import Conflict, LoomError, Unavailable
from identity.ports import Bookmark, CaughtUp, Change, Entry, Event, Marker, Put, Reason, Remove, Reset, Witness


class ManualClock:
    """A clock that stands until it is moved."""

    def __init__(self, now: datetime = datetime(2026, 1, 1, 12, tzinfo=UTC)) -> None:
        self._now = now

    def now(self) -> datetime:
        return self._now

    def move(self, **by: float) -> None:
        """Let time pass; arguments as of `timedelta`."""
        self._now += timedelta(**by)


class CountingIds:
    """Ids that are distinct and the same in every run."""

    _runs = itertools.count(1)

    def __init__(self) -> None:
        self._run = next(self._runs)
        self._next = itertools.count(1)

    def memory_id(self) -> str:
        return str(UUID(int=(self._run << 64) | next(self._next), version=4))

    def op_id(self) -> str:
        return f"op-{self._run}-{next(self._next)}"


class MemoryFollowing:
    """One subscription. Events wait here until the loop turns, and while the broker is held."""

    def __init__(
        self,
        broker: MemoryBroker,
        bucket: MemoryBucket,
        filter: str,
        on_event: Callable[[Event], None],
        since: Bookmark | None = None,
    ):
        self.filter = filter
        self._broker = broker
        self._bucket = bucket
        self._on_event = on_event
        self._pending: deque[Event] = deque()
        self._told = 0
        self._queued = 0
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []
        self._open = True
        self._last: Entry | Marker | None = None
        if since is None:
            self.replay()
        else:
            self._go_on(since)

    @property
    def bookmark(self) -> Bookmark | None:
        if (last := self._last) is None:
            return None
        return Bookmark(revision=last.revision, heard=0.0, witnesses=(Witness(last.key, last.revision, last.at),))

    def _go_on(self, since: Bookmark) -> None:
        held = [(self._bucket.held(witness.key), witness) for witness in since.witnesses]
        if not any(now and (now.revision, now.at) == (then.revision, then.at) for now, then in held):
            self.start_over()
            return
        for event in self._bucket.holds(self.filter):
            if event.revision > since.revision:
                self.queue(event)
        self.queue(CaughtUp(self._bucket.name, self.filter))

    def replay(self) -> None:
        """Tell everything the bucket holds, as after a (re)connect."""
        for event in self._bucket.holds(self.filter):
            self.queue(event)
        self.queue(CaughtUp(self._bucket.name, self.filter))

    def start_over(self) -> None:
        """Begin again, as after having been away longer than markers live."""
        self.queue(Reset(self._bucket.name, self.filter))
        self.replay()

    def queue(self, event: Event) -> None:
        self._pending.append(event)
        self._queued += 1
        asyncio.get_running_loop().call_soon(self.pump)

    def pump(self) -> None:
        while self._open and self._pending and not self._broker.held:
            event = self._pending.popleft()
            self._on_event(event)
            self._told += 1
            if isinstance(event, Entry | Marker):
                self._last = event
        for queued, future in self._waiting:
            if self._told >= queued and not future.done():
                future.set_result(None)

    def close(self) -> None:
        self._open = False

    async def sync(self) -> None:
        self._broker.check_reachable()
        if self._told < self._queued:
            future = asyncio.get_running_loop().create_future()
            self._waiting.append((self._queued, future))
            await future


class MemoryBucket:
    """One bucket: the last change of every key, and a sequence that counts all of them."""

    def __init__(self, broker: MemoryBroker, name: str) -> None:
        self.name = name
        self.sequence = 0
        self.writes = 0
        """Round trips that changed something."""
        self._broker = broker
        self._last: dict[str, Entry | Marker] = {}
        self.following: list[MemoryFollowing] = []
        self.lagging: list[Entry | Marker | None] = []
        """What a replica that lags answers to the next reads, one after another."""

    def holds(self, filter: str = ">") -> list[Entry | Marker]:
        """Return the last change of every key under a filter, oldest first."""
        changes = [change for change in self._last.values() if matches(filter, change.key)]
        return sorted(changes, key=lambda change: change.revision)

    def held(self, key: str) -> Entry | Marker | None:
        """Return the last change of a key."""
        return self._last.get(key)

    async def get(self, key: str, *, at_least: int = 0) -> Entry | Marker | None:
        await asyncio.sleep(0)
        self._broker.check_reachable()
        while self.lagging:
            old = self.lagging.pop(0)
            if (old.revision if old is not None else 0) >= at_least:
                return old
        return self._last.get(key)

    async def write(self, change: Change) -> int:
        return (await self.write_all([change]))[0]

    async def write_all(self, changes: Sequence[Change]) -> list[int]:
        assert 1 <= len(changes) <= 1_000
        assert len({change.key for change in changes}) == len(changes)
        await asyncio.sleep(0)
        self._broker.check_reachable()
        self._broker.fail("before", self.name)
        if len(changes) > 1 and not self._broker.atomic:
            raise Unavailable("this server is too old", unsupported="batch")
        if not all(self._is_done(change) for change in changes):
            for change in changes:
                self._check(change)
            self.writes += 1
            for change in changes:
                self._apply(change)
        self._broker.fail("after", self.name)
        return [self._last[change.key].revision for change in changes]

    def erase(self, key: str, reason: Reason = Reason.EXPIRE) -> None:
        """Erase a key as the server does when its time is over."""
        self._apply(Remove(key=key, expected=0, op=f"server {key}", reason=reason))

    def plant(self, key: str, value: bytes) -> int:
        """Write without asking, as a stranger would."""
        self._apply(Put(key=key, value=value, expected=0, op=f"stranger {self.sequence}"))
        return self.sequence

    def wipe(self) -> None:
        """Lose everything, sequences included, as a store that was deleted."""
        self._last.clear()
        self.sequence = 0

    def _is_done(self, change: Change) -> bool:
        last = self._last.get(change.key)
        return last is not None and last.op == change.op

    def _check(self, change: Change) -> None:
        last = self._last.get(change.key)
        actual = last.revision if last is not None else 0
        value = last.value if isinstance(last, Entry) else None
        if change.expected == 0:
            as_expected = isinstance(change, Put) and not isinstance(last, Entry)
        else:
            as_expected = isinstance(last, Entry) and actual == change.expected
        if not as_expected:
            raise Conflict(key=change.key, expected=change.expected, actual=actual, value=value)

    def _apply(self, change: Change) -> None:
        self.sequence += 1
        at = self._broker.clock.now()
        match change:
            case Put(key=key, value=value, op=op, trail=trail):
                self._last[key] = Entry(key=key, value=value, revision=self.sequence, at=at, op=op, trail=trail)
            case Remove(key=key, reason=reason, op=op):
                self._last[key] = Marker(key=key, revision=self.sequence, at=at, reason=reason, op=op)
        for following in self.following:
            if matches(following.filter, change.key):
                following.queue(self._last[change.key])


class _Fault(msgspec.Struct):
    when: str
    error: LoomError
    bucket: str | None
    skip: int


class MemoryBroker:
    """Buckets and their feed."""

    def __init__(self, clock: ManualClock | None = None) -> None:
        self.clock = clock or ManualClock()
        self.buckets: dict[str, MemoryBucket] = {}
        self.held = False
        self.reachable = True
        self.atomic = True
        """Whether it takes batches; servers before 2.12 do not."""
        self._faults: deque[_Fault] = deque()

    async def open(self, name: str) -> MemoryBucket:
        self.check_reachable()
        return self.buckets.setdefault(name, MemoryBucket(self, name))

    @asynccontextmanager
    async def follow(
        self, bucket: str, filter: str, on_event: Callable[[Event], None], *, since: Bookmark | None = None
    ) -> AsyncGenerator[MemoryFollowing]:
        opened = await self.open(bucket)
        following = MemoryFollowing(self, opened, filter, on_event, since)
        opened.following.append(following)
        try:
            yield following
        finally:
            following.close()
            opened.following.remove(following)

    @contextmanager
    def hold(self) -> Generator[None]:
        """Let followers hear of nothing meanwhile."""
        self.held = True
        try:
            yield
        finally:
            self.held = False
            for bucket in self.buckets.values():
                for following in bucket.following:
                    following.pump()

    def fail_next(self, when: str, error: LoomError, *, bucket: str | None = None, skip: int = 0) -> None:
        """Let the next write (after `skip` others) fail `before` it is applied or `after`, when its answer is lost."""
        self._faults.append(_Fault(when, error, bucket, skip))

    def fail(self, when: str, bucket: str) -> None:
        if not self._faults or self._faults[0].when != when or self._faults[0].bucket not in (None, bucket):
            return
        if self._faults[0].skip:
            self._faults[0].skip -= 1
            return
        raise self._faults.popleft().error

    def check_reachable(self) -> None:
        if not self.reachable:
            raise Unavailable


def matches(filter: str, key: str) -> bool:
    """Say whether a key falls under a pattern with the wildcards of NATS."""
    wanted, tokens = filter.split("."), key.split(".")
    for at, token in enumerate(wanted):
        if token == ">":
            return len(tokens) > at
        if at >= len(tokens) or token not in ("*", tokens[at]):
            return False
    return len(wanted) == len(tokens)
