"""A conversation on its way in: cleaned, stored as a source, cut into fragments; and how the taking of facts from it is.

The source is acknowledged before anything else is done, and each later step may fail without undoing an earlier one. That
facts are to be taken from it stands in the record itself, so it is the job of a worker (`loomem.workers.extract`), whether
or not anybody waits here. Deliberately absent: reading facts in a text, judging them, and any write of either.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import date, tzinfo

import msgspec

from identity.errors import Corrupt, InvalidInput, LoomError, Unavailable
from identity.ports import Entry, Progress
from loomem.core import limits as check
from loomem.core import plan
from loomem.core.facts import FactSettings, category_of
from loomem.core.jobs import JobState, decode, state_of
from loomem.core.knowledge import Knowledge
from loomem.core.record import Memory
from loomem.core.row import Row
from loomem.core.sources import (
    Piece,
    Planned,
    fact_id,
    fragment_records,
    fragments_of,
    parts_of,
    source_records,
)
from loomem.core.streams import USER_DEFAULT, Stream, built_in
from loomem.core.times import date_argument, moment_of
from loomem.core.transcript import Transcript, render
from loomem.fact_results import Fact, FragmentCounts, Ingested
from loomem.results import Job, Notice
from loomem.store.bulk import CHUNK, position_of
from loomem.store.cleaning import Cleaning
from loomem.store.streams import stream_of
from loomem.store.write import Door, Written
from loomem.views.jobs import Jobs, address_of

RENDERED_TIMES = 16
"""How much larger than the conversation the form may be in which it is given: JSON with results of tools is mostly not kept."""
OFF = "off"


class RawTranscript(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of an ingest as they came."""

    content: object = None
    conversation_date: object = None
    stream: object = None
    wait: object = None


