"""Which rows the names of a question lead to: those that speak of them, and those that speak of what is related to them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from loomem.core.search.relate import named
from loomem.views.lens import Entity, Lens

STEPS = (1.0, 0.5, 0.25)
"""What a row counts that speaks of an entity the question names, of one related to it, and of one related to that."""
ROWS_LIMIT = 300
"""Rows that are returned."""
RING_LIMIT = 20
"""Entities of one step that are looked at."""
FEW, SHARE = 20, 0.05
"""A name that more rows than these, and more than this share of them, speak of tells them apart no more."""


class Near:
    """Looks for rows by the relations of what a question names."""

    def __init__(self, lens: Lens, rows: int) -> None:
        """`rows`: how many there are in all."""
        self._lens = lens
        self._most = max(FEW, int(rows * SHARE))

    def rows(self, names: Sequence[str], steps: int) -> dict[int, float]:
        """Return how near rows are to some names, by their numbers; `steps`: relations to follow, two at most."""
        found: dict[int, float] = {}
        seen: dict[str, None] = {}
        ring: list[str] = []
        for name in names:
            if not self._tells(name) or not self._lens.exists(name):
                continue
            ring.append(self._lens.standing(name).key)
        for near in STEPS[: steps + 1]:
            following: list[str] = []
            for key in ring[:RING_LIMIT]:
                if key in seen or not self._tells(key):
                    continue
                seen[key] = None
                entity = self._lens.entity(key)
                if len(entity.rows) <= self._most:
                    self._take(found, entity, near)
                    following += [edge.other for edge in self._lens.edges(entity)]
            ring = list(dict.fromkeys(following))
        return found

    def _take(self, found: dict[int, float], entity: Entity, near: float) -> None:
        for row in entity.rows:
            if len(found) >= ROWS_LIMIT:
                return
            found.setdefault(row.number, near)

    def _tells(self, key: str) -> bool:
        """Say whether a name is not one that nearly everything speaks of; before anything of it is looked up."""
        return self._lens.spread(key) <= self._most


def near(lens: Lens, text: str, rows: int, steps: int) -> dict[int, float]:
    """Return how near rows are to what a text names, by their numbers, the nearest first."""
    names = named(text, lens.knows)
    return Near(lens, rows).rows(names, steps) if names else {}


def beyond(found: dict[int, float], known: Iterable[int], most: int) -> list[tuple[int, float]]:
    """Return the nearest rows that nothing else found."""
    others = set(known)
    return sorted(((n, g) for n, g in found.items() if n not in others), key=lambda one: -one[1])[:most]
