"""How much of a question a memory's words hold, and how much the words then count."""

from __future__ import annotations

import pytest

from loomem.core.analyse import Analyser
from loomem.core.search.cover import ENOUGH, LEAST, enough, held
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
def test_words_count_as_far_as_enough_of_the_question_is_held() -> None:
    arms = Arms()
    short = "where is the drum"
    shares = [words_share(Signals(text=short, held=part)) for part in (0.0, ENOUGH / 2, ENOUGH, 1.0)]
    full = words_share(Signals(text=short))
    assert shares == pytest.approx([0, full / 2, full, full], abs=0.01)
    long = "situation " * 100
    assert enough(long) < LEAST
    assert words_share(Signals(text=long, held=LEAST)) == pytest.approx(arms.words_long, abs=0.1)
    words, meaning = [Hit(1, 0.3), Hit(2, 0.2)], [Hit(3, 0.9), Hit(1, 0.7), Hit(2, 0.7)]
    assert fuse(Signals(text=short, held=0.05), words, meaning)[0].number == 3
    assert fuse(Signals(text=short, held=1.0), words, meaning)[0].number == 1
