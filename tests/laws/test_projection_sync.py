"""Waiting for everything that the buckets hold now, while subscriptions come and go."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest

from identity.errors import AccessDenied, Unavailable
from identity.ports import Bookmark, CaughtUp, Event, Marker, Reason
from loomem.views.projection import Projection, ViewState
from loomem.views.together import views_of
from tests.doubles import MemoryBroker, MemoryFollowing
from tests.laws.worlds import agent


class HastyFeed:
    """A feed that has told everything before its context is entered, as a real one may."""

    def __init__(self, broker: MemoryBroker, entered: asyncio.Event) -> None:
        self._broker = broker
        self._entered = entered

    @asynccontextmanager
    async def follow(
        self, bucket: str, filter: str, on_event: Callable[[Event], None], *, since: Bookmark | None = None
    ) -> AsyncGenerator[MemoryFollowing]:
        async with self._broker.follow(bucket, filter, on_event) as following:
            await self._entered.wait()
            yield following


async def test_a_feed_that_has_told_everything_but_is_not_entered_yet_is_waited_for() -> None:
    broker, entered = MemoryBroker(), asyncio.Event()
    async with asyncio.timeout(5), Projection(HastyFeed(broker, entered), broker, agent()) as projection:
        await projection.ready()
        waiting = asyncio.ensure_future(projection.sync())
        await asyncio.sleep(0)
        assert not waiting.done()
        entered.set()
        await waiting


class ClosedFeed:
    """A feed that may not be followed."""

    @asynccontextmanager
    async def follow(
        self, bucket: str, filter: str, on_event: Callable[[Event], None], *, since: Bookmark | None = None
    ) -> AsyncGenerator[MemoryFollowing]:
        raise AccessDenied(bucket)
        yield


async def test_a_feed_that_is_refused_says_why_at_once() -> None:
    async with asyncio.timeout(5), Projection(ClosedFeed(), MemoryBroker(), agent(), patience_s=60) as projection:
        for read in (projection.ready, projection.settle, projection.sync):
            with pytest.raises(AccessDenied, match="loom-memory"):
                await read()


class SlowFeed:
    """A feed whose bucket takes longer to tell than a read waits in silence."""

    def __init__(self, broker: MemoryBroker, every_s: float, changes: int) -> None:
        self._broker = broker
        self._every_s = every_s
        self._changes = changes

    @asynccontextmanager
    async def follow(
        self, bucket: str, filter: str, on_event: Callable[[Event], None], *, since: Bookmark | None = None
    ) -> AsyncGenerator[MemoryFollowing]:
        loop, at = asyncio.get_running_loop(), datetime.now(UTC)
        for number in range(1, self._changes + 1):
            marker = Marker(key=f"agents.a.m.{number}", revision=number, at=at, reason=Reason.OTHER)
            loop.call_later(number * self._every_s, on_event, marker)
        loop.call_later((self._changes + 1) * self._every_s, on_event, CaughtUp(bucket, filter))
        async with self._broker.follow(bucket, filter, lambda _: None) as following:
            yield following


async def test_a_large_store_is_waited_for_as_long_as_it_gets_on() -> None:
    feed = SlowFeed(MemoryBroker(), every_s=0.05, changes=7)
    async with asyncio.timeout(5), Projection(feed, MemoryBroker(), agent(), patience_s=0.25) as projection:
        await projection.ready()


async def test_a_store_that_never_ends_is_not_waited_for_for_ever() -> None:
    feed = SlowFeed(MemoryBroker(), every_s=0.04, changes=100)
    async with asyncio.timeout(5), Projection(feed, MemoryBroker(), agent(), patience_s=0.1) as projection:
        with pytest.raises(Unavailable, match="still loading"):
            await projection.ready()


class WithheldFeed:
    """A feed that tells nothing of vectors until it is let."""

    def __init__(self, broker: MemoryBroker) -> None:
        self._broker = broker
        self.asked: list[str] = []
        self.let = asyncio.Event()

    @asynccontextmanager
    async def follow(
        self, bucket: str, filter: str, on_event: Callable[[Event], None], *, since: Bookmark | None = None
    ) -> AsyncGenerator[MemoryFollowing]:
        self.asked.append(filter)
        if ".v." in filter:
            await self.let.wait()
        async with self._broker.follow(bucket, filter, on_event) as following:
            yield following


async def test_nothing_that_reads_memories_waits_for_vectors() -> None:
    broker = MemoryBroker()
    feed = WithheldFeed(broker)
    async with asyncio.timeout(5), views_of(feed, broker, agent()) as views:
        projection = views.projection
        await projection.ready()
        assert not any(".v." in keys for keys in feed.asked)  # these are not even asked for before
        await projection.settle()
        await projection.sync()
        await projection.wait(projection.position)
        assert projection.status.state is ViewState.READY
        completing = asyncio.ensure_future(projection.complete())
        await asyncio.sleep(0)
        assert not completing.done()
        feed.let.set()
        await completing
        await views.filled()
