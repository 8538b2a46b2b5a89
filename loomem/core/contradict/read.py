"""A sentence, taken apart for the rules of contradiction. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

import msgspec

from loomem.core.analyse.characters import clean, fold, lower
from loomem.core.analyse.languages import Language, Stems
from loomem.core.contradict import words

SENTENCE_WORDS = 60
"""A longer sentence is not judged: it says more than one thing."""

_TOKEN = re.compile(
    r"(?P<iso>\d{4}-\d{2}-\d{2})"
    r"|(?P<dmy>\d{1,2}\.\d{1,2}\.\d{4})"
    r"|(?P<time>\d{1,2}:\d{2})"
    r"|(?P<currency>[$€£])"
    r"|(?P<number>\d+(?:[.,  ]\d{3})*(?:[.,]\d+)?(?:st|nd|rd|th)?)(?![\w])"
    r"|(?P<percent>%)"
    r"|(?P<word>[^\W\d_](?:[\w'’.+#/-]*[\w+#])?|\w[\w.+#/-]*)"
)
_SENTENCE = re.compile(r"(?<=[^\d\W][.!?])\s+(?=[^\W\d_a-z])|\n+|;\s+")
_LOST = Stems()


class Token(msgspec.Struct, frozen=True):
    """A word as it stands, folded, and by its stems."""

    shown: str
    folded: str
    stems: frozenset[str]

    def like(self, other: Token) -> bool:
        """Say whether two words are forms of one."""
        return not self.stems.isdisjoint(other.stems) or _near(self.folded, other.folded)

    @property
    def is_name(self) -> bool:
        """Whether it begins with a capital letter."""
        return self.shown[:1].isupper()


class Value(msgspec.Struct, frozen=True):
    """A number with its dimension, a date, a time, a weekday."""

    kind: str
    value: tuple[float | None, ...]

    def differs(self, other: Value) -> bool:
        """Say whether two values of a kind cannot both be; what one of them leaves open does not differ."""
        pairs = zip(self.value, other.value, strict=False)
        return any(a is not None and b is not None and abs(a - b) > 1e-9 for a, b in pairs)


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """What a sentence says."""

    text: str
    tokens: tuple[Token, ...]
    """All words, in order."""
    content: tuple[Token, ...]
    """Those that say something: no fillers, values, negations, words of change."""
    values: tuple[Value, ...]
    negated: bool
    over: bool
    """It says that something is no longer so."""
    hedged: bool
    """A question, a doubt, a plan, a condition."""
    past: bool
    """It says how things were."""

    def has(self, known: frozenset[str]) -> bool:
        return any(token.folded in known for token in self.tokens)

    @property
    def is_long(self) -> bool:
        return len(self.tokens) > SENTENCE_WORDS


def sentences(text: str) -> list[str]:
    """Return the sentences of a text."""
    return [part for part in (piece.strip() for piece in _SENTENCE.split(clean(text))) if part]


def tongue(*texts: str) -> tuple[Language, ...]:
    """Return the language that some texts are in, of those that the rules know."""
    found = [fold(lower(word)) for text in texts for word in re.findall(r"\w+", clean(text))]
    polish = sum(word in words.POLISH for word in found) + sum(bool(re.search("[ąćęłńśźż]", text)) for text in texts)
    german = sum(word in words.GERMAN for word in found) + sum(bool(re.search("[äöüß]", text)) for text in texts)
    english = sum(word in words.ENGLISH for word in found)
    if english >= max(polish, german):
        return (Language.ENGLISH,)
    return (Language.POLISH,) if polish > german else (Language.GERMAN,)


@lru_cache(maxsize=512)
def read(sentence: str, latin: tuple[Language, ...]) -> Reading:
    """Return a sentence taken apart, read as a language."""
    text = clean(sentence)
    tokens: list[Token] = []
    values: list[Value] = []
    numbers = _numbers(text)
    for start, _, value in numbers:
        values.append(value)
        del start
    taken = [(start, end) for start, end, _ in numbers]
    for match in _TOKEN.finditer(text):
        if match.lastgroup == "word" and not any(start <= match.start() < end for start, end in taken):
            tokens += [_token(part, latin) for part in _apart(match[0])]
    folded = [token.folded for token in tokens]
    negated = any(word in words.NEGATIONS for word in folded) or any(end in text.lower() for end in words.CONTRACTED)
    over = (
        any(word in words.OVER for word in folded)
        or ("no" in folded and "longer" in folded)
        or (negated and not {"anymore", "mehr", "juz"}.isdisjoint(folded))
    )
    return Reading(
        text=text,
        tokens=tuple(tokens),
        content=tuple(token for token in tokens if _says(token)),
        values=tuple(values),
        negated=negated or over,
        over=over,
        hedged=text.rstrip().endswith("?") or any(word in words.HEDGES for word in folded),
        past=any(word in words.PAST for word in folded) or "used to" in text.lower(),
    )


def lacking(some: Sequence[Token], others: Sequence[Token]) -> list[Token]:
    """Return the words that no word of others is a form of."""
    return [token for token in some if not any(token.like(other) for other in others)]


def same_words(some: Sequence[Token], others: Sequence[Token]) -> bool:
    """Say whether two lists hold the same words, in any order and form."""
    return not lacking(some, others) and not lacking(others, some)


# --- within ---


def _says(token: Token) -> bool:
    word = token.folded
    return not (
        word in words.FILLERS
        or word in words.CHANGES
        or word in words.NEGATIONS
        or word in words.OVER
        or any(word.endswith(end) for end in words.CONTRACTED)
    )


def _apart(word: str) -> Iterator[str]:
    """Yield a word without what stands for a possessive."""
    for end in ("'s", "’s", "s'", "s’"):
        if word.endswith(end) and len(word) > len(end) + 1:
            yield word[: -len(end)] + ("s" if end[0] == "s" else "")
            return
    yield word


def _token(word: str, latin: tuple[Language, ...]) -> Token:
    small = lower(word)
    return Token(word, fold(small), _stems(small, latin))


@lru_cache(maxsize=8_192)
def _stems(word: str, latin: tuple[Language, ...]) -> frozenset[str]:
    known = words.SAME.get(word)
    if word in words.DISLIKES or word in words.LIKES:
        return frozenset({"like"})
    return frozenset({known} if known else _LOST.of(word, latin))


def _near(one: str, other: str) -> bool:
    """Say whether two long words share so much of their beginning that they are forms of one."""
    longer = max(len(one), len(other))
    shared = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        shared += 1
    return shared >= 5 and shared >= 0.8 * longer


def _numbers(text: str) -> list[tuple[int, int, Value]]:
    """Return dates, times, weekdays and numbers with their units, each with where it stands."""
    found: list[tuple[int, int, Value]] = []
    matches = list(_TOKEN.finditer(text))
    at = 0
    while at < len(matches):
        step, value = _value(matches, at)
        if value is not None:
            found.append((matches[at].start(), matches[at + step - 1].end(), value))
        at += step
    return found


def _value(matches: Sequence[re.Match[str]], at: int) -> tuple[int, Value | None]:
    """Return how many tokens a value takes that begins here, and the value; one token and None when none does."""
    here = matches[at]
    kind = here.lastgroup or ""
    following = [fold(lower(match[0])) for match in matches[at + 1 : at + 4]]
    word = fold(lower(here[0]))
    if kind == "iso":
        year, month, day = map(float, here[0].split("-"))
        return 1, Value("date", (day, month, year))
    if kind == "dmy":
        day, month, year = map(float, here[0].split("."))
        return 1, Value("date", (day, month, year))
    if kind == "time":
        hour, minute = here[0].split(":")
        return 1, Value("clock", (float(hour) * 60 + float(minute),))
    if word in words.WEEKDAYS:
        return 1, Value("weekday", (float(words.WEEKDAYS[word]),))
    if kind == "currency" and at + 1 < len(matches) and (amount := _amount(matches[at + 1])) is not None:
        return 2, Value(words.UNITS[here[0]][0], (amount,))
    if kind == "word" and word in words.MONTHS and (dated := _month_first(matches, at)) is not None:
        return dated
    amount = _amount(here)
    if amount is None and word in words.ONES and following and following[0] in words.UNITS:
        amount = 1.0
    if amount is None:
        return 1, None
    return _measured(amount, matches, at, following)


def _month_first(matches: Sequence[re.Match[str]], at: int) -> tuple[int, Value] | None:
    """Return `June 3[, 2026]`."""
    day = _amount(matches[at + 1]) if at + 1 < len(matches) else None
    if day is None or not 1 <= day <= 31:
        return None
    year = _year(matches, at + 2)
    month = float(words.MONTHS[fold(lower(matches[at][0]))])
    return (2 if year is None else 3), Value("date", (day, month, year))


def _measured(
    amount: float, matches: Sequence[re.Match[str]], at: int, following: Sequence[str]
) -> tuple[int, Value | None]:
    """Return a number with what stands behind it: a month, a unit, or nothing that is known."""
    behind = following[0] if following else ""
    if behind in words.MONTHS and 1 <= amount <= 31:
        year = _year(matches, at + 2)
        return (2 if year is None else 3), Value("date", (amount, float(words.MONTHS[behind]), year))
    if behind in words.UNITS:
        dimension, factor = words.UNITS[behind]
        return 2, Value(dimension, (amount * factor,))
    if matches[at].lastgroup == "number" and following and _digits(matches, at) > 1:
        return _long_number(matches, at)
    return 1, Value("number", (amount,))


def _digits(matches: Sequence[re.Match[str]], at: int) -> int:
    """Return how many groups of digits stand here, one after another."""
    count = 0
    while at + count < len(matches) and matches[at + count].lastgroup == "number":
        count += 1
    return count


def _long_number(matches: Sequence[re.Match[str]], at: int) -> tuple[int, Value]:
    count = _digits(matches, at)
    digits = "".join(re.sub(r"\D", "", match[0]) for match in matches[at : at + count])
    return count, Value("number", (float(digits or 0),))


def _year(matches: Sequence[re.Match[str]], at: int) -> float | None:
    year = _amount(matches[at]) if at < len(matches) else None
    return year if year is not None and 1900 <= year <= 2100 else None


def _amount(match: re.Match[str]) -> float | None:
    """Return a number, in digits or as a word."""
    if match.lastgroup == "number":
        text = re.sub(r"(st|nd|rd|th)$", "", match[0])
        text = re.sub(r"[.,  ](?=\d{3}(?:\D|$))", "", text).replace(",", ".")
        try:
            return float(text)
        except ValueError:
            return None
    number = words.NUMBERS.get(fold(lower(match[0])))
    return None if number is None else float(number)
