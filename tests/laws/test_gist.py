"""Laws of what of a long question is embedded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loomem.core.search.gist import BEGINNING, ENDING, gist
from loomem.core.search.turns import letters

TEXT = st.text(st.sampled_from("ab湖ü \n"), max_size=1_500)


@given(TEXT)
def test_a_short_question_is_embedded_whole_and_a_long_one_within_bounds(text: str) -> None:
    found = gist(text)
    if letters(text.strip()) <= BEGINNING + ENDING:
        assert found == text.strip()
    else:
        assert letters(found) <= BEGINNING + ENDING + 1
        assert found


@given(TEXT)
def test_it_is_how_the_question_begins_and_how_it_ends(text: str) -> None:
    found, text = gist(text), text.strip()
    at = next((at for at in range(len(found) + 1) if text.startswith(found[:at]) and text.endswith(found[at:])), None)
    inside = next(
        (at for at in range(len(found)) if text.startswith(found[:at]) and text.endswith(found[at + 1 :])), None
    )
    assert at is not None or inside is not None


@pytest.mark.requirement("search-gist")
def test_words_stay_whole_and_the_end_is_kept() -> None:
    text = "beginning " + "mountain " * 100 + "the end"
    found = gist(text)
    assert set(found.split()) == {"beginning", "mountain", "the", "end"}
    assert found.startswith("beginning mountain")
    assert found.endswith("mountain the end")


def test_one_endless_word_is_cut() -> None:
    assert gist("x" * 5_000) == "x" * BEGINNING + " " + "x" * ENDING


def test_where_no_spaces_are_characters_are_counted() -> None:
    assert gist("山" * 40 + "水" * 400 + "月" * 80) == "山" * 40 + " " + "月" * 80
