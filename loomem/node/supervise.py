"""What the node process runs: it holds the lock, keeps the broker alive, lets the services work, and leaves in order.

Order of the start: lock, broker, state file (now clients may come), and only then link and services, whose imports are
heavy. Order of the end: services drain while the broker still serves them, then the broker, then state and lock.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import time
from collections import deque
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from typing import Protocol, cast

import msgspec

from identity.errors import InvalidInput, LoomError, Unavailable
from loomem.nats.link import Link
from loomem.node.broker import DEFAULT_GUARD, Broker, Guard
from loomem.node.launcher import Source, look
from loomem.node.presence import NodeReport, anyone_present, greeted, reporting
from loomem.node.process import require_posix, start_mark, take_lock
from loomem.node.state import NodeFiles, NodeSpec, NodeState, Phase, shown_url

log = logging.getLogger(__name__)

EXIT_FAILED = 1
EXIT_TAKEN = 75
"""Another node is there (the system's number for "try again later")."""
LOCK_S = 5.0
DRAIN_S = 8.0
"""How long services may take to finish what they have in hand; what they do not finish is delivered again."""
RESTART_PAUSES_S = (0.0, 0.2, 1.0, 3.0)
RESTARTS_MAX = 5
"""Deaths of the broker within `RESTARTS_WITHIN_S` after which the node gives up; the next client starts a new one."""
RESTARTS_WITHIN_S = 60.0
SERVICES_PAUSES_S = (1.0, 5.0, 30.0, 120.0)
"""Between attempts to open services that failed; the last one repeats."""
PING_EVERY_S = 15.0
REPORT_S = 0.3
"""How long the broker may take to say what is pending, when somebody asks how the node is."""


class StatusSource(Protocol):
    """The running services of a node, as far as the node must know them."""

    async def status(self) -> Sequence[object]:
        """Return what each worker says of itself, its backlog included: msgspec values or builtins, without any content."""
        ...

    def workers(self) -> Sequence[object]:
        """Return the same at once, with the backlog as it was when somebody last asked."""
        ...

    def embedding(self) -> object | None:
        """Return how the model is that embeds, in the same form; None when there is no such thing."""
        ...

    async def pending(self) -> bool:
        """Return whether a job waits or runs, or upkeep is due: then the node does not leave yet.

        Raises: Unavailable, AccessDenied (nobody can tell).
        """
        ...


class Services(Protocol):
    """Opens the node's work; leaving drains it."""

    def __call__(self, link: Link, /) -> AbstractAsyncContextManager[StatusSource]:
        """`link` connects in the background and follows the broker to another port; it outlives the services."""
        ...


async def run_node(
    spec: NodeSpec, services: Services, *, source: Source | None = None, guard: Guard = DEFAULT_GUARD
) -> int:
    """Be the node until it is asked to leave or nobody needs it, and return the exit code. Main thread only.

    `source` tells where the user's own broker is, credentials included; required when `spec.url` is set, else unused.

    Raises: Unavailable, InvalidInput (the home cannot be used, no POSIX).
    """
    require_posix()
    files = NodeFiles.of(spec)
    files.prepare(spec.home)
    with _leave_on_signal() as leaving:
        there = (await look(files)).reachable
        lock = None if there else await take_lock(files.lock, LOCK_S)
        if lock is None:
            log.info("event=node_already_there lock=%s", files.lock)
            return EXIT_TAKEN
        try:
            return await _Node(spec, files, leaving).run(services, source, lock, guard)
        finally:
            os.close(lock)


@contextmanager
def _leave_on_signal() -> Generator[asyncio.Event]:
    """Give the event that is set by the first signal that asks to leave; clean-up is never interrupted by another."""
    loop = asyncio.get_running_loop()
    leaving = asyncio.Event()
    ends = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    for end in ends:
        loop.add_signal_handler(end, leaving.set)
    try:
        yield leaving
    finally:
        for end in ends:
            loop.remove_signal_handler(end)


class _Node:
    """One life of the node, from the lock to its release."""

    def __init__(self, spec: NodeSpec, files: NodeFiles, leaving: asyncio.Event) -> None:
        self._spec = spec
        self._files = files
        self._leaving = leaving
        self._done = asyncio.Event()
        self._services: StatusSource | None = None
        self._services_failed = False
        self._state = NodeState(
            node_id=files.node_id(),
            phase=Phase.STARTING,
            pid=os.getpid(),
            started=start_mark(os.getpid()),
            version=spec.version,
            url=shown_url(spec.url, None),
            since=time.time(),
        )

    async def run(self, services: Services, source: Source | None, lock: int, guard: Guard) -> int:
        """Return the exit code. An error of a kind nobody foresaw goes up, and the state file goes all the same."""
        failure: LoomError | None = None
        self._tell()
        try:
            if self._spec.url is None:
                async with _running(Broker(self._files, lock=lock, guard=guard)) as broker:
                    self._tell_broker(broker)
                    await self._live(services, broker.endpoint, broker)
            elif source is not None:
                self._tell(phase=Phase.RUNNING)
                await self._live(services, source, None)
            else:
                raise InvalidInput("A node for NATS_URL needs to be told how to reach it.", field="source")
        except LoomError as error:
            failure = error
        except ExceptionGroup as group:
            failure = _only_loom_errors(group)
        finally:
            if failure is None:
                self._files.remove_state()
        if failure is None:
            log.info("event=node_left")
            return 0
        log.error("event=node_failed error=%r", failure.message)
        self._tell(phase=Phase.FAILED, error=failure.message)
        return EXIT_FAILED

    async def _live(self, services: Services, source: Source, broker: Broker | None) -> None:
        """Let the services work until the node is asked to leave or is idle; then drain them, bounded."""
        async with (
            Link(source, name="pattern-memory node") as link,
            reporting(link, self._state.node_id, self._report),
            asyncio.TaskGroup() as group,
        ):
            keeping = group.create_task(self._keep(broker), name="keep-broker") if broker is not None else None
            serving = group.create_task(self._serve(services, link), name="services")
            await self._until_idle(link)
            self._tell(phase=Phase.STOPPING)
            self._done.set()
            _, late = await asyncio.wait((serving,), timeout=DRAIN_S)
            if late:
                log.warning("event=node_drain_cut after_s=%g", DRAIN_S)
                serving.cancel()
            if keeping is not None:
                keeping.cancel()

    async def _serve(self, services: Services, link: Link) -> None:
        """Keep the services at work until the node is done.

        Without them the broker is still a memory that can be read and written, so their failure does not end the node:
        it is told in the status, and they are tried again.
        """
        failures = 0
        while not self._done.is_set():
            try:
                async with services(link) as running:
                    self._services, self._services_failed = running, False
                    if self._state.error is not None:
                        self._tell(error=None)
                    await self._done.wait()
            except Exception as error:
                log.exception("event=services_failed")
                self._services_failed = True
                self._tell(error=f"The workers failed and are tried again: {cause_of(error)}")
            finally:
                self._services = None
            pause_s = SERVICES_PAUSES_S[min(failures, len(SERVICES_PAUSES_S) - 1)]
            failures += 1
            await _set_within(self._done, pause_s)

    async def _until_idle(self, link: Link) -> None:
        """Return when the node is asked to leave, or when no client was there for the idle time and nothing is due."""
        loop = asyncio.get_running_loop()
        every_s = min(max(self._spec.idle_s / 6, 0.05), PING_EVERY_S)
        seen = loop.time()

        def see() -> None:
            nonlocal seen
            seen = loop.time()

        async with greeted(link, self._state.node_id, see):
            while not await _set_within(self._leaving, every_s):
                self._files.trim_log()
                if await anyone_present(link, self._state.node_id):
                    see()
                elif loop.time() - seen >= self._spec.idle_s and not await self._busy():
                    log.info("event=node_idle idle_s=%g", self._spec.idle_s)
                    return
        log.info("event=node_asked_to_leave")

    async def _busy(self) -> bool:
        if self._services is None:
            # Before they were opened once, nobody knows whether there is something to do.
            return not self._services_failed
        try:
            return await self._services.pending()
        except LoomError:
            # Without a broker there is no job to see; whoever comes with the broker starts the node again.
            return False

    async def _keep(self, broker: Broker) -> None:
        """Start the broker again whenever it dies.

        Raises: Unavailable (it does not start, or dies again and again).
        """
        loop = asyncio.get_running_loop()
        deaths: deque[float] = deque(maxlen=RESTARTS_MAX)
        while True:
            code = await broker.wait()
            log.warning("event=broker_died code=%s", code)
            if len(deaths) == RESTARTS_MAX and loop.time() - deaths[0] < RESTARTS_WITHIN_S:
                raise Unavailable(
                    f"The memory's NATS server died {RESTARTS_MAX + 1} times in a row; see {self._files.log}."
                )
            deaths.append(loop.time())
            await self._restart(broker)

    async def _restart(self, broker: Broker) -> None:
        failure = Unavailable()
        for pause_s in RESTART_PAUSES_S:
            await asyncio.sleep(pause_s)
            try:
                await broker.start()
            except Unavailable as error:
                log.warning("event=broker_not_started error=%r", error.message)
                failure = error
            else:
                self._tell_broker(broker)
                return
        raise failure

    async def _report(self) -> NodeReport:
        services = self._services
        workers = await _status_of(services) if services is not None else ()
        return NodeReport(
            node_id=self._state.node_id,
            version=self._spec.version,
            workers=[msgspec.to_builtins(worker) for worker in workers],
            embedding=msgspec.to_builtins(services.embedding()) if services is not None else None,
        )

    def _tell_broker(self, broker: Broker) -> None:
        self._tell(phase=Phase.RUNNING, port=broker.port, server_pid=broker.pid, url=shown_url(None, broker.port))
        log.info("event=broker_ready port=%s pid=%s", broker.port, broker.pid)

    def _tell(self, **changes: object) -> None:
        """Write the state file: the state as it was, but for these fields."""
        self._state = msgspec.structs.replace(self._state, **changes)
        self._files.write_state(self._state)


@asynccontextmanager
async def _running(broker: Broker) -> AsyncGenerator[Broker]:
    try:
        await broker.start()
        yield broker
    finally:
        await broker.stop()


async def _status_of(services: StatusSource) -> Sequence[object]:
    try:
        async with asyncio.timeout(REPORT_S):
            return await services.status()
    except (TimeoutError, LoomError):
        return services.workers()


async def _set_within(event: asyncio.Event, timeout_s: float) -> bool:
    with suppress(TimeoutError):
        async with asyncio.timeout(timeout_s):
            await event.wait()
    return event.is_set()


def cause_of(error: BaseException) -> BaseException:
    """Return what a failure comes from: out of groups, the first error that says what to do."""
    while isinstance(error, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", error)  # isinstance loses the parameter
        foreseen = group.subgroup(LoomError)
        error = (foreseen or group).exceptions[0]
    return error


def _only_loom_errors(group: ExceptionGroup[Exception]) -> LoomError:
    """Return the first foreseen error of a group. Raises: the group, when it holds another kind as well."""
    foreseen, other = group.split(LoomError)
    if other is not None or foreseen is None:
        raise group
    first: LoomError | ExceptionGroup[LoomError] = foreseen
    while isinstance(first, ExceptionGroup):
        first = first.exceptions[0]
    return first
