"""The crew: finding buckets, sharing jobs, failing in the open, leaving in time."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager

import msgspec
import pytest

from identity.errors import InvalidInput, LoomError, NotFound, Unavailable
from identity.keys import SYSTEM_BUCKET, Kind, parse_key
from identity.ports import Bucket, Entry, Marker, Reason, Remove
from loomem.core.jobs import Failure, decode
from loomem.core.moves import Move
from loomem.nats.endpoint import Endpoint, endpoint_from
from loomem.nats.follow import KvFeed
from loomem.nats.link import Link
from loomem.nats.pull import Again, Backlog, Job, JobQueue, Jobs, Verdict
from loomem.nats.topology import KvBuckets, call
from loomem.workers import duty
from loomem.workers.crew import Crew, CrewLimits
from loomem.workers.duty import Worker
from loomem.workers.status import State, Tally
from pattern.testing.accounts import NatsAccount
from pattern.testing.server import NatsServer, free_port
from tests.contracts.workers_kit import CopyWorker, SystemClock, held, in_order, linked, put, writes
from tests.waiting import eventually

BUCKET = "loom-memory-project-crew"


class Trial:
    """A worker that does what a test says with each job."""

    queue = JobQueue(name="trial", filters=("*.*.m.*",), slots=8, heartbeat_s=0.5)

    def __init__(self, does: Callable[[Job], object] = lambda _: None, *, name: str = "trial") -> None:
        self.name = name
        self.queue = msgspec.structs.replace(self.queue, name=name)
        self.seen: list[tuple[str, str]] = []
        self.attended: list[str] = []
        self._does = does

    @property
    def able(self) -> bool:
        return True

    async def ready(self) -> None:
        return

    def serves(self, bucket: str) -> bool:
        return bucket != SYSTEM_BUCKET

    async def handle(self, bucket: Bucket, job: Job) -> None:
        self.seen.append((bucket.name, job.change.key))
        result = self._does(job)
        if asyncio.isfuture(result) or asyncio.iscoroutine(result):
            await result

    async def attend(self, bucket: Bucket, tally: Tally) -> None:
        self.attended.append(bucket.name)


@asynccontextmanager
async def at_work(
    link: Link, workers: Sequence[Worker], limits: CrewLimits | None = None
) -> AsyncGenerator[Crew, None]:
    crew = Crew(link, KvBuckets(link), KvFeed(link), workers, clock=SystemClock(), limits=limits)
    async with crew.running():
        yield crew


async def failures_of(bucket: Bucket, key: str = "agents.A.m.1") -> tuple[Failure, ...] | None:
    memory = parse_key(key)
    assert memory is not None
    stored = await bucket.get(memory.beside(Kind.JOB))
    return decode(stored.value).failures if isinstance(stored, Entry) else None


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duty, "BACKOFF_S", (0.05,))


@pytest.mark.requirement("deliver-3b.crew")
async def test_buckets_are_found_at_the_start_and_when_they_come(nats_account: NatsAccount) -> None:
    trial = Trial()
    async with linked(nats_account.url) as link:
        buckets = KvBuckets(link)
        await put(await buckets.open(BUCKET), "agents.A.m.1")
        await buckets.open(SYSTEM_BUCKET)
        await buckets.open("loom-identity-x")
        async with at_work(link, [trial], CrewLimits(relist_s=60)):
            await eventually(lambda: (BUCKET, "agents.A.m.1") in trial.seen)
            later = "loom-memory-user-later"
            await put(await buckets.open(later), "personal.user.m.1")
            await eventually(lambda: (later, "personal.user.m.1") in trial.seen)
    assert sorted(trial.attended) == sorted([BUCKET, later])


async def test_a_deleted_bucket_is_let_go_and_served_again_when_it_is_back(nats_account: NatsAccount) -> None:
    trial = Trial()
    async with linked(nats_account.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        await put(bucket, "agents.A.m.1")
        async with at_work(link, [trial], CrewLimits(relist_s=60)) as crew:
            await eventually(lambda: len(trial.seen) == 1)
            await call(link, f"STREAM.DELETE.KV_{BUCKET}")
            await eventually(lambda: crew.workers()[0].buckets == 0)
            with pytest.raises(NotFound):  # the crew did not bring it back
                await call(link, f"STREAM.INFO.KV_{BUCKET}")
            await put(await KvBuckets(link).open(BUCKET), "agents.A.m.2")
            await eventually(lambda: (BUCKET, "agents.A.m.2") in trial.seen)


@pytest.mark.requirement("deliver-3b.crew")
async def test_a_failure_is_written_down_and_wiped_out_by_success(nats_account: NatsAccount) -> None:
    reached = asyncio.Event()
    gate = asyncio.Event()

    async def fails_twice(job: Job) -> None:
        if job.deliveries < 3:
            raise InvalidInput("no good")
        reached.set()
        await gate.wait()

    async with linked(nats_account.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        revision = await put(bucket, "agents.A.m.1")
        async with at_work(link, [Trial(fails_twice)]) as crew:
            async with asyncio.timeout(5):
                await reached.wait()
            failed = await failures_of(bucket)
            assert failed is not None
            assert [(f.worker, f.revision, f.attempts, f.dead) for f in failed] == [("trial", revision, 2, False)]
            assert failed[0].last_error == "VALIDATION_ERROR: no good"
            gate.set()
            await eventually(lambda: crew.workers()[0].processed == 1)
            assert await failures_of(bucket) is None
            (status,) = await crew.status()
    assert (status.failed, status.retried, status.dead, status.pending) == (2, 2, 0, 0)
    assert status.last_error == "VALIDATION_ERROR: no good"


async def test_a_hopeless_job_is_given_up_until_its_memory_changes(nats_account: NatsAccount) -> None:
    bad = True

    def may_fail(_: Job) -> None:
        if bad:
            raise ValueError("something secret from the memory")

    trial = Trial(may_fail)
    async with linked(nats_account.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        revision = await put(bucket, "agents.A.m.1")
        async with at_work(link, [trial]) as crew:
            await eventually(lambda: crew.workers()[0].dead == 1)
            assert len(trial.seen) == duty.ATTEMPTS
            failed = await failures_of(bucket)
            assert failed is not None
            assert (failed[0].dead, failed[0].attempts, failed[0].last_error) == (True, duty.ATTEMPTS, "ValueError")
            (status,) = await crew.status()
            assert status.pending == 0
            bad = False
            await put(bucket, "agents.A.m.1", expected=revision)
            await eventually(lambda: crew.workers()[0].processed == 1)
            assert await failures_of(bucket) is None
            assert crew.workers()[0].dead == 0


async def test_what_is_not_available_is_waited_for_however_long(nats_account: NatsAccount) -> None:
    def unavailable_for_long(job: Job) -> None:
        if job.deliveries <= duty.ATTEMPTS + duty.CRASHES:
            raise Unavailable("no model")

    async with linked(nats_account.url) as link:
        await put(await KvBuckets(link).open(BUCKET), "agents.A.m.1")
        async with at_work(link, [Trial(unavailable_for_long)]) as crew:
            await eventually(lambda: crew.workers()[0].processed == 1)
            (status,) = crew.workers()
    assert (status.failed, status.dead) == (0, 0)


async def test_a_job_that_kills_its_workers_is_given_up_untried(nats_account: NatsAccount) -> None:
    trial = Trial()
    async with linked(nats_account.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        await put(bucket, "agents.A.m.1")
        jobs = Jobs(link, BUCKET, trial.queue)
        count = 0

        async def dies(_: Job) -> Verdict:
            nonlocal count
            count += 1
            if count == duty.CRASHES:
                jobs.stop()
            return Again(0)

        await jobs.run(dies, drain_s=1)
        async with at_work(link, [trial]) as crew:
            await eventually(lambda: crew.workers()[0].dead == 1)
    assert trial.seen == []


async def test_with_the_memory_its_failures_go(nats_account: NatsAccount) -> None:
    def fails(job: Job) -> None:
        if isinstance(job.change, Entry):
            raise ValueError

    async with linked(nats_account.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        revision = await put(bucket, "agents.A.m.1")
        async with at_work(link, [Trial(fails), Trial(fails, name="other")]) as crew:
            await eventually(lambda: [w.dead for w in crew.workers()] == [1, 1])
            failed = await failures_of(bucket)
            assert failed is not None
            assert sorted(f.worker for f in failed) == ["other", "trial"]
            await bucket.write(Remove(key="agents.A.m.1", expected=revision, op="bye", reason=Reason.FORGET))
            await eventually(lambda: [w.dead for w in crew.workers()] == [0, 0])
            assert await failures_of(bucket) is None


async def test_more_buckets_than_places_take_turns(nats_account: NatsAccount) -> None:
    trial = Trial()
    names = [f"loom-memory-user-{i}" for i in range(3)]
    async with linked(nats_account.url) as link:
        buckets = KvBuckets(link)
        for name in names:
            await put(await buckets.open(name), "personal.user.m.1")
        async with at_work(link, [trial], CrewLimits(max_buckets=1, turn_s=0.1)) as crew:
            await eventually(lambda: {name for name, _ in trial.seen} == set(names))
            assert crew.workers()[0].buckets <= 1


async def test_a_worker_does_no_more_at_once_than_it_may(nats_account: NatsAccount) -> None:
    gate = asyncio.Event()
    async with linked(nats_account.url) as link:
        buckets = KvBuckets(link)
        for name in ("loom-memory-user-1", "loom-memory-user-2"):
            for i in range(4):
                await put(await buckets.open(name), f"personal.user.m.{i}")
        trial = Trial(lambda _: gate.wait())
        async with at_work(link, [trial], CrewLimits(jobs_per_worker=3)) as crew:
            await eventually(lambda: len(trial.seen) == 3)
            (status,) = await crew.status()
            assert (status.state, status.pending) == (State.WORKING, 8)
            assert len(trial.seen) == 3
            gate.set()
            await eventually(lambda: len(trial.seen) == 8)


@pytest.mark.requirement("deliver-3b.crew")
async def test_leaving_takes_no_longer_than_it_may(nats_account: NatsAccount) -> None:
    async with linked(nats_account.url) as link:
        await put(await KvBuckets(link).open(BUCKET), "agents.A.m.1")
        endless = Trial(lambda _: asyncio.get_running_loop().create_future())
        async with asyncio.timeout(5):
            async with at_work(link, [endless], CrewLimits(drain_s=0.2)):
                await eventually(lambda: len(endless.seen) == 1)
        backlog = await Jobs(link, BUCKET, endless.queue).backlog()
    assert backlog.waiting + backlog.given_out == 1


async def test_without_a_broker_a_crew_waits_and_leaves_at_once() -> None:
    async def source() -> Endpoint:
        return endpoint_from(f"nats://127.0.0.1:{free_port()}")

    async with asyncio.timeout(5), Link(source, name="test") as link, at_work(link, [Trial()]) as crew:
        (status,) = await crew.status()
        assert (status.state, status.pending) == (State.DISCONNECTED, None)
        with pytest.raises(Unavailable):
            await crew.pending()


async def test_an_error_of_the_body_comes_out_as_it_is(nats_account: NatsAccount) -> None:
    async with linked(nats_account.url) as link:
        with pytest.raises(LoomError, match="of the body"):
            async with at_work(link, [Trial()]):
                raise LoomError("of the body")


async def test_pending_is_true_until_everything_is_done(nats_account: NatsAccount) -> None:
    async with linked(nats_account.url) as link:
        await put(await KvBuckets(link).open(BUCKET), "agents.A.m.1")
        async with at_work(link, [Trial()]) as crew:
            assert await crew.pending()

            async def done() -> bool:
                return not await crew.pending()

            await eventually(done)
            assert crew.workers()[0].processed == 1


async def test_a_killed_crew_and_a_killed_broker_change_no_effect(nats_private: NatsServer) -> None:
    """Two crews; one dies, then the broker does. Every copy, eviction and finished move happened exactly once."""
    crews = [await start_crew(nats_private.url, recent=50) for _ in range(2)]
    try:
        async with linked(nats_private.url) as link:
            bucket = await KvBuckets(link).open(BUCKET)
            puts = 0
            for i in range(100):
                await put(bucket, f"agents.A.m.{i}", category="recent", createdAt=in_order(i))
                await put(bucket, f"shared.A.m.{i}", category="learnings")
                puts += 2
                if i % 5 == 0:
                    puts += await interrupted_move(bucket, i)
                if i == 40:
                    crews[0].send_signal(signal.SIGKILL)
                if i == 60:
                    await asyncio.to_thread(nats_private.kill)
                    await asyncio.to_thread(nats_private.start)
                    await link.ready(5)
            copies, evictions, moves = 120, 50, 20

            async def done() -> bool:
                return await writes(link, BUCKET) >= puts + copies + evictions + moves

            await eventually(done, within_s=30)

            async def acknowledged() -> bool:
                return await Jobs(link, BUCKET, CopyWorker.queue).backlog() == Backlog(0, 0)

            await eventually(acknowledged, within_s=20)
            everything = await held(link, BUCKET)
            assert await writes(link, BUCKET) == puts + copies + evictions + moves
    finally:
        for crew in crews:
            if crew.returncode is None:
                crew.kill()
            await crew.wait()
    kept = [key for key, change in everything.items() if isinstance(change, Entry) and key.startswith("agents.A.m.")]
    assert sorted(kept, key=lambda key: int(key.rsplit(".", 1)[1])) == [f"agents.A.m.{i}" for i in range(50, 100)]
    reasons = [change.reason for change in everything.values() if isinstance(change, Marker)]
    assert (reasons.count(Reason.EVICT), reasons.count(Reason.MOVE), len(reasons)) == (50, 20, 70)
    assert not [key for key in everything if ".x." in key]


async def start_crew(url: str, *, recent: int) -> asyncio.subprocess.Process:
    crew = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.contracts.crew_process",
        url,
        str(recent),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert crew.stdout is not None
    async with asyncio.timeout(20):
        assert await crew.stdout.readline() == b"running\n"
    return crew


async def interrupted_move(bucket: Bucket, number: int) -> int:
    """Write what a mover leaves behind that died half-way; return the number of writes."""
    source = f"agents.B.m.moved-{number}"
    revision = await put(bucket, source, category="longterm")
    move = Move(bucket=bucket.name, key=source, revision=revision, id=str(number))
    await put(bucket, f"shared.B.m.moved-{number}", op=move.op, category="learnings")
    return 2