class _Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation that may be stored, and how."""

    text: str
    day: date | None
    pieces: list[Piece]
    planned: Planned | None
    """None when no fragments are made."""
    notices: list[Notice]


class Intake:
    """Takes conversations in for one caller."""

    def __init__(self, door: Door, settings: FactSettings, zone: tzinfo, jobs: Jobs | None) -> None:
        self._door = door
        self._settings = settings
        self._zone = zone
        self._jobs = jobs

    async def ingest(self, raw: RawTranscript, progress: Progress | None) -> Ingested:
        """Store a conversation, and wait for its facts, bounded.

        Raises: InvalidInput, AccessDenied (no such stream), LimitExceeded, Unavailable. Then nothing was stored.
        """
        until = asyncio.get_running_loop().time() + self._settings.wait_s
        waits = check.clean_flag("wait", raw.wait, default=True)
        day = clean_day(raw.conversation_date, self._zone)
        given = check.clean_transcript(raw.content, self._door.limits, times=RENDERED_TIMES)
        stream = await stream_of(self._door, raw.stream, self._settings.namespaces)
        stream = stream or built_in(self._door.caller, USER_DEFAULT)
        # Two megabytes take a while; other calls of this process go on meanwhile.
        prepared = await asyncio.to_thread(self._prepared, given, day)
        records = self._records(prepared, stream)
        written = await self._store(records, stream)
        await _tell(progress, 1.0, f"stored as {records[0].id}")
        fragments = None
        if prepared.planned is not None:
            fragments, more = await self._fragments(records[0], prepared.planned, stream, progress)
            written += more
        waits = waits and self._settings.extract
        state = await self._waited(records[0], written[0], until, progress) if waits else None
        source = records[0]
        return Ingested(
            source_id=source.id,
            stream=stream.word,
            scope=str(source.scope),
            bytes=len(prepared.text.encode()),
            parts=len(prepared.pieces),
            conversation_date=None if prepared.day is None else prepared.day.isoformat(),
            extraction=self._job(source, state),
            facts=[_fact(self._door, row) for row in self._facts(source, state)] or None,
            fragments=fragments,
            revision=written[0].revision,
            position=position_of(written) or written[0].position,
            warnings=prepared.notices or None,
        )

    async def job(self, source: Row) -> Job:
        """Return how the extraction of a source is by now. Raises: Unavailable."""
        bucket, path = address_of(source)
        held = await (await self._door.bucket(bucket)).get(path)
        record = None
        if isinstance(held, Entry):
            with suppress(Corrupt):
                record = decode(held.value)
        return self._job(source.memory, state_of(record))

    # --- within ---

    def _job(self, source: Memory, state: JobState | None) -> Job:
        if source.knowledge is None or not source.knowledge.extract:
            return Job(state=OFF)
        state = state or state_of(None)
        done = state.extraction
        return Job(
            state=str(state.state),
            reason=state.reason or (None if done is None else done.reason),
            attempts=state.attempts or None,
            extractor=None if done is None else done.by,
            extracted=None if done is None or done.by is None else done.count,
            skipped=None if done is None or done.by is None else done.dropped,
            failed_pieces=(None if done is None else done.failed_pieces) or None,
            fact_ids=[row.id for row in self._facts(source, state)] or None,
        )

    def _prepared(self, given: str, day: date | None) -> _Prepared:
        """Clean a conversation and plan its records. In a thread. Raises: InvalidInput."""
        cleaning = Cleaning(self._door, self._settings.pii)
        rendered = render(given)
        text, transcript = cleaning.transcript(rendered.text)
        notices = cleaning.notices()
        if rendered.left_out:
            notices.append(
                Notice(type="left_out", description=f"{rendered.left_out} characters of tool results were left out")
            )
        planned = fragments_of(text, transcript, cleaning.is_clean) if self._settings.fragments else None
        return _Prepared(
            text=text,
            day=day or _first_day(transcript, self._zone),
            pieces=parts_of(text, transcript),
            planned=planned,
            notices=notices,
        )

    def _records(self, prepared: _Prepared, stream: Stream) -> list[Memory]:
        door = self._door
        draft = plan.Draft(scope=stream.scope, category=category_of(stream.scope, None), content=prepared.text)
        return source_records(
            plan.created(draft, door.caller, door.ids.memory_id(), door.now_ms, door.limits),
            prepared.pieces,
            day=prepared.day,
            extract=self._settings.extract,
            fragments=0 if prepared.planned is None else len(prepared.planned.fragments),
        )

    async def _store(self, records: Sequence[Memory], stream: Stream) -> list[Written]:
        """Store a source: all of its parts or none; one by one where the broker cannot, itself last."""
        door = self._door
        async with door.room(records[0].scope, stream.stream, new=len(records), core=0) as slot:
            puts = [door.put(record, stream=stream.stream) for record in records]
            bucket = puts[0][0]
            try:
                written = await door.send_all(bucket, [change for _, change in puts])
            except Unavailable as error:
                if not error.unsupported:
                    raise
                written = [await door.send(bucket, change) for _, change in reversed(puts)][::-1]
            slot.note(bucket, written[-1].key, max(one.revision for one in written))
        return written

    async def _fragments(
        self, source: Memory, planned: Planned, stream: Stream, progress: Progress | None
    ) -> tuple[FragmentCounts, list[Written]]:
        """Store the fragments of a source that is acknowledged; those that cannot be are counted."""
        records = fragment_records(source, planned.fragments)
        written: list[Written] = []
        for start in range(0, len(records), CHUNK):
            chunk = records[start : start + CHUNK]
            try:
                written += await self._store_chunk(chunk, stream)
            except LoomError:
                for record in chunk:
                    written += await self._store_one(record, stream)
            done = min(start + CHUNK, len(records))
            await _tell(progress, 1 + done / len(records), f"{done} of {len(records)} fragments stored")
        counts = FragmentCounts(
            stored=len(written),
            failed=len(records) - len(written),
            skipped=planned.skipped,
            reason=planned.reason or None,
        )
        return counts, written

    async def _store_chunk(self, records: Sequence[Memory], stream: Stream) -> list[Written]:
        async with self._door.room(records[0].scope, stream.stream, new=len(records), core=0) as slot:
            puts = [self._door.put(record, stream=stream.stream) for record in records]
            written = await self._door.send_all(puts[0][0], [change for _, change in puts])
            slot.note(puts[0][0], written[-1].key, written[-1].revision)
        return written

    async def _store_one(self, record: Memory, stream: Stream) -> list[Written]:
        try:
            return [await self._door.create(record, stream=stream.stream)]
        except LoomError:
            return []

    async def _waited(
        self, source: Memory, written: Written, until: float, progress: Progress | None
    ) -> JobState | None:
        """Wait until the job is over or a try has failed, or for so long; then for what was written by then."""
        if self._jobs is None:
            return None
        with suppress(TimeoutError, Unavailable):  # it is stored, which is what was promised
            async with asyncio.timeout_at(until):
                await self._door.projection.settle((source.scope,))
        row = self._row(source.id)
        if row is None:
            return None
        await _tell(progress, 2.5, "taking facts from it")
        left_s = until - asyncio.get_running_loop().time()
        seen = await self._jobs.told(address_of(row), within_s=left_s)
        if seen.state.is_over:
            with suppress(Unavailable, InvalidInput):
                await self._door.projection.wait({written.bucket: seen.revision})
        await _tell(progress, 3, str(seen.state.state))
        return seen.state

    def _facts(self, source: Memory, state: JobState | None) -> list[Row]:
        """Return the facts of a source that are visible, in their order."""
        count = 0 if state is None or state.extraction is None else state.extraction.count
        found = (self._row(fact_id(source.id, number)) for number in range(count))
        return [row for row in found if row is not None]

    def _row(self, ident: str) -> Row | None:
        rows = self._door.projection.records.find(ident)
        return rows[0] if rows else None


def clean_day(value: object, zone: tzinfo) -> date | None:
    """Return the day of a conversation, as it was called in a zone. Raises: InvalidInput."""
    if value is None or value == "":
        return None
    ms = date_argument("conversation_date", value, zone)
    return moment_of(ms).astimezone(zone).date()


def _first_day(transcript: Transcript, zone: tzinfo) -> date | None:
    """Return the day on which the first utterance was said that tells."""
    at = next((said.at for said in transcript.utterances if said.at is not None), None)
    if at is None:
        return None
    return at.date() if at.tzinfo is None else at.astimezone(zone).date()


def _fact(door: Door, row: Row) -> Fact:
    known = row.memory.knowledge or Knowledge()
    replaced = door.projection.records.chains.replaced_by(row.place, row.memory)
    return Fact(
        memory_id=row.id,
        content=row.memory.content,
        fact_type=str(known.fact_type),
        topic=known.topic,
        subject=known.subject,
        author=known.author,
        event=known.event_date,
        supersedes=replaced or None,
    )


async def _tell(progress: Progress | None, step: float, what: str) -> None:
    if progress is not None:
        await progress(step, 3, what)
