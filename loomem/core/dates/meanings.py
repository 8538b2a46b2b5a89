"""What the forms of dates mean: the values that a rule found, and the anchor, to days. The same in every language. Pure.

A meaning gives None when the words do not say which day, and may raise ValueError for a day that no calendar has.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from functools import wraps

from loomem.core.dates import spans
from loomem.core.dates.spans import Grain, Resolved

MONTHS_OF_HALF_A_YEAR = 6


class Said:
    """The values of a match, by the names of its groups: digits, or symbols whose numbers add up ("twenty-first")."""

    def __init__(self, groups: Mapping[str, str | None], *, ahead: bool = False) -> None:
        self._groups = groups
        self._ahead = ahead

    def maybe(self, name: str) -> int | None:
        """Return a value, or None when it was not said."""
        said = self._groups.get(name)
        if said is None:
            return None
        return sum(map(int, _NUMBERS.findall(said))) if said[0].isalpha() else int(said)

    def value(self, name: str) -> int:
        """Return a value that the rule has. Raises: ValueError."""
        found = self.maybe(name)
        if found is None:
            raise ValueError(f"no {name} was said")
        return found

    def counted(self) -> tuple[int, Grain]:
        """Return how many of which unit."""
        count, unit = self.maybe("count"), self.value("unit")
        count = 1 if count is None else count
        return (2 * count, Grain.WEEK) if unit == FORTNIGHT else (count, _UNITS[unit])

    def year(self, anchor: date | None) -> int | None:
        """Return the year that was said, in digits or as last, this or next year; None without one. Raises: ValueError."""
        which = self.maybe("in_year")
        if which is None:
            return self.maybe("year")
        if anchor is None:
            raise ValueError("a year beside an unknown one")
        return anchor.year + which

    def nearest_year(self, anchor: date, said: tuple[int, ...], now: tuple[int, ...]) -> int:
        """Return the year in which a day, month or quarter was the last time; in which it is next where it is yet to come."""
        return anchor.year - (said > now) + (self._ahead and said != now)


_NUMBERS = re.compile(r"\d+")
FORTNIGHT = 6
_UNITS = (Grain.DAY, Grain.WEEK, Grain.MONTH, Grain.QUARTER, Grain.YEAR, Grain.WEEKEND)
"""By the value of their symbol."""

Meaning = Callable[[Said, date | None], Resolved | None]
_Anchored = Callable[[Said, date], Resolved | None]


def _anchored(meaning: _Anchored) -> Meaning:
    """Return a meaning that is unknown as long as nobody knows when it was said."""

    @wraps(meaning)
    def anchored(said: Said, anchor: date | None) -> Resolved | None:
        return None if anchor is None else meaning(said, anchor)

    return anchored


# --- with a year, or without ------------------------------------------------------------------------------------------


def on_day(said: Said, anchor: date | None) -> Resolved | None:
    """15 March 2026; without a year the last one there was, or where a weekday says so the next one."""
    day, month = said.value("day"), said.value("month")
    weekday, year = said.maybe("weekday"), said.year(anchor)
    years = [year]
    if year is None:
        if anchor is None:
            return None
        before = said.nearest_year(anchor, (month, day), (anchor.month, anchor.day))
        years = [before] if weekday is None else [before, before + 1]
    for one in years:
        found = _day(one, month, day)
        if found is not None and weekday in {None, found.weekday()}:
            return spans.day(found)
    return None


def _day(year: int | None, month: int, day: int) -> date | None:
    try:
        return date(year or 0, month, day)
    except ValueError:
        return None


def from_day_to_day(said: Said, anchor: date | None) -> Resolved | None:
    """3-5 March 2026."""
    month, year = said.value("month"), said.year(anchor)
    if year is None:
        if anchor is None:
            return None
        year = said.nearest_year(anchor, (month, said.value("day")), (anchor.month, anchor.day))
    first, last = date(year, month, said.value("day")), date(year, month, said.value("day2"))
    return Resolved(first, last, Grain.RANGE) if first < last else None


def from_date_to_date(said: Said, anchor: date | None) -> Resolved | None:
    """30 March to 2 April 2026: the year is that of the last day."""
    month, day, year = said.value("month2"), said.value("day2"), said.year(anchor)
    if year is None:
        if anchor is None:
            return None
        year = said.nearest_year(anchor, (month, day), (anchor.month, anchor.day))
    last = date(year, month, day)
    first = date(year - (said.value("month") > month), said.value("month"), said.value("day"))
    return Resolved(first, last, Grain.RANGE) if first < last else None


def in_month(said: Said, anchor: date | None) -> Resolved | None:
    """March 2026; without a year the last one there was, this month included."""
    month, year = said.value("month"), said.year(anchor)
    if year is None:
        if anchor is None:
            return None
        year = said.nearest_year(anchor, (month,), (anchor.month,))
    return spans.month(year, month)


def in_quarter(said: Said, anchor: date | None) -> Resolved | None:
    """The first quarter of 2026; without a year the last one that has begun."""
    quarter, year = said.value("quarter"), said.year(anchor)
    if year is None:
        if anchor is None:
            return None
        year = said.nearest_year(anchor, (quarter,), (spans.quarter_of(anchor),))
    return spans.quarter(year, quarter)


def in_year(said: Said, _anchor: date | None) -> Resolved | None:
    """2025."""
    return spans.year(said.value("year"))


def iso_week(said: Said, anchor: date | None) -> Resolved | None:
    """2026-W14, KW 14."""
    year = said.year(anchor)
    if year is None:
        if anchor is None:
            return None
        iso = anchor.isocalendar()
        year = iso.year - (said.value("week") > iso.week)
    return spans.week_of(date.fromisocalendar(year, said.value("week"), 1))


def either_order(said: Said, _anchor: date | None) -> Resolved | None:
    """25/12/2026, where only one order of day and month gives a date; 3/4/2026 is two days, so it is none."""
    one, two, year = said.value("one"), said.value("two"), said.value("year")
    found = {at for at in (_day(year, two, one), _day(year, one, two)) if at is not None}
    return spans.day(found.pop()) if len(found) == 1 else None


# --- beside the anchor ------------------------------------------------------------------------------------------------


@_anchored
def named_day(said: Said, anchor: date) -> Resolved:
    """Yesterday, tomorrow."""
    return spans.day(anchor + timedelta(days=said.value("named")))


@_anchored
def ago(said: Said, anchor: date) -> Resolved:
    """Two weeks ago."""
    count, unit = said.counted()
    at = spans.moved(anchor, -count, unit)
    return Resolved(at, at, unit)


@_anchored
def ahead(said: Said, anchor: date) -> Resolved:
    """In two weeks."""
    count, unit = said.counted()
    at = spans.moved(anchor, count, unit)
    return Resolved(at, at, unit)


def _halves(said: Said) -> tuple[int, Grain]:
    """Half a year, or a year and a half: six months more than the years that were counted."""
    years = said.maybe("count") or 0
    return years * spans.MONTHS_OF_YEAR + MONTHS_OF_HALF_A_YEAR, Grain.MONTH


@_anchored
def halves_ago(said: Said, anchor: date) -> Resolved:
    """Half a year ago, one and a half years ago."""
    count, unit = _halves(said)
    at = spans.moved(anchor, -count, unit)
    return Resolved(at, at, unit)


@_anchored
def halves_ahead(said: Said, anchor: date) -> Resolved:
    """In half a year."""
    count, unit = _halves(said)
    at = spans.moved(anchor, count, unit)
    return Resolved(at, at, unit)


@_anchored
def last_units(said: Said, anchor: date) -> Resolved:
    """The last seven days: up to today."""
    count, unit = said.counted()
    return Resolved(spans.moved(anchor, -count, unit), anchor, Grain.WITHIN)


@_anchored
def next_units(said: Said, anchor: date) -> Resolved:
    """The next seven days: from today."""
    count, unit = said.counted()
    return Resolved(anchor, spans.moved(anchor, count, unit), Grain.WITHIN)


@_anchored
def month_years_ago(said: Said, anchor: date) -> Resolved:
    """Three years ago in May."""
    count = said.maybe("count")
    return spans.month(anchor.year - (1 if count is None else count), said.value("month"))


@_anchored
def beside(said: Said, anchor: date) -> Resolved:
    """Last week, this month, next year."""
    return spans.beside(anchor, said.value("which"), _UNITS[said.value("period")])


@_anchored
def weekends_ago(said: Said, anchor: date) -> Resolved:
    """Two weekends ago."""
    return spans.beside(anchor, -said.value("count"), Grain.WEEKEND)


@_anchored
def before_last(said: Said, anchor: date) -> Resolved:
    """The week before last."""
    return spans.beside(anchor, -2, _UNITS[said.value("period")])


@_anchored
def after_next(said: Said, anchor: date) -> Resolved:
    """The week after next."""
    return spans.beside(anchor, 2, _UNITS[said.value("period")])


@_anchored
def weekday_beside(said: Said, anchor: date) -> Resolved | None:
    """Last Friday, this Friday, next Friday."""
    found = spans.weekday_beside(anchor, said.value("which"), said.value("weekday"))
    return None if found is None else spans.day(found)


@_anchored
def weekday_in_week(said: Said, anchor: date) -> Resolved:
    """Friday of last week."""
    week = spans.beside(anchor, said.value("which"), Grain.WEEK)
    return spans.day(week.first + timedelta(days=said.value("weekday")))


@_anchored
def month_beside(said: Said, anchor: date) -> Resolved:
    """Last March."""
    return spans.month_beside(anchor, said.value("which"), said.value("month"))


@_anchored
def day_in_month(said: Said, anchor: date) -> Resolved:
    """The 15th of last month."""
    month = spans.beside(anchor, said.value("which"), Grain.MONTH).first
    return spans.day(month.replace(day=said.value("day")))


def unknown(_said: Said, _anchor: date | None) -> None:
    """On Friday, recently, last summer: words for a time that say no day."""


@_anchored
def day_before_yesterday(_said: Said, anchor: date) -> Resolved:
    """The day before yesterday."""
    return spans.day(anchor - timedelta(days=2))


@_anchored
def day_after_tomorrow(_said: Said, anchor: date) -> Resolved:
    """The day after tomorrow."""
    return spans.day(anchor + timedelta(days=2))
