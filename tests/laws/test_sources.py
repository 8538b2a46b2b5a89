"""Laws of sources: parts are the text, fragments are slices of it, ids follow, older contracts are renewed."""

from __future__ import annotations

from datetime import date
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from identity.errors import InvalidInput
from identity.visibility import Scope
from loomem.core.extract import Extracted
from loomem.core.jobs import NOTHING, Extraction, Failure, State, Step, decode, encode, state_of
from loomem.core.knowledge import FactType, Knowledge, Role
from loomem.core.record import Category, Memory
from loomem.core.record import decode as decode_memory
from loomem.core.record import encode as encode_memory
from loomem.core.sources import (
    CONTRACT,
    check_changeable,
    check_whole,
    fact_record,
    fragment_records,
    fragments_of,
    is_part,
    is_source,
    parts_of,
    renewed,
    source_id_of,
    source_records,
    taken_ids,
    was_stated,
)
from loomem.core.transcript import segment

SPEAKERS = st.sampled_from(["User", "Assistant", "Zoë"])
SAID = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), min_size=1, max_size=60)
TALKS = st.lists(st.tuples(SPEAKERS, SAID), min_size=1, max_size=20).map(
    lambda turns: "\n".join(f"{who}: {' '.join(said.split()) or 'x'}" for who, said in turns)
)


def draft(content: str = "", **fields: object) -> Memory:
    memory = Memory(
        id="3f0c2a9e-6a52-4c1d-9d57-0e2b7c6a1f10",
        agent_id="a",
        project_id="p",
        scope=Scope.PERSONAL,
        category=Category.LONGTERM,
        content=content,
        created_at="2026-05-01T00:00:00.000Z",
        updated_at="2026-05-01T00:00:00.000Z",
        version=1,
    )
    return msgspec.structs.replace(memory, **fields)


def source(text: str, *, limit: int = 32_768, day: date | None = None, fragments: int = 0) -> list[Memory]:
    pieces = parts_of(text, segment(text), limit)
    return source_records(draft(), pieces, day=day, extract=True, fragments=fragments)


@pytest.mark.requirement("know-14.limits")
@given(TALKS, st.integers(16, 200))
def test_the_parts_of_a_text_are_the_text(text: str, limit: int) -> None:
    records = source(text, limit=limit)
    assert "".join(record.content for record in records) == text
    raw = text.encode()
    for record in records[1:]:
        known = record.knowledge
        assert known is not None
        assert is_part(record)
        assert raw[known.byte_start : known.byte_end].decode() == record.content
    assert all(len(record.content.encode()) <= limit for record in records)
    head = records[0]
    assert is_source(head)
    assert head.knowledge is not None
    assert head.knowledge.parts == len(records)
    assert {source_id_of(record) for record in records} == {head.id}
    assert [record.id for record in records[1:]] == list(taken_ids(head, 0))


@pytest.mark.requirement("know-15")
@given(TALKS)
def test_fragments_are_slices_of_the_source(text: str) -> None:
    planned = fragments_of(text, segment(text), lambda piece: len(piece) % 7 != 0)
    head = source(text, fragments=len(planned.fragments))[0]
    raw = text.encode()
    records = fragment_records(head, planned.fragments)
    for record in records:
        known = record.knowledge
        assert known is not None
        assert raw[known.byte_start : known.byte_end].decode() == record.content
        assert len(record.content) % 7 != 0
        assert known.role is Role.EVIDENCE
    assert len({record.id for record in records}) == len(records)
    assert {record.id for record in records} <= set(taken_ids(head, 0))


def test_a_long_utterance_becomes_several_fragments_that_follow_each_other() -> None:
    text = "User: " + "A sentence about Kraków, and some more of it. " * 1_000
    planned = fragments_of(text.strip(), segment(text.strip()), lambda _: True)
    assert len(planned.fragments) > 4
    ends = [(each.piece.start, each.piece.end) for each in planned.fragments]
    assert all(end == start for (_, end), (start, _) in pairwise(ends))
    assert all(each.piece.text.endswith(". ") for each in planned.fragments[:-1])


