"""Who and what texts name, and how these are related, as the model reads them: many texts in one question."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

import msgspec

from loomem.core.llm import Fault, ModelFailed, Models, Question, Use
from loomem.llm.prompts import Piece, framed, rules

BATCH = 20
"""Texts of one question, at most."""
TEXT_CHARS = 4_000
ANSWER_TOKENS = 2_000
CONFIDENCE_FLOOR = 0.5
NAME_CHARS = 200


class EntityKind(StrEnum):
    PERSON = "Person"
    ORGANIZATION = "Organization"
    PROJECT = "Project"
    TECHNOLOGY = "Technology"
    PLACE = "Place"


RELATIONS = ("works_at", "member_of", "uses", "manages", "created", "located_in", "related_to")


class Named(msgspec.Struct, frozen=True):
    """Somebody or something that a text names."""

    name: str
    """As it stands in the text."""
    kind: EntityKind
    confidence: float


class Related(msgspec.Struct, frozen=True):
    """A relation that a text states, between names of it."""

    subject: str
    relation: str
    object: str
    confidence: float


class Recognised(msgspec.Struct, frozen=True):
    """What one text names."""

    entities: tuple[Named, ...] = ()
    relations: tuple[Related, ...] = ()


_RULES = rules(
    f"""\
You read texts and say who and what each names. For each text, by its id:

- entities: name as it stands in the text (never translated, in its base form only if it stands there so), type: one of \
{", ".join(EntityKind)}, confidence from 0 to 1. Real names alone: no pronouns, no common nouns, no dates, no numbers.
- relations that the text states between two of these names: relation is one of {", ".join(RELATIONS)}; subject and object are \
names of the text's entities; confidence from 0 to 1.

Nothing that does not stand in the text. Answer with JSON alone: {{"texts": [{{"id": ..., "entities": [...], "relations": [...]}}]}}
"""
)


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


_TEXT: dict[str, Any] = {"type": "string"}
_NUMBER: dict[str, Any] = {"type": "number"}
SCHEMA = _object(
    texts={
        "type": "array",
        "items": _object(
            id=_TEXT,
            entities={
                "type": "array",
                "items": _object(name=_TEXT, type={"type": "string", "enum": list(EntityKind)}, confidence=_NUMBER),
            },
            relations={
                "type": "array",
                "items": _object(
                    subject=_TEXT,
                    relation={"type": "string", "enum": list(RELATIONS)},
                    object=_TEXT,
                    confidence=_NUMBER,
                ),
            },
        ),
    }
)


class _Entity(msgspec.Struct):
    name: str
    type: EntityKind
    confidence: float


class _Text(msgspec.Struct):
    id: str
    entities: list[_Entity] = []
    relations: list[Related] = []


class _Texts(msgspec.Struct):
    texts: list[_Text]


async def recognise(models: Models, texts: Sequence[str], *, floor: float = CONFIDENCE_FLOOR) -> list[Recognised]:
    """Return what each of some texts names, at most `BATCH` of them: names that stand in it, certain enough.

    Raises: ModelFailed; then nothing is known of any of them.
    """
    pieces = [Piece(str(number), text[:TEXT_CHARS]) for number, text in enumerate(texts[:BATCH])]
    answer = await models.ask(
        Question(use=Use.ENTITIES, rules=_RULES, given=framed(pieces), schema=SCHEMA, answer_tokens=ANSWER_TOKENS)
    )
    try:
        found = msgspec.convert(answer.value, _Texts).texts
    except msgspec.ValidationError as error:
        raise ModelFailed(Fault.MALFORMED, "the answer is no list of names") from error
    said = {text.id: text for text in found}
    return [_recognised(said.get(piece.id), piece.text, floor) for piece in pieces]


def _recognised(said: _Text | None, text: str, floor: float) -> Recognised:
    if said is None:
        return Recognised()
    held = _folded(text)
    entities = {
        entity.name.strip(): Named(entity.name.strip(), entity.type, min(1.0, entity.confidence))
        for entity in said.entities
        if entity.confidence >= floor and 0 < len(entity.name.strip()) <= NAME_CHARS and _folded(entity.name) in held
    }
    relations = {
        (one.subject, one.relation, one.object): one
        for one in said.relations
        if one.confidence >= floor and one.relation in RELATIONS and one.subject in entities and one.object in entities
    }
    return Recognised(tuple(entities.values()), tuple(relations.values()))


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
