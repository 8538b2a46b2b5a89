"""The expiry worker on a real bucket: what it removes, what it leaves, and what it does on a server without TTLs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest

from identity.ports import Bucket, Change, Clock, Entry, Marker, Put, Reason, Remove
from loomem.core.limits import Limits
from loomem.core.moves import Move
from loomem.core.plan import stub_of, stub_op
from loomem.core.record import decode, encode
from loomem.core.times import iso
from loomem.nats.bucket import MARKER_LIFE_S
from loomem.nats.follow import KvFeed
from loomem.nats.link import Link
from loomem.nats.pull import Job
from loomem.nats.streams import BucketFacts, Streams
from loomem.nats.topology import KvBuckets, call
from loomem.workers.crew import Crew
from loomem.workers.expire import ExpireWorker
from loomem.workers.status import Tally
from pattern.testing.accounts import NatsAccount
from pattern.testing.determinism import ManualClock
from tests.contracts.workers_kit import SystemClock, held, in_order, linked, put, writes
from tests.waiting import eventually

BUCKET = "loom-memory-project-upkeep"
OTHER = "loom-memory-user-other"
LIMITS = Limits(recent=3, tasks=2, ttl_grace_s=60, tombstone_s=30 * 86_400)


def expire(link: Link, clock: Clock, limits: Limits = LIMITS) -> ExpireWorker:
    return ExpireWorker(KvBuckets(link), KvFeed(link), Streams(link), limits, clock, settle_s=0.02)


@asynccontextmanager
async def attending(worker: ExpireWorker, *buckets: Bucket) -> AsyncGenerator[Tally, None]:
    tally = Tally()
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(worker.attend(bucket, tally)) for bucket in buckets]
        yield tally
        for task in tasks:
            task.cancel()


async def plain_bucket(link: Link, name: str = BUCKET) -> Bucket:
    """Make a bucket as a server before 2.11 has it: no TTL of a message, no marker that goes by itself."""
    config = {
        "name": f"KV_{name}",
        "subjects": [f"$KV.{name}.>"],
        "max_msgs_per_subject": 1,
        "discard": "new",
        "storage": "file",
        "deny_delete": True,
        "allow_rollup_hdrs": True,
        "allow_direct": True,
    }
    await call(link, f"STREAM.CREATE.KV_{name}", config)
    return await KvBuckets(link).open(name)


def alive(everything: dict[str, Entry | Marker]) -> list[str]:
    return sorted(key for key, change in everything.items() if isinstance(change, Entry))


@pytest.mark.requirement("deliver-3b.evict")
async def test_the_oldest_beyond_a_limit_are_evicted_and_nothing_else(
    nats_account: NatsAccount, manual_clock: ManualClock
) -> None:
    past = iso(manual_clock.now() - timedelta(seconds=1))
    async with linked(nats_account.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        for i in (4, 2, 3, 1, 5):
            await put(bucket, f"agents.A.m.recent-{i}", category="recent", createdAt=in_order(i))
            await put(bucket, f"agents.A.m.task-{i}", category="tasks", createdAt=in_order(i))
            await put(bucket, f"agents.A.m.long-{i}", category="longterm", createdAt=in_order(i))
            await put(bucket, f"core.A.m.core-{i}", category="core", createdAt=in_order(i))
            await put(bucket, f"shared.A.m.team-{i}", category="decisions", createdAt=in_order(i))
        for i in range(3):
            await put(bucket, f"agents.B.m.recent-{i}", category="recent", createdAt=in_order(0))
            await put(bucket, f"agents.A.m.over-{i}", category="recent", createdAt=in_order(0), expiresAt=past)
        async with attending(expire(link, manual_clock), bucket) as tally:
            await eventually(lambda: tally.processed == 5)
        everything = await held(link, BUCKET)
    gone = {key: change.reason for key, change in everything.items() if isinstance(change, Marker)}
    assert gone == dict.fromkeys(
        ["agents.A.m.recent-1", "agents.A.m.recent-2", *(f"agents.A.m.task-{i}" for i in (1, 2, 3))], Reason.EVICT
    )


@pytest.mark.requirement("deliver-3b.evict")
async def test_a_limit_is_kept_as_memories_come(nats_account: NatsAccount, manual_clock: ManualClock) -> None:
    async with linked(nats_account.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        async with attending(expire(link, manual_clock), bucket) as tally:
            for i in range(10):
                await put(bucket, f"agents.A.m.{i}", category="recent", createdAt=in_order(i))
            await eventually(lambda: tally.processed == 7)
        assert alive(await held(link, BUCKET)) == ["agents.A.m.7", "agents.A.m.8", "agents.A.m.9"]


async def test_a_memory_that_changes_meanwhile_is_not_lost(
    nats_account: NatsAccount, manual_clock: ManualClock
) -> None:
    class Racing:
        """A bucket in which somebody always changes a memory just before it would be removed."""

        name = BUCKET

        def __init__(self, inner: Bucket) -> None:
            self._inner = inner

        async def get(self, key: str, *, at_least: int = 0) -> Entry | Marker | None:
            return await self._inner.get(key, at_least=at_least)

        async def write(self, change: Change) -> int:
            if isinstance(change, Remove) and change.key.endswith("kept"):
                await put(self._inner, change.key, expected=change.expected, category="longterm")
            return await self._inner.write(change)

        async def write_all(self, changes: Sequence[Change]) -> list[int]:
            return await self._inner.write_all(changes)

    async with linked(nats_account.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        for i, name in enumerate(["kept", "old", "b", "c", "d"]):
            await put(bucket, f"agents.A.m.{name}", category="recent", createdAt=in_order(i))
        async with attending(expire(link, manual_clock), Racing(bucket)) as tally:
            await eventually(lambda: tally.processed == 1)
        assert alive(await held(link, BUCKET)) == [f"agents.A.m.{name}" for name in ("b", "c", "d", "kept")]


async def test_several_workers_remove_each_memory_once(nats_account: NatsAccount, manual_clock: ManualClock) -> None:
    async with linked(nats_account.url) as one, linked(nats_account.url) as two:
        bucket, same = await KvBuckets(one).open(BUCKET), await KvBuckets(two).open(BUCKET)
        for i in range(30):
            await put(bucket, f"agents.A.m.{i}", category="recent", createdAt=in_order(i))
        async with attending(expire(one, manual_clock), bucket), attending(expire(two, manual_clock), same):

            async def done() -> bool:
                return len(alive(await held(one, BUCKET))) == 3

            await eventually(done)
        assert await writes(one, BUCKET) == 30 + 27


async def test_the_facts_tell_what_the_server_does_by_itself(nats_account: NatsAccount) -> None:
    async with linked(nats_account.url) as link:
        await plain_bucket(link)
        await KvBuckets(link).open(OTHER)
        streams = Streams(link)
        assert await streams.facts(BUCKET) == BucketFacts(erases_values=False, erases_markers=False)
        assert await streams.facts(OTHER) == BucketFacts(erases_values=True, erases_markers=True)
        assert await streams.buckets() == {BUCKET, OTHER}


@pytest.mark.requirement("deliver-3b.expire")
async def test_without_message_ttl_the_worker_erases_after_the_grace(
    nats_account: NatsAccount, manual_clock: ManualClock
) -> None:
    def ago(seconds: float) -> str:
        return iso(manual_clock.now() - timedelta(seconds=seconds))

    async with linked(nats_account.url) as link:
        bucket = await plain_bucket(link)
        await put(bucket, "agents.A.m.over", expiresAt=ago(60))
        await put(bucket, "core.A.m.over", category="core", expiresAt=ago(3600))
        await put(bucket, "agents.A.m.in-grace", expiresAt=ago(59))
        await put(bucket, "agents.A.m.for-ever")
        async with attending(expire(link, manual_clock), bucket) as tally:
            await eventually(lambda: tally.processed == 2)
            everything = await held(link, BUCKET)
            assert alive(everything) == ["agents.A.m.for-ever", "agents.A.m.in-grace"]
            assert everything["agents.A.m.over"].op == "expire 1"
            manual_clock.advance(1)
            await put(bucket, "agents.A.m.news", category="tasks")
            await eventually(lambda: tally.processed == 3)
        assert alive(await held(link, BUCKET)) == ["agents.A.m.for-ever", "agents.A.m.news"]


@pytest.mark.requirement("know-37")
@pytest.mark.parametrize("server", ["old", "new"])
async def test_what_was_deleted_goes_when_it_cannot_be_restored_any_more(
    nats_account: NatsAccount, manual_clock: ManualClock, server: str
) -> None:
    def ago(days: float) -> str:
        return iso(manual_clock.now() - timedelta(days=days))

    async with linked(nats_account.url) as link:
        bucket = await (plain_bucket(link) if server == "old" else KvBuckets(link).open(BUCKET))
        for name, days in (("kept", 29), ("due", 31)):
            await put(bucket, f"core.A.m.{name}", category="core", deletedAt=ago(days))
            await put(bucket, f"agents.A.m.newer-{name}", **newer(f"newer-{name}", deletedAt=ago(days)))
        await put(bucket, "agents.A.m.older", **newer("older", supersedes=()))
        await put(bucket, "agents.A.m.ended", **newer("ended", expiresAt=ago(31)))
        async with attending(expire(link, manual_clock), bucket) as tally:
            await eventually(lambda: tally.processed == 3)
        everything = await held(link, BUCKET)
        assert alive(everything) == [
            *(f"agents.A.m.{name}" for name in ("ended", "newer-due", "newer-kept", "older")),
            "core.A.m.kept",
        ]
        for name in ("ended", "newer-due"):
            stub = await bucket.get(f"agents.A.m.{name}")
            assert isinstance(stub, Entry)
            assert b"something" not in stub.value
            memory = decode(stub.value)
            assert (memory.content, memory.erased) == ("", True)
            assert memory.knowledge is not None
            assert memory.knowledge.supersedes == ("older",)


def newer(ident: str, *, supersedes: tuple[str, ...] = ("older",), **changes: str) -> dict[str, Any]:
    """Fields of a memory that takes another's place."""
    fields = {
        "id": ident,
        "agentId": "A",
        "projectId": "p",
        "scope": "private",
        "category": "longterm",
        "createdAt": in_order(0),
        "updatedAt": in_order(0),
        "version": 1,
        "knowledge": {"supersedes": supersedes, "chainVersion": 2} if supersedes else None,
    }
    return {name: value for name, value in (fields | changes).items() if value is not None}


