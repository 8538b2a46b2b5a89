"""The benchmark: every haystack of the files stored and asked, then the same questions to the bar."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
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
    alone: dict[str, dict[str, list[str]]]
    """The same of each arm alone, where that was asked for."""
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
        print(figures.table(runs[-1]), figures.arms_table(runs[-1]), sep="\n", flush=True)
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
            stored.append(await _through_product(home, haystack, effort))
            print(f"{haystack.id}: {len(haystack.turns)} turns, {len(stored[-1].laps_s)} questions", flush=True)
            answers += _compared(haystack, stored[-1], effort.unit)
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


async def _through_product(home: Path, haystack: Haystack, effort: Effort) -> _Stored:
    user = re.sub(r"[^A-Za-z0-9]+", "-", haystack.id)
    questions = _answerable(haystack, effort.unit)
    async with product.asked(home, user) as asked:
        began = time.perf_counter()
        await asked.store(haystack)
        stored = time.perf_counter()
        await asked.embedded()
        embedded = time.perf_counter()
        answers, laps = await _answers(asked, questions)
    degraded = [asked.degraded]
    alone: dict[str, dict[str, list[str]]] = {}
    for arm, settings in product.ALONE.items() if effort.arms else ():
        async with product.asked(home, user, asked.turns, settings) as one:
            await one.settled()
            alone[arm], _ = await _answers(one, questions)
            degraded.append({f"{arm} alone: {reason}": count for reason, count in one.degraded.items()})
    return _Stored(
        answers=answers,
        alone=alone,
        laps_s=laps,
        stored_s=stored - began,
        embedded_s=embedded - stored,
        cut=asked.cut,
        degraded=_added(degraded),
    )


async def _answers(asked: product.Asked, questions: Sequence[Question]) -> tuple[dict[str, list[str]], list[float]]:
    found, laps = await product.timed_answers(asked, [question.text for question in questions])
    return {question.id: turns for question, turns in zip(questions, found, strict=True)}, laps


def _compared(haystack: Haystack, stored: _Stored, unit: Unit) -> list[Answer]:
    turns = haystack.turns
    bar = Bar([turn.id for _, turn in turns], [spoken(turn) for _, turn in turns])
    session = {turn.id: session.id for session, turn in turns}
    found: list[Answer] = []
    for question in _answerable(haystack, unit):
        gold = haystack.gold(question, unit)
        rankings = {
            "ours": stored.answers[question.id],
            "bar": bar.search(question.text, product.TOP_K),
            **{arm: answers[question.id] for arm, answers in stored.alone.items()},
        }
        if unit == "session":
            rankings = {name: [session[turn] for turn in turns] for name, turns in rankings.items()}
        measured = {name: measure(turns, gold) for name, turns in rankings.items()}
        ours, bars = measured.pop("ours"), measured.pop("bar")
        found.append(Answer(haystack.lang, question.category, ours, bars, measured))
    return found


def _answerable(haystack: Haystack, unit: Unit) -> list[Question]:
    return [question for question in haystack.questions if haystack.gold(question, unit)]


def _added(many: Iterable[dict[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for counts in many:
        for reason, count in counts.items():
            total[reason] = total.get(reason, 0) + count
    return total
