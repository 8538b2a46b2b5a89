"""What a run gives: the measures by category beside the bar's, and rows with the budgets of the project."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from bench.report import Row, spread
from bench.retrieval.measures import TITLES, Measures, mean

OVERALL = "overall"
MUST = {"en": (1.15, 1.10), "zh": (2.0, 2.0)}
AIM = {"en": (1.25, 1.20), "zh": (2.6, 2.6)}
"""Recall and NDCG over the bar's, by language. Of conversations in English, of dialogues as questions in Chinese."""
UNDER_ARM = 0.02
"""How far the whole may be below the better of its own arms, on a set."""


class Answer(msgspec.Struct, frozen=True):
    """One question, as the product and the bar answered it."""

    lang: str
    category: str
    product: Measures
    bar: Measures
    alone: dict[str, Measures] = {}
    """Each arm of the product by itself, where that was asked for."""


class Group(msgspec.Struct, frozen=True):
    """The means of some answers."""

    lang: str
    category: str
    questions: int
    product: Measures
    bar: Measures
    alone: dict[str, Measures] = {}

    def under(self, title: str) -> float | None:
        """Return by how much a measure is below that of the better arm alone; None where none was asked alone."""
        at = TITLES.index(title)
        arms = [msgspec.structs.astuple(one)[at] for one in self.alone.values()]
        return max(arms) - msgspec.structs.astuple(self.product)[at] if arms else None


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One data set through the product."""

    data: str
    unit: str
    skipped: int
    """Questions without evidence in the store."""
    turns: int
    cut: int
    """Turns longer than the product stores, and cut."""
    stored_s: float
    embedded_s: float
    """After the last turn was stored."""
    answers: tuple[Answer, ...]
    laps_s: tuple[float, ...]
    """How long each question took, with its embedding and the way over stdio."""
    degraded: dict[str, int]

    @property
    def groups(self) -> list[Group]:
        """For each language the whole, then its categories by name."""
        found: list[Group] = []
        for lang in sorted({answer.lang for answer in self.answers}):
            here = [answer for answer in self.answers if answer.lang == lang]
            found.append(_group(lang, OVERALL, here))
            categories = sorted({answer.category for answer in here})
            found += [_group(lang, name, [answer for answer in here if answer.category == name]) for name in categories]
        return found


def table(run: Run) -> str:
    """The means by language and category, and how they stand to the bar's, aligned for a terminal."""
    head = f"{run.data}, {run.unit}s: {len(run.answers)} questions (+{run.skipped} without evidence), {run.turns} turns"
    width = max(len(f"{group.lang} {group.category}") for group in run.groups)
    titles = "".join(f"{title:>11}" for title in TITLES)
    lines = [head, f"{'':{width}}  {'n':>5}  {'':7}{titles}"]
    for group in run.groups:
        name = f"{group.lang} {group.category}"
        lines.append(f"{name:{width}}  {group.questions:5}  product{_numbers(group.product)}")
        lines.append(f"{'':{width}}  {'':5}  bar    {_numbers(group.bar)}")
        ratios = "".join(f"{_ratio(ours, bars):>11}" for ours, bars in _pairs(group.product, group.bar))
        lines.append(f"{'':{width}}  {'':5}  ratio  {ratios}")
        lines += [f"{'':{width}}  {'':5}  {arm:7}{_numbers(one)}" for arm, one in group.alone.items()]
    if run.degraded:
        lines.append("degraded answers: " + ", ".join(f"{count} {reason}" for reason, count in run.degraded.items()))
    return "\n".join(lines)


def arms_table(run: Run) -> str:
    """Recall@10 / NDCG@10 of the arms alone beside the whole, as docs/retrieval.md has it; empty where none was asked alone."""
    names = list(run.groups[0].alone)
    if not names:
        return ""
    heads = [run.data, "questions", "bar", *(f"{name} alone" for name in names), "search", "under the better arm"]
    lines = [heads, ["---"] * len(heads)]
    for group in run.groups:
        measured = (group.bar, *(group.alone[name] for name in names), group.product)
        under = [group.under("recall@10") or 0.0, group.under("ndcg@10") or 0.0]
        told = " / ".join("-" if by <= 0 else _short(by) for by in under)
        pairs = [f"{_short(one.recall_10)} / {_short(one.ndcg_10)}" for one in measured]
        lines.append([f"{group.lang} {group.category}", str(group.questions), *pairs, told])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def rows(run: Run) -> list[Row]:
    """The figures that are compared between runs."""
    found = [
        row
        for group in run.groups
        if group.category == OVERALL
        for row in (_over_bar(run, group, "recall@10", 0), _over_bar(run, group, "ndcg@10", 1))
    ]
    found += [
        Row(
            benchmark="retrieval",
            what=f"{run.data} {group.lang}: {title} under the better arm alone",
            value=100 * under,
            unit="hundredths",
            must=100 * UNDER_ARM,
            aim=0.0,
        )
        for group in run.groups
        for title in ("recall@10", "ndcg@10")
        if group.category == OVERALL and (under := group.under(title)) is not None
    ]
    asked = spread(run.laps_s)
    return [
        *found,
        Row(benchmark="retrieval", what=f"{run.data}: question, p50", value=asked.p50, unit="ms"),
        Row(benchmark="retrieval", what=f"{run.data}: question, p95", value=asked.p95, unit="ms"),
        Row(
            benchmark="retrieval",
            what=f"{run.data}: turns stored",
            value=run.turns / run.stored_s,
            unit="/s",
            higher=True,
        ),
        Row(benchmark="retrieval", what=f"{run.data}: vectors after the last turn", value=run.embedded_s, unit="s"),
        Row(benchmark="retrieval", what=f"{run.data}: turns cut to what may be stored", value=run.cut, unit=""),
    ]


def to_json(runs: Sequence[Run]) -> bytes:
    """The groups of every run, with the answers left out."""
    plain = [{**_summary(run), "groups": msgspec.to_builtins(run.groups)} for run in runs]
    return msgspec.json.format(msgspec.json.encode(plain), indent=2)


def _summary(run: Run) -> dict[str, object]:
    left_out = ("answers", "laps_s")
    return {name: getattr(run, name) for name in run.__struct_fields__ if name not in left_out}


def _group(lang: str, category: str, answers: Sequence[Answer]) -> Group:
    product, bar = mean([answer.product for answer in answers]), mean([answer.bar for answer in answers])
    alone = {arm: mean([answer.alone[arm] for answer in answers]) for arm in answers[0].alone}
    return Group(lang, category, len(answers), product, bar, alone)


def _over_bar(run: Run, group: Group, title: str, at: int) -> Row:
    ours, bars = next(
        pair for name, pair in zip(TITLES, _pairs(group.product, group.bar), strict=True) if name == title
    )
    must, aim = MUST.get(group.lang), AIM.get(group.lang)
    return Row(
        benchmark="retrieval",
        what=f"{run.data} {group.lang}: {title} over the bar's",
        value=ours / bars if bars else float("inf"),
        unit="x",
        must=must and must[at],
        aim=aim and aim[at],
        higher=True,
    )


def _pairs(ours: Measures, bars: Measures) -> Iterator[tuple[float, float]]:
    return zip(msgspec.structs.astuple(ours), msgspec.structs.astuple(bars), strict=True)


def _numbers(measures: Measures) -> str:
    return "".join(f"{value:11.3f}" for value in msgspec.structs.astuple(measures))


def _short(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


def _ratio(ours: float, bars: float) -> str:
    return f"{ours / bars:.2f}" if bars else "-"
