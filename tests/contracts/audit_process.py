"""A crew that keeps the record of changes, in a process of its own, to be killed: `python -m tests.contracts.audit_process URL`.

It leaves when its stdin closes, so that none is left behind by a test that died.
"""

from __future__ import annotations

import asyncio
import sys

import msgspec

from loomem.core.limits import Limits
from loomem.workers.audit import AuditWorker
from loomem.workers.services import open_services
from tests.contracts.workers_kit import SystemClock, linked


async def main(url: str) -> None:
    # What a killed process had in hand is soon another's.
    AuditWorker.queue = msgspec.structs.replace(AuditWorker.queue, ack_wait_s=1.0)
    async with linked(url) as link, open_services(link, limits=Limits(), clock=SystemClock()):
        sys.stdout.write("running\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
