"""Ratings add up over raters, can be said anew and taken back, and move a score by so much and no more."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from identity.errors import Corrupt, InvalidInput
from loomem.core.plan import text_of
from loomem.core.rating import (
    EVENTS_KEPT,
    HALF_LIFE_MS,
    NOTHING,
    Given,
    Rating,
    Ratings,
    clean_given,
    decode,
    encode,
    rated,
    together,
)

RAW: dict[str, Any] = {"usefulness": 4, "harmful": False, "justification": "it helped", "model_version": "m-1"}


def given_of(usefulness: int, *, harmful: bool = False, trajectory: str | None = None) -> Given:
    return Given(
        usefulness=usefulness,
        harmful=harmful,
        justification="x",
        model_version="m",
        trajectory_id=trajectory,
        at=text_of(0),
    )


def said(*ratings: Given) -> Ratings:
    record = None
    for each in ratings:
        record = rated(record, each, ident="1", owner="a", agent_id="a")
    assert record is not None
    return record


givens = st.builds(given_of, st.integers(0, 4), harmful=st.booleans(), trajectory=st.sampled_from([None, "t", "u"]))


@pytest.mark.requirement("know-42.sums")
def test_a_rating_counts_as_the_rules_say() -> None:
    good = together([said(given_of(4))])
    assert (good.alpha, good.beta, good.harmful, good.n) == (2.0, 1.0, 0, 1)
    bad = together([said(given_of(4), given_of(0, harmful=True))])
    assert (bad.alpha, bad.beta, bad.harmful, bad.n) == (2.0, 6.0, 1, 2)


@given(st.lists(st.lists(givens, min_size=1, max_size=8), max_size=4))
def test_the_order_of_raters_does_not_matter_and_nothing_falls_below_what_was_before(
    ratings: list[list[Given]],
) -> None:
    records = [said(*each) for each in ratings]
    one, other = together(records), together(reversed(records))
    assert one.alpha == pytest.approx(other.alpha)  # pyright: ignore[reportUnknownMemberType] - pytest leaves it untyped
    assert (one.harmful, one.n) == (other.harmful, other.n)
    assert one.alpha >= 1
    assert one.beta >= 1


@given(givens, givens)
def test_what_is_said_again_in_a_trajectory_replaces_what_was_said(first: Given, second: Given) -> None:
    record = said(given_of(3, trajectory="other"), first, second)
    if second.trajectory_id is not None and second.trajectory_id == first.trajectory_id:
        only = said(given_of(3, trajectory="other"), second)
        assert (record.good, record.bad, record.harmful, record.n) == (only.good, only.bad, only.harmful, only.n)
    else:
        assert record.n == 3


def test_single_ratings_are_kept_up_to_a_number_and_count_on_beyond_it() -> None:
    record = said(*[given_of(4)] * (EVENTS_KEPT + 5))
    assert len(record.events) == EVENTS_KEPT
    assert record.n == EVENTS_KEPT + 5
    assert decode(encode(record)) == record


@pytest.mark.parametrize("value", [b"", b"[]", b'{"id":"1"}', b'{"id":"1","agentId":"a","last":"x","n":-1}'])
def test_an_unreadable_record_says_so(value: bytes) -> None:
    with pytest.raises(Corrupt):
        decode(value)


@pytest.mark.parametrize(
    "change",
    [
        {"usefulness": 5},
        {"usefulness": -1},
        {"usefulness": True},
        {"usefulness": 1.5},
        {"usefulness": None},
        {"harmful": None},
        {"justification": ""},
        {"justification": " "},
        {"justification": "x" * 501},
        {"model_version": None},
        {"trajectory_id": ""},
    ],
)
@pytest.mark.requirement("know-42.invalid")
def test_a_rating_that_is_none_is_refused_by_name(change: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=f"^validation failed: {next(iter(change))}"):
        clean_given({**RAW, **change}, text_of(0))


ratings = st.builds(
    Rating,
    alpha=st.floats(1, 1_000),
    beta=st.floats(1, 5_000),
    harmful=st.integers(0, 3),
    n=st.integers(1, 1_000),
    last_ms=st.integers(0, 10**12),
)


@pytest.mark.requirement("know-42.bounded")
@given(ratings, st.integers(0, 2 * 10**12))
def test_ratings_move_a_score_by_a_quarter_at_most_and_harm_halves_it(rating: Rating, now_ms: int) -> None:
    factor = rating.factor(now_ms)
    assert (0.375 <= factor <= 0.5) if rating.harmful else (0.75 <= factor <= 1.25)
    assert NOTHING.factor(now_ms) == 1.0


def test_ratings_fade_and_harm_does_not() -> None:
    good = Rating(alpha=11, beta=1, n=10)
    assert good.factor(0) > good.factor(HALF_LIFE_MS) > good.factor(20 * HALF_LIFE_MS) > 1.0
    harmful = Rating(alpha=1, beta=6, harmful=1, n=1)
    assert harmful.factor(100 * HALF_LIFE_MS) == pytest.approx(0.5)  # pyright: ignore[reportUnknownMemberType] - as above
