"""What a bucket tells: everything once, in order, through gaps, crashes and long absences."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import AsyncGenerator
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from identity.errors import NotFound, Unavailable
from identity.ports import CaughtUp, Entry, Event, Marker, Reason, Reset
from loomem.nats import follow as follow_module
from loomem.nats.bucket import KvBucket
from loomem.nats.delivery import Delivery
from loomem.nats.follow import KvFeed, KvFollowing
from loomem.nats.link import Link
from loomem.nats.topology import KvBuckets, call
from pattern.testing import NatsAccount, NatsServer
from tests.contracts.nats_kit import BUCKET, Told, linked, put, remove, write_each
from tests.waiting import eventually

A = "agents.A.>"


@pytest.fixture
async def link(nats_account: NatsAccount) -> AsyncGenerator[Link]:
    async with linked(nats_account.url) as link:
        yield link


@pytest.fixture
async def bucket(link: Link) -> KvBucket:
    return await KvBuckets(link).open(BUCKET)


def key(number: int) -> str:
    return f"agents.A.m.{number}"


async def test_what_is_held_comes_first_then_caught_up_then_changes(link: Link, bucket: KvBucket) -> None:
    first = await bucket.write(put(key(1), "one"))
    gone = await bucket.write(put(key(2), "two"))
    await bucket.write(put(key(1), "one, edited", expected=first))
    await bucket.write(remove(key(2), gone, reason=Reason.MOVE))
    told = Told()
    async with KvFeed(link).follow(BUCKET, A, told.append) as following:
        await following.sync()
        assert [type(event) for event in told] == [Entry, Marker, CaughtUp]
        change = put(key(3), "three")
        revision = await bucket.write(change)
        await following.sync()
    entry, marker, _, live = told
    assert isinstance(entry, Entry)
    assert (entry.key, entry.value, entry.revision) == (key(1), b"one, edited", 3)
    assert isinstance(marker, Marker)
    assert (marker.key, marker.reason, marker.revision) == (key(2), Reason.MOVE, 4)
    assert isinstance(live, Entry)
    assert (live.key, live.value, live.revision, live.op) == (key(3), b"three", revision, change.op)
    held = await bucket.get(key(3))
    assert isinstance(held, Entry)
    # What the record of changes alone asks for (`did`, `past`, `first`) a feed need not tell.
    assert live == msgspec.structs.replace(held, did=live.did, past=live.past, first=live.first)


async def test_an_empty_bucket_is_caught_up_at_once(link: Link, bucket: KvBucket) -> None:
    told = Told()
    async with KvFeed(link).follow(BUCKET, ">", told.append) as following:
        await following.sync()
        assert told == [CaughtUp(BUCKET, ">")]


@pytest.mark.parametrize(
    ("filter", "expected"),
    [
        (">", {"agents.A.m.1", "agents.B.m.1", "shared.A.m.1"}),
        ("agents.A.>", {"agents.A.m.1"}),
        ("*.A.m.*", {"agents.A.m.1", "shared.A.m.1"}),
        ("shared.A.m.1", {"shared.A.m.1"}),
        ("core.>", set[str]()),
    ],
)
async def test_a_filter_lets_through_what_it_matches(
    link: Link, bucket: KvBucket, filter: str, expected: set[str]
) -> None:
    await write_each(bucket, [put(k) for k in ("agents.A.m.1", "agents.B.m.1", "shared.A.m.1")])
    told = Told()
    async with KvFeed(link).follow(BUCKET, filter, told.append) as following:
        await following.sync()
    assert set(told.keys) == expected


async def test_an_expiry_is_told(link: Link, bucket: KvBucket) -> None:
    told = Told()
    async with KvFeed(link).follow(BUCKET, A, told.append):
        await bucket.write(put(key(1), ttl_s=1))
        await eventually(lambda: bool(told) and isinstance(told[-1], Marker))
    marker = told[-1]
    assert isinstance(marker, Marker)
    assert marker.reason is Reason.EXPIRE


async def test_many_records_arrive_complete_and_in_order(link: Link, bucket: KvBucket) -> None:
    """Far more than fits into one read; the server paces itself by flow control."""
    total = 15_000
    for start in range(0, total, 1000):
        await bucket.write_all([put(key(n), b"x" * 600) for n in range(start, start + 1000)])
    told = Told()
    async with KvFeed(link).follow(BUCKET, A, told.append) as following, asyncio.timeout(30):
        await following.sync()
    assert [change.revision for change in told.changes] == list(range(1, total + 1))
    assert isinstance(told[-1], CaughtUp)


async def test_writes_during_the_first_reading_are_told_once_each(link: Link, bucket: KvBucket) -> None:
    revisions = await write_each(bucket, [put(key(n)) for n in range(1000)])
    told = Told()
    async with KvFeed(link).follow(BUCKET, A, told.append) as following:
        for n in range(0, 1000, 10):
            await bucket.write(put(key(n), "edited", expected=revisions[n]))
        await following.sync()
    seen = [change.revision for change in told.changes]
    assert seen == sorted(set(seen))
    assert told.state == {key(n): b"edited" if n % 10 == 0 else b"value" for n in range(1000)}


async def test_after_a_crash_it_goes_on_where_it_was(nats_private: NatsServer) -> None:
    async with linked(nats_private.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        await write_each(bucket, [put(key(n)) for n in range(500)])
        told = Told()
        async with KvFeed(link).follow(BUCKET, A, told.append) as following:
            await following.sync()
            for crash in range(3):
                await asyncio.to_thread(nats_private.kill)
                await asyncio.to_thread(nats_private.start)
                await link.ready(5)
                revision = await bucket.write(put(key(1000 + crash)))
                async with asyncio.timeout(2):
                    await eventually(lambda r=revision: told.changes[-1].revision == r)
        assert [change.revision for change in told.changes] == list(range(1, 504))
        assert told.resets == 0
        assert told.caught_up == 4


async def test_what_another_process_wrote_meanwhile_is_told_after_a_crash(nats_private: NatsServer) -> None:
    async with linked(lambda: nats_private.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        first = await bucket.write(put(key(1)))
        told = Told()
        async with KvFeed(link).follow(BUCKET, A, told.append) as following:
            await following.sync()
            await asyncio.to_thread(nats_private.restart, same_port=False)
            # Another connection is quicker than the follower's may be.
            async with linked(nats_private.url) as other:
                theirs = await KvBuckets(other).open(BUCKET)
                await theirs.write(remove(key(1), first))
                await theirs.write(put(key(2)))
            await eventually(lambda: len(told.changes) == 3)
            await following.sync()
        assert [change.revision for change in told.changes] == [1, 2, 3]


async def test_a_writer_and_a_follower_through_crashes(nats_private: NatsServer) -> None:
    """Every acknowledged write is told exactly once, in order."""
    async with linked(nats_private.url) as link, linked(nats_private.url) as writing:
        bucket = await KvBuckets(writing).open(BUCKET)
        told = Told()
        acknowledged: list[int] = []

        async def write() -> None:
            n = 0
            while len(acknowledged) < 600:
                n += 1
                try:
                    acknowledged.append(await bucket.write(put(key(n))))
                except Unavailable:
                    await writing.ready(5)

        async with KvFeed(link).follow(BUCKET, A, told.append) as following, asyncio.timeout(40):
            async with asyncio.TaskGroup() as group:
                group.create_task(write())
                for goal in (100, 300, 500):
                    await eventually(lambda g=goal: len(acknowledged) >= g, within_s=20)
                    await asyncio.to_thread(nats_private.kill)
                    await asyncio.to_thread(nats_private.start)
            await link.ready(5)
            await following.sync()
        seen = [change.revision for change in told.changes]
        assert seen == sorted(set(seen))
        assert set(acknowledged) <= set(seen)
        assert told.resets == 0


class LossyFollowing(KvFollowing):
    """A follower that loses the messages with some numbers of the consumer, as an overflowing buffer would."""

    lose: set[int]

    def _take(self, generation: Any, delivery: Delivery) -> str | None:
        if not delivery.is_control and generation.told + 1 in self.lose:
            self.lose.remove(generation.told + 1)
            return None
        return super()._take(generation, delivery)


async def test_a_gap_is_healed_without_telling_anything_twice(link: Link, bucket: KvBucket) -> None:
    await write_each(bucket, [put(key(n)) for n in range(300)])
    told = Told()
    following = LossyFollowing(link, BUCKET, A, told.append, 1e9)
    following.lose = {1, 20, 150}
    async with following, asyncio.timeout(10):
        await eventually(lambda: len(told.changes) == 300)
    assert following.lose == set()
    assert [change.revision for change in told.changes] == list(range(1, 301))


async def test_a_lost_last_message_is_seen_at_the_next_heartbeat(
    link: Link, bucket: KvBucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow_module, "HEARTBEAT_S", 0.2)
    told = Told()
    following = LossyFollowing(link, BUCKET, A, told.append, 1e9)
    following.lose = {1}
    async with following:
        await bucket.write(put(key(1)))
        await eventually(lambda: told.keys == [key(1)])


async def test_silence_ends_a_generation(link: Link, bucket: KvBucket, monkeypatch: pytest.MonkeyPatch) -> None:
    """The consumer is deleted behind the follower's back: no message and no heartbeat comes any more."""
    monkeypatch.setattr(follow_module, "HEARTBEAT_S", 0.2)
    monkeypatch.setattr(follow_module, "SILENCE_S", 0.5)
    told = Told()
    async with KvFeed(link).follow(BUCKET, A, told.append) as following:
        await following.sync()
        await drop_consumers(link)
        await bucket.write(put(key(1)))
        await eventually(lambda: told.keys == [key(1)])


