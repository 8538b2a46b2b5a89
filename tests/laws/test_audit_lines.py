"""What is put on record of a change: whatever its headers say, one line for each change, and no content."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from identity.ports import Entry, Marker, Reason
from loomem.core.audit.lines import lines_of, shown
from loomem.core.audit.notes import (
    BARE_MAX,
    TOLD_MAX,
    Action,
    Blocked,
    is_recorded,
    note_of,
    noted,
    past_of,
    past_over,
    past_text,
)

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
KEY = "agents.A.m.id"


def entry(revision: int, *, did: str = "", past: str = "", op: str = "op", first: bool = False) -> Entry:
    at = AT + timedelta(seconds=revision)
    return Entry(key=KEY, value=b"secret", revision=revision, at=at, op=op, did=did, past=past, first=first)


@given(st.text(max_size=40), st.text(max_size=40), st.text(max_size=40))
def test_a_note_is_one_line_of_ascii_and_says_what_was_said(agent: str, project: str, user: str) -> None:
    try:
        (agent + project + user).encode()
    except UnicodeEncodeError:
        return
    text = noted(agent, project, user, Action.STORED, ["old"], [Blocked("a", "a1", "a2", "store")])
    assert text.isascii()
    assert text.isprintable()
    note = note_of(text)
    assert note is not None
    assert (note.agent, note.project, note.user, note.action) == (agent, project, user, Action.STORED)


@given(st.text(max_size=60), st.text(max_size=60))
def test_what_cannot_be_read_is_as_if_nothing_had_been_said(did: str, past: str) -> None:
    lines = lines_of("b", entry(7, did=did, past=past))
    assert [(line.id, line.revision, line.late) for line in lines][-1] == ("id", 7, False)


@given(st.integers(min_value=1, max_value=TOLD_MAX + BARE_MAX + 30))
def test_each_change_tells_of_those_before_it_once_and_within_bounds(count: int) -> None:
    past = ""
    for revision in range(1, count + 1):
        past = past_text(past_over(entry(revision, did=noted("A", "p", "", Action.CHANGED, (), ()), past=past)))
    lines = lines_of("b", entry(count + 1, past=past))
    revisions = [line.revision for line in lines]
    assert revisions == sorted(set(revisions))
    assert revisions[-1] == count + 1
    assert len(revisions) == min(count, TOLD_MAX + BARE_MAX) + 1
    assert [line.agent for line in lines if line.late][-TOLD_MAX:] == ["A"] * min(count, TOLD_MAX)
    assert len(past) < 4_000
    assert past_of(past) == past_of(past_text(past_of(past)))


@pytest.mark.requirement("audit-unsaid")
@pytest.mark.parametrize(
    ("change", "action"),
    [
        (entry(1, first=True), "stored"),
        (entry(2), "changed"),
        (entry(2, op="stub expire 1"), "expired"),
        (entry(2, op="stub 3f0c"), "forgotten"),
        *(
            (Marker(key=KEY, revision=2, at=AT, reason=reason), action)
            for reason, action in (
                (Reason.FORGET, "forgotten"),
                (Reason.EXPIRE, "expired"),
                (Reason.EVICT, "evicted"),
                (Reason.MOVE, "moved"),
            )
        ),
    ],
)
def test_what_nobody_said_is_told_by_the_key(change: Entry | Marker, action: str) -> None:
    (line,) = lines_of("b", change)
    assert (line.action, line.agent) == (action, "")


def test_only_memories_are_recorded() -> None:
    assert is_recorded(KEY)
    assert not any(map(is_recorded, ("agents.A.v.id.model", "agents.A.x.id", "agents.A.f.id", "nonsense", "")))


def test_a_line_is_shown_as_all_that_it_tells_of() -> None:
    did = noted("A", "p", "u", Action.STORED, ["o1", "o2"], [Blocked("b1", "none", "a2", "store")])
    (line,) = lines_of("b", entry(3, did=did, first=True))
    told = [(one.action, one.id, one.by) for one in shown(line)]
    assert told == [
        ("stored", "id", None),
        ("superseded", "o1", "id"),
        ("superseded", "o2", "id"),
        ("trust_guard_blocked", "b1", "id"),
    ]
