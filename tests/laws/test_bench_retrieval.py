"""Laws of the quality bench: its measures, its reading of files, its bar, and that a run through the product adds up."""

from __future__ import annotations

import lzma
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.retrieval.bar import Bar
from bench.retrieval.data import Haystack, Question, Session, Turn, read
from bench.retrieval.figures import OVERALL, Answer, Run, arms_table, rows, table, to_json
from bench.retrieval.measures import Measures, mean, measure

NAMES = [f"t{at}" for at in range(30)]
HAYSTACK = Haystack(
    id="h/1",
    lang="en",
    sessions=(
        Session("s1", (Turn("1", "We sailed to Oslo.", "Ana"), Turn("2", "", "Ben"), Turn("3", "It rained.", "Ana"))),
        Session("s2", (Turn("4", "我们去了挪威。", "Ben"),)),
    ),
    questions=(
        Question("q1", "Who sailed to Oslo?", "who", ("1", "99"), ("s1",)),
        Question("q2", "Nothing?", "none"),
    ),
)
GOOD, POOR = Measures(1, 1, 1, 1, 1), Measures(0, 0.5, 0, 0.5, 0.25)


@given(st.permutations(NAMES), st.sets(st.sampled_from(NAMES), min_size=1, max_size=12))
def test_measures_are_shares_and_best_when_all_evidence_comes_first(ranked: list[str], gold: set[str]) -> None:
    first = measure([*gold, *ranked], gold)
    found = measure(ranked, gold)
    assert all(0 <= value <= 1 for value in msgspec.structs.astuple(found))
    assert found.recall_5 <= found.recall_10 <= first.recall_10
    assert (first.ndcg_10, first.mrr, first.hit_5) == (pytest.approx(1), 1, 1)


def test_measures_of_a_ranking_worked_out_by_hand() -> None:
    found = measure(["a", "x", "a", "b", *NAMES], {"a", "b", "c"})
    assert (found.recall_5, found.hit_5, found.mrr) == (pytest.approx(2 / 3), 1, 1)
    assert found.ndcg_10 == pytest.approx((1 + 0.5) / (1 + 0.6309297535714575 + 0.5))


def test_nothing_found_measures_nothing() -> None:
    assert measure([], {"a"}) == Measures(0, 0, 0, 0, 0)


@pytest.mark.requirement("search-bench")
@pytest.mark.parametrize("name", ["some.jsonl", "some.jsonl.xz"])
def test_any_file_of_haystacks_is_read(tmp_path: Path, name: str) -> None:
    line = msgspec.json.encode(HAYSTACK) + b"\n"
    file = tmp_path / name
    file.write_bytes(lzma.compress(line * 2) if name.endswith("xz") else line * 2)
    assert read(file) == [HAYSTACK, HAYSTACK]


def test_evidence_that_is_not_stored_is_no_evidence() -> None:
    first, second = HAYSTACK.questions
    assert HAYSTACK.gold(first, "turn") == {"1"}
    assert HAYSTACK.gold(first, "session") == {"s1"}
    assert not HAYSTACK.gold(second, "turn")
    assert [turn.id for _, turn in HAYSTACK.turns] == ["1", "3", "4"]


def test_the_bar_finds_stems_and_han_pairs_and_nothing_else() -> None:
    bar = Bar(["1", "3", "4"], ["Ana: We sailed to Oslo.", "Ana: It rained.", "Ben: 我们去了挪威。"])
    assert bar.search("sailing in the rain", 10) == ["3", "1"] or bar.search("sailing in the rain", 10) == ["1", "3"]
    assert bar.search("挪威在哪里", 10) == ["4"]
    assert bar.search("what is the", 10) == []


@pytest.mark.requirement("search-bench")
def test_a_run_is_told_by_language_and_category_with_ratios() -> None:
    run = Run(
        data="some",
        unit="turn",
        skipped=1,
        turns=3,
        cut=0,
        stored_s=1.5,
        embedded_s=2.0,
        answers=(Answer("en", "who", GOOD, POOR), Answer("en", "why", POOR, POOR), Answer("zh", "who", GOOD, GOOD)),
        laps_s=(0.01, 0.02, 0.03),
        degraded={"no model": 2},
    )
    assert [(group.lang, group.category) for group in run.groups] == [
        ("en", OVERALL),
        ("en", "who"),
        ("en", "why"),
        ("zh", OVERALL),
        ("zh", "who"),
    ]
    assert run.groups[0].product == mean([GOOD, POOR])
    figures = {row.what: row.value for row in rows(run)}
    assert figures["some en: recall@10 over the bar's"] == pytest.approx(1.5)
    assert figures["some: turns stored"] == 2
    told = table(run)
    assert "1.50" in told
    assert "2 no model" in told
    [kept] = msgspec.json.decode(to_json([run]))
    assert kept["groups"][0]["product"]["recall_10"] == 0.75


@pytest.mark.requirement("search-arms-alone")
def test_a_run_tells_how_far_the_whole_is_below_the_better_arm() -> None:
    alone = {"words": POOR, "meaning": GOOD}
    run = Run(
        data="some",
        unit="turn",
        skipped=0,
        turns=3,
        cut=0,
        stored_s=1.5,
        embedded_s=2.0,
        answers=(Answer("en", "who", POOR, POOR, alone), Answer("en", "why", GOOD, POOR, alone)),
        laps_s=(0.01, 0.02),
        degraded={},
    )
    under = [row for row in rows(run) if "under the better arm" in row.what]
    assert [(row.value, row.verdict) for row in under] == [(25.0, "MISSED"), (25.0, "MISSED")]
    told = arms_table(run).splitlines()
    assert told[2:] == [
        "| en overall | 2 | .500 / .500 | .500 / .500 | 1.000 / 1.000 | .750 / .750 | .250 / .250 |",
        "| en who | 1 | .500 / .500 | .500 / .500 | 1.000 / 1.000 | .500 / .500 | .500 / .500 |",
        "| en why | 1 | .500 / .500 | .500 / .500 | 1.000 / 1.000 | 1.000 / 1.000 | - / - |",
    ]
    plain = msgspec.structs.replace(run, answers=(Answer("en", "who", POOR, POOR),))
    assert arms_table(plain) == ""
    assert not any("arm" in row.what for row in rows(plain))
