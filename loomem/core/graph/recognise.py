"""Entities that a text names, without a model: the dictionary, what is known by its name, code, persons, and what its words say.

Rather nothing than something wrong: what is only a word with a capital is no entity. English, Polish, German; how well is measured
by `python -m bench knowledge`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

import msgspec

from loomem.core.dates.names import ENGLISH_AND_GERMAN
from loomem.core.graph import lexicon
from loomem.core.graph.contribution import Named
from loomem.core.graph.dictionary import EMPTY, Dictionary
from loomem.core.graph.first_names import first_names
from loomem.core.graph.kinds import EntityType
from loomem.core.graph.marks import marks
from loomem.core.graph.names import is_part, key_of, plain
from loomem.core.graph.people import people
from loomem.core.graph.tokens import Known, Token, begins, tokens_of

VERSION = 1
"""Of these rules: what another version made is made again."""
TEXT_LIMIT = 20_000
"""Characters of a text that are read."""

_CAP = r"[A-ZÄÖÜŁŚŻŹĆÓ][\w&'’-]*"
_CAPS = rf"({_CAP}(?:[ ]{_CAP}){{0,2}})"
_CONTEXTS = [
    (EntityType.ORGANIZATION, re.compile(rf"\b(?:[Ww]ork(?:s|ed|ing)?[ ](?:at|for)|[Jj]oined|[Ff]irma|(?:CEO|CTO|CFO|founder)[ ](?:of|at))[ ](?:the[ ])?{_CAPS}")),
    (EntityType.ORGANIZATION, re.compile(rf"\b(?:[Pp]racuj\w*|[Pp]racował\w*)[ ](?:(?:w|we)[ ](?:firmie[ ])?|dla[ ](?:firmy[ ])?){_CAPS}")),
    (EntityType.ORGANIZATION, re.compile(rf"\b[Ff]irm(?:a|ie|y|ę|ą)[ ]{_CAPS}")),
    (EntityType.ORGANIZATION, re.compile(rf"\barbeitet?[ ]bei[ ](?:der[ ]|dem[ ])?{_CAPS}")),
    (EntityType.PROJECT, re.compile(rf"\b[Pp]roje(?:ct|kt|ktu|kcie|ktem|kts)[ ][\"„“']?({_CAP}(?:-[\w]+)*)")),
    (EntityType.PROJECT, re.compile(r"\b(?:[Rr]epo|[Rr]epository|[Rr]epozytorium|[Pp]ackage|[Cc]rate|[Pp]ak(?:et|iet))[ ][`\"„]?([a-z][a-z0-9]*(?:-[a-z0-9]+)+)")),
    (EntityType.PLACE, re.compile(rf"\b(?:[Ll]iv(?:e|es|ed|ing)[ ]in|[Bb]ased[ ]in|[Bb]orn[ ]in|[Gg]rew[ ]up[ ]in|[Mm]oved[ ]to)[ ]{_CAPS}")),
]  # fmt: skip
_COMPANY = re.compile(
    rf"\b((?:{_CAP}[ ]){{1,4}})(GmbH(?:[ ]&[ ]Co\.?[ ]KG)?|AG|SE|KG|Inc|Corp|Corporation|Ltd|LLC|PLC|S\.A\.|Sp\.[ ]z[ ]o\.[ ]?o)(?![\w])"
)
_UNIVERSITY = re.compile(
    rf"\b(?:Universit(?:y[ ]of|ät)[ ]{_CAPS}|Uniwersyte(?:t|cie|tu|tem)[ ]{_CAPS}|(?:{_CAP}[ ]){{1,3}}(?:University|College|Institute[ ]of[ ]Technology))"
)
_LEADING = re.compile(r"(?:The|Our|A|An|At|In|Die|Der|Das|Den|Dem|Bei|Im|Firma|Nasz|Nasza|W|Z|Do|Our)[ ]")
_NO_NAMES = ENGLISH_AND_GERMAN | frozenset(
    [
        "i",
        "he",
        "she",
        "it",
        "we",
        "they",
        "manager",
        "management",
        "plan",
        "lead",
        "leader",
        "owner",
        "team",
        "home",
        "nacht",
        "tag",
        "kunden",
        "freunden",
        "christmas",
        "easter",
        "ich",
        "er",
        "sie",
        "wir",
    ]
)


class Mention(msgspec.Struct, frozen=True):
    """An entity that a text names at a place."""

    start: int
    end: int
    entity: Named


def recognise(text: str, dictionary: Dictionary = EMPTY) -> list[Mention]:
    """Return what a text names, in its order; none of it overlaps."""
    text = text[:TEXT_LIMIT]
    tokens = tokens_of(text)
    reader = _Reader(text, tokens)
    for start, end, entity in dictionary.find(tokens):
        reader.take(tokens[start].start, tokens[end - 1].end, entity)
    reader.marks()
    reader.companies()
    reader.known()
    for person in people(text, tokens, reader.taken):
        reader.take(person.start, person.end, Named(person.name, EntityType.PERSON))
    reader.contexts()
    return sorted(reader.found, key=lambda one: one.start)


def entities_in(mentions: Sequence[Mention]) -> list[Named]:
    """Return the entities of mentions, each once; a person's shorter name is its alias where one other alone can be meant."""
    names: dict[str, Named] = {}
    for mention in mentions:
        names.setdefault(key_of(mention.entity.name), mention.entity)
    persons = [key for key, one in names.items() if one.type == EntityType.PERSON]
    aliases: dict[str, list[str]] = {}
    for key in persons:
        wholes = [other for other in persons if is_part(key, other)]
        if len(wholes) == 1:
            aliases.setdefault(wholes[0], []).append(key)
    short = {key for keys in aliases.values() for key in keys}
    return [
        msgspec.structs.replace(one, aliases=(*one.aliases, *(names[alias].name for alias in aliases.get(key, ()))))
        for key, one in names.items()
        if key not in short
    ]


