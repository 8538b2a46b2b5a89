"""Facts: from what a caller says of one to what is known of it. What kind it is, how far to trust it, what it is related to. Pure.

The kind is read from keywords in English, Polish and German: cheap, the same everywhere, and good enough to weigh by. A
keyword begins a word, so that inflected forms count and "unlikely" is no liking.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

import msgspec

from identity.errors import InvalidInput
from identity.visibility import Scope
from loomem.core import limits as check
from loomem.core.knowledge import FactType, Knowledge, Relation, Role, Trust
from loomem.core.limits import Limits
from loomem.core.pii_settings import PiiSettings
from loomem.core.record import Category, Memory

SUBJECT = "user"
"""Whom a fact is about when nobody says."""
SOURCE = "mcp"
"""Where it comes from when nobody says."""
CONFIDENCE = 0.7
"""Of a fact that an agent stated, unchecked."""
PREFERENCE_IMPORTANCE = 2.0
RELATIONS_LIMIT = 64
"""Of more relations than this, the first ones are taken."""
_NAME_CHARS = 200
"""Of a subject, a source, or a word of a relation."""

_KEYWORDS: dict[FactType, tuple[str, ...]] = {
    FactType.PREFERENCE: (
        "prefer", "chose", "decided", r"switch(?:ed|es|ing)?\b", r"likes\b", r"dislikes\b", "favorite", "favourite",
        r"zamiast\b", r"woli\b", "ulubion", "zdecydow", "wybrał",
        "bevorzug", "entschied", "entschloss", r"lieber\b", "lieblings", r"anstatt\b", r"mag\b", r"gewählt\b",
    ),
    FactType.EXPERIENCE: (
        "lesson", r"learned\b", r"learnt\b", r"always\b", r"never\b", "best practice", "anti-?pattern", "tip:",
        r"when you\b",
        "lekcj", "nauczył", "sprawdzon", "unikaj", "strategi",
        r"gelernt\b", r"immer\b", r"niemals\b", "lektion", "bewährt", "vermeide", "tipp:",
    ),
    FactType.PROJECT_STATE: (
        r"working on\b", "sprint", "deadline", r"blocked\b", "release", "deploy", "migration", r"bugs?\b", r"tasks?\b",
        "projekt", r"pracuje nad\b", r"kończy się\b",
        r"arbeitet an\b", r"arbeite an\b", r"blockiert\b", "aufgabe", r"frist\b",
    ),
}  # fmt: skip
_PATTERNS = {kind: re.compile(rf"\b(?:{'|'.join(words)})") for kind, words in _KEYWORDS.items()}

_TRUST_OF_SOURCE: dict[str, Trust] = {
    **dict.fromkeys(("api", "user_direct", "confirmed_preference", "first_party_doc", "user", "user_stated"), Trust.A1),
    **dict.fromkeys(("external_web", "imported_third_party", "firecrawl", "ocr"), Trust.B),
}
"""Any other source is `a2`: what an agent says on its own word."""
_RANKS: dict[str | None, int] = {None: 3, Trust.A1: 3, Trust.A2: 2, Trust.B: 1}


class FactSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What the settings say of facts."""

    honor_caller_trust_source: bool = False
    """Whether a caller that names a source of trust `a1` is believed; else no fact of a caller is trusted beyond `a2`."""
    namespaces: dict[str, str] = {}
    """Ids of the user's streams by the aliases they are called by."""
    pii: PiiSettings = PiiSettings()
    """Which personal data is taken out of what is stored."""
    fragments: bool = False
    """Whether the utterances of a conversation are stored one by one, too."""
    extract: bool = True
    """Whether facts are taken from a conversation."""
    wait_s: float = 20.0
    """How long the call that stores a conversation waits for its facts."""


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """What a caller says of a fact beside its text, checked."""

    source: str = SOURCE
    subject: str = SUBJECT
    relations: tuple[Relation, ...] = ()
    dropped: int = 0
    """Relations beyond the limit."""


def fact_type_of(text: str) -> FactType:
    """Return what kind of fact a text states: the first whose keywords it holds."""
    folded = unicodedata.normalize("NFC", text).lower()
    return next((kind for kind, pattern in _PATTERNS.items() if pattern.search(folded)), FactType.FACT)


def trust_of(source: str, *, honoured: bool) -> Trust:
    """Return how far a source is trusted; no further than `a2` unless the word of callers is honoured."""
    trust = _TRUST_OF_SOURCE.get(re.sub(r"[\s-]+", "_", source.strip().lower()), Trust.A2)
    return Trust.A2 if trust is Trust.A1 and not honoured else trust


