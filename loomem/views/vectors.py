"""The view of vectors: for every visible row the vector that was made of its text, by model.

Two streams of changes meet here in any order: vectors, as their buckets hold them, and rows. A vector counts for a row when
it stands under the same space and id and was made of the row's text as it is; one that was made of another text is kept,
since the row it belongs to may be on its way, and counts for none. A vector is looked at more closely, many at a time, before anybody
compares anything with it: one whose length is not 1 is none. Models do not mix: a question is compared with the
vectors of its own model and of as many dimensions as it has itself. Whoever writes vectors of another length under the
name of a model spoils nothing but these.
Deliberately absent: making vectors (`loomem.workers`), questions (they come as vectors), any file.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from typing import Self

import msgspec

from identity.errors import Corrupt
from identity.keys import Key, Kind, Root, escape_token
from identity.ports import Entry, Marker
from identity.visibility import Sight
from loomem.companion import Companion
from loomem.core.embedding import Embedded
from loomem.core.row import Place, Row
from loomem.core.search.fuse import Hit
from loomem.core.vector import LENGTH_ERROR, Stored, content_hash, read, text_of
from loomem.views.matrix import Matrix
from loomem.views.records import Records

log = logging.getLogger(__name__)

LACKING_SHARE = 0.1
"""Of the rows, those that may be without a vector before a search says so: the newest always are for a moment."""

CHECKED = 500
"""Vectors that are looked at before others have their turn: some milliseconds."""

_Space = tuple[str, Root, str]
"""Bucket, root and owner."""
_Kind = tuple[str, int]
"""Name of a model, and dimensions."""


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """How the vectors of one model and length are, for health."""

    model: str
    dimensions: int
    held: int
    counted: int
    """Those that stand for a visible row."""


class _Model:
    """The vectors of one model that have so many dimensions, and where each lies."""

    def __init__(self, name: str, dimensions: int) -> None:
        self.name = name
        self.token = escape_token(name)
        self.matrix = Matrix(dimensions)
        self.slots: dict[int, dict[str, int]] = {}
        """By space, then by the token of the memory's id."""


class _Fresh(msgspec.Struct, frozen=True, gc=False):
    """A vector that nobody has looked at yet, and where it was put."""

    sight: Sight
    key: Key
    space: int
    model: _Model
    slot: int


