"""The worker that takes facts from sources, and that ends what was begun when one was deleted.

A source is a job as long as its record wants facts (`knowledge.extract`) and what stands beside it (`core.jobs`) does not say
`done`. Each job is given out at least once, to whichever crew; each fact is written once all the same:

1. What a model says of each piece of a long one is kept beside the source, so that nobody asks that again. What was read is kept beside the source first, whole. Whoever goes on after a crash stores that and reads nothing again,
   so a model that says something else the second time changes nothing.
2. Facts have ids that follow from the source's and their number, and are created only: one that is there stays, and one that
   somebody erased meanwhile does not come back.
3. Then it is done.

A source that was deleted takes with it what was taken from it. The server that deletes does that itself; what it did not
come to, or what was being written meanwhile, is hidden here, with the source's own time, so that it is restored with it.

Deliberately absent: how a text is read (`reading`), whose place a fact takes (`placing`); any delete that is not its source's.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from datetime import date
from functools import partial
from uuid import uuid4

import msgspec

from identity.errors import Conflict, Corrupt, InvalidInput, Unavailable
from identity.keys import SYSTEM_BUCKET, Key, Kind, escape_token, parse_key
from identity.ports import Bucket, Clock, Entry, Marker, Put
from loomem.core import jobs, plan
from loomem.core.audit.notes import Action, noted
from loomem.core.extract import Extracted, SoFar
from loomem.core.extract.values import UNREAD
from loomem.core.facts import clean_fact_content
from loomem.core.hygiene import clean
from loomem.core.jobs import EXTRACTOR, Extraction, JobRecord, Step
from loomem.core.knowledge import Knowledge
from loomem.core.limits import Limits
from loomem.core.pii_settings import PiiSettings
from loomem.core.record import Memory, decode, encode
from loomem.core.scan import ScanPolicy, apply_policy
from loomem.core.sources import fact_id, fact_record, is_source, is_source_op, part_id, source_id_of, taken_ids
from loomem.core.times import iso, millis, stored_millis
from loomem.nats.pull import Job, JobQueue
from loomem.workers.duty import Hopeless
from loomem.workers.placing import Placed, Placing
from loomem.workers.reading import Reader, Reading
from loomem.workers.status import Tally

log = logging.getLogger(__name__)

ACK_WAIT_S = 30.0
"""Silence after which a job is another's."""
TRIES = 5
"""Of a write that somebody else was quicker with; then the job is put off."""


class Hygiene(msgspec.Struct, frozen=True, kw_only=True):
    """What of a fact may be stored: a model may say what stood in no text that was cleaned."""

    pii: PiiSettings = PiiSettings()
    scan: ScanPolicy = ScanPolicy.WARN


