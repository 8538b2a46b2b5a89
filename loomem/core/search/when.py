"""Dates in words: what a phrase means at a moment, and which phrases a text holds. Pure.

    resolve   the whole text is a date, or None
    mentioned the dates that a text speaks of

Every date is a span of days, in the zone of the moment it is read at; nothing fuzzy ("recently") is guessed at.
English, Polish and German; ISO dates and D.M.Y in any language.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Iterable, Iterator
from datetime import date, datetime, time, timedelta

import msgspec

UNDERSTOOD = (
    "a date such as 2026-01-31, 31.1.2026, 15 March 2026 or March 2026, or words such as today, yesterday, last week, "
    "last month, last year, 3 days ago, 2 weeks ago (English, Polish or German)"
)

MENTIONED_LETTERS = 1_000
"""Of the beginning and of the end of a text, how many letters are read for dates: a dialogue is about what was said last."""
_WORD_LETTERS = 40


class When(msgspec.Struct, frozen=True):
    """Some days, in the zone they were read in."""

    start: datetime
    """Their first midnight."""
    end: datetime
    """The midnight after the last."""


class Mention(msgspec.Struct, frozen=True):
    """A date that a text speaks of."""

    when: When
    at: int
    """Index of its first character."""
    end: int


def resolve(text: str, now: datetime) -> When | None:
    """Return the days that a text names, read at an aware moment in the reader's zone; None when it names none.

    A date and time, or a date followed by a weekday or a time, is the day it is in.
    """
    text = " ".join(text.casefold().split())
    try:
        moment = datetime.fromisoformat(text.upper())
    except ValueError:
        pass
    else:
        local = moment.replace(tzinfo=now.tzinfo) if moment.tzinfo is None else moment.astimezone(now.tzinfo)
        return _days(local.date(), local.date(), now)
    for pattern, meaning in _PATTERNS:
        match = pattern.fullmatch(text)
        if match is not None:
            return _read(meaning, match, now)
    match = _TRAILED.fullmatch(text)
    return None if match is None else resolve(match[1], now)


def mentioned(text: str, now: datetime) -> list[Mention]:
    """Return the dates that a text speaks of, in order; of two that overlap, the one that begins first, or is longer.

    Of a long text, those in its first and last `MENTIONED_LETTERS`.
    """
    found = sorted(
        (one for at, part in _ends(text) for one in _mentions(part, at, now)), key=lambda one: (one.at, -one.end)
    )
    kept: list[Mention] = []
    for one in found:
        if not kept or one.at >= kept[-1].end:
            kept.append(one)
    return kept


def only_dates(text: str, now: datetime) -> bool:
    """Say whether a text names dates and nothing else."""
    if len(text) > 2 * MENTIONED_LETTERS:
        return False
    mentions = mentioned(text, now)
    left, at = "", 0
    for one in mentions:
        left, at = left + text[at : one.at], one.end
    return bool(mentions) and not any(char.isalnum() for char in left + text[at:])


def _ends(text: str) -> list[tuple[int, str]]:
    """Return what of a text is read for dates, each part with where it begins; words stay whole where there are spaces."""
    if len(text) <= 2 * MENTIONED_LETTERS:
        return [(0, text)]
    head, tail = text[:MENTIONED_LETTERS], text[-MENTIONED_LETTERS:]
    ends = len(head) - next((at for at, char in enumerate(head[: -_WORD_LETTERS - 1 : -1]) if char.isspace()), 0)
    begins = next((at for at, char in enumerate(tail[:_WORD_LETTERS]) if char.isspace()), 0)
    return [(0, head[:ends]), (len(text) - len(tail) + begins, tail[begins:])]


def _mentions(text: str, begins: int, now: datetime) -> Iterator[Mention]:
    text = "".join(small if len(small := char.lower()) == 1 else char for char in text)  # positions must hold
    for pattern, meaning in _WITHIN:
        for match in pattern.finditer(text):
            when = _read(meaning, match, now)
            if when is not None:
                yield Mention(when, begins + match.start(), begins + match.end())


_Meaning = Callable[[re.Match[str], datetime], tuple[date, date] | None]
"""First and last day."""


def _read(meaning: _Meaning, match: re.Match[str], now: datetime) -> When | None:
    try:
        days = meaning(match, now)
        return None if days is None else _days(*days, now)
    except (ValueError, OverflowError):
        return None  # 30 February, or before the year 1


def _days(first: date, last: date, now: datetime) -> When:
    return When(
        datetime.combine(first, time(), now.tzinfo), datetime.combine(last + timedelta(days=1), time(), now.tzinfo)
    )


# --- words ------------------------------------------------------------------------------------------------------------

_MONTHS: dict[str, int] = {
    name: number
    for number, names in enumerate(
        (
            "january jan stycznia styczeń styczniu januar jänner",
            "february feb lutego luty lutym februar feber",
            "march mar marca marzec marcu märz",
            "april apr kwietnia kwiecień kwietniu",
            "may maja maj maju mai",
            "june jun czerwca czerwiec czerwcu juni",
            "july jul lipca lipiec lipcu juli",
            "august aug sierpnia sierpień sierpniu",
            "september sep sept września wrzesień wrześniu wrzesnia",
            "october oct października październik październiku pazdziernika oktober okt",
            "november nov listopada listopad listopadzie",
            "december dec grudnia grudzień grudniu dezember dez",
        ),
        1,
    )
    for name in names.split()
}
_ALONE = "may maj mai mar"
"""Months that are other words, too: alone they say nothing."""
_DAYS: dict[str, int] = {
    "today": 0,
    "dziś": 0,
    "dzis": 0,
    "dzisiaj": 0,
    "heute": 0,
    "yesterday": -1,
    "wczoraj": -1,
    "gestern": -1,
    "day before yesterday": -2,
    "the day before yesterday": -2,
    "przedwczoraj": -2,
    "vorgestern": -2,
    "tomorrow": 1,
    "jutro": 1,
}
_NUMBERS: dict[str, int] = {
    word: number
    for number, words in enumerate(
        (
            "a an one jeden jedną jedna einem einer ein",
            "two dwa dwie zwei",
            "three trzy drei",
            "four cztery vier",
            "five pięć fünf",
            "six sześć sechs",
            "seven siedem sieben",
            "eight osiem acht",
            "nine dziewięć neun",
            "ten dziesięć zehn",
        ),
        1,
    )
    for word in words.split()
}
_UNITS: dict[str, str] = {
    name: unit
    for unit, names in {
        "day": "day days dni dnia dzień dzien tage tagen tag",
        "week": "week weeks tygodnie tygodni tydzień tydzien tygodnia wochen woche",
        "month": "month months miesiąc miesiac miesiące miesiace miesięcy miesiecy monate monaten monat",
        "year": "year years lata lat rok roku jahre jahren jahr",
    }.items()
    for name in names.split()
}


def _any(words: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


def _iso(match: re.Match[str], _now: datetime) -> tuple[date, date]:
    day = date(int(match[1]), int(match[2]), int(match[3]))
    return day, day


def _dotted(match: re.Match[str], _now: datetime) -> tuple[date, date]:
    day = date(int(match[3]), int(match[2]), int(match[1]))
    return day, day


def _day_of_month(match: re.Match[str], now: datetime) -> tuple[date, date]:
    return _dated(int(match["day"]), _MONTHS[match["month"]], match["year"], now)


def _dated(day: int, month: int, year: str | None, now: datetime) -> tuple[date, date]:
    if year is not None:
        found = date(int(year), month, day)
    else:
        found = date(now.year, month, day)
        if found > now.date():
            found = date(now.year - 1, month, day)
    return found, found


def _month(match: re.Match[str], now: datetime) -> tuple[date, date] | None:
    month, year = _MONTHS[match["month"]], match["year"]
    if year is None and match["month"] in _ALONE.split():
        return None
    number = int(year) if year is not None else now.year - (month > now.month)
    return date(number, month, 1), date(number, month, monthrange(number, month)[1])


def _named_day(match: re.Match[str], now: datetime) -> tuple[date, date]:
    day = now.date() + timedelta(days=_DAYS[match[0]])
    return day, day


def _ago(match: re.Match[str], now: datetime) -> tuple[date, date]:
    said = match["count"]
    count = 1 if said is None else int(said) if said.isdecimal() else _NUMBERS[said]
    unit, today = _UNITS[match["unit"]], now.date()
    match unit:
        case "day":
            found = today - timedelta(days=count)
        case "week":
            found = today - timedelta(weeks=count)
        case "month":
            found = months_before(today, count)
        case _:
            found = months_before(today, 12 * count)
    return found, found


def months_before(day: date, count: int) -> date:
    """Return the same day some months earlier, or the last of that month when it is shorter. Raises: ValueError."""
    months = day.year * 12 + day.month - 1 - count
    year, month = months // 12, months % 12 + 1
    return date(year, month, min(day.day, monthrange(year, month)[1]))


def _last_week(_match: re.Match[str], now: datetime) -> tuple[date, date]:
    monday = now.date() - timedelta(days=now.weekday() + 7)
    return monday, monday + timedelta(days=6)


def _last_month(_match: re.Match[str], now: datetime) -> tuple[date, date]:
    last = now.date().replace(day=1) - timedelta(days=1)
    return last.replace(day=1), last


def _last_year(_match: re.Match[str], now: datetime) -> tuple[date, date]:
    return date(now.year - 1, 1, 1), date(now.year - 1, 12, 31)


_MONTH = rf"(?P<month>{_any(_MONTHS)})\.?"
_YEAR = r"(?P<year>\d{4})"
_COUNT = rf"(?P<count>\d{{1,4}}|{_any(_NUMBERS)})"
_UNIT = rf"(?P<unit>{_any(_UNITS)})"
_PATTERNS: tuple[tuple[re.Pattern[str], _Meaning], ...] = tuple(
    (re.compile(pattern), meaning)
    for pattern, meaning in (
        (r"(\d{4})-(\d{1,2})-(\d{1,2})", _iso),
        (r"(\d{4})/(\d{1,2})/(\d{1,2})", _iso),
        (r"(\d{1,2})\.(\d{1,2})\.(\d{4})", _dotted),
        (rf"(?P<day>\d{{1,2}})(?:st|nd|rd|th|\.)? (?:of )?{_MONTH}(?:,? {_YEAR})?", _day_of_month),
        (rf"{_MONTH} (?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:,? {_YEAR})?", _day_of_month),
        (rf"(?:in |w |we |im )?{_MONTH}(?:,? {_YEAR})?", _month),
        (_any(_DAYS), _named_day),
        (rf"(?:{_COUNT} )?{_UNIT} (?:ago|temu)", _ago),
        (rf"vor {_COUNT} {_UNIT}", _ago),
        (
            r"last week|(?:w )?(?:zeszłym|ostatnim|ubiegłym) tygodniu|(?:zeszły|ostatni) tydzień|letzte[rn]? woche",
            _last_week,
        ),
        (
            r"last month|(?:w )?(?:zeszłym|ostatnim|ubiegłym) miesiącu|(?:zeszły|ostatni) miesiąc|letzte[rnm]? monat",
            _last_month,
        ),
        (r"last year|(?:w )?(?:zeszłym|ubiegłym) roku|zeszły rok|letzte[sn]? jahr", _last_year),
    )
)
_WITHIN = tuple((re.compile(rf"(?<![\w.-])(?:{whole.pattern})(?![\w-])"), meaning) for whole, meaning in _PATTERNS)
_TRAILED = re.compile(r"(\d{4}[-/]\d{1,2}[-/]\d{1,2})\b(?:[ t(,].*)")
