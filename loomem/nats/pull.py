"""A durable pull consumer on a bucket's stream as a job queue: every memory in a certain state is a job.

The queue is declared as data (`JobQueue`) and made again whenever it is found missing. Delivery is at least once: a job
comes again after a crash, a lost acknowledgement, a broker restart or a consumer made anew, so handlers are idempotent.
A key changed or purged while its job waits is delivered in its newest form only.

The server is never asked for more jobs than there are free slots here, so several processes share one queue fairly, and
a slow process holds nothing back. Requests are ours and not nats-py's `fetch`: that one answers in batches, while here a
job begins when it arrives and its slot is asked for again when it ends; and a consumer that is gone looks to it like one
without jobs.

`max_deliver` is left open on purpose: past it the server forgets a message without a word. When a job is hopeless is the
handler's decision (`Never`), taken after it has written down why.

Deliberately absent: what a job means, failure records, back-off policy (`loomem/workers`).
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

import msgspec

from identity.errors import LoomError, Unavailable
from identity.ports import Entry, Marker
from loomem.nats.bucket import held_of, stream_of
from loomem.nats.faults import translated
from loomem.nats.link import Link
from loomem.nats.topology import call

if TYPE_CHECKING:
    from nats.aio.msg import Msg

log = logging.getLogger(__name__)

EXPIRES_S = 60.0
"""How long one request for jobs stands at the server."""
FIRST_PAUSE_S = 0.2
LONGEST_PAUSE_S = 10.0
CLEAN_UP_S = 1.0


class JobQueue(msgspec.Struct, frozen=True, kw_only=True):
    """A durable consumer, as data."""

    name: str
    filters: tuple[str, ...]
    """Key patterns of the bucket."""
    slots: int = 8
    """Jobs of one bucket that one process does at once."""
    max_ack_pending: int = 64
    """Jobs of one bucket given out to all processes together, those waiting to be tried again included."""
    ack_wait_s: float = 30.0
    """Silence after which a job is given to somebody else; a running handler is heard from three times as often."""
    headers_only: bool = False
    """Deliver no values: for handlers that look at keys and operations only."""
    heartbeat_s: float = 15.0
    """How often the server says that a request still stands; twice that in silence and it is made anew."""


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One change of a bucket, to be handled."""

    change: Entry | Marker
    deliveries: int
    """How many times the server has given out this job; 1 = the first time."""
    goes_on: Callable[[], None] = lambda: None
    """Says that a part of a long job is done and kept, so that the time for it begins anew."""


class Done(msgspec.Struct, frozen=True):
    """The job's effect is acknowledged by whoever keeps it."""


class Again(msgspec.Struct, frozen=True):
    """Give the job out again after a pause."""

    delay_s: float


class Never(msgspec.Struct, frozen=True):
    """Do not give this job out again; why is written down elsewhere."""


Verdict = Done | Again | Never
Handle = Callable[[Job], Awaitable[Verdict]]
"""Does one job and never raises, save when cancelled."""


class Backlog(msgspec.Struct, frozen=True):
    """What a queue still holds."""

    waiting: int
    given_out: int


