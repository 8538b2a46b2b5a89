"""The dictionary: names that somebody wrote down beforehand, as `entities.toml` has them. Pure; the text comes in.

    persons = ["Anna Nowak"]        orgs, projects, technology, places: the same
    relations = ["Anna Nowak|works_at|Acme"]
    [[entity]]
    canonical = "Kubernetes"
    type = "Technology"
    aliases = ["k8s"]

A name is found at word boundaries, whatever its case, the longest first. A relation counts for a memory that speaks of both
its ends, and for no other. `role` and `expand_with` of an entity are understood and not used.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from identity.errors import InvalidInput
from loomem.core.graph.contribution import Named, Tie
from loomem.core.graph.kinds import EntityType, relation_of, type_of
from loomem.core.graph.names import is_name, key_of
from loomem.core.graph.tokens import Known, Token

NAMES_LIMIT = 20_000
_LISTS = {
    "persons": EntityType.PERSON,
    "orgs": EntityType.ORGANIZATION,
    "projects": EntityType.PROJECT,
    "technology": EntityType.TECHNOLOGY,
    "places": EntityType.PLACE,
}
_ENTITY_KEYS = frozenset({"canonical", "type", "aliases", "role", "expand_with"})


class Dictionary:
    """Names by how they are written, and how they are related."""

    def __init__(self, entities: Mapping[str, Named], ties: tuple[Tie, ...]) -> None:
        """`entities` by the keys of all their names."""
        self._entities = dict(entities)
        self.ties = ties
        self._names: Known[Named] = Known()
        for one in self._entities.values():
            for name in (one.name, *one.aliases):
                self._names.add(name, one)

    @property
    def is_empty(self) -> bool:
        return not self._entities

    @property
    def fingerprint(self) -> str:
        """By which what was made with this dictionary is told from what was made with another; empty when it says nothing."""
        if self.is_empty:
            return ""
        said = sorted((key, one.name, one.type) for key, one in self._entities.items())
        return hashlib.sha256(repr((said, self.ties)).encode()).hexdigest()[:12]

    def canonical(self, name: str) -> str:
        """Return the name by which an entity goes that is called so; the name itself when the dictionary does not know it."""
        known = self._entities.get(key_of(name))
        return name if known is None else known.name

    def type_of(self, name: str) -> str | None:
        """Return what an entity is that is called so, if the dictionary knows it."""
        known = self._entities.get(key_of(name))
        return None if known is None else known.type

    def find(self, tokens: Sequence[Token]) -> Iterator[tuple[int, int, Named]]:
        """Yield from where to where names of the dictionary stand in a text; none of them overlap."""
        return self._names.find(tokens)


EMPTY = Dictionary({}, ())


def dictionary_of(text: str, *, file: str = "entities.toml") -> Dictionary:
    """Return the dictionary that a file's text says. Raises: InvalidInput naming the file and what is wrong in it."""
    try:
        said: dict[str, object] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"{file} is not TOML: {error}", field=file) from None
    unknown = said.keys() - _LISTS.keys() - {"relations", "entity"}
    if unknown:
        raise InvalidInput(f"{file}: {min(unknown)!r} is no key of a dictionary", field=file)
    entities: dict[str, Named] = {}
    for one in (*_listed(said, file), *_detailed(said, file)):
        for name in (one.name, *one.aliases):
            entities[key_of(name)] = one
    if len(entities) > NAMES_LIMIT:
        raise InvalidInput(f"{file} has {len(entities)} names, more than the allowed {NAMES_LIMIT}", field=file)
    return Dictionary(entities, tuple(_tie(line, entities, file) for line in _strings(said, "relations", file)))


def _listed(said: Mapping[str, object], file: str) -> Iterator[Named]:
    for word, kind in _LISTS.items():
        for name in _strings(said, word, file):
            yield Named(_name(name, word, file), kind)


def _detailed(said: Mapping[str, object], file: str) -> Iterator[Named]:
    tables = said.get("entity", [])
    if not isinstance(tables, list) or not all(isinstance(each, dict) for each in cast("list[object]", tables)):
        raise InvalidInput(f"{file}: entity must be tables [[entity]]", field=file)
    for table in cast("list[dict[str, object]]", tables):
        unknown = table.keys() - _ENTITY_KEYS
        if unknown:
            raise InvalidInput(f"{file}: {min(unknown)!r} is no key of an entity", field=file)
        kind = table.get("type", str(EntityType.CONCEPT))
        if not isinstance(kind, str):
            raise InvalidInput(f"{file}: the type of an entity must be a text", field=file)
        aliases = tuple(_name(alias, "aliases", file) for alias in _strings(table, "aliases", file))
        yield Named(_name(table.get("canonical"), "canonical", file), type_of(kind), aliases)


def _tie(line: str, entities: Mapping[str, Named], file: str) -> Tie:
    words = [word.strip() for word in line.split("|")]
    if len(words) != 3 or not is_name(words[0]) or not is_name(words[2]):
        raise InvalidInput(f"{file}: a relation is written subject|relation|object, not {line[:60]!r}", field=file)
    ends = [entities[key_of(word)].name if key_of(word) in entities else word for word in (words[0], words[2])]
    return Tie(ends[0], str(relation_of(words[1])), ends[1])


def _strings(said: Mapping[str, object], key: str, file: str) -> list[str]:
    value = said.get(key, [])
    if not isinstance(value, list) or not all(isinstance(each, str) for each in cast("list[object]", value)):
        raise InvalidInput(f"{file}: {key} must be a list of texts", field=file)
    return cast("list[str]", value)


def _name(value: object, key: str, file: str) -> str:
    if not isinstance(value, str) or not is_name(value):
        raise InvalidInput(f"{file}: {key} holds what is no name", field=file)
    return " ".join(value.split())
