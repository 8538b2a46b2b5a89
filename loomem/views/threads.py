"""The view of conversations: which rows are turns of one, and in which order.

A row belongs to one when its metadata names a `conversation`; its place there is its `turn`, whose numbers count as numbers,
or else when it was written.
"""

from __future__ import annotations

import re

from loomem.core.row import Place, Row
from loomem.core.search.fuse import Thread

_Order = tuple[tuple[int, ...], str, int, int]
_NUMBERS = re.compile(r"\d{1,15}")


class Threads:
    """The conversations of the visible rows."""

    def __init__(self) -> None:
        self._turns: dict[tuple[Place, str], dict[int, _Order]] = {}
        self._of: dict[int, tuple[Place, str]] = {}
        self._sorted: dict[tuple[Place, str], tuple[tuple[int, ...], dict[int, int]]] = {}
        """Of a conversation that was asked for since it last changed: its rows in order, and where each stands."""

    # --- feeding ---

    def put(self, row: Row) -> None:
        name = (row.memory.metadata or {}).get("conversation")
        if isinstance(name, str) and name:
            thread = (row.place, name)
            self._of[row.number] = thread
            self._turns.setdefault(thread, {})[row.number] = _order(row)
            self._sorted.pop(thread, None)

    def drop(self, row: Row) -> None:
        thread = self._of.pop(row.number, None)
        if thread is not None:
            turns = self._turns[thread]
            del turns[row.number]
            if not turns:
                del self._turns[thread]
            self._sorted.pop(thread, None)

    # --- asking ---

    def __call__(self, number: int) -> Thread | None:
        """Return the conversation that a row is a turn of, if it is one."""
        thread = self._of.get(number)
        if thread is None:
            return None
        if (known := self._sorted.get(thread)) is None:
            turns = self._turns[thread]
            order = tuple(sorted(turns, key=turns.__getitem__))
            known = (order, {one: at for at, one in enumerate(order)})
            self._sorted[thread] = known
        return Thread(known[0], known[1][number])


def _order(row: Row) -> _Order:
    turn = (row.memory.metadata or {}).get("turn")
    said = str(turn) if isinstance(turn, int | str) else ""
    return tuple(int(number) for number in _NUMBERS.findall(said)), said, row.created, row.revision