def rating(ident: str, *, of: str) -> dict[str, Any]:
    """Return the record of somebody's ratings of a memory of `of`."""
    return {"id": ident, "owner": of, "agentId": "x", "last": in_order(0)}


@pytest.mark.requirement("know-42.gone")
async def test_ratings_go_with_what_they_rate_and_with_nothing_else(
    nats_account: NatsAccount, manual_clock: ManualClock
) -> None:
    async with linked(nats_account.url) as link:
        bucket, worker = await KvBuckets(link).open(BUCKET), expire(link, manual_clock)
        for ident in ("1", "2", "3", "4"):
            await put(bucket, f"shared.A.m.{ident}", **newer(ident))
            for rater in ("A", "B"):
                await put(bucket, f"shared.{rater}.f.{ident}", **rating(ident, of="A"))
            await put(bucket, f"shared.C.f.{ident}", **rating(ident, of="B"))  # of another's with the same id
        reasons = {"1": Reason.FORGET, "2": Reason.MOVE}
        for ident, reason in reasons.items():
            gone = await bucket.get(f"shared.A.m.{ident}")
            assert isinstance(gone, Entry)
            remove = Remove(key=gone.key, expected=gone.revision, op=ident, reason=reason)
            await bucket.write(remove)
        third = await bucket.get("shared.A.m.3")
        assert isinstance(third, Entry)
        stub = encode(stub_of(decode(third.value)))
        await bucket.write(Put(key=third.key, value=stub, expected=third.revision, op=stub_op("x")))
        for ident in ("1", "2", "3", "4"):
            change = await bucket.get(f"shared.A.m.{ident}")
            assert change is not None
            for _ in range(2):
                await worker.handle(bucket, Job(change=change, deliveries=1))
        assert [key for key in alive(await held(link, BUCKET)) if ".f." in key] == [
            *(f"shared.{rater}.f.{ident}" for rater in ("A", "B") for ident in ("2", "4")),
            *(f"shared.C.f.{ident}" for ident in ("1", "2", "3", "4")),
        ]


