"""Persons in a text: by a title, or by a first name, with what follows of the name. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from loomem.core.dates.names import ENGLISH_AND_GERMAN
from loomem.core.graph.first_names import first_names, names_that_are_words, sometimes_words, surname_of
from loomem.core.graph.lexicon import places_and_people
from loomem.core.graph.tokens import Token, begins

_TITLES = frozenset(
    [
        "mr",
        "mrs",
        "ms",
        "miss",
        "dr",
        "prof",
        "professor",
        "sir",
        "pan",
        "pani",
        "pana",
        "panu",
        "panem",
        "panią",
        "profesor",
        "doktor",
        "herr",
        "herrn",
        "frau",
        "mme",
        "monsieur",
    ]
)
_FURTHER = re.compile(
    r"[ \t]+((?:(?:von|van|de|der|den|da|di|del|la|le|bin|al|zu)[ \t]){0,2}(?:(?:O|D|Mc|Mac)['’]?)?[^\W\d_][\w]+(?:-[^\W\d_]\w+)?)(?![\w@/]|\.\w)"
)
_INITIAL = re.compile(r"[ \t]+[^\W\d_]\.(?=[ \t])")
_NO_SURNAMES = (ENGLISH_AND_GERMAN - {"may"}) | frozenset(
    [
        "i",
        "i'm",
        "and",
        "the",
        "a",
        "inc",
        "ltd",
        "gmbh",
        "ag",
        "llc",
        "corp",
        "university",
        "team",
        "project",
        "projekt",
        "street",
        "avenue",
        "airport",
        "christmas",
        "easter",
        "und",
        "der",
        "die",
        "das",
        "ich",
        "er",
        "sie",
        "es",
        "wir",
        "termin",
        "termine",
        "urlaub",
        "hunger",
        "zeit",
        "angst",
        "recht",
        "geburtstag",
        "birthday",
        "interview",
        "meeting",
    ]
)
_SAYS = re.compile(
    r"(?:is|was|has|had|will|can|does|did|and|or|said|says|asked|told|wants|likes|ist|war|hat|wird|kann|und|oder|sagte|mag|jest|był|była|ma|i|oraz"
    r"|\w{2,}ed|\w{2,}te|\w{2,}ał|\w{2,}ała|\w{2,}ił|\w{2,}iła)\Z"
)
_PREPOSITIONS = frozenset(
    ["in", "to", "from", "near", "at", "of", "around", "aus", "nach", "bei", "w", "we", "do", "z", "ze", "od", "koło"]
)


class Person(msgspec.Struct, frozen=True):
    """A person's name in a text, as it is in the nominative."""

    start: int
    end: int
    name: str


def people(text: str, tokens: Sequence[Token], taken: Sequence[int]) -> Iterator[Person]:
    """Yield the persons that a text names; `taken` says which characters name something else."""
    at, end = 0, 0
    while at < len(tokens):
        token = tokens[at]
        found = None
        if token.start >= end and not taken[token.start] and token.is_word and token.text[0].isupper():
            found = _titled(text, tokens, at, taken) or _named(text, tokens, at, taken)
        if found is not None:
            yield found
            end = found.end
        at += 1


def _titled(text: str, tokens: Sequence[Token], at: int, taken: Sequence[int]) -> Person | None:
    if tokens[at].text.lower() not in _TITLES:
        return None
    while at + 1 < len(tokens) and (tokens[at].text == "." or tokens[at].text.lower() in _TITLES):
        at += 1
    first = tokens[at]
    if not first.is_capital or taken[first.start] or first.text.lower() in _NO_SURNAMES:
        return None
    base = first_names().get(first.text)
    end, surname = _further(text, first.end, taken)
    name = " ".join(filter(None, (base or first.text, surname_of(surname, inflected=base not in (None, first.text)))))
    return Person(first.start, end, name)


def _named(text: str, tokens: Sequence[Token], at: int, taken: Sequence[int]) -> Person | None:
    token = tokens[at]
    base = first_names().get(token.text)
    word = token.text in names_that_are_words()
    if base is None and not word:
        return None
    end, surname = _further(text, token.end, taken)
    if surname and not (word and begins(tokens, at) and surname in first_names()):
        return Person(
            token.start, end, f"{base or token.text} {surname_of(surname, inflected=base not in (None, token.text))}"
        )
    if word:
        # "Mark the ticket", "the rust"; but "Mark: hello", "Thanks, Rose!" name one.
        return Person(token.start, token.end, token.text) if _is_addressed(tokens, at) else None
    if _is_doubtful(tokens, at, base or token.text):
        return None
    return Person(token.start, token.end, base or token.text)


def _is_doubtful(tokens: Sequence[Token], at: int, base: str) -> bool:
    """Say whether a first name without another name beside it may well be something else."""
    token = tokens[at]
    first = begins(tokens, at)
    if token.text != base and first:
        return True  # a form that is some other word's, with a capital because it begins the sentence
    if token.text.lower() in places_and_people():
        return not _is_addressed(tokens, at)
    if token.text in sometimes_words() and first:
        following = tokens[at + 1].text if at + 1 < len(tokens) else ""
        return _SAYS.match(following) is None and not _is_addressed(tokens, at)
    return False


def _is_addressed(tokens: Sequence[Token], at: int) -> bool:
    """Say whether a word labels what somebody said, or is who is spoken to."""
    before = tokens[at - 1].text if at else ""
    after = tokens[at + 1].text if at + 1 < len(tokens) else ""
    return (at == 0 and after == ":") or (before == "," and after in ("!", ".", "?", ",") and at == 2)


def _further(text: str, end: int, taken: Sequence[int]) -> tuple[int, str]:
    """Return where a name that goes on after its first word ends, and what follows of it; initials are left out."""
    words: list[str] = []
    for _ in range(2):
        if (initial := _INITIAL.match(text, end)) is not None:
            end = initial.end()
        match = _FURTHER.match(text, end)
        if match is None or taken[match.start(1)]:
            break
        word = match.group(1)
        last = word.split()[-1]
        if not last[0].isupper() or last.isupper() or last.lower() in _NO_SURNAMES or _PREPOSITIONS & {last.lower()}:
            break
        words.append(word)
        end = match.end(1)
    return end, " ".join(words)
