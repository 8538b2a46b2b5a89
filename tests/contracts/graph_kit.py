"""What the tests of the graph worker share: a crew that reads, and a look at which contributions there are."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from identity.keys import parse_key
from identity.ports import Entry
from loomem.core.graph.contribution import Contribution, decode
from loomem.core.graph.dictionary import EMPTY, Dictionary
from loomem.core.graph.relating import contributed
from loomem.core.graph.ruling import is_ruling
from loomem.core.limits import Limits
from loomem.core.record import Memory
from loomem.core.record import decode as decode_memory
from loomem.nats.link import Link
from loomem.workers.services import Services, open_services
from tests.contracts.embed_kit import BUCKET
from tests.contracts.workers_kit import SystemClock, held


@asynccontextmanager
async def reading(link: Link, dictionary: Dictionary = EMPTY) -> AsyncGenerator[Services]:
    """Run a crew that reads what memories name."""
    async with open_services(link, limits=Limits(), clock=SystemClock(), names=dictionary) as services:
        yield services


class Look:
    """What a bucket holds, read at once: its memories by id, and their contributions."""

    def __init__(self, entries: dict[str, Entry]) -> None:
        self.memories: dict[str, Memory] = {}
        self.said: dict[str, Contribution] = {}
        self.rulings: list[str] = []
        self.failures: dict[str, bytes] = {}
        for path, entry in entries.items():
            key = parse_key(path)
            assert key is not None
            match key.kind.value:
                case "m":
                    self.memories[key.id] = decode_memory(entry.value)
                case "g" if is_ruling(key.id):
                    self.rulings.append(key.id)
                case "g":
                    self.said[key.id] = decode(entry.value)
                case "x":
                    self.failures[key.id] = entry.value
                case _:
                    raise AssertionError(path)

    def complete(self, dictionary: Dictionary = EMPTY) -> bool:
        """Return whether every memory that names something has its contribution, and nothing else has any."""
        wanted = {
            ident: said
            for ident, memory in self.memories.items()
            if memory.deleted_at is None
            and not memory.erased
            and not (said := contributed(memory, dictionary)).is_empty
        }
        return wanted == self.said


async def look(link: Link, bucket: str = BUCKET) -> Look:
    return Look({key: entry for key, entry in (await held(link, bucket)).items() if isinstance(entry, Entry)})
