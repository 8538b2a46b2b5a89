"""The workers of a node or of `pattern-memory worker`, put together."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from identity.ports import Clock
from loomem.core.limits import Limits
from loomem.nats.follow import KvFeed
from loomem.nats.link import Link
from loomem.nats.streams import Streams
from loomem.nats.topology import KvBuckets
from loomem.workers.crew import Crew, CrewLimits
from loomem.workers.expire import ExpireWorker


@asynccontextmanager
async def open_services(
    link: Link, *, limits: Limits, clock: Clock, replicas: int = 1, crew_limits: CrewLimits | None = None
) -> AsyncGenerator[Crew, None]:
    """Run all workers over an operator's link for as long as the context lasts; leaving it drains them.

    Entering does not wait for the broker. Buckets that exist are brought up to what the server can do.
    """
    buckets = KvBuckets(link, replicas=replicas)
    feed = KvFeed(link)
    workers = (ExpireWorker(buckets, feed, Streams(link), limits, clock),)
    crew = Crew(link, buckets, feed, workers, clock=clock, limits=crew_limits)
    async with crew.running():
        yield crew
