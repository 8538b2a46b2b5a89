"""One worker on one bucket: its jobs, what becomes of each, and what it does beside them.

What becomes of a job: success acknowledges it and removes its failure record. `Unavailable` puts it off, for ever if
need be, since nothing is wrong with the job. Any other error counts against it, and at `ATTEMPTS` it is given up; a
`Hopeless` one is given up at once. So is a job that was given out `CRASHES` times without a word of what happened: it may be what kills the process, and is not tried
once more. A failure is written beside the memory first (`failures`), and only then is the server told.

Deliberately absent: what workers do; which buckets there are (`crew`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from itertools import chain, repeat
from typing import Protocol, cast

import msgspec

from identity.errors import LoomError, NotFound, Unavailable
from identity.keys import Kind, parse_key
from identity.ports import Bucket, Clock, Marker
from loomem.nats.pull import Again, Done, Job, JobQueue, Jobs, Never, Verdict
from loomem.workers.failures import Failures
from loomem.workers.status import Tally

log = logging.getLogger(__name__)

ATTEMPTS = 5
"""Failures after which a job is given up."""
CRASHES = 10
"""Deliveries without a word after which a job is given up untried."""
BACKOFF_S = (1.0, 5.0, 15.0, 60.0)
"""Before a job is tried again; the last one repeats."""
RESTART_S = (0.2, 1.0, 5.0, 15.0)
"""Before what stumbled is begun again; the last one repeats."""


class Hopeless(LoomError):
    """Nothing will come of this job however often it is tried."""

    code = "HOPELESS"


class Worker(Protocol):
    """What a crew runs. One instance serves all buckets."""

    @property
    def name(self) -> str: ...

    @property
    def able(self) -> bool:
        """Whether it can work, now or soon; the jobs of one that cannot are no reason for a node to stay."""
        ...

    async def ready(self) -> None:
        """Return when it can work; until then it is given nothing to do."""
        ...

    @property
    def queue(self) -> JobQueue:
        """Which jobs of a bucket are its own."""
        ...

    def serves(self, bucket: str) -> bool:
        """Say whether buckets of this name are its business."""
        ...

    async def handle(self, bucket: Bucket, job: Job) -> None:
        """Do one job. It may have been done before, by whomever; it has one effect all the same.

        Raises: Unavailable (try later, nothing is wrong with the job), Hopeless (never again), anything else (counts
        against the job).
        """
        ...

    async def attend(self, bucket: Bucket, tally: Tally) -> None:
        """Do what is no job, beside the jobs, until cancelled; return at once when there is no such thing.

        What it does is done by every crew, so it must take effect once by itself. Raises: as `handle`; it is then
        called again after a pause.
        """
        ...


class Terms(msgspec.Struct, frozen=True):
    """What a worker may take."""

    gate: asyncio.Semaphore
    """Jobs at once, over all buckets of the crew."""
    job_s: float
    """For one job, from its begin or from when it last said that it goes on."""
    drain_s: float


class Duty:
    """A worker at work on a bucket."""

    def __init__(
        self,
        worker: Worker,
        bucket: Bucket,
        jobs: Jobs,
        failures: Failures,
        tally: Tally,
        *,
        clock: Clock,
        terms: Terms,
    ) -> None:
        self._worker = worker
        self._bucket = bucket
        self._jobs = jobs
        self._failures = failures
        self._tally = tally
        self._clock = clock
        self._terms = terms

    async def run(self, until: asyncio.Event) -> None:
        """Do the jobs and attend to the bucket until `until` is set; jobs under way then have their time to end.

        Raises: an exception group with NotFound when the bucket is gone.
        """
        self._tally.buckets += 1
        try:
            async with asyncio.TaskGroup() as group:
                attending = group.create_task(self._keep(self._attend, until))
                await self._keep(partial(self._pull, until), until)
                attending.cancel()
        finally:
            self._tally.buckets -= 1

    async def _attend(self) -> None:
        await self._worker.ready()
        await self._worker.attend(self._bucket, self._tally)

    async def _pull(self, until: asyncio.Event) -> None:
        async def stop() -> None:
            await until.wait()
            self._jobs.stop()

        if not await _ready_before(self._worker, until):
            return
        async with asyncio.TaskGroup() as group:
            stopping = group.create_task(stop())
            await self._jobs.run(self.do, drain_s=self._terms.drain_s)
            stopping.cancel()

    async def _keep(self, run: Callable[[], Awaitable[None]], until: asyncio.Event) -> None:
        """The outermost loop: an error ends one try, a bucket that is gone ends all."""
        for pause_s in chain(RESTART_S, repeat(RESTART_S[-1])):
            fault: BaseException | None = None
            try:
                await run()
            except* NotFound:
                raise
            except* Exception as errors:  # noqa: BLE001 - the outermost loop
                fault = first(errors)
            if fault is None:
                return
            log.warning(
                "event=worker_stumbled worker=%s bucket=%s error=%r", self._worker.name, self._bucket.name, told(fault)
            )
            self._tally.erred(self._clock.now(), told(fault))
            if await set_within(until, pause_s):
                return

    async def do(self, job: Job) -> Verdict:
        """Do one job and say what becomes of it."""
        async with self._terms.gate:
            self._tally.busy += 1
            self._tally.retried += job.deliveries > 1
            try:
                if self._seems_deadly(job):
                    return await self._note(job, "the process died of it, or so it seems", attempts=0)
                async with asyncio.timeout(self._terms.job_s) as limit:
                    await self._worker.handle(self._bucket, self._extended(job, limit))
                    await self._clear(job)
            except Unavailable as error:
                return await self._note(job, told(error))
            except Hopeless as error:
                return await self._note(job, told(error), attempts=0)
            except Exception as error:  # noqa: BLE001 - whatever a job may raise is told, and is the job's
                return await self._note(job, told(error), attempts=ATTEMPTS)
            else:
                self._tally.did(self._clock.now())
                return Done()
            finally:
                self._tally.busy -= 1

    def _extended(self, job: Job, limit: asyncio.Timeout) -> Job:
        """Return the job with its time beginning anew whenever it says that it goes on."""
        clock = asyncio.get_running_loop().time
        return msgspec.structs.replace(job, goes_on=lambda: limit.reschedule(clock() + self._terms.job_s))

    def _seems_deadly(self, job: Job) -> bool:
        key = parse_key(job.change.key)
        known = self._failures.of(self._worker.name, key) if key else None
        accounted = known.attempts + known.waits if known and known.revision == job.change.revision else 0
        return job.deliveries - 1 - accounted >= CRASHES

    async def _clear(self, job: Job) -> None:
        key = parse_key(job.change.key)
        if key is not None:
            gone = isinstance(job.change, Marker) and key.kind is Kind.MEMORY
            await self._failures.clear(self._worker.name, key, everybody=gone)

    async def _note(self, job: Job, error: str, *, attempts: int | None = None) -> Verdict:
        """Write a failure down and say what becomes of the job. `attempts` None = nothing is wrong with the job itself."""
        change = job.change
        self._tally.failed += attempts is not None
        self._tally.erred(self._clock.now(), error)
        where = f"worker={self._worker.name} bucket={self._bucket.name} key={change.key} revision={change.revision}"
        log.warning("event=job_failed %s deliveries=%d error=%r", where, job.deliveries, error)
        failure = None
        with suppress(LoomError):  # then the job comes again all the same, and so does the failure
            failure = await self._failures.record(
                self._worker.name, change, error, counts=attempts is not None, attempts=attempts
            )
        if failure is not None and failure.dead:
            log.error("event=job_given_up %s error=%r", where, error)
            return Never()
        return Again(BACKOFF_S[min(job.deliveries, len(BACKOFF_S)) - 1])


async def _ready_before(worker: Worker, until: asyncio.Event) -> bool:
    """Wait until the worker can work or `until` is set; return whether it can."""
    async with asyncio.TaskGroup() as group:
        waits = [group.create_task(worker.ready()), group.create_task(until.wait())]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()
    return not until.is_set()


def told(error: BaseException) -> str:
    """Return an error as it may be written down: ours hold no content; of others only the kind is told."""
    if isinstance(error, LoomError):
        return f"{error.code}: {error.message}"
    return type(error).__name__


async def set_within(event: asyncio.Event, seconds: float) -> bool:
    """Wait for an event, but not longer; return whether it is set."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()


def first(error: BaseException) -> BaseException:
    """Return one of the errors themselves, out of however many groups."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]  # isinstance loses the parameter
    return error
