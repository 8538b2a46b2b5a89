"""What the tests of the extraction worker share: sources as the service stores them, and a look at what was taken from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import msgspec

from identity.keys import parse_key
from identity.ports import Bucket, Entry, Put
from loomem.core.jobs import JobRecord
from loomem.core.jobs import decode as decode_job
from loomem.core.limits import Limits
from loomem.core.record import Memory, decode, encode
from loomem.core.sources import parts_of, source_id_of, source_op, source_records
from loomem.core.times import millis
from loomem.core.transcript import segment
from loomem.nats.link import Link
from loomem.workers.services import Services, open_services
from tests.contracts.embed_kit import memory
from tests.contracts.workers_kit import SystemClock, held

BUCKET = "loom-memory-project-extract"
TALK = "User: I prefer Rust over Go.\nAssistant: Noted.\nUser: My sister Zoë lives in Kraków."


def now_ms() -> int:
    return millis(SystemClock().now())


def key_of(ident: str) -> str:
    return f"agents.A.m.{ident}"


def records(content: str = TALK, *, ident: str | None = None, limit: int = 32_768) -> list[Memory]:
    """Return the records of a new source, itself first."""
    draft = msgspec.structs.replace(memory(content), id=ident or str(uuid4()))
    pieces = parts_of(content, segment(content), limit)
    return source_records(draft, pieces, day=None, extract=True, fragments=0)


async def keep(bucket: Bucket, *memories: Memory, expected: int = 0) -> int:
    """Write records as the store does, the first one last, and return its revision."""
    revision = 0
    for each in reversed(memories):
        op = source_op(str(uuid4())) if source_id_of(each) == each.id else str(uuid4())
        put = Put(key=key_of(each.id), value=encode(each), expected=expected, op=op)
        revision = await bucket.write(put)
    return revision


@asynccontextmanager
async def extracting(link: Link, **options: Any) -> AsyncGenerator[Services]:
    async with open_services(link, limits=Limits(), clock=SystemClock(), **options) as services:
        yield services


class Look:
    """What a bucket holds, read at once."""

    def __init__(self, entries: list[Entry]) -> None:
        self.memories: dict[str, Memory] = {}
        self.jobs: dict[str, JobRecord] = {}
        for entry in entries:
            key = parse_key(entry.key)
            assert key is not None
            if key.kind.value == "m":
                self.memories[key.id] = decode(entry.value)
            elif key.kind.value == "x":
                self.jobs[key.id] = decode_job(entry.value)

    def taken(self, source: str) -> list[Memory]:
        """Return what was taken from a source, deleted ones too."""
        return [each for each in self.memories.values() if each.id != source and source_id_of(each) == source]

    def facts(self) -> Counter[tuple[str, str]]:
        """Return how often each source has each fact."""
        return Counter(
            (each.knowledge.source_id, each.content)
            for each in self.memories.values()
            if each.knowledge is not None and each.knowledge.source_id is not None and each.knowledge.level == 1
        )


async def look(link: Link, bucket: str = BUCKET) -> Look:
    return Look([entry for entry in (await held(link, bucket)).values() if isinstance(entry, Entry)])
