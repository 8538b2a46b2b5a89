"""Dates in words: tables of cases in three languages, read in three time zones and across changes of clocks."""

from __future__ import annotations

import re
import time
import unicodedata
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loomem.core.dates import Grain, Resolved, anchor_of, day_of, find, resolve
from loomem.core.dates.read import LANGUAGES as LANGUAGES_READ

DATA = Path(__file__).parents[1] / "data"
LANGUAGES = ("en", "pl", "de")
MARK = re.compile(r"\[([^\]=]+) = ([^\]]+)\]")
SUNDAY = date(2026, 4, 5)


class Case(msgspec.Struct, frozen=True):
    """A line of a table."""

    text: str
    anchor: date | None
    days: tuple[str, ...]
    """Of the whole text, or of each time that the sentence speaks of."""
    times: tuple[str, ...] | None = None
    """The words of each; None = the whole text is one."""


def cases(language: str) -> list[Case]:
    """Return the cases of a language."""
    found: list[Case] = []
    anchor: date | None = None
    for line in (DATA / f"dates_{language}.txt").read_text(encoding="utf-8").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        marks = MARK.findall(line)
        if line.startswith("@ "):
            anchor = None if line[2:] == "?" else date.fromisoformat(line[2:])
        elif marks or " = " not in line:
            words, days = [mark[0] for mark in marks], [mark[1] for mark in marks]
            found.append(Case(MARK.sub(lambda mark: mark[1], line), anchor, tuple(days), tuple(words)))
        else:
            text, days = line.rsplit(" = ", 1)
            found.append(Case(text, anchor, (days,)))
    return found


def spelled(found: Resolved | None) -> str:
    """Return days as the tables have them."""
    if found is None:
        return "?"
    return f"{found.first}" if found.first == found.last else f"{found.first}..{found.last}"


def answered(case: Case, anchor: date | None) -> tuple[tuple[str, ...], tuple[str, ...] | None]:
    """Return the days, and the words for them, that are read from a case."""
    if case.times is None:
        return (spelled(resolve(case.text, anchor)),), None
    found = find(case.text, anchor)
    assert all(case.text[one.start : one.end] == one.words for one in found)
    return tuple(spelled(one.resolved) for one in found), tuple(one.words for one in found)


ALL = [(language, case) for language in LANGUAGES for case in cases(language)]


@pytest.mark.parametrize("language", LANGUAGES)
def test_there_are_cases_enough_to_mean_something(language: str) -> None:
    mine = cases(language)
    assert len(mine) >= 200
    assert sum("?" in case.days for case in mine) >= 40
    assert len({(case.text, case.anchor) for case in mine}) == len(mine)


@pytest.mark.requirement("dates-cases")
@pytest.mark.parametrize(("language", "case"), ALL, ids=lambda one: one if isinstance(one, str) else one.text)
def test_what_words_say_is_read_and_nothing_is_guessed(language: str, case: Case) -> None:
    assert answered(case, case.anchor) == (case.days, case.times)


# --- zones and clocks -------------------------------------------------------------------------------------------------

ZONES = ("Asia/Kolkata", "America/New_York", "Europe/Warsaw")
HOURS = (0, 1, 2, 3, 12, 23)
CLOCKS_CHANGE = {
    "America/New_York": (date(2026, 3, 8), date(2026, 11, 1)),
    "Europe/Warsaw": (date(2026, 3, 29), date(2026, 10, 25)),
    "Asia/Kolkata": (date(2026, 3, 29),),
}
"""Days of 23 and of 25 hours; in Kolkata all have 24."""


@pytest.mark.requirement("dates-zones")
@pytest.mark.parametrize("zone", ZONES)
def test_all_cases_hold_in_every_zone_at_any_hour(zone: str) -> None:
    here = ZoneInfo(zone)
    anchors = {case.anchor for _, case in ALL if case.anchor is not None}
    for anchor in anchors:
        for hour in HOURS:
            said = datetime(anchor.year, anchor.month, anchor.day, hour, 59, 59, tzinfo=here).astimezone(UTC)
            assert day_of(said, here) == anchor
            assert anchor_of(said.isoformat(), here) == anchor
    for _, case in ALL:
        if case.anchor is not None:
            midnight = datetime(case.anchor.year, case.anchor.month, case.anchor.day, 0, 1, tzinfo=here)
            assert answered(case, day_of(midnight.astimezone(UTC), here)) == (case.days, case.times)


@pytest.mark.requirement("dates-zones")
@pytest.mark.parametrize(("zone", "change"), [(zone, day) for zone, days in CLOCKS_CHANGE.items() for day in days])
def test_days_are_whole_across_a_change_of_clocks(zone: str, change: date) -> None:
    here = ZoneInfo(zone)
    noon = datetime(change.year, change.month, change.day, 12, tzinfo=here)
    for minutes in range(-36 * 60, 36 * 60, 15):
        moment = noon.astimezone(UTC) + timedelta(minutes=minutes)
        anchor = day_of(moment, here)
        assert anchor == moment.astimezone(here).date()
        for words, days in (("yesterday", -1), ("wczoraj", -1), ("morgen", 1), ("2 weeks ago", -14), ("za 3 dni", 3)):
            found = resolve(words, anchor)
            assert found is not None
            assert found.first == anchor + timedelta(days=days)