class Vectors:
    """The vectors that one caller may see."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._spaces: dict[_Space, int] = {}
        self._models: dict[_Kind, _Model] = {}
        self._unreadable: dict[int, set[tuple[str, str]]] = {}
        """Vectors that are none, by space: tokens of the memory's id and of the model."""
        self._fresh: deque[_Fresh] = deque()
        self._grown = asyncio.Event()
        """There may be work for the task that prepares."""
        self._companion = Companion()
        records.watch(self)

    async def __aenter__(self) -> Self:
        await self._companion.start(self._prepare_always(), "vectors")
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        await self._companion.stop(error)

    # --- folding vectors ---

    def apply(self, sight: Sight, key: Key, change: Entry | Marker) -> None:
        """Take what a key of a vector holds now."""
        if key.model is None:
            return
        space = self._space((sight.bucket, key.root, key.owner))
        stored = _stored(key, change) if isinstance(change, Entry) else None
        self._remove(space, key)
        if stored is None:
            if isinstance(change, Entry):
                self._unreadable.setdefault(space, set()).add((key.id, key.model))
            return
        kind = stored.model, stored.dimensions
        model = self._models.get(kind)
        if model is None:
            model = self._models[kind] = _Model(*kind)
        slot = model.matrix.add(space, stored.hash, stored.values)
        model.slots.setdefault(space, {})[key.id] = slot
        self._fresh.append(_Fresh(sight, key, space, model, slot))
        self._grown.set()

    def keys(self, sight: Sight) -> Iterator[str]:
        """Yield the keys of every vector held under a sight."""
        for (bucket, root, owner), space in self._spaces.items():
            if bucket == sight.bucket and root is sight.root and f"{root}.{owner}.".startswith(_prefix(sight)):
                for model in self._models.values():
                    for ident in model.slots.get(space, ()):
                        yield f"{root}.{owner}.{Kind.VECTOR}.{ident}.{model.token}"
                for ident, token in self._unreadable.get(space, ()):
                    yield f"{root}.{owner}.{Kind.VECTOR}.{ident}.{token}"

    def forget(self, sight: Sight, key: Key) -> None:
        """Take away a vector that the bucket does not hold any more."""
        self._remove(self._space((sight.bucket, key.root, key.owner)), key)

    # --- folding rows ---

    def put(self, row: Row) -> None:
        space = self._spaces.get(_space_of(row.place))
        if space is None:
            return
        ident, made_of = escape_token(row.id), None
        for model in self._models.values():
            slot = model.slots.get(space, {}).get(ident)
            if slot is not None:
                made_of = made_of or content_hash(text_of(row.memory))
                model.matrix.count(slot, row.number if model.matrix.hash(slot) == made_of else 0)

    def drop(self, row: Row) -> None:
        for model, slot in self._slots(row):
            if model.matrix.number(slot) == row.number:
                model.matrix.count(slot, 0)

    # --- asking ---

    def search(self, question: Embedded, places: Collection[Place] | None, limit: int) -> list[Hit]:
        """Return the rows in some places (None: in all) whose vectors are nearest, the nearest first."""
        self._check()
        model = self._model_of(question)
        if model is None or limit < 1:
            return []
        if places is None:
            return model.matrix.search(question.vector, None, limit)
        spaces = [space for place in places if (space := self._spaces.get(_space_of(place))) is not None]
        return model.matrix.search(question.vector, spaces, limit) if spaces else []

    def scores(self, question: Embedded, numbers: Collection[int]) -> list[Hit]:
        """Return how near these rows are, as far as they have a vector of the question's model."""
        self._check()
        asked = self._model_of(question)
        return [] if asked is None or not numbers else asked.matrix.scores(question.vector, numbers)

    def lacking(self, question: Embedded) -> str | None:
        """Return what is missing for a question, in words, if many rows have no vector that it could be compared with."""
        self._check()
        model, rows = self._model_of(question), self._records.count()
        counted = 0 if model is None else model.matrix.counted
        if rows - counted <= rows * LACKING_SHARE:
            return None
        return f"{rows - counted} of {rows} memories have no vector yet"

    def has(self, row: Row, model: str) -> bool:
        """Say whether a row has a vector of a model that was made of its text."""
        self._check()
        return any(held.name == model and held.matrix.number(slot) == row.number for held, slot in self._slots(row))

    def vector(self, row: Row, model: str) -> bytes | None:
        """Return a row's vector of a model, if it has one that was made of its text."""
        self._check()
        return next(
            (
                held.matrix.vector(slot)
                for held, slot in self._slots(row)
                if held.name == model and held.matrix.number(slot) == row.number
            ),
            None,
        )

    @property
    def unreadable(self) -> int:
        """How many values under keys of vectors are none, and count for nothing."""
        self._check()
        return sum(map(len, self._unreadable.values()))

    @property
    def status(self) -> list[Status]:
        """How the vectors of each model are, the model with most of them first."""
        self._check()
        found = [
            Status(
                model=model.name,
                dimensions=model.matrix.dimensions,
                held=len(model.matrix),
                counted=model.matrix.counted,
            )
            for model in self._models.values()
        ]
        return sorted(found, key=lambda one: -one.counted)

    # --- within ---

    async def _prepare_always(self) -> None:
        """Import what computes, when there is something to compute with, and make the bits of many vectors."""
        await self._grown.wait()
        # In a thread: it takes longer than a call should wait for another.
        await asyncio.to_thread(importlib.import_module, "numpy")
        while True:
            await self._grown.wait()
            self._grown.clear()
            while self._fresh:
                self._look_at([self._fresh.popleft() for _ in range(min(len(self._fresh), CHECKED))])
                await asyncio.sleep(0)
            for model in list(self._models.values()):
                await _prepare(model.matrix)

    def _check(self) -> None:
        """Look at what nobody has looked at yet."""
        if self._fresh:
            fresh, self._fresh = list(self._fresh), deque()
            self._look_at(fresh)

    def _look_at(self, fresh: Sequence[_Fresh]) -> None:
        """Let vectors count for the rows whose text they were made of, unless they are none."""
        by_model: dict[int, list[_Fresh]] = {}
        for one in fresh:
            if one.model.slots[one.space].get(one.key.id) == one.slot:  # else it is gone again, or another is there
                by_model.setdefault(id(one.model), []).append(one)
        for some in by_model.values():
            lengths = some[0].model.matrix.lengths([one.slot for one in some])
            for one, length in zip(some, lengths, strict=True):
                if abs(length - 1.0) <= LENGTH_ERROR:
                    self._admit(one)
                else:
                    log.warning("event=vector_unreadable reason='its length is not 1' space=%s", one.key.prefix)
                    self._remove(one.space, one.key)
                    self._unreadable.setdefault(one.space, set()).add((one.key.id, one.model.token))

    def _admit(self, one: _Fresh) -> None:
        row = self._records.at(one.sight, one.key)
        if row is None:
            return
        matrix = one.model.matrix
        if content_hash(text_of(row.memory)) == matrix.hash(one.slot):
            matrix.count(one.slot, row.number)
        if row.id == one.key.id:
            slots = one.model.slots[one.space]
            del slots[row.id]  # it is the same text, and the row's is kept anyway
            slots[row.id] = one.slot

    def _space(self, space: _Space) -> int:
        return self._spaces.setdefault(space, len(self._spaces))

    def _model_of(self, question: Embedded) -> _Model | None:
        return self._models.get((question.model, len(question.vector) // 2))

    def _slots(self, row: Row) -> Iterator[tuple[_Model, int]]:
        space = self._spaces.get(_space_of(row.place))
        if space is not None:
            ident = escape_token(row.id)
            for model in self._models.values():
                slot = model.slots.get(space, {}).get(ident)
                if slot is not None:
                    yield model, slot

    def _remove(self, space: int, key: Key) -> None:
        if key.model is not None and space in self._unreadable:
            self._unreadable[space].discard((key.id, key.model))
        for model in self._models.values():
            if model.token == key.model:
                slot = model.slots.get(space, {}).pop(key.id, None)
                if slot is not None:
                    model.matrix.remove(slot)


async def _prepare(matrix: Matrix) -> None:
    more = matrix.wants_preparing()
    while more:
        more = matrix.prepare()
        await asyncio.sleep(0)


def _stored(key: Key, entry: Entry) -> Stored | None:
    """Return what a key holds, if it is a vector of the model that the key names."""
    try:
        stored = read(entry.value)
    except Corrupt as error:
        log.warning("event=vector_unreadable key=%s reason=%r", entry.key, error.message)
        return None
    return stored if escape_token(stored.model) == key.model else None


def _space_of(place: Place) -> _Space:
    return place.bucket, place.root, place.owner


def _prefix(sight: Sight) -> str:
    return sight.filter.removesuffix(">")
