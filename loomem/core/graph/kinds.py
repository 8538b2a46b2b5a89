"""What an entity may be, and how two may be related. Pure."""

from __future__ import annotations

import re
from enum import StrEnum


class EntityType(StrEnum):
    """What an entity is, where it is one of these; who declares one may name any other type."""

    PERSON = "Person"
    ORGANIZATION = "Organization"
    PROJECT = "Project"
    TECHNOLOGY = "Technology"
    PLACE = "Place"
    CODE = "Code"
    CONCEPT = "Concept"
    UNKNOWN = "Unknown"


class RelationType(StrEnum):
    """How one entity is related to another."""

    WORKS_AT = "works_at"
    USES = "uses"
    MANAGES = "manages"
    MEMBER_OF = "member_of"
    IMPLEMENTS = "implements"
    LOCATED_IN = "located_in"
    RELATED_TO = "related_to"
    CREATED = "created"
    LOGGED_IN_VIA = "logged_in_via"
    PAYS_FOR = "pays_for"
    DEPLOYED_IN = "deployed_in"
    ACCEPTED = "accepted"
    CONFIRMED_PARTICIPATION = "confirmed_participation"


WEAK = frozenset({EntityType.CONCEPT, EntityType.UNKNOWN})
"""Types that say nothing; any other counts before them."""
_RELATIONS = {str(relation): relation for relation in RelationType}
_TYPES = {
    **{kind.lower(): kind for kind in EntityType},
    **dict.fromkeys(("persons", "people", "human", "user", "osoba", "mensch"), EntityType.PERSON),
    **dict.fromkeys(("organisation", "org", "orgs", "company", "team", "firma"), EntityType.ORGANIZATION),
    **dict.fromkeys(("organizations", "organisations", "companies"), EntityType.ORGANIZATION),
    **dict.fromkeys(("projects", "product", "repository", "projekt"), EntityType.PROJECT),
    **dict.fromkeys(("technologies", "tech", "tool", "language", "library", "framework"), EntityType.TECHNOLOGY),
    **dict.fromkeys(("places", "location", "city", "country"), EntityType.PLACE),
    **dict.fromkeys(("identifier", "function", "class", "file", "module"), EntityType.CODE),
}
_NO_WORD = re.compile(r"[\s-]+")


def relation_of(word: str) -> RelationType:
    """Return the relation that a word names; `related_to` for every other word."""
    return _RELATIONS.get(_NO_WORD.sub("_", word.strip().lower()), RelationType.RELATED_TO)


def type_of(word: str) -> str:
    """Return the type that a word names: one of ours by whatever name, else the word itself on one line."""
    known = _TYPES.get(word.strip().lower())
    return str(known) if known is not None else " ".join(word.split()) or str(EntityType.CONCEPT)
