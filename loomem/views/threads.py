"""The view of conversations: which memories are turns of one sitting, and in which order. Fed by the view of records.

A sitting is put in order when somebody asks, not at each put: it is stored turn by turn, and asked about later. Where one
named speaker says everything, it is no conversation: notes of a day need not be about one thing.
Deliberately absent: texts, scores, and what makes a memory a turn (`loomem.core.search.turns`).
"""

from __future__ import annotations

from itertools import count

from loomem.core.row import Place, Row
from loomem.core.search.fuse import Turn
from loomem.core.search.turns import Order, Said, said

_Name = tuple[Place, tuple[str, ...]]
"""A sitting of one place."""


class Threads:
    """The turns among the rows that were put."""

    def __init__(self) -> None:
        self._sittings: dict[_Name, _Sitting] = {}
        self._sitting_of: dict[int, _Sitting] = {}
        self._numbers = count(1)

    def put(self, row: Row) -> None:
        """Take a row, if it is a turn."""
        found = said(row.memory)
        if found is None:
            return
        name = (row.place, found.sitting)
        sitting = self._sittings.get(name)
        if sitting is None:
            sitting = self._sittings[name] = _Sitting(name, next(self._numbers))
        sitting.put(row, found)
        self._sitting_of[row.number] = sitting

    def drop(self, row: Row) -> None:
        """Let go of a row."""
        sitting = self._sitting_of.pop(row.number, None)
        if sitting is not None and sitting.drop(row.number):
            del self._sittings[sitting.name]

    @property
    def is_empty(self) -> bool:
        """Whether no row is a turn of anything."""
        return not self._sittings

    def turn(self, number: int) -> Turn | None:
        """Return where in which conversation a row stands; None for a row that is in none."""
        sitting = self._sitting_of.get(number)
        return None if sitting is None else sitting.turns().get(number)


class _Sitting:
    """The turns of one conversation on one day."""

    def __init__(self, name: _Name, number: int) -> None:
        self.name = name
        self._number = number
        self._said: dict[int, tuple[int, Said]] = {}
        """Of each row, when it was made, and what it says."""
        self._turns: dict[int, Turn] | None = None

    def put(self, row: Row, found: Said) -> None:
        self._said[row.number] = (row.created, found)
        self._turns = None

    def drop(self, number: int) -> bool:
        """Let go of a row; say whether it was the last."""
        del self._said[number]
        self._turns = None
        return not self._said

    def turns(self) -> dict[int, Turn]:
        """Return the turns by their rows; none where nobody speaks to anybody."""
        if self._turns is None:
            speakers = {found.speaker for _, found in self._said.values()}
            alone = len(speakers) == 1 and "" not in speakers
            self._turns = {} if alone else self._ordered()
        return self._turns

    def _ordered(self) -> dict[int, Turn]:
        in_order = sorted(self._said, key=self._key)
        return {number: self._turn(number, at) for at, number in enumerate(in_order)}

    def _key(self, number: int) -> tuple[bool, Order, int, int]:
        """What the rows are ordered by: their turn; those without one come last, as they were made."""
        created, found = self._said[number]
        return (not found.order, found.order, created, number)

    def _turn(self, number: int, at: int) -> Turn:
        _, found = self._said[number]
        return Turn(
            sitting=self._number,
            at=at,
            size=len(self._said),
            speaker=found.speaker,
            letters=found.letters,
            asks=found.asks,
        )
