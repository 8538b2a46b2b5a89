"""The embedding worker: every memory gets exactly one vector per model, and no vector outlives its memory.

A job is any change of a memory or of a vector of this model; what is done is always the same (`settle`): look at the
vector, then at the memory, and make the first what the second asks for. So a job may come twice, late, or for something
that has changed since, and a vector without its memory is itself the job that removes it: written by a worker that was
overtaken by a deletion and then killed, it is found when it is delivered.

Why the order of the two looks makes that safe, `beside` says.

- Unchanged text: the hash says so, and nothing is written.
- A memory that is gone (be it to a stub), or deleted and kept for a while, has no vectors, of whatever model. They go without markers: who
  follows the bucket hears of the memory.
- A vector expires with its memory. If only the vector does (the memory was given a longer life), that is a job too.
- A text that the model refuses is given up at once, with the reason in the failure record (kind `x`) beside its memory:
  that record is the dead letter. It is found by its words.
- Another model is another durable consumer, and embeds everything again. Vectors of the former stay until their memory
  goes, because another host may still ask for them; nobody's search meets them (`loomem.core.vector`).

Deliberately absent: the model (`loomem.embed`), the text (`loomem.core.vector`), retries (`duty`).
"""

from __future__ import annotations

import asyncio
import random

from identity.errors import Corrupt, Unavailable
from identity.keys import SYSTEM_BUCKET, Key, Kind, escape_token, parse_key
from identity.ports import Bucket, Clock, Entry, Marker
from loomem.core.embedding import Refused, Vector
from loomem.core.limits import Limits
from loomem.core.plan import server_ttl_s
from loomem.core.record import decode as decode_memory
from loomem.core.times import millis
from loomem.core.vector import Stored, content_hash, decode, encode, text_of
from loomem.embed.host import ModelHost
from loomem.nats.pull import Job, JobQueue
from loomem.nats.streams import Streams
from loomem.workers.beside import look, write
from loomem.workers.duty import Hopeless
from loomem.workers.status import Tally

ACK_WAIT_S = 30.0
"""Silence after which a job is another's; a text that is being embedded is heard from."""
PATIENCE_S = 240.0
"""For one text, those before it included: less than a job may take, since a slow model is nothing that a text is to blame for."""
SHUFFLE_S = 0.2
TRIES = 5
"""Of a vector that somebody else was quicker with; then the job is put off."""


class EmbedWorker:
    """One for all buckets of a crew; the name of its model is part of its own."""

    def __init__(self, host: ModelHost, model: str, streams: Streams, limits: Limits, clock: Clock) -> None:
        token = escape_token(model)
        self.name = f"embed-{token}"
        self.queue = JobQueue(
            name=self.name,
            filters=(f"*.*.{Kind.MEMORY}.*", f"*.*.{Kind.VECTOR}.*.{token}"),
            slots=16,
            max_ack_pending=256,
            ack_wait_s=ACK_WAIT_S,
            headers_only=True,
        )
        self._host = host
        self._model = model
        self._streams = streams
        self._limits = limits
        self._clock = clock

    @property
    def able(self) -> bool:
        return self._host.able

    async def ready(self) -> None:
        await self._host.ready()

    def serves(self, bucket: str) -> bool:
        return bucket != SYSTEM_BUCKET

    async def handle(self, bucket: Bucket, job: Job) -> None:
        """Make the vector of this memory what it has to be.

        Raises: Hopeless (the model refuses the text), Unavailable.
        """
        key = parse_key(job.change.key)
        if key is None:
            return
        for _ in range(TRIES):
            if await self._settle(bucket, key, job):
                return
        raise Unavailable("the memory changes faster than it can be embedded")

    async def attend(self, bucket: Bucket, tally: Tally) -> None:
        """Remove vectors whose memory left no trace, once: what was removed while no worker ran for longer than traces stay.

        Raises: NotFound, AccessDenied, Unavailable.
        """
        vectors, until = await self._streams.held(bucket.name, f"*.*.{Kind.VECTOR}.>")
        if not vectors:
            return
        memories, _ = await self._streams.held(bucket.name, f"*.*.{Kind.MEMORY}.*")
        owners = {key for path in vectors if (key := parse_key(path)) is not None}
        lost = {key.vectors for key in owners if key.beside(Kind.MEMORY) not in memories}
        for pattern in sorted(lost):
            await self._streams.purge(bucket.name, pattern, until + 1)
        if lost:
            tally.did(self._clock.now(), len(lost))

    async def _settle(self, bucket: Bucket, key: Key, job: Job) -> bool:
        """Return whether all is as it has to be; False = somebody else changed it meanwhile, look again."""
        seen = await look(bucket, key, key.vector(self._model), job)
        memory = None
        if isinstance(seen.memory, Entry):
            try:
                memory = decode_memory(seen.memory.value)
            except Corrupt:
                return True  # shown by the views; nobody embeds, or takes away, what nobody understands
        if memory is None or memory.deleted_at is not None or memory.erased:
            await self._streams.purge(bucket.name, key.vectors, seen.until)
            return True
        text = text_of(memory)
        if self._is_made_of(seen.made, content_hash(text)):
            return True
        try:
            values = await self._embedded(text, again=job.deliveries > 1)
        except Refused as error:
            # What stands there was made of another text.
            await self._streams.purge(bucket.name, seen.path, seen.until)
            raise Hopeless(error.message) from error
        stored = Stored.of(model=self._model, hash=content_hash(text), values=values)
        ttl_s = server_ttl_s(memory, millis(self._clock.now()), self._limits)
        return await write(bucket, seen, encode(stored), kind="vector", ttl_s=ttl_s)

    async def _embedded(self, text: str, *, again: bool) -> Vector:
        """Return the vector of a text; one that comes again goes alone, and in no order.

        It may be what ended a process, which then takes down whatever is in hand with it. In the order of the stream the
        same ones would be, each time, until all of them had been given out too often.

        Raises: Refused, Unavailable.
        """
        if again:
            await asyncio.sleep(random.random() * SHUFFLE_S)
        try:
            async with asyncio.timeout(PATIENCE_S):
                return await self._host.passage(text, alone=again)
        except TimeoutError:
            raise Unavailable("the embedding model takes too long") from None

    def _is_made_of(self, vector: Entry | Marker | None, hash: bytes) -> bool:
        if not isinstance(vector, Entry):
            return False
        try:
            stored = decode(vector.value)
        except Corrupt:
            return False
        return stored.hash == hash and stored.model == self._model
