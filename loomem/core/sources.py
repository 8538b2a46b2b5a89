"""Sources: a conversation as it is stored, and what is taken from it. Pure.

    source     the conversation, cleaned, as evidence; a long one is split over several records, of which the first is the
               source and knows how many there are; together, in order, they are the text
    fragment   one utterance, verbatim: `source[byte_start:byte_end]` in bytes of UTF-8 is its content
    fact       a statement that was read in it

Whatever was taken from a source names it (`source_id`), lies in the same space, and never changes: what is wrong is mended
by deleting the source and taking the conversation in again. Ids follow from the source's and a number, so that what is done
twice is done once, and so that all that was taken can be named without asking anybody.

`CONTRACT` is the version of these rules, and every such record carries it. Under contract 0, the drafts of it, a record did
not say that nobody knows when a thing happened (`event_unknown`), and such a thing counted as having happened when it was
written; `renewed` mends that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from uuid import UUID, uuid5

import msgspec

from identity.errors import InvalidInput
from loomem.core.extract import Extracted
from loomem.core.facts import category_of
from loomem.core.knowledge import Knowledge, Role, Trust
from loomem.core.record import SCHEMA_VERSION, Memory
from loomem.core.transcript import Transcript, Utterance

CONTRACT = 1
SOURCE = "mcp-ingest"
"""Where all of it comes from, as records say it."""
PART_BYTES = 32_768
"""Of one record of a source, as of any memory that is not a fact."""
FRAGMENT_BYTES = 8_192
"""A longer utterance becomes several fragments."""
FRAGMENTS_LIMIT = 5_000
"""Of one source; what was said after them is in the source alone."""
WINDOW = 2_048
"""Bytes before a limit in which a good place to cut is looked for."""

_NAMES = UUID("6f1d3c52-9f0e-5a0b-8e0a-2b7c1d9e4f35")
_OP = "source "
_CUTS = tuple(re.compile(pattern) for pattern in (rb"\n\s*\n", rb"\n", rb"[.!?]['\")\]]*\s+|\xe3\x80\x82", rb"\s+"))
"""Where a text is cut rather than elsewhere, the best places first: after these."""


class Piece(msgspec.Struct, frozen=True):
    """A stretch of a text, in bytes of UTF-8."""

    text: str
    start: int
    end: int


class Fragment(msgspec.Struct, frozen=True):
    """A piece that somebody said."""

    piece: Piece
    said: Utterance
    turn: int


class Planned(msgspec.Struct, frozen=True, kw_only=True):
    """The fragments of a conversation."""

    fragments: tuple[Fragment, ...] = ()
    skipped: int = 0
    """Slices that cleaning would change, or beyond the limit."""
    reason: str = ""
    """Why there are none at all."""


# --- what a record is -------------------------------------------------------------------------------------------------


def is_source(memory: Memory) -> bool:
    """Say whether a memory is a source, or the first part of one."""
    known = memory.knowledge
    return known is not None and known.contract is not None and known.role is Role.EVIDENCE and known.source_id is None


def is_part(memory: Memory) -> bool:
    """Say whether a memory is a further part of a source."""
    return memory.knowledge is not None and memory.knowledge.part > 0


def is_linked(memory: Memory) -> bool:
    """Say whether a memory is a source or was taken from one: then it never changes."""
    return source_id_of(memory) is not None


def source_id_of(memory: Memory) -> str | None:
    """Return the source a memory belongs to: itself, or the one it was taken from."""
    if memory.knowledge is not None and memory.knowledge.source_id is not None:
        return memory.knowledge.source_id
    return memory.id if is_source(memory) else None


def was_stated(memory: Memory) -> bool:
    """Say whether somebody wrote a memory as it stands; else it was extracted, merged, or is what that was made of."""
    known = memory.knowledge
    if known is None:
        return True
    return known.role is not Role.EVIDENCE and known.level == 0 and known.source_id is None and not known.source_ids


def source_op(op: str) -> str:
    """Return the operation id of a write of a source, by which workers know it without reading it."""
    return f"{_OP}{op}"


def is_source_op(op: str | None) -> bool:
    """Say whether an operation wrote a source."""
    return op is not None and op.startswith(_OP)


def fact_id(source: str, number: int) -> str:
    """Return the id of a source's fact; they are numbered from 0."""
    return str(uuid5(_NAMES, f"{source} fact {number}"))


