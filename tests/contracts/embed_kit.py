"""What the embedding tests share: memories, a crew with a model, and a look at which vectors there are."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from uuid import uuid4

from identity.keys import parse_key
from identity.ports import Bucket, Entry, Put, Reason, Remove
from loomem.core.limits import Limits
from loomem.core.record import Memory, decode, encode, from_fields
from loomem.core.vector import Stored, content_hash, text_of
from loomem.core.vector import decode as decode_vector
from loomem.embed.settings import Adapter, EmbedSettings
from loomem.nats.link import Link
from loomem.workers.services import Services, open_services
from tests.contracts.workers_kit import SystemClock, held

BUCKET = "loom-memory-project-embed"


def memory(content: str, *, number: int = 1, **fields: object) -> Memory:
    return from_fields(
        {
            "id": f"memory-{number}",
            "agentId": "A",
            "projectId": "p",
            "scope": "private",
            "category": "longterm",
            "content": content,
            "createdAt": "2026-01-01T00:00:00.000Z",
            "updatedAt": "2026-01-01T00:00:00.000Z",
            "version": 1,
            **fields,
        }
    )


def key_of(number: int = 1) -> str:
    return f"agents.A.m.memory-{number}"


async def keep(
    bucket: Bucket, content: str, *, number: int = 1, expected: int = 0, ttl_s: int | None = None, **fields: object
) -> int:
    """Write a memory as the store does and return its revision."""
    value = encode(memory(content, number=number, **fields))
    return await bucket.write(Put(key=key_of(number), value=value, expected=expected, op=f"t {uuid4()}", ttl_s=ttl_s))


async def forget(bucket: Bucket, revision: int, *, number: int = 1) -> None:
    await bucket.write(Remove(key=key_of(number), expected=revision, op=f"t {uuid4()}", reason=Reason.FORGET))


def remote(url: str, model: str = "words") -> EmbedSettings:
    return EmbedSettings(adapter=Adapter.OPENAI, url=url, model=model, key="secret key")


@asynccontextmanager
async def embedding(link: Link, settings: EmbedSettings) -> AsyncGenerator[Services]:
    """Run a crew with this model."""
    async with open_services(link, limits=Limits(), clock=SystemClock(), embed=settings) as services:
        yield services


class Look:
    """What a bucket holds, read at once: its memories by id, and their vectors."""

    def __init__(self, entries: dict[str, Entry]) -> None:
        self.memories: dict[str, Memory] = {}
        self.vectors: dict[str, dict[str, Stored]] = {}
        self.failures: dict[str, bytes] = {}
        for path, entry in entries.items():
            key = parse_key(path)
            assert key is not None
            match key.kind.value:
                case "m":
                    self.memories[key.id] = decode(entry.value)
                case "v":
                    stored = decode_vector(entry.value)
                    self.vectors.setdefault(key.id, {})[stored.model] = stored
                case "x":
                    self.failures[key.id] = entry.value
                case "g":
                    pass  # what it names is another worker's
                case _:
                    raise AssertionError(path)

    def complete(self, *models: str) -> bool:
        """Return whether every memory has exactly one current vector of each of these models, and nothing else has any."""
        wanted = {
            ident: dict.fromkeys(models, content_hash(text_of(memory)))
            for ident, memory in self.memories.items()
            if memory.deleted_at is None and not memory.erased
        }
        found = {
            ident: {model: stored.hash for model, stored in vectors.items()} for ident, vectors in self.vectors.items()
        }
        return wanted == found


async def look(link: Link, bucket: str = BUCKET) -> Look:
    return Look({key: entry for key, entry in (await held(link, bucket)).items() if isinstance(entry, Entry)})
