"""The memory service of one caller, as its doors see it: it comes up in the background and comes back by itself.

A door asks for the engine when it has a call, and waits bounded: not long when there is no broker, longer while things
are on their way. What is heavy is imported after the first answer; see `pattern.parts` for what there is.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from identity.errors import LoomError, Unavailable
from identity.ports import Clock
from loomem.core.times import iso
from pattern.clock import SystemClock
from pattern.settings import Settings
from pattern.tools.pattern.health import HealthReport, Session
from pattern.version import VERSION

if TYPE_CHECKING:
    from loomem.engine import Engine
    from loomem.nats.link import Link
    from pattern.parts import Parts

log = logging.getLogger(__name__)

WAKE_S = 1.0
"""A client that never asks for the list of tools does not keep us from starting."""
LINK_S = 1.5
"""How long a call waits for a broker that is not there."""
NODE_S = 12.0
"""How long a call waits while the embedded broker is being started, be it for the first time or after it was killed."""
HEALTH_S = 3.5
"""How long the report on all that waits for the first start."""
RETRY_S = (1.0, 2.0, 5.0, 10.0)


class Service:
    """Implements `Backend` of the tools; `run` is what happens behind it."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._began = datetime.now(UTC)
        self._woken = asyncio.Event()
        self._parts: Parts | None = None
        self._loaded = asyncio.Event()
        self._engine: Engine | None = None
        self._fault: LoomError | None = None
        self._settled = asyncio.Event()
        """The engine is there, or a fault says why not."""

    def wake(self) -> None:
        self._woken.set()

    async def engine(self) -> Engine:
        self.wake()
        parts = await self._connecting()
        await _connected(parts)
        await self._settled.wait()
        if self._engine is None:
            raise self._fault or Unavailable
        return self._engine

    async def link(self) -> Link:
        """Return the connection itself, for what an operator does below any engine. Raises: Unavailable."""
        self.wake()
        parts = await self._connecting()
        await _connected(parts)
        return parts.link

    async def health(self) -> HealthReport:
        self.wake()
        parts = await self._connecting()
        patience_s = HEALTH_S if parts.broker.starting and self._engine is None else LINK_S
        with suppress(Unavailable, TimeoutError):
            async with asyncio.timeout(patience_s):
                await parts.link.ready(patience_s)
                await self._settled.wait()
                await parts.loaded()
        now = datetime.now(UTC)
        session = Session(
            profile=self._settings.profile,
            config_files=list(self._settings.files) or None,
            session_start=iso(self._began),
            session_duration=f"{(now - self._began).total_seconds():.2f}s",
            version=VERSION,
        )
        from pattern.health import report

        return await report(parts, self._engine, self._fault, session)

    async def run(self) -> None:
        """Be there until cancelled."""
        with suppress(TimeoutError):
            async with asyncio.timeout(WAKE_S):
                await self._woken.wait()
        # Importing holds the interpreter for a while; in a thread the event loop can answer in between.
        await asyncio.to_thread(importlib.import_module, "pattern.health")
        from pattern.parts import opened

        async with opened(self._settings, self._clock) as parts:
            self._parts = parts
            self._loaded.set()
            await self._keep_engine(parts)

    async def _keep_engine(self, parts: Parts) -> None:
        failures = 0
        while True:
            try:
                async with parts.engine() as engine:
                    failures = 0
                    self._settle(engine, None)
                    log.info("event=ready agent=%s project=%s", engine.caller.agent_id, engine.caller.project_id)
                    await asyncio.Event().wait()
            except* Exception as group:  # noqa: BLE001 - the outermost loop: a bug in a view must not end the session
                fault = _first(group)
                self._settle(None, fault)
                log.warning("event=not_ready code=%s reason=%r", fault.code, fault.message)
            await asyncio.sleep(RETRY_S[min(failures, len(RETRY_S) - 1)])
            failures += 1

    async def _connecting(self) -> Parts:
        await self._loaded.wait()
        if self._parts is None:
            raise Unavailable
        return self._parts

    def _settle(self, engine: Engine | None, fault: LoomError | None) -> None:
        self._engine, self._fault = engine, fault
        self._settled.set()


@asynccontextmanager
async def running(settings: Settings, *, clock: Clock | None = None) -> AsyncGenerator[Service, None]:
    """Run the service behind the body; `clock` is what its memories live by, the machine's when none is given."""
    service = Service(settings, clock or SystemClock())
    async with asyncio.TaskGroup() as group:
        task = group.create_task(service.run(), name="service")
        try:
            yield service
        finally:
            task.cancel()


async def _connected(parts: Parts) -> None:
    """Return when there is a connection. Raises: Unavailable; soon, unless the embedded broker is on its way."""
    waited_s = 0.0
    while parts.broker.starting and waited_s + LINK_S < NODE_S:
        with suppress(Unavailable):
            await parts.link.ready(LINK_S)
            return
        waited_s += LINK_S
    await parts.link.ready(0 if waited_s else LINK_S)


def _first(group: BaseExceptionGroup[Exception]) -> LoomError:
    """Return the first error of a group that a caller can act on, else one that names the first."""
    known, unknown = group.split(LoomError)
    found: BaseException = known or unknown or group
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    if isinstance(found, LoomError):
        return found
    log.error("event=service_failed error=%s", type(found).__name__, exc_info=found)
    return LoomError(f"The memory service failed ({type(found).__name__}); its log on stderr has more. It tries again.")