def part_id(source: str, number: int) -> str:
    """Return the id of a further part of a source; its first part, number 0, is the source itself."""
    return source if number == 0 else str(uuid5(_NAMES, f"{source} part {number}"))


def fragment_id(source: str, number: int) -> str:
    """Return the id of a source's fragment; they are numbered from 0."""
    return str(uuid5(_NAMES, f"{source} fragment {number}"))


def taken_ids(source: Memory, facts: int) -> Iterator[str]:
    """Yield the ids of everything that was taken from a source, if so many facts were."""
    known = source.knowledge or Knowledge()
    yield from (part_id(source.id, number) for number in range(1, known.parts))
    yield from (fact_id(source.id, number) for number in range(facts))
    yield from (fragment_id(source.id, number) for number in range(known.fragments))


def check_whole(memory: Memory, done: str) -> None:
    """Raises: InvalidInput, when a memory is a part of a source that is split: `done` is done to the source alone."""
    known = memory.knowledge
    if known is not None and known.part:
        raise InvalidInput(
            f"This is part {known.part} of the source {known.source_id}; only the whole source can be {done}",
            field="memoryId",
            memoryId=memory.id,
            sourceId=known.source_id,
        )


def check_changeable(memory: Memory) -> None:
    """Raises: InvalidInput, when a memory is a source or was taken from one."""
    source = source_id_of(memory)
    if source is not None:
        what = "is" if source == memory.id else f"was taken from {source}, which is"
        raise InvalidInput(
            f"This memory {what} a conversation as it was taken in, and neither that nor what was read in it changes. To "
            "correct it, delete the source and take the conversation in again",
            field="memoryId",
            memoryId=memory.id,
            sourceId=source,
        )


# --- from a text to records -------------------------------------------------------------------------------------------


def parts_of(text: str, transcript: Transcript, limit: int = PART_BYTES) -> list[Piece]:
    """Return a text in pieces that a record can hold: cut where somebody begins to speak, else at the end of a sentence."""
    raw = text.encode()
    begins = [said.byte_label for said in transcript.utterances]
    pieces: list[Piece] = []
    start, at = 0, 0
    while len(raw) - start > limit:
        end = start
        while at < len(begins) and begins[at] <= start + limit:
            end = max(end, begins[at])
            at += 1
        if end == start:
            end = _cut(raw, start, start + limit)
        pieces.append(_piece(raw, start, end))
        start = end
    pieces.append(_piece(raw, start, len(raw)))
    return pieces


def fragments_of(text: str, transcript: Transcript, is_clean: Callable[[str], bool]) -> Planned:
    """Return the fragments of a text; `is_clean` says whether a slice may be stored as it is."""
    if not transcript.utterances:
        return Planned(reason=transcript.reason or "no speaker markers")
    raw = text.encode()
    found: list[Fragment] = []
    skipped = 0
    for turn, said in enumerate(transcript.utterances):
        for piece in _pieces(raw, said.byte_start, said.byte_end):
            if len(found) < FRAGMENTS_LIMIT and piece.text.strip() and is_clean(piece.text):
                found.append(Fragment(piece, said, turn))
            else:
                skipped += 1
    return Planned(fragments=tuple(found), skipped=skipped)


def source_records(
    draft: Memory, pieces: Sequence[Piece], *, day: date | None, extract: bool, fragments: int
) -> list[Memory]:
    """Return the records of a source, itself first. `draft` says where it is stored and by whom."""
    known = Knowledge(
        role=Role.EVIDENCE,
        trust=Trust.A2,
        source=SOURCE,
        conversation_date=None if day is None else day.isoformat(),
        event_unknown=True,
        contract=CONTRACT,
    )
    head = msgspec.structs.replace(known, extract=extract, parts=len(pieces), fragments=fragments)
    records = [msgspec.structs.replace(draft, content=pieces[0].text, knowledge=head)]
    for number, piece in enumerate(pieces[1:], 1):
        part = msgspec.structs.replace(
            known, source_id=draft.id, part=number, byte_start=piece.start, byte_end=piece.end
        )
        records.append(msgspec.structs.replace(draft, id=part_id(draft.id, number), content=piece.text, knowledge=part))
    return records


