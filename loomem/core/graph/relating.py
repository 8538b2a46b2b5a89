"""Relations that a text states between what it names: a verb of ours between two names side by side, in one sentence. Pure.

English, Polish and German; few verbs, and nothing between the names but the verb and small words, so that what is found is said.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from loomem.core.graph.contribution import Contribution, Named, Tie, contribution_of
from loomem.core.graph.dictionary import EMPTY, Dictionary
from loomem.core.graph.first_names import first_names
from loomem.core.graph.kinds import EntityType, RelationType
from loomem.core.graph.names import is_name, key_of
from loomem.core.graph.recognise import VERSION, Mention, entities_in, recognise
from loomem.core.record import Memory
from loomem.core.vector import content_hash, text_of

_GAP_CHARS = 60
_SMALL = r"(?:[ ](?:now|already|still|also|currently|has|have|been|is|was|the|a|jetzt|schon|auch|teraz|już|też|od|seit|jest))*"
_VERBS: list[tuple[RelationType, str]] = [
    (RelationType.WORKS_AT, r"works?[ ](?:at|for)|worked[ ](?:at|for)|working[ ](?:at|for)|joined|pracuje[ ](?:w|we|dla|u)(?:[ ]firmie)?|arbeitet[ ](?:bei|für)(?:[ ](?:der|dem))?"),
    (RelationType.USES, r"uses?|using|runs[ ]on|depends[ ]on|switched[ ]to|używa|korzysta[ ]z|nutzt|verwendet|benutzt"),
    (RelationType.MANAGES, r"manages|leads|heads|kieruje|zarządza|leitet"),
    (RelationType.MEMBER_OF, r"(?:is[ ])?(?:a[ ])?member[ ]of|belongs[ ]to|należy[ ]do|gehört[ ]zu"),
    (RelationType.CREATED, r"created|founded|wrote|built|stworzyła?|założyła?|napisała?|gründete|schrieb|entwickelte"),
    (RelationType.LOCATED_IN, r"lives[ ]in|(?:is[ ])?(?:located|based)[ ]in|moved[ ]to|mieszka[ ](?:w|we)|wohnt[ ]in|zieht[ ]nach|lebt[ ]in"),
    (RelationType.DEPLOYED_IN, r"(?:is[ ])?deployed[ ](?:in|on|to)"),
    (RelationType.IMPLEMENTS, r"implements|implementuje|implementiert"),
    (RelationType.PAYS_FOR, r"pays[ ]for|płaci[ ]za|bezahlt[ ]für"),
]  # fmt: skip
_BETWEEN = [(kind, re.compile(rf"{_SMALL}[ ](?:{verb})[ ](?:the[ ]|a[ ]|an[ ]|der[ ]|die[ ]|das[ ]|project[ ]|projekt[ ])?", re.IGNORECASE)) for kind, verb in _VERBS]  # fmt: skip
_FITS: dict[RelationType, tuple[frozenset[str], frozenset[str]]] = {
    RelationType.WORKS_AT: (frozenset({EntityType.PERSON}), frozenset({EntityType.ORGANIZATION})),
    RelationType.LOCATED_IN: (frozenset({EntityType.PERSON, EntityType.ORGANIZATION, EntityType.PROJECT}), frozenset({EntityType.PLACE})),
    RelationType.MANAGES: (frozenset({EntityType.PERSON}), frozenset(EntityType) - {EntityType.PLACE}),
    RelationType.CREATED: (frozenset({EntityType.PERSON, EntityType.ORGANIZATION}), frozenset(EntityType) - {EntityType.PLACE, EntityType.PERSON}),
    RelationType.USES: (frozenset(EntityType) - {EntityType.PLACE}, frozenset({EntityType.TECHNOLOGY, EntityType.PROJECT, EntityType.CODE, EntityType.CONCEPT})),
}  # fmt: skip
"""What subject and object must be, so that the sentence is read as it is meant."""
_NOBODY = frozenset({"user", "assistant", "the user", "me", "i", "system"})


def ties_in(text: str, mentions: Sequence[Mention]) -> list[Tie]:
    """Return the relations that a text states between neighbours of what it names."""
    found: list[Tie] = []
    for one, other in itertools.pairwise(mentions):
        between = text[one.end : other.start]
        if len(between) > _GAP_CHARS or one.entity.name == other.entity.name:
            continue
        for kind, pattern in _BETWEEN:
            if pattern.fullmatch(between) and _fits(kind, one.entity, other.entity):
                found.append(Tie(one.entity.name, str(kind), other.entity.name))
    return found


def said_in(memory: Memory, dictionary: Dictionary = EMPTY) -> tuple[list[Named], list[Tie]]:
    """Return what a memory names and how it says that is related; what it declares is no part of it.

    A relation of the dictionary counts where the memory names both its ends.
    """
    text = text_of(memory)
    mentions = recognise(text, dictionary)
    entities = entities_in(mentions)
    ties = ties_in(text, mentions)
    subject = None if memory.knowledge is None else memory.knowledge.subject
    if subject is not None and is_name(subject) and key_of(subject) not in _NOBODY:
        entities.append(_subject(subject, dictionary))
    named = {key_of(name) for one in entities for name in (one.name, *one.aliases)}
    ties += [tie for tie in dictionary.ties if {key_of(tie.subject), key_of(tie.object)} <= named]
    return entities, ties


def read_by(dictionary: Dictionary) -> str:
    """Return the name of these rules and a dictionary; what they made is made again under another name."""
    return f"rules:{VERSION}" + (f":{dictionary.fingerprint}" if dictionary.fingerprint else "")


def contributed(memory: Memory, dictionary: Dictionary = EMPTY) -> Contribution:
    """Return what a memory contributes by its text, as it is stored beside it."""
    entities, ties = said_in(memory, dictionary)
    return contribution_of(entities, ties, generation=content_hash(text_of(memory)), made=read_by(dictionary))


def _subject(subject: str, dictionary: Dictionary) -> Named:
    name = dictionary.canonical(subject)
    kind = dictionary.type_of(subject)
    if kind is None:
        kind = EntityType.PERSON if subject.split()[0] in first_names() else EntityType.CONCEPT
    return Named(name, kind, () if name == subject else (subject,))


def _fits(kind: RelationType, subject: Named, object: Named) -> bool:
    wanted = _FITS.get(kind)
    return wanted is None or (subject.type in wanted[0] and object.type in wanted[1])
