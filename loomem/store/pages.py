"""Ranked answers that are being read page by page, kept for as long as their readers are likely to go on.

A ranking has no order but its own, and no two need be the same: time passes, or the meaning was missing from one. So the
pages that follow are those of the ranking that the first was of. One that is forgotten, or another process's, is made anew.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict

import msgspec

from loomem.core.recall import Query
from loomem.core.row import Place
from loomem.search import Ranking

KEPT = 16
"""Rankings that are kept; the one that was read longest ago goes first."""
_BEGIN_BITS = 32
_TOKEN_BITS = 64


class Placed(msgspec.Struct, frozen=True, gc=False):
    """A row of a ranking, by where it is held: it may change while the pages are read."""

    number: int
    place: Place
    ident: str
    score: float


class Kept(msgspec.Struct, frozen=True):
    """A ranking whose pages are read."""

    token: int
    query: Query
    rows: list[Placed]
    degraded: list[str]

    def after(self, count: int) -> int:
        """Return what a cursor carries to go on after so many rows."""
        return self.token << _BEGIN_BITS | count


class Pages:
    """The rankings of one caller whose pages are read."""

    def __init__(self) -> None:
        self._kept: OrderedDict[int, Kept] = OrderedDict()

    def keep(self, query: Query, ranking: Ranking) -> Kept:
        """Keep a ranking and return it."""
        rows = [Placed(one.row.number, one.row.place, one.row.id, one.score) for one in ranking.rows]
        kept = Kept(secrets.randbits(_TOKEN_BITS) or 1, query, rows, ranking.degraded)
        self._kept[kept.token] = kept
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return kept

    def find(self, query: Query, after: int) -> Kept | None:
        """Return the ranking that a cursor goes on with, if it is kept."""
        kept = self._kept.get(after >> _BEGIN_BITS)
        if kept is None or kept.query != query:
            return None
        self._kept.move_to_end(kept.token)
        return kept


def begin_of(after: int) -> int:
    """Return how many rows the pages before a cursor had."""
    return after & ((1 << _BEGIN_BITS) - 1)
