"""Laws of what metadata say of a conversation, and of the view that keeps conversations in order."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from identity.keys import Root
from identity.visibility import Scope
from loomem.core.record import Category, Memory
from loomem.core.row import Place, Row, row_of
from loomem.core.search.turns import day, letters, natural, said
from loomem.views.threads import Threads

HERE = Place(bucket="b", root=Root.PERSONAL, owner="user", scope=Scope.PERSONAL, fetch=0, mine=True)
THERE = Place(bucket="b", root=Root.STREAMS, owner="s", scope=Scope.PERSONAL, fetch=1, mine=True, stream="s")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)
NAMES = st.sampled_from(["conversation", "conversation_id", "session", "session_id", "turn", "date", "speaker"])


def memory(content: str = "It was cold.", /, **metadata: object) -> Memory:
    return Memory(
        id="m",
        agent_id="a",
        project_id="p",
        scope=Scope.PERSONAL,
        category=Category.LONGTERM,
        content=content,
        metadata=dict(metadata),
        created_at="2026-01-01T00:00:00.000Z",
        updated_at="2026-01-01T00:00:00.000Z",
        version=1,
    )


def row(number: int, place: Place = HERE, **metadata: object) -> Row:
    return row_of(memory(**metadata), place, number, {}, number=number)


@given(st.dictionaries(NAMES, JSON), st.text())
def test_any_metadata_can_be_read(metadata: dict[str, object], content: str) -> None:
    found = said(memory(content, **metadata))
    threads = Threads()
    threads.put(row_of(memory(content, **metadata), HERE, 1, {}, number=1))
    if found is None:
        assert threads.turn(1) is None


@pytest.mark.parametrize(
    "date",
    [
        "1:56 pm on 8 May, 2023",
        "8 May, 2023 at 9:05 a.m.",
        "8 may, 2023",
        "13:56:01 8 May, 2023",
    ],
)
def test_the_time_of_day_does_not_part_what_was_said_on_one_day(date: str) -> None:
    assert day(date) == "8 may, 2023"


@pytest.mark.parametrize(
    "date", ["2023-05-08T13:56:00Z", "2023-05-08 13:56:01.123+02:00", "2023-05-08T13:56", "2023-05-08"]
)
def test_nor_in_dates_for_machines(date: str) -> None:
    assert day(date) == "2023-05-08"


def test_nor_in_seconds_and_milliseconds() -> None:
    assert day(1_700_000_000) == day(1_700_000_000_000) == day(1_700_000_500) != day(1_700_100_000)


@pytest.mark.parametrize("other", ["9 May, 2023", "8 May, 2024", "8 June, 2023"])
def test_days_are_told_apart(other: str) -> None:
    assert day(f"1:56 pm on {other}") != day("1:56 pm on 8 May, 2023")


def test_numbers_in_turns_count_as_numbers() -> None:
    turns = ["3", "20", "D1:9", "D1:10", "D2:1", "D10:1"]
    assert sorted(turns, key=natural) == turns


def test_a_row_of_digits_without_end_is_a_text() -> None:
    assert natural("9" * 10_000) == ((1, "9" * 10_000),)


def test_wide_letters_count_more() -> None:
    assert (letters("lake"), letters("湖"), letters("湖 lake")) == (4, 3, 8)


def test_a_memory_without_a_conversation_is_no_turn() -> None:
    assert said(memory()) is None
    assert said(memory(speaker="Ana")) is None
    assert said(memory(speaker="Ana", turn=3)) is not None


def test_the_speaker_s_name_is_not_what_is_said() -> None:
    found = said(memory("Zoë: Where was it?", conversation=7, speaker="Zoë"))
    assert found is not None
    assert (found.letters, found.asks, found.speaker) == (len("Where was it?"), True, "zoe")


@pytest.mark.requirement("search-threads.order")
@given(st.permutations(range(1, 13)), st.randoms(use_true_random=False))
def test_turns_stand_in_their_order_however_they_came(order: list[int], chance: random.Random) -> None:
    threads = Threads()
    rows = {n: row(n, conversation="c", turn=f"D1:{n}", speaker="ab"[n % 2]) for n in order}
    gone = {n for n in order if chance.random() < 0.3}
    for n in order:
        threads.put(rows[n])
        if chance.random() < 0.2:
            threads.turn(n)
    for n in gone:
        threads.drop(rows[n])
    left = [n for n in sorted(order) if n not in gone]
    turns = [threads.turn(n) for n in left]
    if len({n % 2 for n in left}) == 2:
        assert [turn and (turn.at, turn.size) for turn in turns] == [(at, len(left)) for at in range(len(left))]
    assert all(threads.turn(n) is None for n in gone)


@pytest.mark.requirement("search-threads.days")
def test_places_days_and_sessions_are_apart() -> None:
    threads = Threads()
    rows = [
        row(1, conversation="c", turn=1),
        row(2, THERE, conversation="c", turn=2),
        row(3, conversation="c", turn=3, date="2023-05-08"),
        row(4, conversation="c", turn=4, session=2),
        row(5, conversation="d", turn=5),
    ]
    for one in rows:
        threads.put(one)
    turns = [threads.turn(one.number) for one in rows]
    assert len({turn.sitting for turn in turns if turn}) == len(rows)


@pytest.mark.requirement("search-threads.order")
def test_without_turns_the_order_is_that_of_making() -> None:
    threads = Threads()
    for number in (2, 1, 3):
        threads.put(row(number, conversation="c"))
    assert [turn.at for n in (1, 2, 3) if (turn := threads.turn(n))] == [0, 1, 2]


def test_the_notes_of_one_speaker_are_no_conversation() -> None:
    threads = Threads()
    threads.put(row(1, conversation="c", speaker="Ana", turn=1))
    threads.put(row(2, conversation="c", speaker="ana", turn=2))
    assert threads.turn(1) is None
    threads.put(row(3, conversation="c", speaker="Ben", turn=3))
    assert threads.turn(1) is not None
    assert threads.turn(4) is None
