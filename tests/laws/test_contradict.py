"""The rules of contradiction, held to labelled pairs in three languages, and to what they must never do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.knowledge.pairs import LANGUAGES, Pair, figures, pairs
from loomem.core.contradict import Kind, judge

ALL = pairs()


@pytest.mark.requirement("judge-pairs")
def test_there_are_enough_pairs_of_each_kind_in_each_language() -> None:
    assert len(ALL) >= 150
    for language in LANGUAGES:
        for part in ("dev", "held"):
            labels = [pair.label for pair in ALL if (pair.language, pair.part) == (language, part)]
            assert len(labels) >= 25
            assert set(labels) == set(Kind)


@pytest.mark.requirement("judge-pairs")
@pytest.mark.parametrize("part", ["dev", "held"])
def test_what_is_said_to_be_out_of_date_is(part: str) -> None:
    of_part = [pair for pair in ALL if pair.part == part]
    every = figures(of_part, Kind.UPDATES)
    assert every.precision >= 0.95
    assert every.recall >= 0.8
    for language in LANGUAGES:
        own = figures([pair for pair in of_part if pair.language == language], Kind.UPDATES)
        assert own.precision >= 0.9, language
        assert own.recall >= 0.6, language


@pytest.mark.requirement("judge-pairs")
@pytest.mark.parametrize("pair", ALL, ids=lambda pair: f"{pair.language}:{pair.new[:40]}")
def test_a_fact_never_contradicts_itself_and_no_reason_tells_the_older_one(pair: Pair) -> None:
    assert judge(pair.new, pair.new).kind is Kind.NONE
    assert judge(pair.old, pair.old).kind is Kind.NONE
    said = judge(pair.new, pair.old)
    shown = said.reason.partition(": now ")[2] or said.reason.partition(" for ")[2]
    assert all(word in pair.new for word in shown.split())


@pytest.mark.requirement("judge-careful")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("User uses VSCode", "User might switch to Cursor"),
        ("User uses VSCode", "Does the user use Cursor?"),
        ("User uses VSCode", "User used to use Emacs"),
        ("User uses VSCode. User lives in Rome.", "User uses Cursor"),
        ("User uses VSCode and likes tea", "User uses Cursor"),
        ("Anna lives in Berlin", "Ewa lives in Hamburg"),
        ("Release 2 is planned for June 3", "Release 3 is planned for June 17"),
        ("The deadline is 15 March", "The deadline is 15 March 2026"),
        ("The timeout is 60 s", "The timeout is 1 minute"),
        ("", ""),
        ("?", "!"),
    ],
)
def test_what_may_both_be_true_is_left_alone(old: str, new: str) -> None:
    assert judge(new, old).kind is not Kind.UPDATES


@pytest.mark.requirement("judge-careful")
def test_facts_that_were_stored_about_different_subjects_are_not_compared() -> None:
    new, old = "The timeout is 60 seconds", "The timeout is 30 seconds"
    assert judge(new, old, subject="api", old_subject="database").kind is Kind.NONE
    assert judge(new, old, subject="API", old_subject="api").kind is Kind.UPDATES
    assert judge(new, old, subject="user", old_subject="api").kind is Kind.UPDATES


@pytest.mark.requirement("judge-careful")
@given(st.text(max_size=300), st.text(max_size=300))
def test_any_text_may_be_judged(new: str, old: str) -> None:
    assert judge(new, old).kind in Kind
    assert judge(new, new).kind is not Kind.UPDATES


@given(st.integers(2, 10**6), st.integers(2, 10**6))
def test_numbers_differ_by_value_not_by_spelling(one: int, other: int) -> None:
    verdict = judge(f"The limit is {other:,}", f"The limit is {one}")
    assert (verdict.kind is Kind.UPDATES) == (one != other)


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("The deploy runs on Fridays.", "The deploy runs on Mondays.", Kind.UPDATES),
        ("Der Deploy läuft freitags", "Der Deploy läuft montags", Kind.UPDATES),
        ("Deploy odbywa się w piątki", "Deploy odbywa się w poniedziałki", Kind.UPDATES),
        ("We deploy on Fridays", "We deploy on Mondays", Kind.UPDATES),
        ("The deploy runs on Fridays.", "The deploy also runs on Mondays.", Kind.NONE),
        ("I met Anna on Monday.", "I met Anna on Friday.", Kind.NONE),
        ("Anna runs on Mondays", "Anna runs on Fridays", Kind.NONE),
    ],
)
def test_of_one_thing_there_is_one_time(old: str, new: str, kind: Kind) -> None:
    assert judge(new, old).kind is kind
