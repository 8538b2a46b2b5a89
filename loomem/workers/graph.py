"""The graph worker: every memory that names something has exactly one contribution beside it, and no contribution outlives its memory.

As with vectors (`embed`), a job is any change of a memory or of a contribution, and what is done is always the same: look at the
contribution, then at the memory, and make the first what the second asks for. The order of the looks, and compare-and-set, make
that safe however often a job comes and whoever else does it.

- A memory that names nothing has no contribution.
- A memory that is gone (be it to a stub), or deleted and kept for a while, has none either. It goes without a marker: who follows
  the bucket hears of the memory, without which a contribution counts for nothing.
- Other rules, or another dictionary, are another durable consumer, and read everything again. A contribution that somebody else's
  rules made of the same text is replaced for a change of its memory, never for a change of its own, so two hosts with two
  dictionaries do not undo each other's work for ever.
- Rulings on names lie among the contributions and are nobody's job.

Deliberately absent: what a text names (`loomem.core.graph`), retries (`duty`).
"""

from __future__ import annotations

from typing import Protocol

from identity.errors import Corrupt, Unavailable
from identity.keys import SYSTEM_BUCKET, Key, Kind, escape_token, parse_key
from identity.ports import Bucket, Clock, Entry, Marker
from loomem.core.graph.contribution import Contribution, decode, encode
from loomem.core.graph.dictionary import EMPTY, Dictionary
from loomem.core.graph.relating import contributed, read_by
from loomem.core.graph.ruling import is_ruling
from loomem.core.limits import Limits
from loomem.core.plan import server_ttl_s
from loomem.core.record import Memory
from loomem.core.record import decode as decode_memory
from loomem.core.times import millis
from loomem.core.vector import content_hash, text_of
from loomem.nats.pull import Job, JobQueue
from loomem.nats.streams import Streams
from loomem.workers.beside import look, write
from loomem.workers.status import Tally

ACK_WAIT_S = 30.0
TRIES = 5
"""Of a contribution that somebody else was quicker with; then the job is put off."""


class Reader(Protocol):
    """Reads what a memory names."""

    @property
    def name(self) -> str:
        """By which what it made is told from what another made."""
        ...

    @property
    def is_dear(self) -> bool:
        """Whether what it made is to be kept, be it nothing, rather than made again by rules."""
        ...

    async def read(self, memory: Memory) -> Contribution:
        """Return what a memory contributes by its text. Raises: Unavailable (later, perhaps), Hopeless."""
        ...


class Rules:
    """Reads by rules and a dictionary, at once."""

    is_dear = False

    def __init__(self, dictionary: Dictionary = EMPTY) -> None:
        self._dictionary = dictionary
        self.name = read_by(dictionary)

    async def read(self, memory: Memory) -> Contribution:
        return contributed(memory, self._dictionary)


class GraphWorker:
    """One for all buckets of a crew; the name of how it reads is part of its own."""

    def __init__(self, reader: Reader, streams: Streams, limits: Limits, clock: Clock) -> None:
        self.name = f"graph-{escape_token(reader.name.replace(':', '-'))}"
        self.queue = JobQueue(
            name=self.name,
            filters=(f"*.*.{Kind.MEMORY}.*", f"*.*.{Kind.GRAPH}.*"),
            slots=16,
            max_ack_pending=256,
            ack_wait_s=ACK_WAIT_S,
            headers_only=True,
        )
        self._reader = reader
        self._streams = streams
        self._limits = limits
        self._clock = clock

    @property
    def able(self) -> bool:
        return True

    async def ready(self) -> None:
        """Return at once: it needs nothing that has to come first."""

    def serves(self, bucket: str) -> bool:
        return bucket != SYSTEM_BUCKET

    async def handle(self, bucket: Bucket, job: Job) -> None:
        """Make the contribution of this memory what it has to be.

        Raises: Unavailable, Hopeless (it cannot be read).
        """
        key = parse_key(job.change.key)
        if key is None or (key.kind is Kind.GRAPH and is_ruling(key.id)):
            return
        read: dict[bytes, Contribution] = {}  # a text is not read twice because somebody else was quicker to write
        for _ in range(TRIES):
            if await self._settle(bucket, key, job, read):
                return
        raise Unavailable("the memory changes faster than it can be read")

    async def attend(self, bucket: Bucket, tally: Tally) -> None:
        """Remove contributions whose memory left no trace, once: what was removed while no worker ran for longer than traces stay.

        Raises: NotFound, AccessDenied, Unavailable.
        """
        held, until = await self._streams.held(bucket.name, f"*.*.{Kind.GRAPH}.*")
        keys = {path: key for path in held if (key := parse_key(path)) is not None and not is_ruling(key.id)}
        if not keys:
            return
        memories, _ = await self._streams.held(bucket.name, f"*.*.{Kind.MEMORY}.*")
        lost = [path for path, key in keys.items() if key.beside(Kind.MEMORY) not in memories]
        for path in sorted(lost):
            await self._streams.purge(bucket.name, path, until + 1)
        if lost:
            tally.did(self._clock.now(), len(lost))

    async def _settle(self, bucket: Bucket, key: Key, job: Job, read: dict[bytes, Contribution]) -> bool:
        """Return whether all is as it has to be; False = somebody else changed it meanwhile, look again."""
        seen = await look(bucket, key, key.beside(Kind.GRAPH), job)
        memory = None
        if isinstance(seen.memory, Entry):
            try:
                memory = decode_memory(seen.memory.value)
            except Corrupt:
                return True  # shown by the views; nobody reads, or takes away, what nobody understands
        if memory is None or memory.deleted_at is not None or memory.erased:
            await self._streams.purge(bucket.name, seen.path, seen.until)
            return True
        if self._stands(seen.made, memory, own=key.kind is Kind.GRAPH):
            return True
        text = content_hash(text_of(memory))
        made = read.get(text) or await self._reader.read(memory)
        read[text] = made
        if made.is_empty and not self._reader.is_dear:
            await self._streams.purge(bucket.name, seen.path, seen.until)
            return True
        ttl_s = server_ttl_s(memory, millis(self._clock.now()), self._limits)
        return await write(bucket, seen, encode(made), kind="graph", ttl_s=ttl_s)

    def _stands(self, said: Entry | Marker | None, memory: Memory, *, own: bool) -> bool:
        """Say whether a contribution is what it has to be; `own`: it is its own change that is looked at."""
        if not isinstance(said, Entry):
            return False
        try:
            made = decode(said.value)
        except Corrupt:
            return False
        if made.generation != content_hash(text_of(memory)):
            return False
        return own or made.made == self._reader.name or (made.made.startswith(DEAR) and not self._reader.is_dear)


DEAR = "llm:"
"""How the names of readers begin that ask a model."""