@pytest.mark.requirement("know-16")
def test_a_fact_holds_since_it_happened_unless_that_was_to_come() -> None:
    head = source("User: x", day=date(2026, 4, 2))[0]
    now = "2026-05-01T00:00:00.000Z"

    def known(event: date | None) -> Knowledge:
        fact = Extracted(content="x", fact_type=FactType.FACT, confidence=0.9, event_date=event)
        found = fact_record(head, 0, fact, now).knowledge
        assert found is not None
        return found

    assert known(date(2026, 4, 1)).valid_from == "2026-04-01T00:00:00.000Z"
    assert known(date(2026, 4, 9)).valid_from == "2026-04-02T00:00:00.000Z"
    assert (known(None).valid_from, known(None).event_unknown) == ("2026-04-02T00:00:00.000Z", True)
    undated = fact_record(
        source("User: x")[0], 0, Extracted(content="x", fact_type=FactType.FACT, confidence=0.9), now
    ).knowledge
    assert undated is not None
    assert undated.valid_from == now


def test_a_source_and_all_of_it_survive_being_stored() -> None:
    for record in source("User: one\nUser: two", limit=12):
        assert decode_memory(encode_memory(record)) == record


@pytest.mark.requirement("ingest-recall")
def test_what_was_stated_is_told_from_what_was_taken_or_made() -> None:
    head, *parts = source("User: one\nUser: two", limit=12)
    fact = fact_record(head, 0, Extracted(content="x", fact_type=FactType.FACT, confidence=0.9), head.created_at)
    assert not any(map(was_stated, (head, *parts, fact)))
    assert was_stated(draft("note"))
    assert was_stated(draft("fact", knowledge=Knowledge()))
    assert not was_stated(draft("merged", knowledge=Knowledge(level=1, source_ids=("a",))))


@pytest.mark.requirement("know-17.immutable")
def test_whatever_belongs_to_a_source_does_not_change() -> None:
    head, *parts = source("User: one\nUser: two", limit=12)
    for record in (head, *parts):
        with pytest.raises(InvalidInput, match="take the conversation in again"):
            check_changeable(record)
    check_changeable(draft("note"))
    check_whole(head, "deleted")
    with pytest.raises(InvalidInput, match="only the whole source can be deleted"):
        check_whole(parts[0], "deleted")


@pytest.mark.requirement("know-48")
def test_a_record_of_an_older_contract_says_what_nobody_knows() -> None:
    known = Knowledge(role=Role.EVIDENCE, contract=0)
    old = renewed(draft("x", knowledge=known))
    assert old is not None
    assert old.knowledge == Knowledge(role=Role.EVIDENCE, contract=CONTRACT, event_unknown=True)
    assert renewed(old) is None
    assert renewed(draft("x", knowledge=Knowledge())) is None
    dated = renewed(draft("x", knowledge=Knowledge(contract=0, event_date="2026-01-01")))
    assert dated is not None
    assert dated.knowledge == Knowledge(contract=CONTRACT, event_date="2026-01-01")


@pytest.mark.requirement("know-12.status")
def test_how_a_job_is_follows_from_what_stands_beside_its_source() -> None:
    def failure(at: str, *, dead: bool = False) -> Failure:
        return Failure(
            worker="extract",
            revision=1,
            attempts=2,
            last_error="500: not now",
            first_failed_at="2026-05-01T00:00:00.000Z",
            last_failed_at=at,
            dead=dead,
        )

    def state(step: Step | None, *failures: Failure) -> State:
        extraction = None if step is None else Extraction(step=step, since="2026-05-01T00:00:05.000Z")
        record = msgspec.structs.replace(NOTHING, extraction=extraction, failures=failures)
        assert decode(encode(record)) == record
        return state_of(record).state

    before, after = "2026-05-01T00:00:01.000Z", "2026-05-01T00:00:09.000Z"
    assert state(None) is State.PENDING
    assert state(Step.READING) is State.RUNNING
    assert state(Step.READ) is State.RUNNING
    assert state(Step.DONE) is State.DONE
    assert state(Step.READING, failure(after)) is State.PENDING
    assert state(Step.READING, failure(before)) is State.RUNNING
    assert state(Step.READING, failure(after, dead=True)) is State.FAILED
    assert state(Step.DONE, failure(after)) is State.DONE
    assert state_of(None).state is State.PENDING
