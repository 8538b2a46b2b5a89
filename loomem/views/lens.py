"""The graph as one question sees it: of some places, at this moment. Put together from what stands under the names it touches.

A lens is made for a question and thrown away with it; what it looked up once it does not look up again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Protocol

import msgspec

from loomem.core.graph.contribution import Contribution
from loomem.core.graph.dictionary import Dictionary
from loomem.core.graph.joining import Standing, members, standing
from loomem.core.graph.kinds import WEAK, EntityType
from loomem.core.graph.names import is_part, key_of, parts
from loomem.core.graph.ruling import Ruling
from loomem.core.row import Place, Row
from loomem.views.rulings import Decided


class Support(msgspec.Struct, frozen=True, eq=False):
    """A memory that may be shown, and what it says."""

    row: Row
    said: Contribution


class Source(Protocol):
    """Where contributions are held."""

    @property
    def dictionary(self) -> Dictionary: ...

    def sources(self, key: str) -> Collection[int]: ...

    def knows(self, key: str) -> bool: ...

    def names_with(self, word: str) -> Collection[str]: ...

    def support(self, source: int, within: Callable[[Place], bool], admit: Callable[[Row], bool]) -> Support | None: ...


class Entity(msgspec.Struct, frozen=True):
    """An entity, by all its names."""

    key: str
    name: str
    type: str
    aliases: tuple[str, ...]
    members: frozenset[str]
    """The keys of its names."""
    rows: tuple[Row, ...]
    """The memories that speak of it, the last changed first."""


class Edge(msgspec.Struct, frozen=True):
    """A relation of an entity to another."""

    other: str
    """The key that the other goes by."""
    relation: str
    outgoing: bool
    rows: tuple[Row, ...]
    """The memories that state it."""


class Lens:
    """Entities and relations, as far as a question may see them."""

    def __init__(
        self,
        graph: Source,
        rulings: list[Ruling],
        within: Callable[[Place], bool],
        admit: Callable[[Row], bool],
    ) -> None:
        self._graph = graph
        self._within = within
        self._admit = admit
        self._decided = Decided(rulings)
        self._looked: dict[int, Support | None] = {}
        self._supports: dict[str, Sequence[Support]] = {}
        self._types: dict[str, str | None] = {}
        self._standing: dict[str, Standing] = {}
        self.merged = self._decided.merged
        self.merges = self._decided.merges
        self.is_split = self._decided.is_split

    # --- what is asked for ---

    def find(self, name: str) -> Standing | None:
        """Return what a name that somebody asks for goes by, or None when no memory speaks of it."""
        for spelled in (name, self._graph.dictionary.canonical(name)):
            key = key_of(spelled)
            if key and self.exists(key):
                return self.standing(key)
        return None

    def knows(self, key: str) -> bool:
        """Say whether a name stands anywhere; whether it may be seen is for `exists`."""
        return self._graph.knows(key)

    def spread(self, key: str) -> int:
        """Return how many memories speak of a name at most."""
        return len(self._graph.sources(key))

    def standing(self, key: str) -> Standing:
        """Return what a name goes by."""
        found = self._standing.get(key)
        if found is None:
            found = self._standing[key] = standing(key, self)
        return found

    def entity(self, key: str) -> Entity:
        """Return the entity that goes by a name."""
        names = members(key, self)
        rows = {support.row.number: support.row for name in names for support in self.supports(name)}
        return Entity(
            key,
            self.written(key),
            self._type_of_all(names),
            tuple(self.written(name) for name in names[1:]),
            frozenset(names),
            tuple(sorted(rows.values(), key=lambda row: (-row.updated, row.order))),
        )

    def edges(self, entity: Entity) -> list[Edge]:
        """Return how an entity is related to others, by the words of the relation and the other's name."""
        found: dict[tuple[str, bool, str], dict[int, Row]] = {}
        for relation, outgoing, end, row in self._stated(entity):
            other = self.standing(end).key
            if other not in entity.members:
                found.setdefault((relation, not outgoing, other), {})[row.number] = row
        return [
            Edge(other, relation, not incoming, tuple(sorted(rows.values(), key=lambda row: (-row.updated, row.order))))
            for (relation, incoming, other), rows in sorted(found.items())
        ]

    def written(self, key: str) -> str:
        """Return a name as most memories write it."""
        spelled = Counter(name for support in self.supports(key) for name in _spellings(support.said, key))
        return min(spelled, key=lambda name: (-spelled[name], name), default=key)

    def type_of(self, key: str) -> str | None:
        """Return what most memories say that a name is; None when they say nothing."""
        if key not in self._types:
            said = Counter(
                one.type for support in self.supports(key) for one in support.said.entities if key_of(one.name) == key
            )
            self._types[key] = min(said, key=lambda kind: (kind in WEAK, -said[kind], kind), default=None)
        return self._types[key]

    def supports(self, key: str) -> Sequence[Support]:
        """Return the memories that speak of a name and may be shown, and what they say."""
        found = self._supports.get(key)
        if found is None:
            looked = (self._look(source) for source in self._graph.sources(key))
            found = self._supports[key] = [
                one for one in looked if one is not None and any(True for _ in _spellings(one.said, key))
            ]
        return found

    # --- what is known of names (`joining.Known`) ---

    def exists(self, key: str) -> bool:
        return bool(self.supports(key))

    def called(self, key: str) -> set[str]:
        return {
            key_of(one.name)
            for support in self.supports(key)
            for one in support.said.entities
            if key in map(key_of, one.aliases)
        }

    def aliases(self, key: str) -> set[str]:
        return {
            key_of(alias)
            for support in self.supports(key)
            for one in support.said.entities
            if key_of(one.name) == key
            for alias in one.aliases
        }

    def wholes(self, key: str) -> list[str]:
        if self.type_of(key) != EntityType.PERSON:
            return []
        longer = self._graph.names_with(key.split()[0])
        return [name for name in longer if is_part(key, name) and self.type_of(name) == EntityType.PERSON]

    def parts(self, key: str) -> list[str]:
        if " " not in key or self.type_of(key) != EntityType.PERSON:
            return []
        return [part for part in parts(key) if self.type_of(part) == EntityType.PERSON]

    # --- within ---

    def _look(self, source: int) -> Support | None:
        if source not in self._looked:
            self._looked[source] = self._graph.support(source, self._within, self._admit)
        return self._looked[source]

    def _stated(self, entity: Entity) -> Iterator[tuple[str, bool, str, Row]]:
        """Yield the relation, whether it goes out, its other end and its memory, for all that is stated of an entity."""
        for name in entity.members:
            for support in self.supports(name):
                for tie in support.said.ties:
                    subject, end = key_of(tie.subject), key_of(tie.object)
                    if subject == name:
                        yield tie.relation, True, end, support.row
                    if end == name:
                        yield tie.relation, False, subject, support.row

    def _type_of_all(self, names: Sequence[str]) -> str:
        said = [kind for name in names if (kind := self.type_of(name)) is not None]
        return next((kind for kind in said if kind not in WEAK), said[0] if said else str(EntityType.UNKNOWN))


def _spellings(said: Contribution, key: str) -> Iterator[str]:
    """Yield how a contribution writes a name, wherever it has it."""
    for one in said.entities:
        if key_of(one.name) == key:
            yield one.name
        for alias in one.aliases:
            if key_of(alias) == key:
                yield alias
    for tie in said.ties:
        if key_of(tie.subject) == key:
            yield tie.subject
        if key_of(tie.object) == key:
            yield tie.object
