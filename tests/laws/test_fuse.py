"""Laws of joining the arms' answers."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loomem.core.search.fuse import Hit, Signals, Turn, fuse, words_share
from loomem.core.search.settings import Arms

ASKED = Signals(text="what did she say about the lake")
SCORES = st.dictionaries(st.integers(0, 40), st.floats(0, 30, allow_subnormal=False), max_size=40)


def hits(scores: dict[int, float]) -> list[Hit]:
    return [Hit(number, score) for number, score in sorted(scores.items(), key=lambda item: -item[1])]


def turn(number: int, *, sitting: int = 1, speaker: str = "", letters: int = 80, asks: bool = False) -> Turn:
    """A turn of a conversation in which number n is the n-th of 60."""
    return Turn(sitting=sitting, at=number, size=60, speaker=speaker, letters=letters, asks=asks)


def order(words: dict[int, float], turns: dict[int, Turn], text: str = ASKED.text) -> list[int]:
    return [one.number for one in fuse(Signals(text=text), hits(words), [], turns.get)]


@pytest.mark.requirement("search-fuse.alone")
@given(SCORES)
def test_one_arm_alone_keeps_its_order(scores: dict[int, float]) -> None:
    found = hits(scores)
    for joined in (fuse(ASKED, found, []), fuse(ASKED, [], found)):
        assert [scores[one.number] for one in joined] == pytest.approx(sorted(scores.values(), reverse=True))


@pytest.mark.requirement("search-fuse.alone")
@given(SCORES, SCORES, st.text(max_size=400))
def test_every_hit_is_found_once_with_a_score_between_0_and_1(
    words: dict[int, float], meaning: dict[int, float], text: str
) -> None:
    joined = fuse(Signals(text=text), hits(words), hits(meaning), turn)
    assert sorted(one.number for one in joined) == sorted({*words, *meaning})
    assert all(0 <= one.score <= 1 for one in joined)
    assert [one.score for one in joined] == sorted((one.score for one in joined), reverse=True)


@given(SCORES, SCORES)
def test_the_best_of_both_arms_is_the_best(words: dict[int, float], meaning: dict[int, float]) -> None:
    joined = fuse(ASKED, hits({**words, 50: 31.0}), hits({**meaning, 50: 31.0}))
    assert joined[0].number == 50
    assert joined[0].score == pytest.approx(1)


@given(st.dictionaries(st.integers(0, 40), st.floats(0.01, 30), min_size=1), st.sets(st.integers(0, 40)))
def test_what_is_lent_is_the_sum_over_all_neighbours(words: dict[int, float], apart: set[int]) -> None:
    """One pass forth and one back over the turns gives what comparing each with each gives."""
    turns = {number: turn(number, sitting=number in apart) for number in words}
    joined = fuse(ASKED, hits(words), [], turns.get)
    raw = {part.raw: one.number for one in joined for part in one.parts if part.arm == "thread"}
    most = max(words.values())
    for lent, number in raw.items():
        near = [other for other in words if other != number and (other in apart) == (number in apart)]
        expected = sum((words[other] / most) ** 2 * 0.6703200460356393 ** abs(other - number) for other in near)
        assert lent == pytest.approx(0.6 * expected, abs=1e-9)


@pytest.mark.requirement("search-fuse.length")
@given(st.text(max_size=3_000), st.text(max_size=300))
def test_the_longer_the_question_the_less_the_words_count(text: str, more: str) -> None:
    shorter, longer = words_share(Signals(text=text)), words_share(Signals(text=text + more))
    assert 0.2 < longer <= shorter <= 0.55


def test_a_short_question_asks_for_its_words_and_a_long_text_for_its_meaning() -> None:
    words, meaning = hits({1: 9.0, 2: 3.0}), hits({2: 0.88, 1: 0.84, 3: 0.8})
    assert fuse(ASKED, words, meaning)[0].number == 1
    assert fuse(Signals(text="and then " * 90), words, meaning)[0].number == 2


@pytest.mark.requirement("search-threads.lent")
def test_a_turn_is_lent_by_its_neighbours_and_more_by_the_nearer() -> None:
    words = {3: 9.0, 4: 1.0, 8: 1.0, 30: 1.0}
    assert order(words, {number: turn(number) for number in words}) == [3, 4, 8, 30]


def test_a_turn_that_is_its_whole_conversation_stands_as_any_memory() -> None:
    alone = Turn(sitting=1, at=0, size=1, speaker="", letters=80, asks=False)
    with_it, without = (fuse(ASKED, hits({3: 9.0, 4: 1.0}), [], threads) for threads in ({3: alone}.get, None))
    assert [one.score for one in with_it] == [one.score for one in without]


def test_a_neighbour_in_another_sitting_lends_nothing() -> None:
    joined = fuse(ASKED, hits({3: 9.0, 4: 1.0}), [], {3: turn(3), 4: turn(4, sitting=2)}.get)
    assert [part.raw for part in joined[1].parts if part.arm == "thread"] == [0]


@pytest.mark.requirement("search-threads.lent")
@pytest.mark.parametrize("poor", [turn(4, letters=6), turn(4, letters=9_000), turn(4, asks=True)])
def test_a_greeting_an_article_and_a_question_take_less_than_a_plain_turn(poor: Turn) -> None:
    assert order({3: 9.0, 2: 1.0, 4: 1.0}, {3: turn(3), 2: turn(2), 4: poor}) == [3, 2, 4]


def test_what_follows_a_question_is_lent_more() -> None:
    words = {3: 5.0, 4: 1.0, 23: 5.0, 24: 1.0}
    turns = {number: turn(number, asks=number == 23) for number in words}
    found = order(words, turns)
    assert found.index(24) < found.index(4)


SPEAKERS: Sequence[tuple[str, dict[int, Turn], list[int]]] = [
    ("When did Ana swim?", {1: turn(1, speaker="ben"), 31: turn(31, speaker="ana")}, [31, 1]),
    ("When did Anabel swim?", {1: turn(1, speaker="ben"), 31: turn(31, speaker="ana")}, [1, 31]),
    ("When did Ana meet Ben?", {1: turn(1, speaker="ben"), 31: turn(31, speaker="ana")}, [1, 31]),
    ("Does the user swim?", {1: turn(1, speaker="ben"), 31: turn(31, speaker="user")}, [1, 31]),
    ("小明什么时候游泳?", {1: turn(1, speaker="小红"), 31: turn(31, speaker="小明")}, [31, 1]),
]


@pytest.mark.requirement("search-threads.speaker")
@pytest.mark.parametrize(("text", "turns", "expected"), SPEAKERS)
def test_when_one_speaker_is_named_the_others_count_less(
    text: str, turns: dict[int, Turn], expected: list[int]
) -> None:
    assert order({1: 5.1, 31: 5.0}, turns, text) == expected


def test_a_memory_that_is_no_turn_holds_its_own_beside_a_conversation() -> None:
    words = {3: 5.0, 4: 2.0, 5: 1.0, 99: 5.2}
    assert order(words, {number: turn(number) for number in (3, 4, 5)})[0] == 99


def test_below_the_floor_meaning_counts_as_nothing() -> None:
    words, meaning = hits({1: 4.0}), hits({2: 0.81, 3: 0.79})
    found = fuse(ASKED, words, meaning, settings=Arms(meaning_floor=0.8))
    assert {one.number for one in found} == {1, 2}


def test_parts_say_what_each_arm_gave() -> None:
    joined = fuse(ASKED, hits({1: 4.0, 2: 2.0}), hits({2: 0.9, 3: 0.8}), {1: turn(1), 2: turn(2)}.get, explained=2)
    parts = {part.arm: part for part in joined[0].parts}
    assert joined[0].number == 2
    assert (parts["words"].rank, parts["words"].raw, parts["words"].normal) == (2, 2.0, 0.5)
    assert (parts["meaning"].rank, parts["meaning"].raw, parts["meaning"].normal) == (1, 0.9, 1.0)
    assert parts["words"].weight + parts["meaning"].weight == pytest.approx(1)
    assert parts["thread"].raw > 0
    assert 0 < parts["thread"].weight < 1.5
    assert joined[2].parts == ()


@given(st.lists(st.floats(0.6, 1.0), min_size=50, max_size=120))
def test_of_many_hits_the_scale_is_their_own_range(cosines: list[float]) -> None:
    """So what was measured of stores of that size stays as it is."""
    joined = fuse(ASKED, [], hits(dict(enumerate(cosines))), explained=200)
    least, most = min(cosines), max(cosines)
    for one in joined:
        [part] = one.parts
        assert part.normal == ((part.raw - least) / (most - least) if most > least else 1.0)


def test_of_few_hits_cosines_that_are_near_stay_near() -> None:
    joined = fuse(ASKED, [], hits({1: 0.83, 2: 0.82, 3: 0.81}))
    assert min(part.normal for one in joined for part in one.parts) > 0.8