class Jobs:
    """Pulls the jobs of one queue of one bucket; one `run` at a time."""

    def __init__(self, link: Link, bucket: str, queue: JobQueue) -> None:
        self._link = link
        self._stream = stream_of(bucket)
        self._bucket = bucket
        self._queue = queue
        self._running: set[asyncio.Task[None]] = set()
        self._wake = asyncio.Event()
        self._stopping = False

    def stop(self) -> None:
        """Ask for no more jobs; `run` returns when those under way are done."""
        self._stopping = True
        self._wake.set()

    async def ensure(self) -> None:
        """Create the consumer, or bring it up to this declaration.

        Raises: NotFound (the bucket does not exist), AccessDenied, Unavailable.
        """
        queue = self._queue
        subjects = [f"$KV.{self._bucket}.{pattern}" for pattern in queue.filters]
        config: dict[str, object] = {
            "durable_name": queue.name,
            "ack_policy": "explicit",
            "ack_wait": int(queue.ack_wait_s * 1e9),
            "max_deliver": -1,
            "max_ack_pending": queue.max_ack_pending,
            "headers_only": queue.headers_only,
        }
        config |= {"filter_subject": subjects[0]} if len(subjects) == 1 else {"filter_subjects": subjects}
        ask = {"stream_name": self._stream, "config": config}
        await call(self._link, f"CONSUMER.CREATE.{self._stream}.{queue.name}", ask)

    async def backlog(self) -> Backlog:
        """Return how many jobs the queue holds.

        Raises: NotFound (no such bucket or consumer), AccessDenied, Unavailable.
        """
        info = await call(self._link, f"CONSUMER.INFO.{self._stream}.{self._queue.name}")
        return Backlog(info["num_pending"], info["num_ack_pending"])

    async def run(self, handle: Handle, *, drain_s: float) -> None:
        """Handle jobs until `stop`; then give those under way `drain_s` to end, and hand the rest to others at once.

        Raises: NotFound (the bucket does not exist, or not any more), AccessDenied. Outages are waited for.
        """
        fault: LoomError | None = None
        remove = self._link.on_connected(self._wake.set)
        async with asyncio.TaskGroup() as group:
            try:
                await self._pull(lambda msg: self._start(group, msg, handle))
            except LoomError as error:
                fault = error  # raised outside of the group, which would wrap it
            finally:
                remove()
                if self._running:
                    await asyncio.wait(self._running, timeout=drain_s if self._stopping else 0)
                for task in self._running:
                    task.cancel()
        if fault is not None:
            raise fault

    async def _pull(self, start: Callable[[Msg], None]) -> None:
        pause_s = FIRST_PAUSE_S
        while not self._stopping:
            requests = _Requests(self._queue, self._wake)
            try:
                await self.ensure()
                await self._ask(requests, start)
            except Unavailable as error:
                requests.end(error.message)
            if self._stopping:
                return
            log.info("event=jobs_again bucket=%s queue=%s reason=%r", self._bucket, self._queue.name, requests.ended)
            pause_s = FIRST_PAUSE_S if requests.heard else min(pause_s * 2, LONGEST_PAUSE_S)
            await self._pause(pause_s)

    async def _pause(self, seconds: float) -> None:
        """Wait, but not beyond `stop` or a new connection."""
        was_connected = self._link.connected
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not self._stopping and self._link.connected is was_connected:
                    self._wake.clear()
                    await self._wake.wait()

    async def _ask(self, requests: _Requests, start: Callable[[Msg], None]) -> None:
        """Keep as many jobs asked for as there are free slots, until something ends the requests."""
        nc = self._link.nc
        inbox = nc.new_inbox()
        subject = f"$JS.API.CONSUMER.MSG.NEXT.{self._stream}.{self._queue.name}"

        async def on_message(msg: Msg) -> None:
            if requests.told(msg):
                if self._stopping:
                    await self._answer(msg, Again(0))
                else:
                    start(msg)

        def on_connected() -> None:
            if self._link.nc is not nc:
                requests.end("connected anew")

        with translated("asking for jobs"):
            subscription = await nc.subscribe(inbox, cb=on_message)  # pyright: ignore[reportUnknownMemberType]
        remove = self._link.on_connected(on_connected)
        try:
            while not self._stopping and requests.ended is None:
                if count := requests.wanted(self._queue.slots - len(self._running)):
                    await self._link.publish(subject, _request(self._queue, count), reply=inbox)
                await requests.news()
        finally:
            remove()
            # The server drops requests whose inbox nobody listens to; a lost connection has dropped them already.
            if nc.is_connected:
                with suppress(LoomError), translated("asking for jobs"):
                    await subscription.unsubscribe()

    def _start(self, group: asyncio.TaskGroup, msg: Msg, handle: Handle) -> None:
        task = group.create_task(self._one(msg, handle))
        self._running.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        self._wake.set()

    async def _one(self, msg: Msg, handle: Handle) -> None:
        job = self._job(msg)
        verdict: Verdict = Again(0)  # a job cut short is somebody else's at once
        try:
            async with self._in_progress(msg):
                verdict = await handle(job)
        finally:
            await self._answer(msg, verdict)

    def _job(self, msg: Msg) -> Job:
        told = msg.metadata
        key = msg.subject.removeprefix(f"$KV.{self._bucket}.")
        change = held_of(key, msg.data, msg.headers or {}, told.sequence.stream, told.timestamp)
        return Job(change=change, deliveries=told.num_delivered)

    @asynccontextmanager
    async def _in_progress(self, msg: Msg) -> AsyncGenerator[None, None]:
        """Tell the server that the job is being worked on, for as long as the context lasts."""

        async def beat() -> None:
            while True:
                await asyncio.sleep(self._queue.ack_wait_s / 3)
                await self._tell(msg, b"+WPI")

        async with asyncio.TaskGroup() as group:
            beating = group.create_task(beat())
            try:
                yield
            finally:
                beating.cancel()

    async def _answer(self, msg: Msg, verdict: Verdict) -> None:
        match verdict:
            case Done():
                answer = b"+ACK"
            case Again(delay_s=delay_s):
                answer = b"-NAK" + (b" " + json.dumps({"delay": int(delay_s * 1e9)}).encode() if delay_s > 0 else b"")
            case Never():
                answer = b"+TERM"
        await self._tell(msg, answer)

    async def _tell(self, msg: Msg, answer: bytes) -> None:
        """Answer for a job, over whatever connection there is now. What gets lost means another delivery, no more."""
        try:
            async with asyncio.timeout(CLEAN_UP_S):
                await self._link.publish(msg.reply, answer)
        except (LoomError, TimeoutError) as error:
            log.warning(
                "event=answer_lost bucket=%s queue=%s error=%s", self._bucket, self._queue.name, type(error).__name__
            )


