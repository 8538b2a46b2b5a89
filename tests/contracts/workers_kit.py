"""What the worker tests share: a link, buckets with memories in them, and waiting for what has no event."""

from __future__ import annotations

import itertools
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta

import msgspec

from identity.errors import Conflict
from identity.keys import Kind, parse_key
from identity.ports import Bucket, Entry, Event, Marker, Put
from loomem.core.times import iso
from loomem.nats.endpoint import Endpoint, endpoint_from
from loomem.nats.follow import KvFeed
from loomem.nats.link import Link
from loomem.nats.pull import Job, JobQueue
from loomem.nats.topology import call
from loomem.workers.status import Tally

_ops = itertools.count(1)


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)


@asynccontextmanager
async def linked(url: str) -> AsyncGenerator[Link, None]:
    async def source() -> Endpoint:
        return endpoint_from(url)

    async with Link(source, name="test") as link:
        await link.ready(5)
        yield link


async def put(bucket: Bucket, key: str, *, expected: int = 0, op: str | None = None, **fields: object) -> int:
    """Write a memory of which only the given fields matter."""
    value = msgspec.json.encode({"content": "something", **fields})
    return await bucket.write(Put(key=key, value=value, expected=expected, op=op or f"test {next(_ops)}"))


def in_order(number: int) -> str:
    """Return a time of creation; a greater number is later."""
    return iso(datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=number))


class CopyWorker:
    """Does the least a worker can: writes one derived value for each team memory, once."""

    name = "copy"
    queue = JobQueue(name="copy", filters=("shared.*.m.*",), slots=4, ack_wait_s=2)

    @property
    def able(self) -> bool:
        return True

    async def ready(self) -> None:
        return

    def serves(self, bucket: str) -> bool:
        return True

    async def handle(self, bucket: Bucket, job: Job) -> None:
        key = parse_key(job.change.key)
        assert key is not None
        if isinstance(job.change, Marker):
            return
        revision = job.change.revision
        with suppress(Conflict):
            copy = Put(key=key.beside(Kind.GRAPH), value=b"{}", expected=0, op=f"copy {revision}")
            await bucket.write(copy)

    async def attend(self, bucket: Bucket, tally: Tally) -> None:
        return


async def held(link: Link, bucket: str) -> dict[str, Entry | Marker]:
    """Return everything a bucket holds, markers included."""
    told: dict[str, Entry | Marker] = {}

    def keep(event: Event) -> None:
        if isinstance(event, Entry | Marker):
            told[event.key] = event

    async with KvFeed(link).follow(bucket, ">", keep) as following:
        await following.sync()
    return told


async def writes(link: Link, bucket: str) -> int:
    """Return how many changes a bucket ever took."""
    count: int = (await call(link, f"STREAM.INFO.KV_{bucket}"))["state"]["last_seq"]
    return count
