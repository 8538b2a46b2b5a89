"""From text to symbols: the words of a language that dates are made of, and the rules over them. Pure.

A text is read as a row of symbols, one for each word that has a meaning for dates; all other words stay, in small letters and
without accents. `Am 15. März` is `am 15. M3`, and `two weeks ago` is `C2 U1p ago`. So a rule is a short pattern, the same for
every form and spelling of a word, and what the words are stands in tables.

    M month   W weekday   U unit (s one, p many)   L last -1, this 0, next 1   D day from today   T ago
    C count   O ordinal   P part of a day, N night F few, several              Z recently, soon   S season
    R Roman number        H one and a half

A table has a line of words for each value: all forms and spellings, apart by spaces. Words are also understood without their
accents, and with ae, oe, ue and ss. What is written with accents must have the right ones (`maja` is May, `mają` is "have").
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Mapping
from functools import cache
from itertools import accumulate

import msgspec

from loomem.core.dates.meanings import Meaning

_ACCENTS = str.maketrans("ąćęłńóśźżäöüß", "acelnoszzaous")
_SPELLED_OUT = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})
_SIGNS = dict.fromkeys("‐‑‒–—−", "-") | {"\u2019": "'"}
_PIECE = re.compile(r"\d+|(?:[^\W\d_][\u0300-\u036f]*)+|\s+|[\s\S]")
_SPACES = 4
"""So many at most keep the words of a date together."""


class Rule(msgspec.Struct, frozen=True):
    """A form of dates."""

    head: str
    """A symbol that must be in the text, to save time; empty for what is all digits."""
    meaning: Meaning
    pattern: str
    unless: str = ""
    """What earlier in the sentence says that it is no date, such as a past tense before "in three days"."""
    whole: bool = False
    """Only a whole text has it: within a sentence it would be too much of a guess."""


class Language(msgspec.Struct, frozen=True):
    """What a language has."""

    words: Mapping[str, Mapping[str, str]]
    """Symbol, value, words."""
    rules: tuple[Rule, ...]
    year: str = "{yyyy}"
    """How a year stands behind a month."""
    parts: Mapping[str, str] = {}
    """Names for parts of patterns, beside those of all languages."""
    lead: str = ""
    """What may stand before a date that is a whole text."""
    counted: str = ""
    """What makes a count behind it a guess: about, almost."""
    near: str = ""
    """What makes any date behind it a guess: around."""
    within: str = ""
    """What says that only a part of the month or year behind it is meant: early."""
    ahead: str = ""
    """What earlier in the sentence says that a date without a year is yet to come: will, by, due."""
    names: str = ""
    """Months that are names of people, too: alone they say nothing."""
    doubtful: str = ""
    """Months and weekdays that are other words, too: they want a capital, a year or another sign that they are dates."""
    sure: str = ""
    """Words before a date that are such a sign."""


class Form(msgspec.Struct, frozen=True):
    """A rule that is ready to be used."""

    head: str
    meaning: Meaning
    pattern: str
    unless: str
    whole: bool


class Ready(msgspec.Struct, frozen=True):
    """A language that is ready to be used."""

    symbols: Mapping[str, str]
    heads: frozenset[str]
    """Words of which a date has one, or it has digits."""
    forms: tuple[Form, ...]
    lead: str
    counted: str
    near: str
    part: str
    ahead: str
    names: frozenset[str]
    doubtful: frozenset[str]
    sure: str


class Row(msgspec.Struct, frozen=True):
    """A text as symbols, and where each of its pieces stood."""

    text: str
    starts: list[int]
    """Of each piece, in the row; and the length of the row."""
    places: list[int]
    """The same, in the text."""

    def place(self, at: int) -> int:
        """Return where in the text the piece begins, or the one before ends, that does so at an index of the row."""
        return self.places[bisect_left(self.starts, at)]


class Piece(msgspec.Struct, frozen=True):
    """A word, a number, some spaces or a sign."""

    word: str
    """Composed, in small letters."""
    plain: str
    """The same without accents; spaces as one."""
    length: int


def pieces(text: str) -> list[Piece]:
    """Return what a text is made of, in order."""
    return [_piece(part) for part in _PIECE.findall(text)]


def _piece(part: str) -> Piece:
    if part.isascii():
        word = part.lower()
    elif part[0].isalpha():
        word = unicodedata.normalize("NFC", part).lower()
        return Piece(word, word.translate(_ACCENTS), len(part))
    else:
        word = _SIGNS.get(part, " " if part.isspace() else "\0")
    if word.isspace():
        word = " " if len(part) <= _SPACES and part.count("\n") <= 1 else "\n"
    return Piece(word, word, len(part))


def row(parts: list[Piece], symbols: Mapping[str, str]) -> Row:
    """Return the pieces of a text as the symbols of a language."""
    said = [symbols.get(part.word) or part.plain for part in parts]
    starts = [0, *accumulate(map(len, said))]
    places = [0, *accumulate(part.length for part in parts)]
    return Row("".join(said), starts, places)


# --- rules to patterns ------------------------------------------------------------------------------------------------

_DAY = r"\d{1,2}|(?:C[23]0[ -]|O[23]0 )?O\d+"
_PARTS = {
    "day": rf"(?P<day>{_DAY})",
    "day2": rf"(?P<day2>{_DAY})",
    "month": r"M(?P<month>\d+)(?:\.(?=,? ?\d))?",
    "month2": r"M(?P<month2>\d+)",
    "weekday": r"W(?P<weekday>\d)",
    "count": r"(?P<count>\d{1,4}|C[2-9]0[ -]C\d|C\d+)",
    "unit": r"U(?P<unit>[0-46])[sp]",
    "one": r"U(?P<unit>[0-46])s",
    "period": r"U(?P<period>[1-5])s",
    "which": r"L(?P<which>-?\d)",
    "named": r"D(?P<named>-?\d)",
    "quarter": r"(?P<quarter>[1-4]|[OR][1-4])",
    "yyyy": r"(?P<year>[12]\d{3})",
    "in_year": r"L(?P<in_year>-?\d) U4s",
    "alone": r"(?P<alone>)",
}
_HEADS = "MWUDTNPZS"
_NAME = re.compile(r"\{([a-z]\w*)\}")
_TIME = (
    r"(?:,? (?:(?:at|um|o|godz\.?) \d{1,2}(?:[:.]\d{2})?(?: ?(?:[ap]\.?m\.?|uhr))?"
    r"|\d{1,2}[:.]\d{2}(?::\d{2})?(?: ?(?:[ap]\.?m\.?|uhr))?|\d{1,2} ?(?:[ap]\.?m\.?|uhr)))?[.!?]?$"
)
"""A time of day behind a whole date makes it no other day."""


def ready(language: Language) -> Ready:
    """Return a language with its rules written out; they are compiled when they are needed."""
    parts = {**_PARTS, **language.parts, "year": rf"(?:{language.year})"}

    def written(text: str) -> str:
        while _NAME.search(text):
            text = _NAME.sub(lambda match: parts[match[1]], text)
        return text

    def ending(text: str) -> str:
        return rf"(?<!\w)(?:{text})[ -]$" if text else ""

    forms = tuple(
        Form(
            rule.head,
            rule.meaning,
            rf"(?<![\w.\-/])(?:{written(rule.pattern)})(?!\w|[\-/.]\w)",
            rf"(?<!\w)(?:{rule.unless})(?!\w)" if rule.unless else "",
            rule.whole,
        )
        for rule in language.rules
    )
    symbols = _symbols(language.words)
    return Ready(
        symbols,
        frozenset(word for word, symbol in symbols.items() if symbol[0] in _HEADS),
        forms,
        language.lead,
        ending(language.counted),
        ending(language.near),
        ending(language.within),
        rf"(?<!\w)(?:{language.ahead})(?!\w)" if language.ahead else "",
        frozenset(_spellings(language.names)),
        frozenset(_spellings(language.doubtful)),
        rf"(?<!\w)(?:{language.sure}) (?:the )?$" if language.sure else "",
    )


@cache
def pattern(text: str) -> re.Pattern[str]:
    """Return a pattern of the tables, compiled once."""
    return re.compile(text)


def bare(text: str, lead: str) -> tuple[str, ...]:
    """Return a whole text as it is, and without what may stand around a date."""
    without = pattern(_TIME).sub("", text)
    led = pattern(lead).match(without) if lead else None
    return (text, without) if led is None else (text, without, without[led.end() :])


def _symbols(words: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    return {
        word: symbol + value
        for symbol, table in words.items()
        for value, line in table.items()
        for word in _spellings(line)
    }


def _spellings(line: str) -> list[str]:
    return [form for word in line.split() for form in (word, word.translate(_ACCENTS), word.translate(_SPELLED_OUT))]


def inflected(stems: str, endings: str) -> str:
    """Return a line of some stems, each with each of some endings; the ending `-` is none."""
    return " ".join(stem + ending.strip("-") for stem in stems.split() for ending in endings.split())
