"""The view of words, fed: every visible row under its number, by the text it is found by.

The records come first: nothing is told or indexed before they are there, so that the index delays neither the start nor a
recall. A search before the words have followed waits a moment, and then says that some are missing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from types import TracebackType
from typing import Self

import msgspec

from loomem.core.row import Place, Row
from loomem.core.search.fuse import Hit
from loomem.core.vector import text_of
from loomem.views.projection import Projection
from loomem.views.records import Watcher
from loomem.views.text import Analysed, Status, Text


class Words:
    """The words of the rows of a projection, while the context is open."""

    def __init__(
        self, projection: Projection, analysed: Analysed | None = None, *, before: Sequence[Watcher] = ()
    ) -> None:
        """Index the rows of a projection; `analysed` has the terms of texts that earlier processes took apart.

        `before` are views that an answer needs beside the words: when these are there, they are.
        """
        self._projection = projection
        self._before = before
        self._told = asyncio.Event()
        self._text = Text(after=self._be_told, analysed=analysed)

    async def __aenter__(self) -> Self:
        await self._text.__aenter__()
        return self

    async def _be_told(self) -> None:
        await self._projection.loaded()
        for watcher in (*self._before, self):
            for _ in self._projection.records.watch_in_turns(watcher):
                await asyncio.sleep(0)
        self._told.set()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for watcher in (*self._before, self):
            self._projection.records.unwatch(watcher)
        await self._text.__aexit__(kind, error, trace)

    # --- feeding ---

    def put(self, row: Row) -> None:
        source = (f"{row.place.bucket} {row.key}", row.revision)
        self._text.put(row.number, token_of(row.place), text_of(row.memory), source)

    def drop(self, row: Row) -> None:
        self._text.remove(row.number)

    # --- asking ---

    async def settled(self) -> None:
        """Return when every row of now can be found. Bounded by whoever calls."""
        await self._told.wait()
        await self._text.wait()

    def search(self, text: str, places: Collection[Place] | None, limit: int) -> list[Hit]:
        """Return the rows in some places (None: in all) that a text's words find, the best first."""
        return [Hit(hit.ident, hit.score) for hit in self._text.search(text, _tokens(places), limit)]

    def bound(self, text: str, places: Collection[Place] | None) -> Callable[[Collection[int]], Collection[int]] | None:
        """Return what tells which of some rows have the phrases of a question and no word that it excludes; None: any may."""
        question = self._text.held(self._text.query(text), _tokens(places))
        if not question.phrases and not question.excluded:
            return None
        return lambda numbers: self._text.passing(question, numbers)

    @property
    def status(self) -> Status:
        status = self._text.status
        if self._told.is_set():
            return status
        return msgspec.structs.replace(status, pending=self._projection.records.count() - status.texts)


def _tokens(places: Collection[Place] | None) -> list[str] | None:
    return None if places is None else [token_of(place) for place in places]


def token_of(place: Place) -> str:
    """Return by which the index tells places apart."""
    return f"{place.fetch}.{place.owner}"