class _Reader:
    """Takes a text apart; what was taken once is not taken again."""

    def __init__(self, text: str, tokens: Sequence[Token]) -> None:
        self.text = text
        self.tokens = tokens
        self.taken = bytearray(len(text))
        self.found: list[Mention] = []

    def take(self, start: int, end: int, entity: Named | None) -> bool:
        if start >= end or any(self.taken[start:end]):
            return False
        self.taken[start:end] = b"\1" * (end - start)
        if entity is not None:
            self.found.append(Mention(start, end, entity))
        return True

    def marks(self) -> None:
        for mark in marks(self.text):
            if mark.type is None:
                self.take(mark.start, mark.end, None)
            elif key_of(mark.name) not in _lexicon_keys():
                self.take(mark.start, mark.end, Named(mark.name, mark.type))

    def known(self) -> None:
        for start, end, meaning in _lexicon().find(self.tokens):
            first, last = self.tokens[start], self.tokens[end - 1]
            written = self.text[first.start : last.end]
            if meaning.fits(written, begins=begins(self.tokens, start)) and not self._goes_on(end, meaning):
                self.take(
                    first.start, last.end, Named(meaning.name, meaning.type, (meaning.alias,) if meaning.alias else ())
                )

    def _goes_on(self, end: int, meaning: _Meaning) -> bool:
        """Say whether the next word makes something else of a name: a first name followed by a surname, a company's name by its form."""
        if end >= len(self.tokens):
            return False
        following = self.tokens[end]
        if following.text in ("GmbH", "AG", "Inc", "Ltd", "LLC", "SE", "Polska"):
            return meaning.type is EntityType.ORGANIZATION
        both = meaning.name.lower() in lexicon.places_and_people()
        return both and following.is_capital and following.key not in _lexicon_keys()

    def companies(self) -> None:
        for match in _COMPANY.finditer(self.text):
            self._organization(match.start(), match.end())
        for match in _UNIVERSITY.finditer(self.text):
            self._organization(match.start(), match.end())

    def _organization(self, start: int, end: int) -> None:
        while (leading := _LEADING.match(self.text, start, end)) is not None:
            start = leading.end()
        self.take(start, end, Named(self.text[start:end], EntityType.ORGANIZATION))

    def contexts(self) -> None:
        for kind, pattern in _CONTEXTS:
            for match in pattern.finditer(self.text):
                words = list(_untaken(self.text, match.start(1), match.end(1), self.taken))
                if words and words[0][2].lower() not in _NO_NAMES and words[0][2] not in first_names():
                    start, end = words[0][0], words[-1][1]
                    self.take(start, end, Named(self.text[start:end].rstrip("'’-"), kind))


def _untaken(text: str, start: int, end: int, taken: Sequence[int]) -> Iterator[tuple[int, int, str]]:
    """Yield the words of a piece of a text up to the first that names something already, or is no name."""
    for match in re.finditer(r"\S+", text[start:end]):
        word = match.group()
        if any(taken[start + match.start() : start + match.end()]) or word.lower() in _NO_NAMES:
            return
        yield start + match.start(), start + match.end(), word


class _Meaning(msgspec.Struct, frozen=True):
    """What a name of the lexicon means, as it is written."""

    name: str
    type: EntityType
    written: str
    alias: str = ""
    """What the entity is called beside its name where it is written so."""
    cased: bool = False
    """Whether it counts only as it is written."""

    def fits(self, written: str, *, begins: bool) -> bool:
        """Say whether a name counts as it is written."""
        if not self.cased:
            return True
        written = " ".join(written.split())
        return plain(written) == plain(self.written) and not (begins and lexicon.is_doubtful(written))


@lru_cache(maxsize=1)
def _lexicon() -> Known[_Meaning]:
    known: Known[_Meaning] = Known()
    for kind, entries in (
        (EntityType.TECHNOLOGY, lexicon.technologies()),
        (EntityType.ORGANIZATION, lexicon.organizations()),
        (EntityType.PLACE, lexicon.places()),
    ):
        for entry in entries:
            for written in (entry.name, *entry.others):
                alias = "" if key_of(written) == key_of(entry.name) else written
                known.add(written, _Meaning(entry.name, kind, written, alias, entry.cased))
            for written, of in entry.cases:
                alias = "" if key_of(of) == key_of(entry.name) else of
                known.add(written, _Meaning(entry.name, kind, written, alias, cased=True))
            for written in _forms(entry.name, kind):
                known.add(written, _Meaning(entry.name, kind, written, cased=True))
    return known


def _forms(name: str, kind: EntityType) -> Iterator[str]:
    """Yield Polish cases of a name that is one word: "Dockera", "Googlem"."""
    if kind is EntityType.PLACE or not name.isalpha() or len(name) < 4 or name.isupper():
        return
    if name.endswith("a"):
        yield from (name[:-1] + end for end in ("i", "y", "ę", "ą"))
    elif name[-1] not in "aeiouy":
        yield from (name + end for end in ("a", "em", "ie", "owi", "u"))
    elif name.endswith("e"):
        yield from (name[:-1] + end for end in ("a", "em", "u", "'a", "'em"))
        yield name + "m"


@lru_cache(maxsize=1)
def _lexicon_keys() -> frozenset[str]:
    groups = (lexicon.technologies(), lexicon.organizations(), lexicon.places())
    return frozenset(key_of(name) for group in groups for entry in group for name in (entry.name, *entry.others))
