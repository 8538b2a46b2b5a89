"""What one memory contributes to the graph, as its bucket holds it beside the memory (kind `g`).

    value = msgpack [version, generation, made by, entities, relations]

The generation is the hash of the text it was made of: a memory that was edited voids what its former text contributed. One
without a generation proves nothing of the text as it is: its names and relations count, its aliases and types do not. A
contribution is read with bounds, for whoever may write a bucket may write anything.
What a memory declares (`knowledge.relations`) is a contribution too, and stands nowhere but in the memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from identity.errors import Corrupt
from loomem.core.graph.kinds import EntityType, relation_of, type_of
from loomem.core.graph.names import is_name, key_of
from loomem.core.knowledge import Relation

SCHEMA_VERSION = 1
ENTITIES_LIMIT = 64
RELATIONS_LIMIT = 64
ALIASES_LIMIT = 16
"""Of one entity in one memory."""


class Named(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An entity that a memory speaks of."""

    name: str
    type: str = EntityType.CONCEPT
    aliases: tuple[str, ...] = ()


class Tie(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A relation that a memory states."""

    subject: str
    relation: str
    object: str


class Contribution(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What one memory says of entities and their relations."""

    version: int
    generation: bytes
    """`core.vector.content_hash` of the text it was made of; empty = nobody knows."""
    made: str
    """By which rules or which model."""
    entities: tuple[Named, ...] = ()
    ties: tuple[Tie, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not self.entities and not self.ties


def contribution_of(
    entities: Iterable[Named], ties: Iterable[Tie], *, generation: bytes = b"", made: str = ""
) -> Contribution:
    """Return what is worth keeping of these: each entity once, each relation once, no more than the limits allow."""
    kept: dict[str, Named] = {}
    for one in entities:
        key = key_of(one.name)
        if not is_name(one.name) or (len(kept) >= ENTITIES_LIMIT and key not in kept):
            continue
        kept[key] = _both(kept[key], one) if key in kept else _clean(one)
    stated: dict[tuple[str, str, str], Tie] = {}
    for tie in ties:
        if len(stated) >= RELATIONS_LIMIT:
            break
        if is_name(tie.subject) and is_name(tie.object) and key_of(tie.subject) != key_of(tie.object):
            relation = str(relation_of(tie.relation))
            at = (key_of(tie.subject), relation, key_of(tie.object))
            stated.setdefault(at, Tie(_spaced(tie.subject), relation, _spaced(tie.object)))
    return Contribution(SCHEMA_VERSION, generation, made, tuple(kept.values()), tuple(stated.values()))


def declared(relations: Sequence[Relation]) -> Contribution:
    """Return what a memory contributes by the relations that its writer declared."""
    taken = relations[:RELATIONS_LIMIT]
    ends = [(one.subject, one.subject_type) for one in taken] + [(one.object, one.object_type) for one in taken]
    return contribution_of(
        (Named(name, type_of(kind)) for name, kind in ends),
        (Tie(one.subject, one.relation, one.object) for one in taken),
    )


def names_in(contribution: Contribution) -> Iterator[str]:
    """Yield the key of every name of a contribution, aliases and ends of relations among them; some more than once."""
    for one in contribution.entities:
        yield key_of(one.name)
        yield from map(key_of, one.aliases)
    for tie in contribution.ties:
        yield key_of(tie.subject)
        yield key_of(tie.object)


def unproven(contribution: Contribution) -> Contribution:
    """Return what is left of a contribution of which nobody knows what text it was made of."""
    entities = tuple(Named(one.name, EntityType.UNKNOWN) for one in contribution.entities)
    return msgspec.structs.replace(contribution, entities=entities)


def encode(contribution: Contribution) -> bytes:
    """Return the value to store."""
    return msgspec.msgpack.encode(contribution)


def decode(value: bytes) -> Contribution:
    """Return the contribution of a stored value, within its limits.

    Raises: Corrupt, saying what is wrong with it.
    """
    try:
        held = _decoder.decode(value)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Corrupt(f"not a contribution: {error}") from None
    if held.version != SCHEMA_VERSION:
        raise Corrupt(f"contribution of version {held.version}, not {SCHEMA_VERSION}")
    # Again by our rules: what others wrote may hold any names, relations and numbers of them.
    return contribution_of(held.entities, held.ties, generation=held.generation, made=held.made)


_decoder = msgspec.msgpack.Decoder(Contribution)


def _clean(one: Named) -> Named:
    own = key_of(one.name)
    aliases: dict[str, str] = {}
    for alias in one.aliases:
        if len(aliases) < ALIASES_LIMIT and is_name(alias) and key_of(alias) != own:
            aliases.setdefault(key_of(alias), _spaced(alias))
    return Named(_spaced(one.name), type_of(one.type), tuple(aliases.values()))


def _both(first: Named, second: Named) -> Named:
    kind = second.type if first.type in (EntityType.CONCEPT, EntityType.UNKNOWN) else first.type
    return _clean(Named(first.name, kind, (*first.aliases, *second.aliases)))


def _spaced(name: str) -> str:
    return " ".join(name.split())
