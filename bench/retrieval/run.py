"""The benchmark: every haystack of the files stored and asked, then the same questions to the bar."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from pathlib import Path

import msgspec

from bench.report import ROOT, Effort, Row
from bench.retrieval import figures, product
from bench.retrieval.bar import Bar
from bench.retrieval.data import Haystack, Question, Unit, read, spoken
from bench.retrieval.figures import Answer, Run
from bench.retrieval.measures import measure


class _Stored(msgspec.Struct, frozen=True, kw_only=True):
    """One haystack, as it went through the product."""

    answers: dict[str, list[str]]
    """Of each question, the turns found."""
    laps_s: list[float]
    stored_s: float
    embedded_s: float
    cut: int
    degraded: dict[str, int]


async def retrieval(effort: Effort) -> list[Row]:
    """Measure each file of `--data`, print its table, keep its groups as JSON in bench/results/."""
    runs: list[Run] = []
    for file in effort.data:
        runs.append(await _measured(file, effort))
        print(figures.table(runs[-1]), flush=True)
    if not runs:
        print("retrieval: no --data given, nothing measured")
        return []
    kept = ROOT / "bench" / "results" / f"retrieval-{time.strftime('%Y-%m-%dT%H-%M-%S')}.json"
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_bytes(figures.to_json(runs))
    return [row for run in runs for row in figures.rows(run)]


async def _measured(file: Path, effort: Effort) -> Run:
    haystacks = [_some(haystack, effort) for haystack in read(file)]
    answers: list[Answer] = []
    stored: list[_Stored] = []
    with product.home() as home:
        for haystack in haystacks:
            stored.append(await _through_product(home, haystack, effort.unit))
            print(f"{haystack.id}: {len(haystack.turns)} turns, {len(stored[-1].laps_s)} questions", flush=True)
            answers += _compared(haystack, stored[-1].answers, effort.unit)
    return Run(
        data=file.name.split(".")[0],
        unit=effort.unit,
        skipped=sum(len(haystack.questions) for haystack in haystacks) - len(answers),
        turns=sum(len(haystack.turns) for haystack in haystacks),
        cut=sum(one.cut for one in stored),
        stored_s=sum(one.stored_s for one in stored),
        embedded_s=sum(one.embedded_s for one in stored),
        answers=tuple(answers),
        laps_s=tuple(lap for one in stored for lap in one.laps_s),
        degraded=_added(one.degraded for one in stored),
    )


def _some(haystack: Haystack, effort: Effort) -> Haystack:
    """Return a haystack with the share of its questions that is to be asked; what is stored stays whole."""
    step = max(1, round(1 / effort.share))
    return msgspec.structs.replace(haystack, questions=haystack.questions[::step])


async def _through_product(home: Path, haystack: Haystack, unit: Unit) -> _Stored:
    user = re.sub(r"[^A-Za-z0-9]+", "-", haystack.id)
    questions = _answerable(haystack, unit)
    async with product.asked(home, user) as asked:
        began = time.perf_counter()
        await asked.store(haystack)
        stored = time.perf_counter()
        await asked.embedded()
        embedded = time.perf_counter()
        found, laps = await product.timed_answers(asked, [question.text for question in questions])
        return _Stored(
            answers={question.id: turns for question, turns in zip(questions, found, strict=True)},
            laps_s=laps,
            stored_s=stored - began,
            embedded_s=embedded - stored,
            cut=asked.cut,
            degraded=asked.degraded,
        )


def _compared(haystack: Haystack, answers: dict[str, list[str]], unit: Unit) -> list[Answer]:
    turns = haystack.turns
    bar = Bar([turn.id for _, turn in turns], [spoken(turn) for _, turn in turns])
    session = {turn.id: session.id for session, turn in turns}
    found: list[Answer] = []
    for question in _answerable(haystack, unit):
        gold = haystack.gold(question, unit)
        ours, bars = answers[question.id], bar.search(question.text, product.TOP_K)
        if unit == "session":
            ours, bars = [session[turn] for turn in ours], [session[turn] for turn in bars]
        found.append(Answer(haystack.lang, question.category, measure(ours, gold), measure(bars, gold)))
    return found


def _answerable(haystack: Haystack, unit: Unit) -> list[Question]:
    return [question for question in haystack.questions if haystack.gold(question, unit)]


def _added(many: Iterable[dict[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for counts in many:
        for reason, count in counts.items():
            total[reason] = total.get(reason, 0) + count
    return total
