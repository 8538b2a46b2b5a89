"""How much of a question a memory's words hold, and how much the words then count."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loomem.core.analyse import Analyser
from loomem.core.search.cover import ENOUGH, LEAST, counting, enough, held
from loomem.core.search.fuse import Hit, Signals, fuse, words_share
from loomem.core.search.settings import Arms

ANALYSER = Analyser()


@pytest.mark.requirement("search-arms-held")
@pytest.mark.parametrize(
    ("question", "contents", "part"),
    [
        ("the blue drum", ["a blue drum", "a drum"], 1.0),
        ("the blue drum", ["a drum", "a flute"], 0.5),
        ("blue drums", ["the drum is blue"], 1.0),
        ("the blue drum", [], 0.0),
        ("the blue drum", ["why is the flute here"], 0.0),
        ("dru*", ["nothing of it"], 1.0),
        ("", ["a drum"], 1.0),
        ("Czemu nie lubi samolotów?", ["Marta lubiła samoloty"], 0.66),
    ],
)
def test_the_part_of_a_question_that_the_best_text_holds(question: str, contents: list[str], part: float) -> None:
    assert held(ANALYSER, question, contents) == pytest.approx(part, abs=0.01)


@pytest.mark.requirement("search-arms-held")
def test_letters_that_two_texts_share_by_chance_are_little_of_a_question() -> None:
    assert held(ANALYSER, "ใครมีปัญหาการฟัง", ["กุญแจสำรองอยู่ใต้กระถางต้นไม้"]) < ENOUGH / 2


@pytest.mark.requirement("search-arms-held")
def test_one_word_of_three_is_nearly_enough_and_one_of_six_is_little() -> None:
    question = "where did the drummer leave it"
    counted = [counting(question, part) for part in (1 / 6, 1 / 3, 1 / 2)]
    assert counted[0] < 0.3
    assert counted[1] > 0.8
    assert counted[2] == 1


@pytest.mark.requirement("search-arms-held")
@given(st.text(), st.floats(0, 1), st.floats(0, 1))
def test_the_more_is_held_the_more_the_words_count(question: str, one: float, other: float) -> None:
    less, more = sorted((one, other))
    assert 0 <= counting(question, less) <= counting(question, more) <= 1


@pytest.mark.requirement("search-arms-held")
def test_words_count_as_far_as_enough_of_the_question_is_held() -> None:
    arms = Arms()
    short = "where is the drum"
    shares = [words_share(Signals(text=short, held=part)) for part in (0.0, ENOUGH / 2, ENOUGH, 1.0)]
    full = words_share(Signals(text=short))
    assert shares == pytest.approx([0, full / 4, full, full], abs=0.01)
    long = "situation " * 100
    assert enough(long) < LEAST
    assert words_share(Signals(text=long, held=LEAST)) == pytest.approx(arms.words_long, abs=0.1)
    words, meaning = [Hit(1, 0.3), Hit(2, 0.2)], [Hit(3, 0.9), Hit(1, 0.7), Hit(2, 0.7)]
    assert fuse(Signals(text=short, held=0.05), words, meaning)[0].number == 3
    assert fuse(Signals(text=short, held=1.0), words, meaning)[0].number == 1
