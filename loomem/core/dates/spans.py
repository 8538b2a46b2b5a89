"""Days, weeks, months, quarters and years as spans of days, and where one of them is seen from a day. Pure.

One rule for everything that words place beside today: the *last* of a kind is the last that was over before the anchor, the
*next* the first that begins after it, *this* one holds it. Weeks begin on Monday.
"""

from __future__ import annotations

from calendar import monthrange
from datetime import date, datetime, timedelta, tzinfo
from enum import StrEnum

import msgspec

WEEK = 7
SATURDAY = 5
MONTHS_OF_YEAR = 12
MONTHS_OF_QUARTER = 3


class Grain(StrEnum):
    """How exactly a date was said: "two years ago" names a day, and means a year."""

    DAY = "day"
    WEEK = "week"
    WEEKEND = "weekend"
    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"
    RANGE = "range"
    """From one day to another."""
    WITHIN = "within"
    """Some time between two days: "in the last seven days"."""


class Resolved(msgspec.Struct, frozen=True):
    """The days that words name."""

    first: date
    last: date
    grain: Grain


def day_of(moment: datetime, zone: tzinfo) -> date:
    """Return the day that a moment is in, in a zone: the anchor for what was said then. A naive moment is on the zone's own clocks."""
    return moment.date() if moment.tzinfo is None else moment.astimezone(zone).date()


def anchor_of(said: str | None, zone: tzinfo) -> date | None:
    """Return the day of a stored date or moment in a zone; None when there is none or it cannot be read.

    A date without a time is a day already, and no zone moves it; a moment is moved to the zone before its day is taken.
    """
    try:
        return None if said is None else day_of(datetime.fromisoformat(said.strip()), zone)
    except (ValueError, OverflowError):
        return None


def day(at: date) -> Resolved:
    """Return one day."""
    return Resolved(at, at, Grain.DAY)


def week_of(at: date) -> Resolved:
    """Return the week that a day is in."""
    monday = at - timedelta(days=at.weekday())
    return Resolved(monday, monday + timedelta(days=WEEK - 1), Grain.WEEK)


def month(year: int, number: int) -> Resolved:
    """Return a month. Raises: ValueError."""
    return Resolved(date(year, number, 1), date(year, number, monthrange(year, number)[1]), Grain.MONTH)


def quarter(year: int, number: int) -> Resolved:
    """Return a quarter, 1 to 4. Raises: ValueError."""
    last = month(year, number * MONTHS_OF_QUARTER)
    return Resolved(date(year, (number - 1) * MONTHS_OF_QUARTER + 1, 1), last.last, Grain.QUARTER)


def year(number: int) -> Resolved:
    """Return a year. Raises: ValueError."""
    return Resolved(date(number, 1, 1), date(number, 12, 31), Grain.YEAR)


def months_before(at: date, count: int) -> date:
    """Return the same day some months earlier, or the last of that month when it is shorter. Raises: ValueError."""
    months = at.year * MONTHS_OF_YEAR + at.month - 1 - count
    number, of_year = months // MONTHS_OF_YEAR, months % MONTHS_OF_YEAR + 1
    return date(number, of_year, min(at.day, monthrange(number, of_year)[1]))


def moved(at: date, count: int, unit: Grain) -> date:
    """Return the day some units later; earlier when the count is negative. Raises: ValueError, OverflowError."""
    match unit:
        case Grain.DAY:
            return at + timedelta(days=count)
        case Grain.WEEK:
            return at + timedelta(weeks=count)
        case Grain.MONTH:
            return months_before(at, -count)
        case Grain.QUARTER:
            return months_before(at, -count * MONTHS_OF_QUARTER)
        case _:
            return months_before(at, -count * MONTHS_OF_YEAR)


def beside(anchor: date, which: int, unit: Grain) -> Resolved:
    """Return this (0), the last (-1), the next (1), the last but one (-2)... week, weekend, month, quarter or year.

    Raises: ValueError, OverflowError.
    """
    match unit:
        case Grain.WEEK:
            return week_of(anchor + timedelta(weeks=which))
        case Grain.WEEKEND:
            in_weekend = anchor.weekday() >= SATURDAY
            weeks = which - 1 if which > 0 and not in_weekend else which
            saturday = week_of(anchor).first + timedelta(days=SATURDAY, weeks=weeks)
            return Resolved(saturday, saturday + timedelta(days=1), Grain.WEEKEND)
        case Grain.MONTH:
            there = months_before(anchor.replace(day=1), -which)
            return month(there.year, there.month)
        case Grain.QUARTER:
            there = months_before(anchor.replace(day=1), -which * MONTHS_OF_QUARTER)
            return quarter(there.year, quarter_of(there))
        case Grain.YEAR:
            return year(anchor.year + which)
        case _:
            return day(anchor + timedelta(days=which))


def quarter_of(at: date) -> int:
    """Return the quarter, 1 to 4, that a day is in."""
    return (at.month - 1) // MONTHS_OF_QUARTER + 1


def weekday_beside(anchor: date, which: int, weekday: int) -> date | None:
    """Return the last, this or the next Friday, say. This Friday is unknown once it is over: it may be the one to come."""
    if which == 0:
        there = week_of(anchor).first + timedelta(days=weekday)
        return there if there >= anchor else None
    if which < 0:
        return anchor - timedelta(days=(anchor.weekday() - weekday - 1) % WEEK + 1 + WEEK * (-which - 1))
    return anchor + timedelta(days=(weekday - anchor.weekday() - 1) % WEEK + 1 + WEEK * (which - 1))


def month_beside(anchor: date, which: int, number: int) -> Resolved:
    """Return the last, this or the next March, say. Raises: ValueError."""
    if which < 0:
        return month(anchor.year + which + (number < anchor.month), number)
    if which > 0:
        return month(anchor.year + which - (number > anchor.month), number)
    return month(anchor.year, number)
