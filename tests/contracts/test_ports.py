"""What the ports promise, held against the double in memory and the real broker alike."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from itertools import count

import pytest

from identity.errors import Conflict, LoomError
from identity.keys import project_bucket
from identity.ports import Bucket, CaughtUp, Entry, Event, Marker, Put, Reason, Remove
from pattern.testing.accounts import NatsAccount
from tests.contracts.engine_kit import nats_world
from tests.laws.worlds import World, agent

NAME = project_bucket(agent().project_id)
_ops = count()


@pytest.fixture(params=["memory", "nats"])
async def world(request: pytest.FixtureRequest) -> AsyncGenerator[World]:
    if request.param == "memory":
        yield World()
        return
    account: NatsAccount = request.getfixturevalue("nats_account")
    async with nats_world(account.url) as real:
        yield real


@pytest.fixture
async def bucket(world: World) -> Bucket:
    return await world.buckets.open(NAME)


def put(key: str, value: bytes = b"x", *, expected: int = 0, op: str | None = None) -> Put:
    return Put(key=key, value=value, expected=expected, op=op or f"op-{next(_ops)}")


def remove(key: str, expected: int, *, op: str | None = None) -> Remove:
    return Remove(key=key, expected=expected, op=op or f"op-{next(_ops)}", reason=Reason.FORGET)


async def test_a_key_is_created_changed_removed_and_created_again(bucket: Bucket) -> None:
    assert await bucket.get("a.b.m.c") is None
    one = await bucket.write(put("a.b.m.c", b"1"))
    two = await bucket.write(put("a.b.m.c", b"2", expected=one))
    held = await bucket.get("a.b.m.c")
    assert isinstance(held, Entry)
    assert (held.value, held.revision) == (b"2", two)
    three = await bucket.write(remove("a.b.m.c", two))
    gone = await bucket.get("a.b.m.c")
    assert isinstance(gone, Marker)
    assert (gone.revision, gone.reason) == (three, Reason.FORGET)
    four = await bucket.write(put("a.b.m.c", b"4"))
    assert one < two < three < four


async def test_a_writer_who_knows_too_little_changes_nothing(bucket: Bucket) -> None:
    one = await bucket.write(put("a.b.m.c", b"1"))
    two = await bucket.write(put("a.b.m.c", b"2", expected=one))
    for change in (put("a.b.m.c"), put("a.b.m.c", expected=one), remove("a.b.m.c", one), put("a.b.m.d", expected=two)):
        with pytest.raises(Conflict) as lost:
            await bucket.write(change)
        assert (lost.value.key, lost.value.expected) == (change.key, change.expected)
        if change.key == "a.b.m.c":
            assert (lost.value.actual, lost.value.value) == (two, b"2")
        else:
            assert (lost.value.actual, lost.value.value) == (0, None)
    three = await bucket.write(remove("a.b.m.c", two))
    for change in (put("a.b.m.c", expected=two), remove("a.b.m.c", two)):
        with pytest.raises(Conflict) as lost:
            await bucket.write(change)
        assert lost.value.value is None
    held = await bucket.get("a.b.m.c")
    assert held is not None
    assert held.revision == three


async def test_one_operation_happens_once(bucket: Bucket) -> None:
    one = await bucket.write(put("a.b.m.c", op="same"))
    assert await bucket.write(put("a.b.m.c", op="same")) == one
    two = await bucket.write(remove("a.b.m.c", one, op="gone"))
    assert await bucket.write(remove("a.b.m.c", one, op="gone")) == two


async def test_a_batch_is_all_or_nothing(bucket: Bucket) -> None:
    one = await bucket.write(put("a.b.m.1"))
    with pytest.raises(Conflict):
        await bucket.write_all([put("a.b.m.2"), put("a.b.m.1"), put("a.b.m.3")])
    assert await bucket.get("a.b.m.2") is None
    revisions = await bucket.write_all([put("a.b.m.2"), remove("a.b.m.1", one), put("a.b.m.3")])
    assert revisions == sorted(revisions)
    assert isinstance(await bucket.get("a.b.m.1"), Marker)
    for key, revision in zip(("a.b.m.2", "a.b.m.1", "a.b.m.3"), revisions, strict=True):
        held = await bucket.get(key)
        assert held is not None
        assert held.revision == revision


async def test_of_many_at_once_one_wins(bucket: Bucket) -> None:
    results = await asyncio.gather(
        *(bucket.write(put("a.b.m.c", f"{n}".encode())) for n in range(10)), return_exceptions=True
    )
    assert sum(isinstance(result, int) for result in results) == 1
    assert all(isinstance(result, int | LoomError) for result in results)


class Told:
    """Collects what a feed tells."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._changed = asyncio.Event()

    def __call__(self, event: Event) -> None:
        self.events.append(event)
        self._changed.set()

    async def until(self, enough: Callable[[list[Event]], bool]) -> list[Event]:
        async with asyncio.timeout(5):
            while not enough(self.events):
                self._changed.clear()
                await self._changed.wait()
        return self.events


async def test_a_feed_tells_what_is_and_then_what_happens(world: World, bucket: Bucket) -> None:
    one = await bucket.write(put("agents.A.m.1", b"old"))
    await bucket.write(put("agents.A.m.1", b"new", expected=one))
    gone = await bucket.write(put("agents.A.m.2"))
    await bucket.write(remove("agents.A.m.2", gone))
    await bucket.write(put("agents.B.m.3"))
    told = Told()
    async with world.feed.follow(NAME, "agents.A.>", told) as following:
        await told.until(lambda events: any(isinstance(event, CaughtUp) for event in events))
        first = [event for event in told.events if isinstance(event, Entry | Marker)]
        assert [(event.key, type(event)) for event in first] == [("agents.A.m.1", Entry), ("agents.A.m.2", Marker)]
        assert isinstance(told.events[-1], CaughtUp)
        await bucket.write(put("agents.B.m.4"))
        live = await bucket.write(put("agents.A.m.5", b"live"))
        async with asyncio.timeout(5):
            await following.sync()
        last = told.events[-1]
        assert isinstance(last, Entry)
        assert (last.key, last.value, last.revision) == ("agents.A.m.5", b"live", live)
        revisions = [event.revision for event in told.events if isinstance(event, Entry | Marker)]
        assert revisions == sorted(set(revisions))


async def test_a_batch_is_told_whole_and_in_order(world: World, bucket: Bucket) -> None:
    told = Told()
    async with world.feed.follow(NAME, "shared.>", told):
        revisions = await bucket.write_all([put(f"shared.A.m.{n}") for n in range(300)])
        await told.until(lambda events: len(events) >= 301)
        assert [event.revision for event in told.events if isinstance(event, Entry)] == revisions