@pytest.mark.requirement("dates-zones")
def test_the_anchor_is_the_day_where_it_was_said() -> None:
    kolkata, new_york = ZoneInfo("Asia/Kolkata"), ZoneInfo("America/New_York")
    # Half past eleven at night in New York is the next morning in Kolkata.
    said = "2026-03-08T03:30:00Z"
    assert (anchor_of(said, new_york), anchor_of(said, kolkata)) == (date(2026, 3, 7), date(2026, 3, 8))
    # A date alone is a day already, and a time without a zone is on the clocks of the one who said it.
    assert {anchor_of("2026-03-08", zone) for zone in (kolkata, new_york)} == {date(2026, 3, 8)}
    assert {anchor_of("2026-03-08T23:59:00", zone) for zone in (kolkata, new_york)} == {date(2026, 3, 8)}
    for unknown in (None, "", "some day", "2026-02-31", "0001-01-01T00:00:00+14:00"):
        assert anchor_of(unknown, new_york) is None


@pytest.mark.requirement("dates-18")
@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("przedwczoraj", "2026-04-03"),
        ("3 days ago", "2026-04-02"),
        ("2 weeks ago", "2026-03-22"),
        ("2 miesiące temu", "2026-02-05"),
        ("last sunday", "2026-03-29"),
        ("last month", "2026-03-01"),
        ("last week", "2026-03-23"),
        ("15 marca", "2026-03-15"),
        ("december 24", "2025-12-24"),
        ("2023/12/15 (Fri) 14:30", "2023-12-15"),
        ("2026-02-31", None),
        ("recently", None),
    ],
)
def test_relative_dates_seen_from_a_sunday(text: str, day: str | None) -> None:
    found = resolve(text, SUNDAY)
    assert (None if found is None else found.first.isoformat()) == day


# --- laws -------------------------------------------------------------------------------------------------------------


@given(st.text(max_size=60), st.dates() | st.none())
def test_any_text_may_be_read(text: str, anchor: date | None) -> None:
    found = find(text, anchor)
    assert all(text[one.start : one.end] == one.words for one in found)
    assert all(one.end <= after.start for one, after in pairwise(found))
    whole = resolve(text, anchor)
    assert whole is None or whole.first <= whole.last


WORDS = (
    "last next this week Friday March 15 2026 ago two days in the of months year zeszły piątek temu za trzy dni marca w roku "
    "letzte Woche vor zwei Tagen am 15. März . , - / ( a yesterday wczoraj gestern 2026-03-15 Q1 about około etwa"
)
SENTENCES = st.lists(st.sampled_from(WORDS.split()), max_size=9).map(" ".join)


@given(SENTENCES, st.dates(date(1, 1, 1), date(9999, 12, 31)) | st.none())
def test_any_row_of_words_for_dates_may_be_read(text: str, anchor: date | None) -> None:
    for one in find(text, anchor):
        assert one.resolved is None or one.resolved.first <= one.resolved.last
    resolve(text, anchor)


@pytest.mark.requirement("dates-unknown")
@given(SENTENCES)
def test_without_an_anchor_only_what_names_its_year_is_known(text: str) -> None:
    for one in find(text, None):
        assert one.resolved is None or "2026" in one.words


@pytest.mark.requirement("dates-grain")
@pytest.mark.parametrize(
    ("text", "grain"),
    [
        ("yesterday", Grain.DAY),
        ("last week", Grain.WEEK),
        ("two weeks ago", Grain.WEEK),
        ("last weekend", Grain.WEEKEND),
        ("March 2026", Grain.MONTH),
        ("Q1 2026", Grain.QUARTER),
        ("two years ago", Grain.YEAR),
        ("the last 7 days", Grain.WITHIN),
        ("3-5 March", Grain.RANGE),
    ],
)
def test_how_exactly_it_was_said_is_told(text: str, grain: Grain) -> None:
    found = resolve(text, SUNDAY)
    assert found is not None
    assert found.grain is grain


@pytest.mark.requirement("dates-grain")
def test_of_a_time_within_others_only_those_are_told() -> None:
    for text, whole in (
        ("It rained in the last 7 days.", "2026-03-29..2026-04-05"),
        ("Late last month it rained.", "2026-03-01..2026-03-31"),
        ("Ende letzten Monats regnete es.", "2026-03-01..2026-03-31"),
        ("Pod koniec zeszłego miesiąca padało.", "2026-03-01..2026-03-31"),
    ):
        [one] = find(text, SUNDAY)
        assert (one.resolved, spelled(one.part_of)) == (None, whole)


def test_no_word_of_a_language_has_two_meanings() -> None:
    for language in LANGUAGES_READ:
        told = [
            (word, symbol + value)
            for symbol, table in language.words.items()
            for value, line in table.items()
            for word in line.split()
        ]
        assert len({word for word, _ in told}) == len(set(told))


def test_composed_and_decomposed_letters_are_one() -> None:
    text = "Spotkanie było w zeszłą środę."
    for form in ("NFC", "NFD"):
        there = unicodedata.normalize(form, text)
        [one] = find(there, SUNDAY)
        assert (unicodedata.normalize("NFC", one.words), spelled(one.resolved)) == ("zeszłą środę", "2026-04-01")


@pytest.mark.requirement("dates-linear")
@pytest.mark.parametrize(
    "piece", ["15 ", "two ", "last ", "- ", "1-", "vor zwei ", "w ", "ą́", " ", "2026-", "C", "(", "May "]
)
def test_reading_takes_time_linear_in_the_text(piece: str) -> None:
    def spent(length: int) -> float:
        text = (piece * (length // len(piece) + 1))[:length]
        began = time.thread_time()
        find(text, SUNDAY)
        return time.thread_time() - began

    small = min(spent(10_000) for _ in range(3))
    assert min(spent(80_000) for _ in range(3)) <= 8 * small * 3 + 0.05
