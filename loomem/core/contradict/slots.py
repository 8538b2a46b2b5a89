"""The attributes that have one value at a time, and which value a sentence gives. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

import msgspec

from loomem.core.analyse.languages import Language
from loomem.core.contradict import words
from loomem.core.contradict.read import Reading, Token, Value, read

VALUE_WORDS = 5
"""A value of more words is a sentence of its own."""

_NAME = r"[A-ZÀ-ÖØ-ÞĄĆĘŁŃÓŚŹŻ][\w'’.&-]*(?:\s+[A-ZÀ-ÖØ-ÞĄĆĘŁŃÓŚŹŻ][\w'’.&-]*)*"

_PLACED: tuple[tuple[Language, str, str], ...] = (
    (
        Language.ENGLISH,
        "where",
        rf"^(?P<s>.*?)\b(?:lives?|living|resides?|based|moved|relocated|moving)\s+(?:back\s+)?(?:in|to|at)\s+(?P<v>{_NAME})(?P<q>.*)$",
    ),
    (
        Language.ENGLISH,
        "employer",
        rf"^(?P<s>.*?)\b(?:left\s+(?P<l>{_NAME})\s+(?:and|to|,)\s+(?:now\s+)?)?"
        rf"(?:(?:works?|working|employed)\s+(?:now\s+)?(?:for|at|by)|joined|join)\s+(?P<v>{_NAME})(?P<q>.*)$",
    ),
    (
        Language.ENGLISH,
        "role",
        r"^(?P<s>.*?)\bworks?\s+(?:now\s+)?as\s+(?:an?\s+)?(?P<v>[\w-]+(?:\s+[\w-]+){0,2})(?P<q>)[.!]?$",
    ),
    (
        Language.POLISH,
        "role",
        r"^(?P<s>.*?)\bpracuj\w+\s+(?:teraz\s+)?jako\s+(?P<v>[\w-]+(?:\s+[\w-]+){0,2})(?P<q>)[.!]?$",
    ),
    (
        Language.GERMAN,
        "role",
        r"^(?P<s>.*?)\barbeite\w*\s+(?:jetzt\s+|nun\s+)?als\s+(?P<v>[\w-]+(?:\s+[\w-]+){0,2})(?P<q>)[.!]?$",
    ),
    (
        Language.POLISH,
        "where",
        rf"^(?P<s>.*?)\b(?:mieszka(?:m|my|ją)?|przeprowadzi\w+\s+się|przenios\w+\s+się|przeniósł\s+się)\s+"
        rf"(?:teraz\s+|obecnie\s+)?(?:w|we|do|na)\s+(?P<v>{_NAME})(?P<q>.*)$",
    ),
    (
        Language.POLISH,
        "employer",
        rf"^(?P<s>.*?)\b(?:ode?sz\w+\s+z\s+(?P<l>{_NAME})\s+i\s+)?(?:teraz\s+)?(?:pracuj\w+|zatrudnion[ya])\s+"
        rf"(?:teraz\s+|obecnie\s+)?(?:w\s+firmie|dla|we?)\s+(?P<v>{_NAME})(?P<q>.*)$",
    ),
    (
        Language.GERMAN,
        "where",
        rf"^(?P<s>.*?)\b(?:(?:wohn|leb)(?:t|e|en)\s+(?:jetzt\s+|nun\s+)?in|(?:ist|bin|sind|zog)\s+nach)\s+(?P<v>{_NAME})(?P<q>.*)$",
    ),
    (
        Language.GERMAN,
        "employer",
        rf"^(?P<s>.*?)\b(?:hat\s+(?P<l>{_NAME})\s+verlassen\s+und\s+)?arbeite\w*\s+(?:jetzt\s+|nun\s+)?(?:bei|für)\s+(?P<v>{_NAME})(?P<q>.*)$",
    ),
)
_FRAMES = tuple((language, name, re.compile(pattern)) for language, name, pattern in _PLACED)
_MOVING = frozenset({"umgezogen", "gezogen", "ubergesiedelt"})

_REPLACED = {
    Language.ENGLISH: (
        r"^(?P<s>.*?)\b(?:switched|moved|migrated|changed|went)\s+(?:over\s+)?from\s+(?P<x>.+?)\s+to\s+(?P<y>.+)$",
        r"^(?P<s>.*?)\breplaced\s+(?P<x>.+?)\s+(?:with|by)\s+(?P<y>.+)$",
        r"^(?P<s>.*?)\b(?:uses?|using|prefers?)\s+(?P<y>.+?)\s+instead\s+of\s+(?P<x>.+)$",
    ),
    Language.POLISH: (
        r"^(?P<s>.*?)\b(?:przesz\w+|przesiad\w+|zmieni\w+|zmigrowa\w+|przeni\w+)\s+(?:się\s+)?z\s+(?P<x>.+?)\s+na\s+(?P<y>.+)$",
        r"^(?P<s>.*?)\bużywa\w*\s+(?P<y>.+?)\s+zamiast\s+(?P<x>.+)$",
    ),
    Language.GERMAN: (
        r"^(?P<s>.*?)\bvon\s+(?P<x>.+?)\s+(?:auf|zu|nach)\s+(?P<y>.+?)\s+(?:umgestiegen|gewechselt|migriert|umgestellt)\W*$",
        r"^(?P<s>.*?)\b(?:verwende\w*|nutz\w*|benutz\w*)\s+(?P<y>.+?)\s+(?:statt|anstelle\s+von|anstatt)\s+(?P<x>.+)$",
    ),
}
_COPULA = {
    Language.ENGLISH: r"\s+(?:is\s+now|are\s+now|is|are|=)\s+|:\s+",
    Language.POLISH: r"\s+(?:to\s+teraz|jest\s+teraz|to|jest|są|=)\s+|:\s+",
    Language.GERMAN: r"\s+(?:ist\s+jetzt|ist\s+nun|ist|sind|=)\s+|:\s+",
}
_DEFINITE = re.compile(r"^(?:the|our|my|his|her|their|der|die|das|unser\w*|mein\w*)\b", re.IGNORECASE)
_INDEFINITE = re.compile(r"\b(?:an?|another|some|ein\w{0,2}|jakiś|pewien)\s+$", re.IGNORECASE)


class Slot(msgspec.Struct, frozen=True, kw_only=True):
    """An attribute of somebody, and its value."""

    name: str
    """Which kind of attribute, for those that are no words of the sentence."""
    of: tuple[Token, ...]
    """Whose, and which: the words that must be the same."""
    value: tuple[Token, ...]
    numbers: tuple[Value, ...] = ()
    """Those that say which: of version 2.0, of room 101."""
    rest: tuple[Token, ...] = ()
    """What the sentence says besides."""
    left: tuple[Token, ...] = ()
    """A value that it says is over."""


class Replaced(msgspec.Struct, frozen=True):
    """What a sentence says was given up, by whom."""

    of: tuple[Token, ...]
    former: tuple[Token, ...]


@lru_cache(maxsize=512)
def slots(reading: Reading, latin: tuple[Language, ...]) -> list[Slot]:
    """Return the attributes that a sentence gives values of."""
    found = [slot for slot in (_framed(reading, latin, *frame) for frame in _FRAMES) if slot is not None]
    named = _named(reading, latin)
    return found if named is None else [*found, named]


def replaced(reading: Reading, latin: tuple[Language, ...]) -> Replaced | None:
    """Return what a sentence says was given up for something else."""
    for pattern in _REPLACED.get(latin[0], ()):
        if match := re.search(pattern, reading.text, re.IGNORECASE):
            return Replaced(read(match["s"], latin).content, read(match["x"], latin).content)
    return None


def is_functional(token: Token) -> bool:
    """Say whether a word is an attribute that has one value at a time."""
    word = token.folded
    return (
        word in words.FUNCTIONAL
        or any(stem in _FUNCTIONAL_STEMS for stem in token.stems)
        or word.startswith(words.FAVOURITE)
        or (len(word) > 7 and word.endswith(words.COMPOUNDS))
    )


# --- within ---


def _framed(
    reading: Reading, latin: tuple[Language, ...], language: Language, name: str, pattern: re.Pattern[str]
) -> Slot | None:
    if language not in latin:
        return None
    text = reading.text
    match = pattern.search(text) or pattern.search(text[:1].lower() + text[1:])  # it may begin with its verb
    if match is None:
        return None
    groups = match.groupdict()
    value = read(match["v"], latin).content
    if not value:
        return None
    rest = tuple(token for token in read(match["q"], latin).content if token.folded not in _MOVING)
    left = read(groups.get("l") or "", latin).content
    if name == "employer" and language is Language.POLISH and not left and _is_place(match[0], value):
        return None
    return Slot(name=name, of=read(match["s"], latin).content, value=value, rest=rest, left=left)


def _is_place(text: str, value: Sequence[Token]) -> bool:
    """Say whether "pracuje w X" may tell a town: the ending of a place where one is."""
    return "firmie" not in text and " dla " not in text and value[0].folded.endswith(("ie", "iu", "u", "ach"))


def _named(reading: Reading, latin: tuple[Language, ...]) -> Slot | None:
    """Return `the ATTRIBUTE of X is VALUE`, or `VALUE is the ATTRIBUTE of X`."""
    parts = re.split(_COPULA.get(latin[0], r":\s+"), reading.text, maxsplit=1)
    if len(parts) != 2:
        return None
    left, right = read(parts[0], latin), read(parts[1].rstrip(" .!"), latin)
    if any(map(is_functional, left.content)) and not _is_one_of_many(parts[0]):
        return _slot(left, right)
    is_name = 0 < len(left.content) <= 2 and all(token.is_name for token in left.content)
    starts = bool(_DEFINITE.match(parts[1])) or (
        latin[0] is not Language.ENGLISH and bool(right.content) and is_functional(right.content[0])
    )
    if is_name and starts and any(map(is_functional, right.content)):
        return _slot(right, left)
    return None


def _slot(of: Reading, value: Reading) -> Slot | None:
    if not 1 <= len(value.content) <= VALUE_WORDS or value.negated or value.values:
        return None
    return Slot(name="", of=of.content, numbers=of.values, value=value.content)


def _is_one_of_many(text: str) -> bool:
    """Say whether the attribute is one of several: `a deadline`."""
    return any(_INDEFINITE.search(text[: match.start()]) for match in re.finditer(r"\w+", text))


_FUNCTIONAL_STEMS = frozenset(words.FUNCTIONAL)
