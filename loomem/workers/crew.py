"""The crew: runs workers on all memory buckets, side by side with the crews of other hosts.

Jobs come through durable consumers that all crews share, so any number of crews may run. Each job is handled at least
once; its worker makes sure that it takes effect once (compare-and-set, idempotent by revision or content).

Buckets are found by listing them at the start, at each reconnect, whenever the broker tells of a stream that came or
went, and in any case now and then. Limits: buckets served at once (beyond them, buckets take turns), jobs of one worker
at once over all buckets, time for one job, time to drain.

Deliberately absent: what workers do; what becomes of a job (`duty`); starting processes (`loomem/node`); any state that
a crash could lose.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import chain, repeat

import msgspec

from identity.errors import LoomError, NotFound, Unavailable
from identity.ports import Bucket, Clock, Feed
from loomem.nats.link import Link
from loomem.nats.pull import Jobs
from loomem.nats.streams import Streams
from loomem.nats.topology import KvBuckets
from loomem.workers.duty import RESTART_S, Duty, Terms, Worker, first, set_within, told
from loomem.workers.failures import FILTER as FAILURES
from loomem.workers.failures import Failures
from loomem.workers.repair import RepairFailed
from loomem.workers.status import State, Tally, WorkerStatus

log = logging.getLogger(__name__)

SETTLE_S = 0.1
"""How long news of streams is gathered before they are listed."""
SYNC_S = 30.0
"""How long the feed may take to tell all failure records of a bucket."""
END_S = 2.0
"""What leaving may take beyond the time for jobs under way."""


class CrewLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How much a crew does at once, and how long it waits."""

    max_buckets: int = 500
    turn_s: float = 60.0
    """How long a bucket is served while others wait for their turn."""
    jobs_per_worker: int = 16
    """Over all buckets."""
    job_s: float = 300.0
    """Time for one job, from its begin or from when it last said that it goes on."""
    drain_s: float = 5.0
    """Time for jobs under way when the crew is asked to leave."""
    relist_s: float = 60.0
    """The longest time between two listings of buckets; news of a new one comes at once."""


