"""Laws of joining the arms' answers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from loomem.core.search.fuse import Hit, Signals, Thread, fuse

ASKED = Signals(text="what did she say about the lake")
SCORES = st.dictionaries(st.integers(0, 40), st.floats(0, 30, allow_subnormal=False), max_size=40)


def hits(scores: dict[int, float]) -> list[Hit]:
    return [Hit(number, score) for number, score in sorted(scores.items(), key=lambda item: -item[1])]


@given(SCORES)
def test_one_arm_alone_keeps_its_order(scores: dict[int, float]) -> None:
    found = hits(scores)
    for joined in (fuse(ASKED, found, []), fuse(ASKED, [], found)):
        assert [scores[one.number] for one in joined] == sorted(scores.values(), reverse=True)


@given(SCORES, SCORES)
def test_every_hit_is_found_once_with_a_score_between_0_and_1(
    words: dict[int, float], meaning: dict[int, float]
) -> None:
    joined = fuse(ASKED, hits(words), hits(meaning), lambda number: Thread(range(41), number))
    assert sorted(one.number for one in joined) == sorted({*words, *meaning})
    assert all(0 <= one.score <= 1 for one in joined)
    assert [one.score for one in joined] == sorted((one.score for one in joined), reverse=True)


@given(SCORES, SCORES)
def test_the_best_of_both_arms_is_the_best(words: dict[int, float], meaning: dict[int, float]) -> None:
    joined = fuse(ASKED, hits({**words, 50: 31.0}), hits({**meaning, 50: 31.0}))
    assert joined[0].number == 50
    assert joined[0].score > 0.999


def test_a_turn_is_lent_what_its_neighbours_have() -> None:
    joined = fuse(ASKED, [Hit(3, 9.0), Hit(4, 1.0), Hit(8, 1.0)], [], lambda number: Thread(range(10), number))
    assert [one.number for one in joined] == [3, 4, 8]
    assert joined[1].score > joined[2].score
