"""How well contradictions are judged by rules, on labelled pairs of facts in three languages.

`tests/data/pairs_*.txt`: pairs of facts that we wrote, half of them to make the rules with (`dev`), the others before the
rules were tuned, to measure them (`held`). Both by the same hand, so the figures say what the rules can, not what people write.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from bench.report import ROOT, Effort, Row
from loomem.core.contradict import Kind, judge

LANGUAGES = ("en", "pl", "de")
AIM = 0.95


class Pair(msgspec.Struct, frozen=True):
    """A fact, a newer one, and what that means for the first."""

    language: str
    part: str
    label: Kind
    old: str
    new: str


class Figures(msgspec.Struct, frozen=True):
    right: int
    wrong: int
    """Said, and not so."""
    missed: int

    @property
    def precision(self) -> float:
        return self.right / max(1, self.right + self.wrong)

    @property
    def recall(self) -> float:
        return self.right / max(1, self.right + self.missed)


async def contradictions(_: Effort) -> list[Row]:
    """Precision and recall of `updates` and `extends`, in each language and together, on both parts."""
    every, rows = pairs(), list[Row]()
    for part in ("dev", "held"):
        for language in (*LANGUAGES, ""):
            of = [pair for pair in every if pair.part == part and (not language or pair.language == language)]
            for kind in (Kind.UPDATES, Kind.EXTENDS):
                found = figures(of, kind)
                name = f"pairs {part} {language or 'all'}: {kind}"
                must = AIM if kind is Kind.UPDATES and not language else None
                rows += [
                    Row(
                        benchmark="knowledge",
                        what=f"{name} precision ({found.right + found.wrong} said)",
                        value=found.precision,
                        unit="",
                        must=must,
                        higher=True,
                    ),
                    Row(
                        benchmark="knowledge",
                        what=f"{name} recall ({found.right + found.missed} so)",
                        value=found.recall,
                        unit="",
                    ),
                ]
    return rows


def pairs() -> list[Pair]:
    """Return all pairs, in the order of the files."""
    return [
        Pair(language, part.strip(), Kind(label.strip()), old.strip(), new.strip())
        for language in LANGUAGES
        for line in (ROOT / "tests" / "data" / f"pairs_{language}.txt").read_text(encoding="utf-8").splitlines()
        if line.strip() and not line.startswith("#")
        for part, label, old, new in [line.split(" | ")]
    ]


def figures(of: Sequence[Pair], kind: Kind) -> Figures:
    """Return how often the rules say a verdict rightly, wrongly, and not though it is so."""
    said = [(judge(pair.new, pair.old).kind is kind, pair.label is kind) for pair in of]
    return Figures(
        right=sum(told and so for told, so in said),
        wrong=sum(told and not so for told, so in said),
        missed=sum(so and not told for told, so in said),
    )