class ExtractWorker:
    """One for all buckets of a crew."""

    name = EXTRACTOR

    def __init__(
        self,
        reader: Reader,
        limits: Limits,
        clock: Clock,
        *,
        hygiene: Hygiene | None = None,
        placing: Placing | None = None,
    ) -> None:
        self.queue = JobQueue(
            name=self.name,
            filters=(f"*.*.{Kind.MEMORY}.*",),
            slots=16,
            max_ack_pending=256,
            ack_wait_s=ACK_WAIT_S,
            headers_only=True,  # a source is known by the operation that wrote it
        )
        self._reader = reader
        self._limits = limits
        self._clock = clock
        self._hygiene = hygiene or Hygiene()
        self._placing = placing

    @property
    def able(self) -> bool:
        return True

    async def ready(self) -> None:
        return

    def serves(self, bucket: str) -> bool:
        return bucket != SYSTEM_BUCKET

    async def attend(self, bucket: Bucket, tally: Tally) -> None:  # noqa: ARG002 - as the port has it
        return

    async def handle(self, bucket: Bucket, job: Job) -> None:
        """Take the facts from this source, or hide them when it was deleted.

        Raises: Hopeless (a part of it is missing), Unavailable, and what the reader raises.
        """
        change, key = job.change, parse_key(job.change.key)
        if key is None or isinstance(change, Marker) or not is_source_op(change.op):
            return
        source = await self._source(bucket, key, at_least=change.revision)
        if source is None:
            return
        if source.deleted_at is None and source.knowledge is not None and source.knowledge.extract:
            await self._extract(bucket, key, source, job.goes_on)
            source = await self._source(bucket, key, at_least=change.revision)  # it may have been deleted meanwhile
        if source is not None and source.deleted_at is not None:
            await self._hide_taken(bucket, key, source)

    # --- extracting ---

    async def _extract(self, bucket: Bucket, key: Key, source: Memory, goes_on: Callable[[], None]) -> None:
        path = key.beside(Kind.JOB)
        record, _ = await _look(bucket, path)
        known = record.extraction
        if known is None or known.step is Step.READING:
            began, so_far = self._now, None if known is None else known.so_far
            reads = Extraction(step=Step.READING, since=began, so_far=so_far)
            known = await self._change(bucket, path, lambda held: reads if _is_open(held) else held)
            if known.step is Step.READING:
                notes = _Notes(partial(self._note, bucket, path), known.so_far or UNREAD, goes_on)
                text = await self._text(bucket, key, source)
                reading = await self._reader.read(text, day=_day_of(source), notes=notes)
                read = self._extraction(reading)
                known = await self._change(bucket, path, lambda held: read if _is_open(held) else held)
        if known.step is Step.DONE:
            return
        await self._store(bucket, key, source, known)
        done = msgspec.structs.replace(known, step=Step.DONE, since=self._now, facts=())
        await self._change(bucket, path, lambda _: done)
        log.info(
            "event=extracted bucket=%s source=%s by=%s facts=%d dropped=%d pieces=%d failed_pieces=%d",
            bucket.name, source.id, known.by, known.count, known.dropped, known.pieces, known.failed_pieces,
        )  # fmt: skip

    async def _note(self, bucket: Bucket, path: str, so_far: SoFar) -> None:
        """Keep what was read so far, unless somebody else has read all."""
        facts = tuple(fact for each in so_far.facts if (fact := self._cleaned(each)) is not None)
        clean = msgspec.structs.replace(so_far, facts=facts)

        def change(held: Extraction | None) -> Extraction:
            if held is None:
                return Extraction(step=Step.READING, since=self._now, so_far=clean)
            return msgspec.structs.replace(held, so_far=clean) if held.step is Step.READING else held

        await self._change(bucket, path, change)

    async def _store(self, bucket: Bucket, key: Key, source: Memory, known: Extraction) -> None:
        """Create the facts that are not there yet, and never were."""
        for number, fact in enumerate(known.facts):
            path = _beside(key, fact_id(source.id, number))
            if await bucket.get(path) is not None:
                continue
            placed = Placed(fact_record(source, number, fact, known.since))
            if self._placing is not None:
                placed = await self._placing.placed(bucket.name, key, placed.memory)
            old = () if placed.memory.knowledge is None else placed.memory.knowledge.supersedes
            did = noted("", source.project_id, "", Action.INGESTED, old, placed.blocked)
            put = Put(key=path, value=encode(placed.memory), expected=0, op=f"fact-of {source.id} {uuid4()}", did=did)
            try:
                await bucket.write(put)
            except Conflict:
                continue  # another crew has written it

    def _extraction(self, reading: Reading) -> Extraction:
        """Return what is kept of what was read: facts as they may be stored."""
        facts = [fact for each in reading.facts if (fact := self._cleaned(each)) is not None]
        return Extraction(
            step=Step.READ,
            since=self._now,
            by=reading.by,
            facts=tuple(facts),
            count=len(facts),
            dropped=reading.dropped + len(reading.facts) - len(facts),
            pieces=reading.pieces,
            failed_pieces=reading.failed_pieces,
            reason=reading.reason,
        )

    def _cleaned(self, fact: Extracted) -> Extracted | None:
        """Return a fact without markup, personal data and, where the policy says so, secrets; None when nothing is left of it."""
        try:
            texts = {name: self._clean(getattr(fact, name)) for name in ("content", "subject", "event_context")}
            content = clean_fact_content(texts.pop("content"), self._limits)
        except InvalidInput:
            return None
        return msgspec.structs.replace(fact, content=content, **texts)

    def _clean(self, text: str | None) -> str | None:
        if text is None:
            return None
        cleaned = clean(text, self._hygiene.pii).text.strip()
        return apply_policy(self._hygiene.scan, cleaned, None).content

    async def _text(self, bucket: Bucket, key: Key, source: Memory) -> str:
        """Return the whole text of a source. Raises: Hopeless, Unavailable."""
        texts = [source.content]
        for number in range(1, (source.knowledge or Knowledge()).parts):
            part = await bucket.get(_beside(key, part_id(source.id, number)))
            if not isinstance(part, Entry):
                raise Hopeless(f"part {number} of the source is missing")
            texts.append(decode(part.value).content)
        return "".join(texts)

    # --- hiding what a deleted source leaves ---

    async def _hide_taken(self, bucket: Bucket, key: Key, source: Memory) -> None:
        record, _ = await _look(bucket, key.beside(Kind.JOB))
        facts = 0 if record.extraction is None else record.extraction.count
        gone_ms = stored_millis(source.deleted_at) or millis(self._clock.now())
        hidden = 0
        for ident in taken_ids(source, facts):
            hidden += await self._hide(bucket, _beside(key, ident), source.id, gone_ms)
        if hidden:
            log.info("event=cascade_finished bucket=%s source=%s hidden=%d", bucket.name, source.id, hidden)

    async def _hide(self, bucket: Bucket, path: str, source: str, gone_ms: int) -> bool:
        for _ in range(TRIES):
            held = await bucket.get(path)
            memory = _memory(held)
            if held is None or memory is None or memory.deleted_at is not None or source_id_of(memory) != source:
                return False
            gone, now_ms = plan.deleted(memory, gone_ms), millis(self._clock.now())
            put = Put(
                key=path,
                value=encode(gone),
                expected=held.revision,
                op=f"gone-with {uuid4()}",
                ttl_s=plan.server_ttl_s(gone, now_ms, self._limits),
                trail=plan.trail_after(held, now_ms) if isinstance(held, Entry) else (),
                did=noted("", memory.project_id, "", Action.DELETED, (), ()),
            )
            try:
                await bucket.write(put)
            except Conflict:
                continue
            return True
        raise Unavailable("what was taken from a deleted source changes faster than it can be hidden")

    # --- reading and writing ---

    @property
    def _now(self) -> str:
        return iso(self._clock.now())

    async def _source(self, bucket: Bucket, key: Key, *, at_least: int) -> Memory | None:
        memory = _memory(await bucket.get(key.beside(Kind.MEMORY), at_least=at_least))
        return memory if memory is not None and is_source(memory) else None

    async def _change(
        self, bucket: Bucket, path: str, change: Callable[[Extraction | None], Extraction | None]
    ) -> Extraction:
        """Change how the extraction is, as what is there decides; failures that stand beside it stay. Returns how it is then.

        Raises: Unavailable.
        """
        for _ in range(TRIES):
            record, revision = await _look(bucket, path)
            after = change(record.extraction)
            if after is None:
                raise AssertionError  # what was begun is never taken back
            if after == record.extraction:
                return after
            value = jobs.encode(msgspec.structs.replace(record, extraction=after))
            try:
                await bucket.write(Put(key=path, value=value, expected=revision, op=f"extraction {uuid4()}"))
            except Conflict:
                continue
            return after
        raise Unavailable("the state of the extraction changes faster than it can be written")