def may_supersede(new: str | None, old: str | None) -> bool:
    """Say whether a memory of one trust may take the place of one of another: never of what is trusted further."""
    return _RANKS.get(new, 0) >= _RANKS.get(old, 0)


def trust_in(knowledge: Knowledge | None) -> str | None:
    """Return how far a memory is trusted, as its record says."""
    return None if knowledge is None else knowledge.trust


def clean_fact(*, source: object, subject: object, relations: object) -> Fact:
    """Return what a caller says of a fact. Raises: InvalidInput naming the field."""
    stated, dropped = _clean_relations(relations)
    return Fact(
        source=SOURCE if source is None else _clean_name("source", source),
        subject=SUBJECT if subject is None else _clean_name("subject", subject),
        relations=stated,
        dropped=dropped,
    )


def clean_fact_content(content: object, limits: Limits) -> str:
    """Return the text of a fact. Raises: InvalidInput."""
    if isinstance(content, str) and (size := len(content.encode("utf-8", "surrogatepass"))) > limits.fact_bytes:
        raise InvalidInput(
            f"Content too large: {size} bytes (max {limits.fact_bytes})",
            field="content",
            contentSize=size,
            maxSize=limits.fact_bytes,
        )
    return check.clean_content(content, limits, fact=True)


def known_of(text: str, fact: Fact, *, now: str, honoured: bool) -> Knowledge:
    """Return what is known of a fact that is stated now."""
    kind = fact_type_of(text)
    prefers = kind is FactType.PREFERENCE
    return Knowledge(
        fact_type=kind,
        subject=fact.subject,
        role=Role.CLAIM,
        importance=PREFERENCE_IMPORTANCE if prefers else 1.0,
        static=prefers,
        confidence=CONFIDENCE,
        trust=trust_of(fact.source, honoured=honoured),
        source=fact.source,
        valid_from=now,
        relations=fact.relations,
    )


def in_place_of(known: Knowledge, old: Sequence[Memory]) -> Knowledge:
    """Return what is known of a fact that takes the place of others: a version later than each of them."""
    if not old:
        return known
    chains = [Knowledge() if memory.knowledge is None else memory.knowledge for memory in old]
    return msgspec.structs.replace(
        known,
        supersedes=tuple(memory.id for memory in old),
        root_id=chains[0].root_id or old[0].id,
        chain_version=max(chain.chain_version for chain in chains) + 1,
    )


def adding_to(known: Knowledge, old: Sequence[Memory]) -> Knowledge:
    """Return what is known of a fact that adds to others: it shares the root of the first, unless it has one."""
    if not old or known.root_id is not None:
        return known
    first = old[0].knowledge
    return msgspec.structs.replace(known, root_id=(None if first is None else first.root_id) or old[0].id)


def category_of(scope: Scope, kind: FactType | None) -> Category:
    """Return under which category a fact of a kind is stored in a scope."""
    if scope in (Scope.PRIVATE, Scope.PERSONAL):
        return Category.LONGTERM
    return Category.DECISIONS if kind is FactType.PREFERENCE else Category.LEARNINGS


def _clean_name(field: str, value: object) -> str:
    text = check.clean_text(field, value).strip()
    if not text:
        raise InvalidInput(f"{field} must not be blank", field=field)
    if len(text) > _NAME_CHARS:
        raise InvalidInput(f"{field} has {len(text)} characters, more than the allowed {_NAME_CHARS}", field=field)
    return text


def _clean_relations(value: object) -> tuple[tuple[Relation, ...], int]:
    if value is None:
        return (), 0
    if not check.is_array(value):
        raise InvalidInput(f"relations must be an array, not {check.kind_of(value)}", field="relations")
    taken = tuple(_clean_relation(f"relations[{index}]", item) for index, item in enumerate(value[:RELATIONS_LIMIT]))
    return taken, max(0, len(value) - RELATIONS_LIMIT)


def _clean_relation(field: str, value: object) -> Relation:
    if not check.is_object(value):
        raise InvalidInput(
            f"{field} must be an object with subject, relation and object, not {check.kind_of(value)}", field=field
        )
    kinds = {
        name: _clean_name(f"{field}.{name}", value[name])
        for name in ("subject_type", "object_type")
        if value.get(name) is not None
    }
    return Relation(
        subject=_clean_name(f"{field}.subject", value.get("subject")),
        relation=_clean_name(f"{field}.relation", value.get("relation")),
        object=_clean_name(f"{field}.object", value.get("object")),
        **kinds,
    )
