"""The manifest and the tests agree: nothing promised without a test, no test for what nobody promised."""

from __future__ import annotations

from tests.stories.requirements import PARTS, REQUIREMENTS
from tests.stories.shown import is_shown, shown


def test_every_marker_names_a_requirement() -> None:
    strangers = {identifier: tests for identifier, tests in shown().items() if identifier not in REQUIREMENTS}
    assert strangers == {}


def test_every_requirement_is_shown_by_a_test_or_open() -> None:
    by = shown()
    owed = [r.id for r in REQUIREMENTS.values() if not (r.through or r.open or is_shown(r, by))]
    assert owed == []


def test_a_requirement_shown_through_others_is_shown_once_none_of_them_is_open() -> None:
    by = shown()
    closed = [
        r for r in REQUIREMENTS.values() if r.through and not any(REQUIREMENTS[other].open for other in r.through)
    ]
    assert [r.id for r in closed if not is_shown(r, by)] == []


def test_what_a_test_shows_is_not_open() -> None:
    by = shown()
    assert [r.id for r in REQUIREMENTS.values() if r.open and r.id in by] == []


def test_through_names_requirements() -> None:
    named = {other for r in REQUIREMENTS.values() for other in r.through}
    assert sorted(named - set(REQUIREMENTS)) == []


def test_no_id_stands_twice() -> None:
    assert len(REQUIREMENTS) == sum(len(part) for part in PARTS)
