"""The job queue on a bucket's stream: at least once, never more than asked for, through everything that can happen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import msgspec
import pytest

from identity.errors import NotFound
from identity.ports import Entry, Marker, Reason, Remove
from loomem.nats.link import Link
from loomem.nats.pull import Again, Backlog, Done, Job, JobQueue, Jobs, Never, Verdict
from loomem.nats.topology import KvBuckets, call
from pattern.testing.accounts import NatsAccount
from pattern.testing.server import NatsServer
from tests.contracts.workers_kit import linked, put
from tests.waiting import eventually

BUCKET = "loom-memory-project-jobs"
QUEUE = JobQueue(name="test", filters=("*.*.m.*",), slots=4, heartbeat_s=0.2)


def queue(**changes: object) -> JobQueue:
    return msgspec.structs.replace(QUEUE, **changes)


class Handler:
    """Keeps what it was given, and says what a test wants."""

    def __init__(self, says: Callable[[Job], Awaitable[Verdict]] | None = None) -> None:
        self.jobs: list[Job] = []
        self.ended = 0
        self._says = says

    async def __call__(self, job: Job) -> Verdict:
        self.jobs.append(job)
        verdict = await self._says(job) if self._says else Done()
        self.ended += 1
        return verdict

    @property
    def keys(self) -> list[str]:
        return [job.change.key for job in self.jobs]


@asynccontextmanager
async def pulling(
    link: Link, handler: Handler, declared: JobQueue = QUEUE, *, drain_s: float = 5
) -> AsyncGenerator[Jobs, None]:
    jobs = Jobs(link, BUCKET, declared)
    async with asyncio.TaskGroup() as group:
        group.create_task(jobs.run(handler, drain_s=drain_s))
        yield jobs
        jobs.stop()


async def quiet(jobs: Jobs) -> None:
    """Wait until the queue is empty at the server."""

    async def is_empty() -> bool:
        return await jobs.backlog() == Backlog(0, 0)

    await eventually(is_empty)


async def test_each_memory_is_one_job_and_nothing_else_is(nats_account: NatsAccount) -> None:
    handler = Handler()
    async with linked(nats_account.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        before = [await put(bucket, f"agents.A.m.{i}", op=f"op {i}") for i in range(20)]
        await put(bucket, "agents.A.x.1")
        async with pulling(link, handler) as jobs:
            await eventually(lambda: len(handler.jobs) == 20)
            after = await put(bucket, "agents.A.m.new")
            await eventually(lambda: len(handler.jobs) == 21)
            await quiet(jobs)
        changes = [job.change for job in handler.jobs]
    assert {c.revision for c in changes} == {*before, after}
    first = next(c for c in changes if c.key == "agents.A.m.0")
    assert isinstance(first, Entry)
    assert (first.op, b"something" in first.value) == ("op 0", True)
    assert all(job.deliveries == 1 for job in handler.jobs)


async def test_no_more_jobs_than_slots_and_the_rest_is_for_others(nats_account: NatsAccount) -> None:
    gate = asyncio.Event()

    async def held(_: Job) -> Verdict:
        await gate.wait()
        return Done()

    first, second = Handler(held), Handler(held)
    async with linked(nats_account.url) as one, linked(nats_account.url) as two:
        bucket = await KvBuckets(one).open(BUCKET)
        for i in range(10):
            await put(bucket, f"agents.A.m.{i}")
        async with pulling(one, first) as jobs:
            await eventually(lambda: len(first.jobs) == 4)
            async with pulling(two, second):
                await eventually(lambda: len(second.jobs) == 4)
                assert await jobs.backlog() == Backlog(waiting=2, given_out=8)
                assert len(first.jobs) == 4
                gate.set()
                await quiet(jobs)
    assert sorted(first.keys + second.keys) == sorted({*first.keys, *second.keys})
    assert len(first.keys + second.keys) == 10


async def test_a_verdict_decides_whether_a_job_comes_again(nats_account: NatsAccount) -> None:
    async def says(job: Job) -> Verdict:
        if job.change.key.endswith("again") and job.deliveries < 3:
            return Again(0.05)
        return Never() if job.change.key.endswith("never") else Done()

    handler = Handler(says)
    async with linked(nats_account.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        for name in ("again", "never", "done"):
            await put(bucket, f"agents.A.m.{name}")
        async with pulling(link, handler) as jobs:
            await eventually(lambda: handler.keys.count("agents.A.m.again") == 3)
            await quiet(jobs)
    assert sorted(handler.keys) == sorted(
        ["agents.A.m.again", "agents.A.m.again", "agents.A.m.again", "agents.A.m.never", "agents.A.m.done"]
    )


async def test_a_long_job_stays_with_whoever_does_it(nats_account: NatsAccount) -> None:
    async def slow(_: Job) -> Verdict:
        await asyncio.sleep(1.2)  # the work itself: four times the time after which silence means death
        return Done()

    handler = Handler(slow)
    async with linked(nats_account.url) as link:
        await put(await KvBuckets(link).open(BUCKET), "agents.A.m.1")
        async with pulling(link, handler, queue(ack_wait_s=0.3)) as jobs:
            await eventually(lambda: handler.ended == 1)
            await quiet(jobs)
    assert len(handler.jobs) == 1


async def test_what_changes_while_it_waits_is_delivered_in_its_newest_form(nats_account: NatsAccount) -> None:
    handler = Handler()
    async with linked(nats_account.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        old = await put(bucket, "agents.A.m.1")
        new = await put(bucket, "agents.A.m.1", expected=old)
        gone = await put(bucket, "agents.A.m.2")
        await bucket.write(Remove(key="agents.A.m.2", expected=gone, op="bye", reason=Reason.FORGET))
        async with pulling(link, handler) as jobs:
            await eventually(lambda: len(handler.jobs) == 2)
            await quiet(jobs)
    value, marker = sorted((job.change for job in handler.jobs), key=lambda change: change.key)
    assert (value.revision, isinstance(value, Entry)) == (new, True)
    assert isinstance(marker, Marker)
    assert (marker.reason, marker.op) == (Reason.FORGET, "bye")


async def test_headers_only_delivers_operations_without_values(nats_account: NatsAccount) -> None:
    handler = Handler()
    async with linked(nats_account.url) as link:
        await put(await KvBuckets(link).open(BUCKET), "agents.A.m.1", op="op 1")
        async with pulling(link, handler, queue(headers_only=True)):
            await eventually(lambda: len(handler.jobs) == 1)
    change = handler.jobs[0].change
    assert isinstance(change, Entry)
    assert (change.op, change.value) == ("op 1", b"")


async def test_a_consumer_of_an_older_declaration_is_brought_up_to_date(nats_account: NatsAccount) -> None:
    async with linked(nats_account.url) as link:
        await KvBuckets(link).open(BUCKET)
        await Jobs(link, BUCKET, queue(ack_wait_s=7)).ensure()
        await Jobs(link, BUCKET, queue(ack_wait_s=9, filters=("*.*.m.*", "*.*.g.*"))).ensure()
        info = await call(link, f"CONSUMER.INFO.KV_{BUCKET}.test")
    assert info["config"]["ack_wait"] == 9 * 10**9
    assert sorted(info["config"]["filter_subjects"]) == [f"$KV.{BUCKET}.*.*.g.*", f"$KV.{BUCKET}.*.*.m.*"]


async def test_a_deleted_consumer_is_made_again_and_tells_everything_again(nats_account: NatsAccount) -> None:
    handler = Handler()
    async with linked(nats_account.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        await put(bucket, "agents.A.m.1")
        async with pulling(link, handler) as jobs:
            await eventually(lambda: handler.ended == 1)
            await call(link, f"CONSUMER.DELETE.KV_{BUCKET}.test")
            await put(bucket, "agents.A.m.2")
            await eventually(lambda: len(handler.jobs) == 3)
            await quiet(jobs)
    assert sorted(handler.keys) == ["agents.A.m.1", "agents.A.m.1", "agents.A.m.2"]


async def test_a_restart_of_the_broker_loses_no_job(nats_private: NatsServer) -> None:
    handler = Handler()
    async with linked(nats_private.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        await put(bucket, "agents.A.m.1")
        # A killed server may forget an acknowledgement; the job then comes again.
        async with pulling(link, handler, queue(ack_wait_s=1)) as jobs:
            await eventually(lambda: handler.ended == 1)
            await asyncio.to_thread(nats_private.kill)
            await asyncio.to_thread(nats_private.start)
            await link.ready(5)
            await put(bucket, "agents.A.m.2")
            await eventually(lambda: "agents.A.m.2" in handler.keys)
            await quiet(jobs)


async def test_a_job_that_outlives_its_connection_is_acknowledged_on_the_next_one(nats_private: NatsServer) -> None:
    gate = asyncio.Event()

    async def held(_: Job) -> Verdict:
        await gate.wait()
        return Done()

    handler = Handler(held)
    async with linked(nats_private.url) as link:
        await put(await KvBuckets(link).open(BUCKET), "agents.A.m.1")
        async with pulling(link, handler) as jobs:
            await eventually(lambda: len(handler.jobs) == 1)
            await asyncio.to_thread(nats_private.restart)
            await link.ready(5)
            gate.set()
            await quiet(jobs)
    assert len(handler.jobs) == 1


async def test_a_bucket_that_goes_away_ends_the_queue(nats_account: NatsAccount) -> None:
    handler = Handler()
    async with linked(nats_account.url) as link:
        await put(await KvBuckets(link).open(BUCKET), "agents.A.m.1")
        with pytest.RaisesGroup(NotFound):
            async with pulling(link, handler):
                await eventually(lambda: handler.ended == 1)
                await call(link, f"STREAM.DELETE.KV_{BUCKET}")
                await asyncio.get_running_loop().create_future()


async def test_stopping_lets_jobs_end_and_hands_on_those_that_do_not(nats_account: NatsAccount) -> None:
    gate = asyncio.Event()

    async def says(job: Job) -> Verdict:
        if job.change.key.endswith("quick"):
            await gate.wait()
        else:
            await asyncio.get_running_loop().create_future()
        return Done()

    first, second = Handler(says), Handler()
    async with linked(nats_account.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        await put(bucket, "agents.A.m.quick")
        await put(bucket, "agents.A.m.endless")
        async with pulling(link, first, drain_s=0.3) as jobs:
            await eventually(lambda: len(first.jobs) == 2)
            jobs.stop()
            gate.set()
        assert first.ended == 1
        async with pulling(link, second) as jobs:
            # Far sooner than the silence after which a dead process is noticed.
            await eventually(lambda: len(second.jobs) == 1, within_s=5)
            await quiet(jobs)
    assert second.keys == ["agents.A.m.endless"]