class _Requests:
    """What was asked for through one inbox, and whether it still stands."""

    def __init__(self, queue: JobQueue, wake: asyncio.Event) -> None:
        self._slots = queue.slots
        self._silence_s = 2 * queue.heartbeat_s
        self._wake = wake
        self._asked = 0
        self._heard_at = asyncio.get_running_loop().time()
        self.heard = False
        """Whether the server ever answered."""
        self.ended: str | None = None
        """Why the requests do not stand any more; None while they do."""

    def end(self, reason: str) -> None:
        self.ended = self.ended or reason
        self._wake.set()

    def wanted(self, free: int) -> int:
        """Return how many more jobs to ask for now, and count them as asked for.

        Small top-ups wait for each other while something is asked for anyway: one request per job would double the traffic.
        """
        count = free - self._asked
        if count <= 0 or (self._asked and count * 2 < self._slots):
            return 0
        if not self._asked:
            self._heard_at = asyncio.get_running_loop().time()
        self._asked += count
        return count

    def told(self, msg: Msg) -> bool:
        """Take in what came through the inbox; True when it is a job."""
        self._heard_at = asyncio.get_running_loop().time()
        status = (msg.headers or {}).get("Status")
        if status is None:
            self.heard = True
            self._asked = max(0, self._asked - 1)
            return True
        match status:
            case "100":
                self.heard = True
            case "404" | "408":
                self.heard = True
                self._asked = max(0, self._asked - int((msg.headers or {}).get("Nats-Pending-Messages", self._asked)))
                self._wake.set()
            case _:
                self.end(f"{status} {(msg.headers or {}).get('Description', '')}".strip())
        return False

    async def news(self) -> None:
        """Return when a slot may be free or the requests have ended, of silence at the latest."""
        now = asyncio.get_running_loop().time()
        until = (self._heard_at if self._asked else now) + self._silence_s
        with suppress(TimeoutError):
            async with asyncio.timeout_at(until):
                await self._wake.wait()
        self._wake.clear()
        if self._asked and asyncio.get_running_loop().time() >= self._heard_at + self._silence_s:
            self.end("silence")


def _request(queue: JobQueue, count: int) -> bytes:
    return json.dumps(
        {"batch": count, "expires": int(EXPIRES_S * 1e9), "idle_heartbeat": int(queue.heartbeat_s * 1e9)}
    ).encode()