@pytest.mark.requirement("know-42.gone")
async def test_a_crew_hears_of_what_is_gone(nats_account: NatsAccount) -> None:
    async with linked(nats_account.url) as link:
        buckets, clock = KvBuckets(link), SystemClock()
        bucket = await buckets.open(BUCKET)
        for ident in ("1", "2", "3"):
            await put(bucket, f"shared.A.m.{ident}", **newer(ident))
            await put(bucket, f"shared.B.f.{ident}", **rating(ident, of="A"))
        async with Crew(link, buckets, KvFeed(link), [expire(link, clock)], clock=clock).running():
            for ident in ("1", "2"):
                entry = await bucket.get(f"shared.A.m.{ident}")
                assert isinstance(entry, Entry)
                stub = Put(
                    key=entry.key, value=encode(stub_of(decode(entry.value))), expected=entry.revision, op=stub_op("x")
                )
                gone = Remove(key=entry.key, expected=entry.revision, op="x", reason=Reason.FORGET)
                await bucket.write(stub if ident == "1" else gone)

            async def done() -> bool:
                return [key for key in alive(await held(link, BUCKET)) if ".f." in key] == ["shared.B.f.3"]

            await eventually(done)


async def test_a_move_cut_short_leaves_a_stub_of_what_took_a_place(nats_account: NatsAccount) -> None:
    async with moving(nats_account.url) as (between, worker):
        revision = await put(between.source, "agents.A.m.1", **newer("1"))
        move = Move(bucket=BUCKET, key="agents.A.m.1", revision=revision, id="1")
        await put(between.target, "personal.user.m.1", op=move.op)
        change = await between.target.get("personal.user.m.1")
        assert isinstance(change, Entry)
        for _ in range(2):
            await worker.handle(between.target, Job(change=change, deliveries=1))
        left = await between.source.get("agents.A.m.1")
        assert isinstance(left, Entry)
        assert decode(left.value).erased