async def consumers(link: Link) -> list[str]:
    names: list[str] = (await call(link, f"CONSUMER.NAMES.KV_{BUCKET}"))["consumers"]
    return names


async def drop_consumers(link: Link) -> None:
    for name in await consumers(link):
        with contextlib.suppress(NotFound):
            # Those of `sync` go by themselves.
            await call(link, f"CONSUMER.DELETE.KV_{BUCKET}.{name}")


async def test_sync_misses_no_acknowledged_write(link: Link, bucket: KvBucket) -> None:
    """What the server says of a running consumer may be older than the acknowledgement of a write."""
    told = Told()
    async with KvFeed(link).follow(BUCKET, A, told.append) as following, asyncio.timeout(20):
        for n in range(300):
            revision = await bucket.write(put(key(n)))
            await following.sync()
            assert told.changes[-1].revision == revision


async def test_sync_ends_while_others_write_on(nats_account: NatsAccount, bucket: KvBucket) -> None:
    async with linked(nats_account.url) as busy, linked(nats_account.url) as link:
        writing = await KvBuckets(busy).open(BUCKET)
        told = Told()

        async def write(root: str) -> None:
            for n in itertools.count():
                await writing.write(put(f"{root}.m.{n}"))

        async with KvFeed(link).follow(BUCKET, A, told.append) as following, asyncio.TaskGroup() as group:
            writers = [group.create_task(write(root)) for root in ("agents.A", "agents.B")]
            async with asyncio.timeout(10):
                for _ in range(10):
                    before = len(told.changes)
                    await following.sync()
                    assert len(told.changes) >= before
            for writer in writers:
                writer.cancel()