class Crew:
    """The running workers of one process; `running` runs it."""

    def __init__(
        self,
        link: Link,
        buckets: KvBuckets,
        feed: Feed,
        workers: Sequence[Worker],
        *,
        clock: Clock,
        limits: CrewLimits | None = None,
        prepare: Callable[[Bucket], Awaitable[None]] | None = None,
    ) -> None:
        """`prepare` is done with a bucket before its jobs are; when it fails for good (`RepairFailed`), the crew ends."""
        self._prepare = prepare
        self._link = link
        self._buckets = buckets
        self._feed = feed
        self._streams = Streams(link)
        self._workers = tuple(workers)
        self._clock = clock
        self._limits = limits or CrewLimits()
        self._places = asyncio.Semaphore(self._limits.max_buckets)
        self._queueing = 0
        self._terms = {
            worker.name: Terms(
                asyncio.Semaphore(self._limits.jobs_per_worker), self._limits.job_s, self._limits.drain_s
            )
            for worker in workers
        }
        self._tallies = {worker.name: Tally() for worker in workers}
        self._pending: dict[str, int | None] = {}
        self._posts: dict[str, _Post] = {}
        self._news = asyncio.Event()
        self._leaving = False

    # How it is

    def workers(self) -> tuple[WorkerStatus, ...]:
        """Return how each worker is, with what was pending when `status` or `pending` last asked."""
        return tuple(self._status_of(worker) for worker in self._workers)

    async def status(self) -> tuple[WorkerStatus, ...]:
        """Return how each worker is, having asked the broker what is pending."""
        with suppress(Unavailable):
            await self.pending()
        return self.workers()

    async def pending(self) -> bool:
        """Return whether a job waits or runs anywhere for a worker that is able, or upkeep is being done here.

        Raises: AccessDenied, Unavailable.
        """
        self._pending = dict.fromkeys(self._tallies)
        known = await self._streams.buckets()
        for worker in self._workers:
            self._pending[worker.name] = await self._backlog(worker, [name for name in known if worker.serves(name)])
        waits = any(self._pending[worker.name] for worker in self._workers if worker.able)
        return waits or any(tally.busy for tally in self._tallies.values())

    async def _backlog(self, worker: Worker, buckets: Sequence[str]) -> int:
        count = 0
        for name in buckets:
            try:
                backlog = await Jobs(self._link, name, worker.queue).backlog()
            except NotFound:
                count += 1  # no consumer yet, so nobody knows what waits: making it is work at any rate
            else:
                count += backlog.waiting + backlog.given_out
        return count

    def _status_of(self, worker: Worker) -> WorkerStatus:
        tally = self._tallies[worker.name]
        return WorkerStatus(
            name=worker.name,
            state=self._state_of(tally),
            buckets=tally.buckets,
            processed=tally.processed,
            failed=tally.failed,
            retried=tally.retried,
            dead=sum(post.failures.dead(worker.name) for post in self._posts.values() if post.failures),
            pending=self._pending.get(worker.name),
            last_run_at=tally.last_run_at,
            last_error=tally.last_error,
        )

    def _state_of(self, tally: Tally) -> State:
        if self._leaving:
            return State.DRAINING
        if not self._link.connected:
            return State.DISCONNECTED
        if tally.busy:
            return State.WORKING
        return State.WAITING if tally.buckets else State.STARTING

    def waiting(self, worker: str) -> int | None:
        """Return how many jobs a worker has, when `pending` last asked; None = not known."""
        return self._pending.get(worker)

    # What it does

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[Crew, None]:
        """Run for as long as the context lasts; leaving it drains, bounded by the limits."""
        failed: BaseException | None = None
        async with asyncio.TaskGroup() as group:
            work = group.create_task(self._work(), name="crew")
            try:
                yield self
            except BaseException as error:  # noqa: BLE001 - raised again outside of the group, which would wrap it
                failed = error
            finally:
                self._leaving = True
                self._news.set()
                await asyncio.wait((work,), timeout=self._limits.drain_s + END_S)
                work.cancel()
        if failed is not None:
            raise failed

    async def _work(self) -> None:
        """Keep a post on every bucket until the crew leaves."""
        async with asyncio.TaskGroup() as group, self._streams.watched(self._news.set):
            while not self._leaving:
                self._news.clear()
                wait_s = self._limits.relist_s
                if self._link.connected:
                    try:
                        self._set_posts(await self._streams.buckets(), group)
                    except LoomError as error:
                        log.warning("event=buckets_not_listed error=%r", told(error))
                        wait_s = min(wait_s, RESTART_S[-1])
                if await set_within(self._news, wait_s) and not self._leaving:
                    await asyncio.sleep(SETTLE_S)
            for post in self._posts.values():
                post.leave.set()

    def _set_posts(self, names: frozenset[str], group: asyncio.TaskGroup) -> None:
        for name in sorted(names - self._posts.keys()):
            if any(worker.serves(name) for worker in self._workers):
                post = self._posts[name] = _Post(name)
                group.create_task(self._hold(post), name=f"post {name}")
        for name in self._posts.keys() - names:
            self._posts[name].leave.set()

    async def _hold(self, post: _Post) -> None:
        """Serve one bucket, in turns with others if there are too many, until it is gone or the crew leaves."""
        pauses = chain(RESTART_S, repeat(RESTART_S[-1]))
        gone = False
        while not (gone or post.leave.is_set()):
            pause_s = 0.0
            try:
                await self._take_turn(post)
            except* RepairFailed as errors:
                raise first(errors) from None
            except* NotFound:
                gone = True
            except* (LoomError, TimeoutError) as errors:
                pause_s = next(pauses)
                log.warning("event=bucket_not_served bucket=%s error=%r", post.bucket, told(first(errors)))
            await set_within(post.leave, pause_s)
        del self._posts[post.bucket]
        self._news.set()  # it may be there again already

    async def _take_turn(self, post: _Post) -> None:
        self._queueing += 1
        try:
            await self._places.acquire()
        finally:
            self._queueing -= 1
        try:
            if not post.leave.is_set():
                await self._serve(post)
        finally:
            self._places.release()

    async def _serve(self, post: _Post) -> None:
        bucket = await self._buckets.ensure(post.bucket)
        if self._prepare is not None:
            await self._prepare(bucket)
        failures = post.failures = Failures(bucket, self._clock)
        over = asyncio.Event()
        async with self._feed.follow(bucket.name, FAILURES, failures.apply) as following:
            async with asyncio.timeout(SYNC_S):
                await following.sync()  # first what stands against the jobs, then the jobs
            async with asyncio.TaskGroup() as group:
                ending = group.create_task(self._end_of_turn(post, over))
                duties = [
                    group.create_task(
                        Duty(
                            worker,
                            bucket,
                            Jobs(self._link, bucket.name, worker.queue),
                            failures,
                            self._tallies[worker.name],
                            clock=self._clock,
                            terms=self._terms[worker.name],
                        ).run(over),
                        name=f"{worker.name} {bucket.name}",
                    )
                    for worker in self._workers
                    if worker.serves(bucket.name)
                ]
                await asyncio.wait(duties)
                ending.cancel()

    async def _end_of_turn(self, post: _Post, over: asyncio.Event) -> None:
        """Set `over` when the bucket is to be left: for good, or because others wait for a place."""
        while not await set_within(post.leave, self._limits.turn_s):
            if self._queueing:
                break
        over.set()


class _Post:
    """A bucket the crew serves, or is about to."""

    def __init__(self, bucket: str) -> None:
        self.bucket = bucket
        self.leave = asyncio.Event()
        self.failures: Failures | None = None