class _Notes:
    """Keeps what is read of one source."""

    def __init__(self, keep: Callable[[SoFar], Awaitable[None]], so_far: SoFar, goes_on: Callable[[], None]) -> None:
        self.so_far = so_far
        self._keep = keep
        self._goes_on = goes_on

    async def keep(self, so_far: SoFar) -> None:
        """Keep what there is, where it is more. Raises: Unavailable."""
        self._goes_on()
        if so_far != self.so_far:
            await self._keep(so_far)
            self.so_far = so_far


def _is_open(held: Extraction | None) -> bool:
    """Say whether nobody has kept what was read yet."""
    return held is None or held.step is Step.READING


def _beside(key: Key, ident: str) -> str:
    """Return the key of another memory of the same space."""
    return f"{key.prefix}.{Kind.MEMORY}.{escape_token(ident)}"


def _memory(held: Entry | Marker | None) -> Memory | None:
    if not isinstance(held, Entry):
        return None
    try:
        return decode(held.value)
    except Corrupt:
        return None  # shown by the views; nobody changes what nobody understands


def _day_of(source: Memory) -> date | None:
    day = None if source.knowledge is None else source.knowledge.conversation_date
    try:
        return None if day is None else date.fromisoformat(day[:10])
    except ValueError:
        return None


async def _look(bucket: Bucket, path: str) -> tuple[JobRecord, int]:
    """Return what stands beside a source, and the revision that a write over it must name."""
    held = await bucket.get(path)
    if not isinstance(held, Entry):
        return jobs.NOTHING, 0
    try:
        return jobs.decode(held.value), held.revision
    except Corrupt:
        return jobs.NOTHING, held.revision  # worth nothing to anybody
