"""How good a ranking is, when it is known what should be found."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence

import msgspec

DEPTH = 10
"""Of NDCG, which counts evidence as found or not."""


class Measures(msgspec.Struct, frozen=True):
    """Of one ranking, or the mean of many."""

    recall_5: float
    recall_10: float
    """Share of the evidence among the first ten."""
    hit_5: float
    """Whether any evidence is among the first five."""
    ndcg_10: float
    mrr: float


NAMES = Measures.__struct_fields__
TITLES = ("recall@5", "recall@10", "hit@5", "ndcg@10", "mrr")


def measure(ranked: Iterable[str], gold: Collection[str]) -> Measures:
    """Return the measures of a ranking, in which only the first mention of each counts."""
    at = [index for index, one in enumerate(dict.fromkeys(ranked)) if one in gold]
    found = {depth: sum(index < depth for index in at) for depth in (5, DEPTH)}
    ideal = sum(_discount(index) for index in range(min(DEPTH, len(gold))))
    return Measures(
        recall_5=found[5] / len(gold),
        recall_10=found[DEPTH] / len(gold),
        hit_5=float(found[5] > 0),
        ndcg_10=sum(_discount(index) for index in at if index < DEPTH) / ideal,
        mrr=1 / (at[0] + 1) if at else 0.0,
    )


def mean(many: Sequence[Measures]) -> Measures:
    """Return the mean of at least one."""
    return Measures(*(sum(getattr(one, name) for one in many) / len(many) for name in NAMES))


def _discount(index: int) -> float:
    return 1 / math.log2(index + 2)