async def test_a_consumer_that_is_gone_is_seen_by_sync(link: Link, bucket: KvBucket) -> None:
    told = Told()
    async with KvFeed(link).follow(BUCKET, A, told.append) as following:
        await drop_consumers(link)
        await bucket.write(put(key(1)))
        async with asyncio.timeout(5):
            await following.sync()
        assert told.keys == [key(1)]


async def test_leaving_drops_the_consumer(link: Link, bucket: KvBucket) -> None:
    async with KvFeed(link).follow(BUCKET, A, Told().append):
        assert len(await consumers(link)) == 1
    async with asyncio.timeout(5):
        while await consumers(link):  # noqa: ASYNC110 - the server tells nobody
            await asyncio.sleep(0.01)


async def test_away_longer_than_markers_live_it_starts_over(nats_private: NatsServer) -> None:
    async with linked(nats_private.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        first = await bucket.write(put(key(1)))
        await bucket.write(put(key(2)))
        told = Told()
        async with KvFeed(link, marker_life_s=0).follow(BUCKET, A, told.append) as following:
            await following.sync()
            await asyncio.to_thread(nats_private.restart)
            async with linked(nats_private.url) as other:
                theirs = await KvBuckets(other).open(BUCKET)
                await theirs.write(remove(key(1), first, ttl_s=1))
                async with asyncio.timeout(5):
                    while await theirs.get(key(1)) is not None:  # noqa: ASYNC110 - a marker's end is told to nobody
                        await asyncio.sleep(0.02)
            await eventually(lambda: told.caught_up >= 2)
            await following.sync()
        assert told.resets >= 1
        reset = next(index for index, event in enumerate(told) if isinstance(event, Reset))
        assert {event.key for event in told[reset:] if isinstance(event, Entry)} == {key(2)}
        assert told.state == {key(2): b"value"}


async def test_a_stream_that_was_made_again_is_read_from_its_start(nats_private: NatsServer) -> None:
    """Its sequences are lower than the follower's cursor, which would wait for ever."""
    async with linked(nats_private.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        await write_each(bucket, [put(key(n)) for n in range(10)])
        told = Told()
        async with KvFeed(link).follow(BUCKET, A, told.append) as following:
            await following.sync()
            await call(link, f"STREAM.DELETE.KV_{BUCKET}")
            await bucket.write(put(key(77)))
            await asyncio.to_thread(nats_private.restart)
            await eventually(lambda: told.state == {key(77): b"value"})
            assert told.resets == 1


async def test_entering_waits_for_the_bucket(link: Link) -> None:
    told = Told()

    async def write_later() -> None:
        await (await KvBuckets(link).open(BUCKET)).write(put(key(1)))

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2), KvFeed(link).follow(BUCKET, A, told.append):
            pytest.fail("there is no bucket")
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        group.create_task(write_later())
        async with KvFeed(link).follow(BUCKET, A, told.append) as following:
            await eventually(lambda: told.keys == [key(1)])
            await following.sync()


async def test_an_error_of_the_callback_reaches_the_holder(link: Link, bucket: KvBucket) -> None:
    """nats-py would log it and go on, and the view would lack a change for ever."""
    await bucket.write(put(key(1)))

    def fail(event: Event) -> None:
        raise ZeroDivisionError

    with pytest.raises(ExceptionGroup) as raised:
        async with asyncio.timeout(5), KvFeed(link).follow(BUCKET, A, fail):
            await asyncio.Event().wait()
    assert raised.value.subgroup(ZeroDivisionError)


async def test_an_error_of_the_body_passes_as_it_is(link: Link, bucket: KvBucket) -> None:
    with pytest.raises(ZeroDivisionError):
        async with KvFeed(link).follow(bucket.name, A, Told().append):
            raise ZeroDivisionError


async def test_sync_says_when_nothing_comes(nats_private: NatsServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow_module, "STALL_S", 0.05)
    async with linked(nats_private.url) as link:
        await KvBuckets(link).open(BUCKET)
        async with KvFeed(link).follow(BUCKET, A, Told().append) as following:
            await following.sync()
            await asyncio.to_thread(nats_private.kill)
            await eventually(lambda: not link.connected)
            with pytest.raises(Unavailable):
                await following.sync()


async def test_two_followers_hear_the_same(link: Link, bucket: KvBucket) -> None:
    one, two = Told(), Told()
    feed = KvFeed(link)
    async with feed.follow(BUCKET, A, one.append) as first, feed.follow(BUCKET, A, two.append) as second:
        await write_each(bucket, [put(key(n)) for n in range(50)])
        await asyncio.gather(first.sync(), second.sync())
    assert one.keys == two.keys == [key(n) for n in range(50)]


@pytest.mark.requirement("search-8.warm")
async def test_another_feed_goes_on_where_one_stopped(link: Link, bucket: KvBucket) -> None:
    revisions = await write_each(bucket, [put(key(n)) for n in range(20)])
    async with KvFeed(link).follow(BUCKET, A, Told().append) as following:
        await following.sync()
        bookmark = following.bookmark
    assert bookmark is not None
    assert bookmark.revision == revisions[-1]
    edited = await bucket.write(put(key(3), "edited", expected=revisions[3]))
    told = Told()
    async with KvFeed(link).follow(BUCKET, A, told.append, since=bookmark) as following:
        await following.sync()
    assert [change.revision for change in told.changes] == [edited]
    assert Reset(BUCKET, A) not in told


@pytest.mark.requirement("search-8.warm")
@pytest.mark.parametrize("change", ["another time", "another store", "away for too long"])
async def test_a_bookmark_of_another_store_or_of_long_ago_starts_over(
    link: Link, bucket: KvBucket, change: str
) -> None:
    await write_each(bucket, [put(key(n)) for n in range(5)])
    async with KvFeed(link).follow(BUCKET, A, Told().append) as following:
        await following.sync()
        bookmark = following.bookmark
    assert bookmark is not None
    match change:
        case "another time":
            first = bookmark.witnesses[0]
            later = msgspec.structs.replace(first, at=first.at + timedelta(seconds=1))
            bookmark = msgspec.structs.replace(bookmark, witnesses=(later,))
        case "another store":
            await call(link, f"STREAM.DELETE.KV_{BUCKET}")
            fresh = await KvBuckets(link).open(BUCKET)
            await write_each(fresh, [put(key(n), "fresh") for n in range(8)])
        case _:
            bookmark = msgspec.structs.replace(bookmark, heard=0.0)
    told = Told()
    async with KvFeed(link).follow(BUCKET, A, told.append, since=bookmark) as following:
        await following.sync()
    assert told[0] == Reset(BUCKET, A)
    assert len(told.keys) == (8 if change == "another store" else 5)
