"""Laws of rows of which one holds the other: nothing is hidden that is not in what is shown, and what is shown keeps its place."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from identity.keys import Kind, Root
from identity.ports import Put
from identity.visibility import Scope, space_for
from loomem.core.extract import Extracted, ExtractSettings, offline
from loomem.core.knowledge import FactType
from loomem.core.record import Category, Memory, encode
from loomem.core.row import Place, Row, row_of
from loomem.core.search.collapse import said_in
from loomem.core.search.settings import SearchSettings
from loomem.core.search.within import Held, held_once, is_fragment, is_told, is_whole
from loomem.core.sources import fact_record, fragment_records, fragments_of, parts_of, source_records
from loomem.core.transcript import segment
from tests.laws.test_search_engine import ME, indexed, searching
from tests.laws.worlds import World

NOW = "2026-05-01T00:00:00.000Z"
DAY = date(2026, 5, 1)
PLACE = Place(bucket="b", root=Root.PERSONAL, owner="u", scope=Scope.PERSONAL, fetch=1, mine=True)
SENTENCES = [
    "I moved to Oslo.",
    "We bought 3 boats.",
    "We bought 4 boats.",
    "I did not sail yesterday.",
    "I sail.",
    "Nice!",
]
TALK = "Ana: I moved to Oslo in May. We bought a red boat.\nBen: Great, what a boat!\nAna: We paid 900 crowns for it."


def draft(ident: str = "source", **fields: object) -> Memory:
    memory = Memory(
        id=ident,
        agent_id="a",
        project_id="p",
        scope=Scope.PERSONAL,
        category=Category.LONGTERM,
        content="",
        created_at=NOW,
        updated_at=NOW,
        version=1,
    )
    return msgspec.structs.replace(memory, **fields)


def conversation(text: str, ident: str = "source", limit: int = 32_768) -> tuple[list[Memory], list[Memory]]:
    """Return the records of a source, and its fragments."""
    transcript = segment(text)
    planned = fragments_of(text, transcript, lambda _: True)
    parts = parts_of(text, transcript, limit)
    records = source_records(draft(ident), parts, day=DAY, extract=True, fragments=len(planned.fragments))
    return records, fragment_records(records[0], planned.fragments)


def fact(text: str, content: str, at: str, source: Memory, *, number: int = 0, event: date | None = None) -> Memory:
    """Return a fact that was read where some words stand."""
    start = text.encode().index(at.encode())
    found = Extracted(
        content=content,
        fact_type=FactType.FACT,
        topic="about",
        subject=None,
        event_date=event,
        confidence=0.9,
        byte_start=start,
        byte_end=start + len(at.encode()),
    )
    return fact_record(source, number, found, NOW)


def rows(*memories: Memory, place: Place = PLACE) -> list[Row]:
    return [row_of(memory, place, 1, {}, number=at) for at, memory in enumerate(memories, 1)]


def held(ranked: Sequence[Row], told: Sequence[str] = ()) -> list[tuple[str, tuple[str, ...]]]:
    return [(ranked[one.shown].id, tuple(ranked[at].id for at in one.within)) for one in held_once(ranked, told)]


@pytest.mark.requirement("search-held")
@given(st.data())
def test_nothing_is_hidden_that_is_not_in_what_is_shown(data: st.DataObject) -> None:
    talks = data.draw(
        st.lists(st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=4), min_size=2, max_size=6), label="turns"
    )
    text = "\n".join(f"{'Ana' if at % 2 else 'Ben'}: {' '.join(said)}" for at, said in enumerate(talks))
    memories: list[Memory] = []
    for ident in ("one", "two"):
        records, fragments = conversation(text, ident)
        read = offline(segment(text), conversation_date=DAY, settings=ExtractSettings(confidence_floor=0.0))
        memories += [*records, *fragments, *(fact_record(records[0], at, each, NOW) for at, each in enumerate(read))]
    ranked = rows(*data.draw(st.permutations(memories), label="ranking"))
    told = {"one", "two"}
    found = held_once(ranked, told)
    assert sorted(at for one in found for at in (one.shown, *one.within)) == list(range(len(ranked)))
    assert [one.shown for one in found] == sorted(one.shown for one in found)
    for one in found:
        _check(one, ranked)


def _check(one: Held, ranked: Sequence[Row]) -> None:
    shown = ranked[one.shown].memory
    said = " ".join(said_in(shown.content))
    days = {one.event}
    for at in one.within:
        inner, outer = ranked[at].memory.knowledge, shown.knowledge
        assert inner is not None
        assert outer is not None
        assert is_fragment(shown)
        assert (inner.source_id or ranked[at].id) == outer.source_id
        if is_whole(ranked[at].memory):
            continue
        assert (outer.byte_start or 0) <= (inner.byte_start or 0)
        words = said_in(ranked[at].memory.content.removeprefix("Ana: ").removeprefix("Ben: "))
        assert f" {' '.join(words)} " in f" {said} "
        days.add(inner.event_date or one.event)
    assert len(days) == 1


@pytest.mark.requirement("search-held")
@pytest.mark.parametrize(
    "content",
    [
        "Ana: We bought a blue boat.",
        "Ana: We bought 2 red boats.",
        "Ana: We never bought a red boat.",
        "A boat was bought.",
    ],
)
def test_a_fact_in_other_words_stays_a_row_of_its_own(content: str) -> None:
    records, fragments = conversation(TALK)
    other = fact(TALK, content, "We bought a red boat.", records[0])
    assert held(rows(fragments[0], other)) == [(fragments[0].id, ()), (other.id, ())]


@pytest.mark.requirement("search-held")
def test_facts_stand_in_their_utterance_and_two_days_stay_two_rows() -> None:
    records, fragments = conversation(TALK)
    moved = fact(TALK, "Ana: I moved to Oslo in May.", "I moved to Oslo in May.", records[0], event=date(2026, 5, 1))
    bought = fact(TALK, "Ana: We bought a red boat.", "We bought a red boat.", records[0], number=1)
    later = fact(
        TALK, "Ana: We bought a red boat.", "We bought a red boat.", records[0], number=2, event=DAY.replace(day=9)
    )
    ranked = rows(fragments[2], moved, later, fragments[1], bought, fragments[0])
    assert held(ranked) == [
        (fragments[2].id, ()),
        (later.id, ()),
        (fragments[1].id, ()),
        (fragments[0].id, (moved.id, bought.id)),
    ]
    assert [one.event for one in held_once(ranked, ())] == [None, None, None, "2026-05-01"]


@pytest.mark.requirement("search-held")
def test_rows_of_another_conversation_or_place_hold_nothing() -> None:
    one, _ = conversation(TALK, "one")
    _, fragments = conversation(TALK, "two")
    bought = fact(TALK, "Ana: We bought a red boat.", "We bought a red boat.", one[0])
    assert held(rows(bought, one[0], *fragments), ["one"]) == [(each.id, ()) for each in (bought, one[0], *fragments)]
    _, here = conversation(TALK, "one")
    there = rows(bought, place=msgspec.structs.replace(PLACE, bucket="c"))
    assert held([*there, *rows(*here)]) == [(bought.id, ()), *((each.id, ()) for each in here)]


@pytest.mark.requirement("search-held")
def test_a_conversation_is_held_only_when_all_of_it_is_in_fragments() -> None:
    for limit in (32_768, 80):
        records, fragments = conversation(TALK, limit=limit)
        assert all(is_told(record, fragments) for record in records)
        for missing in range(len(fragments)):
            left = [*fragments[:missing], *fragments[missing + 1 :]]
            assert not all(is_told(record, left) for record in records)
    records, fragments = conversation(TALK)
    assert not is_told(records[0], [])
    ranked = rows(records[0], fragments[1], fragments[0])
    assert held(ranked, ["source"]) == [(fragments[1].id, ("source",)), (fragments[0].id, ())]
    assert held(ranked) == [("source", ()), (fragments[1].id, ()), (fragments[0].id, ())]


@pytest.mark.requirement("search-held")
async def test_an_answer_shows_the_utterance_once_with_the_ids_and_the_day_of_what_it_holds() -> None:
    world = World()
    space = space_for(ME, Scope.PERSONAL)
    records, fragments = conversation(TALK)
    bought = fact(TALK, "Ana: We bought a red boat.", "We bought a red boat.", records[0], event=DAY)
    async with searching(world, settings=SearchSettings()) as engine:
        bucket = await world.buckets.open(space.bucket)
        for memory in (*records, *fragments, bought):
            put = Put(key=space.key(Kind.MEMORY, memory.id), value=encode(memory), expected=0, op=memory.id)
            await bucket.write(put)
        await engine._projection.complete()  # pyright: ignore[reportPrivateUsage] - what workers wrote has no position here
        await indexed(engine)
        first, *others = (await engine.search(query="red boat")).rows
        assert (first.id, first.content, first.event) == (fragments[0].id, fragments[0].content, "2026-05-01")
        assert set(first.same or ()) >= {bought.id}
        assert bought.id not in {row.id for row in others}
        assert "source" not in {row.id for row in others}
        every = (await engine.search(query="red boat", include_superseded=True)).rows
        assert {bought.id, "source", fragments[0].id} <= {row.id for row in every}
