"""Times as exports of chats write them, at the beginning of a line or beside a name. Pure.

`31.12.2025` is read day first, `12/31/25` as the conversation has it: one line with a number above twelve, or a clock with
AM and PM, settles all lines. Where nothing settles it, the day is not known. Days in words ("Yesterday at 10:32") are not
known either: nobody says when that was.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta, timezone

import msgspec

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "jan january januar stycznia sty janvier enero", "feb february februar lutego lut février febrero",
            "mar march märz mrz marca mars marzo", "apr april kwietnia kwi avril abril", "may mai maja maj mayo",
            "jun june juni czerwca cze juin junio", "jul july juli lipca lip juillet julio", "aug august sierpnia sie août agosto",
            "sep sept september września wrz septembre septiembre", "oct october okt oktober października paź octobre octubre",
            "nov november listopada lis novembre noviembre", "dec december dez dezember grudnia gru décembre diciembre",
        ),
        1,
    )
    for name in names.split()
}  # fmt: skip
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DATE = rf"""(?:
    (?P<y1>\d{{4}})[-/.](?P<m1>\d{{1,2}})[-/.](?P<d1>\d{{1,2}})
  | (?P<a>\d{{1,2}})(?P<sep>[./-])\s?(?P<b>\d{{1,2}})(?P=sep)\s?(?P<y2>\d{{4}}|\d{{2}})
  | (?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,?\s)?(?P<d3>\d{{1,2}})\.?\s(?P<mon3>{_MONTH})\.?,?\s(?P<y3>\d{{4}})
  | (?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,?\s)?(?P<mon4>{_MONTH})\.?\s(?P<d4>\d{{1,2}})(?:st|nd|rd|th)?,?\s(?P<y4>\d{{4}})
  | (?P<y5>\d{{4}})年(?P<m5>\d{{1,2}})月(?P<d5>\d{{1,2}})日
  | (?:mon|tue|wed|thu|fri|sat|sun)[a-z]*(?=,?\s(?:at\s)?\d)
  | today | yesterday | heute | gestern | dzisiaj | dziś | wczoraj | aujourd'hui | hier | hoy | ayer
)"""
_TIME = r"""(?:(?P<half0>上午|下午|午前|午後|오전|오후)\s?)?(?P<H>\d{1,2})(?P<colon>[:.])(?P<M>\d{2})(?:(?P=colon)(?P<S>\d{2})(?:[.,]\d{1,9})?)?
  (?:[\s\u202f\u00a0]?(?P<half>[ap])\.?\s?m\b\.?)?(?:\s?(?P<zone>Z\b|UTC\b|GMT\b|[+-]\d{2}:?\d{2}\b))?"""
_JOIN = r"(?:,?\s(?:at|um|o|o\sgodz\.|à|kl\.)\s|,?[\s\u202f\u00a0]{1,3}|T|,)"
_FULL = re.compile(rf"{_DATE}(?:{_JOIN}{_TIME})?", re.VERBOSE | re.IGNORECASE)
_CLOCK = re.compile(_TIME, re.VERBOSE | re.IGNORECASE)
_LATER_HALVES = ("p", "下午", "午後", "오후")


class Stamp(msgspec.Struct, frozen=True, kw_only=True):
    """A time as it is written."""

    end: int
    """Index of the character after it."""
    dated: bool
    """Whether it tells a day, in numbers or in words."""
    parts: dict[str, str]


class DayOrder(msgspec.Struct, frozen=True):
    """How a conversation writes `1/2/2026`; both are false where nobody can tell."""

    day_first: bool = False
    month_first: bool = False


def stamp_at(text: str, at: int) -> Stamp | None:
    """Return the time that is written at an index, or None."""
    match = _FULL.match(text, at) or _CLOCK.match(text, at)
    if match is None or text[match.end() : match.end() + 1].isalnum():
        return None
    parts = {name: found for name, found in match.groupdict().items() if found is not None}
    return Stamp(end=match.end(), dated=match.re is _FULL, parts=parts)


def day_order(stamps: Iterable[Stamp]) -> DayOrder:
    """Return how some times of one conversation write their days."""
    day_first = month_first = halves = False
    for stamp in stamps:
        parts = stamp.parts
        if parts.get("sep") == "/" or parts.get("sep") == "-":
            day_first |= int(parts["a"]) > 12
            month_first |= int(parts["b"]) > 12
            halves |= "half" in parts
    if day_first == month_first:
        return DayOrder(month_first=halves and not day_first)
    return DayOrder(day_first=day_first, month_first=month_first)


def moment(stamp: Stamp, order: DayOrder) -> datetime | None:
    """Return the moment of a time that tells day and clock; naive without a zone. None when it does not, or there is no such day."""
    day = _day(stamp.parts, order)
    if day is None or "H" not in stamp.parts:
        return None
    parts = stamp.parts
    hour = int(parts["H"])
    half = parts.get("half", parts.get("half0", "")).lower()
    if half:
        hour = hour % 12 + (12 if half in _LATER_HALVES else 0)
    try:
        return datetime(*day, hour, int(parts["M"]), int(parts.get("S", 0)), tzinfo=_zone(parts.get("zone")))
    except ValueError:
        return None


def _day(parts: dict[str, str], order: DayOrder) -> tuple[int, int, int] | None:
    for year, month, day in (("y1", "m1", "d1"), ("y5", "m5", "d5")):
        if year in parts:
            return int(parts[year]), int(parts[month]), int(parts[day])
    for year, name, day in (("y3", "mon3", "d3"), ("y4", "mon4", "d4")):
        if year in parts:
            return int(parts[year]), _MONTHS[parts[name].lower()], int(parts[day])
    if "a" not in parts:
        return None
    year = int(parts["y2"]) + (2000 if len(parts["y2"]) == 2 else 0)
    first, second = int(parts["a"]), int(parts["b"])
    if parts["sep"] == "." or order.day_first:
        return year, second, first
    return (year, first, second) if order.month_first else None


def _zone(text: str | None) -> timezone | None:
    if text is None:
        return None
    if text[0] not in "+-":
        return UTC
    ahead = timedelta(hours=int(text[1:3]), minutes=int(text[-2:]))
    return timezone(-ahead if text[0] == "-" else ahead) if ahead < timedelta(hours=24) else None
