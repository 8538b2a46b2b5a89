"""The world of the engine on a real broker; everything else is as in `tests.laws.worlds`."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from loomem.nats.endpoint import Endpoint, endpoint_from
from loomem.nats.follow import KvFeed
from loomem.nats.link import Link
from loomem.nats.topology import KvBuckets
from tests.laws.worlds import World


class NatsWorld(World):
    """A world on an account of a real server. Its doubles of the broker stand idle."""

    def __init__(self, link: Link) -> None:
        super().__init__()
        self.buckets = KvBuckets(link)
        self.feed = KvFeed(link)


@asynccontextmanager
async def nats_world(url: str) -> AsyncGenerator[NatsWorld]:
    """Give a world on the server at a URL."""

    async def source() -> Endpoint:
        return endpoint_from(url)

    async with Link(source, name="engine") as link:
        await link.ready(5)
        yield NatsWorld(link)
