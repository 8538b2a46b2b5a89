"""What the tests of the NATS adapter share: a link to a URL, changes with fresh operation ids, waiting for what has no event."""

from __future__ import annotations

import uuid
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager

from identity.ports import Bucket, CaughtUp, Change, Entry, Event, Marker, Put, Reason, Remove, Reset
from loomem.nats.endpoint import Endpoint, endpoint_from
from loomem.nats.link import Link

BUCKET = "loom-memory-project-test"
PATIENCE_S = 5.0


@asynccontextmanager
async def linked(
    url: str | Callable[[], str], *, ready_s: float = PATIENCE_S, kind: type[Link] = Link
) -> AsyncGenerator[Link]:
    """Give a connected link to a URL, or to what a function says each time the link asks."""

    async def source() -> Endpoint:
        return endpoint_from(url() if callable(url) else url)

    async with kind(source, name="test") as link:
        await link.ready(ready_s)
        yield link


def put(key: str, value: bytes | str = b"value", *, expected: int = 0, op: str = "", ttl_s: int | None = None) -> Put:
    data = value.encode() if isinstance(value, str) else value
    return Put(key=key, value=data, expected=expected, op=op or uuid.uuid4().hex, ttl_s=ttl_s)


def remove(
    key: str, expected: int, *, reason: Reason = Reason.FORGET, op: str = "", ttl_s: int | None = None
) -> Remove:
    return Remove(key=key, expected=expected, op=op or uuid.uuid4().hex, reason=reason, ttl_s=ttl_s)


async def write_each(bucket: Bucket, changes: Iterable[Change]) -> list[int]:
    """Write changes one after another, and return their revisions: what any server can do."""
    return [await bucket.write(change) for change in changes]


class Told(list[Event]):
    """Everything a feed told, in order; `told.append` is the callback."""

    @property
    def changes(self) -> list[Entry | Marker]:
        return [event for event in self if isinstance(event, Entry | Marker)]

    @property
    def keys(self) -> list[str]:
        return [event.key for event in self.changes]

    @property
    def resets(self) -> int:
        return sum(isinstance(event, Reset) for event in self)

    @property
    def caught_up(self) -> int:
        return sum(isinstance(event, CaughtUp) for event in self)

    @property
    def state(self) -> dict[str, bytes]:
        """What a view that folds these events holds."""
        held: dict[str, bytes] = {}
        before: set[str] = set()
        for event in self:
            match event:
                case Entry():
                    held[event.key] = event.value
                    before.discard(event.key)
                case Marker():
                    held.pop(event.key, None)
                    before.discard(event.key)
                case Reset():
                    before = set(held)
                case CaughtUp():
                    for key in before:
                        held.pop(key)
                    before = set()
        return held
