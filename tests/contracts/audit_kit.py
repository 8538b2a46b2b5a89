"""What the tests of the record of changes share."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from loomem.core.audit.lines import Line, Shown, shown
from loomem.core.audit.settings import AuditSettings
from loomem.core.limits import Limits
from loomem.nats.audit import AuditStream
from loomem.nats.link import Link
from loomem.workers.services import Services, open_services
from tests.contracts.workers_kit import SystemClock
from tests.waiting import eventually


@asynccontextmanager
async def recording(link: Link, *, settings: AuditSettings | None = None) -> AsyncGenerator[Services]:
    """Keep the record in this process."""
    async with open_services(link, limits=Limits(), clock=SystemClock(), audit=settings) as services:
        yield services


async def recorded(link: Link) -> list[Line]:
    """Return all that is on record."""
    return [entry.line async for entry in AuditStream(link).read()]


async def told(link: Link) -> list[Shown]:
    """Return all that is on record, as people are shown it."""
    return [each for line in await recorded(link) for each in shown(line)]


async def all_recorded(link: Link, services: Services, *, within_s: float = 20) -> list[Line]:
    """Return all that is on record once nothing waits."""

    await link.ready(within_s)  # the broker may just have come back

    async def idle() -> bool:
        await services.pending()
        return next(worker for worker in services.workers() if worker.name == "audit").pending == 0

    await eventually(idle, within_s=within_s)
    return await recorded(link)


@asynccontextmanager
async def recorder(url: str) -> AsyncGenerator[asyncio.subprocess.Process]:
    """Keep the record in a process that may be killed."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.contracts.audit_process", url, stdin=pipe, stdout=pipe
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(30):
            assert await process.stdout.readline() == b"running\n"
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