def fragment_records(source: Memory, fragments: Sequence[Fragment]) -> list[Memory]:
    """Return the records of fragments; they are turns of one conversation."""
    return [_fragment_record(source, number, each) for number, each in enumerate(fragments)]


def fact_record(source: Memory, number: int, fact: Extracted, now: str) -> Memory:
    """Return the record of a fact that was read in a source."""
    evidence = source.knowledge or Knowledge()
    day = evidence.conversation_date
    event = None if fact.event_date is None else fact.event_date.isoformat()
    return Memory(
        id=fact_id(source.id, number),
        agent_id=source.agent_id,
        project_id=source.project_id,
        scope=source.scope,
        category=category_of(source.scope, fact.fact_type),
        content=fact.content,
        created_at=now,
        updated_at=now,
        version=SCHEMA_VERSION,
        knowledge=Knowledge(
            fact_type=fact.fact_type,
            topic=fact.topic,
            subject=fact.subject,
            role=Role.CLAIM,
            level=1,
            importance=fact.importance,
            static=fact.static,
            confidence=fact.confidence,
            trust=Trust.A2,
            source=SOURCE,
            author=fact.attributed_to,
            valid_from=_holds_from(event, day, now),
            event_date=event,
            event_context=fact.event_context,
            event_unknown=event is None,
            conversation_date=day,
            source_id=source.id,
            byte_start=fact.byte_start,
            byte_end=fact.byte_end,
            contract=CONTRACT,
        ),
    )


def renewed(memory: Memory) -> Memory | None:
    """Return a record of an older contract as this one has it; None when it is up to date."""
    known = memory.knowledge
    if known is None or known.contract is None or known.contract >= CONTRACT:
        return None
    unknown = known.event_date is None
    return msgspec.structs.replace(
        memory, knowledge=msgspec.structs.replace(known, event_unknown=unknown, contract=CONTRACT)
    )


# --- within -----------------------------------------------------------------------------------------------------------


def _fragment_record(source: Memory, number: int, fragment: Fragment) -> Memory:
    evidence, said = source.knowledge or Knowledge(), fragment.said
    metadata: dict[str, object] = {"conversation": source.id, "turn": fragment.turn}
    if said.speaker:
        metadata["speaker"] = said.speaker
    return Memory(
        id=fragment_id(source.id, number),
        agent_id=source.agent_id,
        project_id=source.project_id,
        scope=source.scope,
        category=source.category,
        content=fragment.piece.text,
        metadata=metadata,
        created_at=source.created_at,
        updated_at=source.updated_at,
        version=SCHEMA_VERSION,
        knowledge=Knowledge(
            role=Role.EVIDENCE,
            trust=Trust.A2,
            source=SOURCE,
            author=None if said.role is None else str(said.role),
            event_unknown=True,
            conversation_date=evidence.conversation_date,
            source_id=source.id,
            byte_start=fragment.piece.start,
            byte_end=fragment.piece.end,
            contract=CONTRACT,
        ),
    )


def _holds_from(event: str | None, day: str | None, now: str) -> str:
    """Return from when on a fact holds: when it happened, unless that was to come when it was said."""
    said = now if day is None else f"{day}T00:00:00.000Z"
    happened = said if event is None else f"{event}T00:00:00.000Z"
    return min(happened, said)


def _pieces(raw: bytes, start: int, end: int) -> Iterator[Piece]:
    while end - start > FRAGMENT_BYTES:
        cut = _cut(raw, start, start + FRAGMENT_BYTES)
        yield _piece(raw, start, cut)
        start = cut
    if end > start:
        yield _piece(raw, start, end)


def _cut(raw: bytes, start: int, limit: int) -> int:
    """Return where to cut before a limit: after a paragraph, a line, a sentence, a word, and at any rate between characters."""
    low = max(start, limit - WINDOW)
    for pattern in _CUTS:
        ends = [match.end() for match in pattern.finditer(raw, low, limit)]
        if ends and ends[-1] > start:
            return ends[-1]
    while limit > start + 1 and raw[limit] & 0xC0 == 0x80:
        limit -= 1
    return limit


def _piece(raw: bytes, start: int, end: int) -> Piece:
    return Piece(raw[start:end].decode(), start, end)
