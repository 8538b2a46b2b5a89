"""A crew in a process of its own, to be killed: `python -m tests.contracts.crew_process URL RECENT`.

It leaves when its stdin closes, so that none is left behind by a test that died.
"""

from __future__ import annotations

import asyncio
import sys

from loomem.core.limits import Limits
from loomem.nats.follow import KvFeed
from loomem.nats.streams import Streams
from loomem.nats.topology import KvBuckets
from loomem.workers.crew import Crew
from loomem.workers.expire import ExpireWorker
from tests.contracts.workers_kit import CopyWorker, SystemClock, linked


async def main(url: str, recent: int) -> None:
    async with linked(url) as link:
        buckets, feed, clock = KvBuckets(link), KvFeed(link), SystemClock()
        expire = ExpireWorker(buckets, feed, Streams(link), Limits(recent=recent), clock, settle_s=0.05)
        async with Crew(link, buckets, feed, [CopyWorker(), expire], clock=clock).running():
            sys.stdout.write("running\n")
            sys.stdout.flush()
            await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