async def test_what_becomes_due_is_erased_without_any_change(nats_account: NatsAccount) -> None:
    clock = SystemClock()
    async with linked(nats_account.url) as link:
        bucket = await plain_bucket(link)
        await put(bucket, "agents.A.m.1", expiresAt=iso(clock.now() + timedelta(seconds=1)))
        async with attending(expire(link, clock, Limits(ttl_grace_s=0)), bucket) as tally:
            assert tally.processed == 0
            await eventually(lambda: tally.processed == 1)
        assert alive(await held(link, BUCKET)) == []


async def test_where_the_server_erases_the_worker_only_takes_what_was_left(
    nats_account: NatsAccount, manual_clock: ManualClock
) -> None:
    async with linked(nats_account.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        await put(bucket, "agents.A.m.due", expiresAt=iso(manual_clock.now() - timedelta(seconds=61)))
        await put(bucket, "agents.A.m.left", expiresAt=iso(manual_clock.now() - timedelta(days=2)))
        async with attending(expire(link, manual_clock), bucket) as tally:
            await eventually(lambda: tally.processed == 1)
        assert alive(await held(link, BUCKET)) == ["agents.A.m.due"]


async def test_old_markers_are_swept_where_nobody_else_does(nats_account: NatsAccount) -> None:
    clock = ManualClock(SystemClock().now())
    async with linked(nats_account.url) as link:
        bucket = await plain_bucket(link)
        for name, reason in (("moved", Reason.MOVE), ("forgotten", Reason.FORGET), ("back", Reason.EVICT)):
            revision = await put(bucket, f"agents.A.m.{name}")
            await bucket.write(Remove(key=f"agents.A.m.{name}", expected=revision, op=name, reason=reason))
        clock.advance(MARKER_LIFE_S + 60)
        await put(bucket, "agents.A.m.back")
        async with attending(expire(link, clock), bucket) as tally:
            await eventually(lambda: tally.processed == 1)
            assert sorted(await held(link, BUCKET)) == ["agents.A.m.back", "agents.A.m.forgotten"]
            clock.advance(LIMITS.tombstone_s)
            await put(bucket, "agents.A.m.news", category="tasks")
            await eventually(lambda: tally.processed == 2)
        assert sorted(await held(link, BUCKET)) == ["agents.A.m.back", "agents.A.m.news"]


async def test_sweeping_never_takes_what_was_written_since(nats_account: NatsAccount) -> None:
    async with linked(nats_account.url) as link:
        bucket = await plain_bucket(link)
        revision = await put(bucket, "agents.A.m.1")
        marker = await bucket.write(Remove(key="agents.A.m.1", expected=revision, op="bye", reason=Reason.FORGET))
        await put(bucket, "agents.A.m.1")
        await Streams(link).sweep(BUCKET, "agents.A.m.1", marker)
        assert alive(await held(link, BUCKET)) == ["agents.A.m.1"]


class Moving:
    """A memory that was copied from one key to another, and not yet removed from the first."""

    def __init__(self, source: Bucket, target: Bucket) -> None:
        self.source = source
        self.target = target

    async def begin(self, source: str, target: str) -> Job:
        revision = await put(self.source, source)
        move = Move(bucket=self.source.name, key=source, revision=revision, id="1")
        await self.target.write(Put(key=target, value=b"{}", expected=0, op=move.op))
        entry = await self.target.get(target)
        assert isinstance(entry, Entry)
        return Job(change=entry, deliveries=1)


@asynccontextmanager
async def moving(url: str) -> AsyncGenerator[tuple[Moving, ExpireWorker], None]:
    async with linked(url) as link:
        buckets = KvBuckets(link)
        yield Moving(await buckets.open(BUCKET), await buckets.open(OTHER)), expire(link, SystemClock())


@pytest.mark.requirement("deliver-3b.moves")
async def test_a_move_cut_short_is_finished_once(nats_account: NatsAccount) -> None:
    async with moving(nats_account.url) as (between, worker), linked(nats_account.url) as link:
        job = await between.begin("agents.A.m.1", "personal.user.m.1")
        await worker.handle(between.target, job)
        await worker.handle(between.target, job)
        gone = await between.source.get("agents.A.m.1")
        assert isinstance(gone, Marker)
        assert gone.reason is Reason.MOVE
        assert await writes(link, BUCKET) == 2
        # The mover, if it lives after all, makes the same change and finds it done.
        move = Move(bucket=BUCKET, key="agents.A.m.1", revision=gone.revision - 1, id="1")
        assert await between.source.write(move.removal) == gone.revision


async def test_a_source_that_changed_since_is_a_memory_of_its_own(nats_account: NatsAccount) -> None:
    async with moving(nats_account.url) as (between, worker):
        job = await between.begin("agents.A.m.1", "personal.user.m.1")
        held_now = await between.source.get("agents.A.m.1")
        assert isinstance(held_now, Entry)
        await put(between.source, "agents.A.m.1", expected=held_now.revision)
        await worker.handle(between.target, job)
        assert isinstance(await between.source.get("agents.A.m.1"), Entry)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("shared.A.m.1", "shared.B.m.1"),
        ("agents.A.m.1", "agents.B.m.1"),
        ("core.A.m.1", "personal.type=3Areviewer.m.1"),
        ("agents.A.g.1", "personal.user.m.1"),
    ],
)
async def test_nobody_removes_anothers_memory_by_claiming_to_have_moved_it(
    nats_account: NatsAccount, source: str, target: str
) -> None:
    async with moving(nats_account.url) as (between, worker):
        await worker.handle(between.target, await between.begin(source, target))
        assert isinstance(await between.source.get(source), Entry)
