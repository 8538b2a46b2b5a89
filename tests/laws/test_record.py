"""Records, times, positions and the checks on what comes in: what is stored comes back, and nothing odd is stored."""

from __future__ import annotations

import json
import unicodedata
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from identity.errors import Corrupt, InvalidCategory, InvalidInput
from identity.visibility import Scope
from loomem.core import limits as check
from loomem.core import plan
from loomem.core.knowledge import FactType
from loomem.core.limits import Limits
from loomem.core.position import format_position, parse_position
from loomem.core.record import CATEGORIES, Category, Memory, decode, encode, from_fields, to_fields
from loomem.core.times import EPOCH, date_argument, iso, millis, moment_of, parse_iso, stored_millis
from tests.laws.worlds import agent

LIMITS = Limits()
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
plain = text.map(lambda t: unicodedata.normalize("NFC", t.replace("\0", "")))
numbers = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)
leaves: st.SearchStrategy[Any] = st.none() | st.booleans() | numbers | plain
values: st.SearchStrategy[Any] = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(plain, inner, max_size=3), max_leaves=8
)
moments = st.integers(0, 7 * 10**15).map(lambda us: EPOCH + timedelta(microseconds=us))


@st.composite
def memories(draw: st.DrawFn) -> Memory:
    scope = draw(st.sampled_from(Scope))
    known = set(to_fields(Memory(**_REQUIRED))) | {"metadata", "expiresAt"}
    extra = draw(st.dictionaries(plain.filter(lambda key: key not in known), values, max_size=3))
    return Memory(
        id=draw(plain),
        agent_id=draw(plain),
        project_id=draw(plain),
        scope=scope,
        category=draw(st.sampled_from(CATEGORIES[scope])),
        content=draw(plain),
        metadata=draw(st.none() | st.dictionaries(plain, values, max_size=3)),
        created_at=iso(draw(moments)),
        updated_at=iso(draw(moments)),
        expires_at=draw(st.none() | moments.map(iso)),
        version=1,
        extra=extra or None,
    )


_REQUIRED: dict[str, Any] = {
    "id": "i",
    "agent_id": "a",
    "project_id": "p",
    "scope": Scope.TEAM,
    "category": Category.DECISIONS,
    "content": "c",
    "created_at": "2026-01-01T00:00:00.000Z",
    "updated_at": "2026-01-01T00:00:00.000Z",
    "version": 1,
}


@given(memories())
def test_a_record_comes_back_as_it_was_stored(memory: Memory) -> None:
    assert decode(encode(memory)) == memory
    assert from_fields(to_fields(memory)) == memory
    # Any JSON writer's spelling is read the same.
    assert decode(json.dumps(to_fields(memory)).encode()) == memory


def test_fields_stand_in_the_order_of_the_format_and_absent_ones_are_absent() -> None:
    memory = msgspec.structs.replace(Memory(**_REQUIRED), expires_at="x", metadata={})
    assert list(to_fields(memory)) == [
        *("id", "agentId", "projectId", "scope", "category", "content", "metadata"),
        *("createdAt", "updatedAt", "expiresAt", "version"),
    ]
    assert "metadata" not in to_fields(Memory(**_REQUIRED))
    assert b"null" not in encode(Memory(**_REQUIRED))


GOOD: dict[str, Any] = to_fields(Memory(**_REQUIRED))


@pytest.mark.parametrize(("legacy", "scope"), [("shared", "team"), ("project", "team"), ("project-only", "team")])
def test_scopes_of_older_writers_are_read(legacy: str, scope: str) -> None:
    assert decode(msgspec.json.encode(GOOD | {"scope": legacy})).scope == scope


def test_nothing_stored_reaches_a_field_that_is_none() -> None:
    sly = {"(extra)": {"id": "other"}, "extra": {"id": "other"}}
    memory = decode(msgspec.json.encode(GOOD | sly))
    assert memory.id == "i"
    assert json.loads(encode(memory)) == GOOD | sly


ODD: list[dict[str, Any]] = [
    {"version": 2},
    {"version": True},
    {"version": "1"},
    {"scope": "banana"},
    {"category": "banana"},
    {"content": 5},
    {"content": None},
    {"metadata": []},
    {"id": None},
]


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b" ",
        b"[]",
        b"\xff",
        msgspec.json.encode(GOOD)[:-1],
        *(msgspec.json.encode(GOOD | odd) for odd in ODD),
        *(msgspec.json.encode({k: v for k, v in GOOD.items() if k != missing}) for missing in GOOD),
    ],
)
def test_what_is_no_record_is_corrupt(value: bytes) -> None:
    with pytest.raises(Corrupt) as caught:
        decode(value)
    assert "other" not in caught.value.message


# --- times ------------------------------------------------------------------------------------------------------------


@given(moments)
def test_a_time_comes_back_to_the_millisecond(moment: datetime) -> None:
    whole = moment.replace(microsecond=moment.microsecond // 1000 * 1000)
    assert parse_iso(iso(moment)) == whole
    assert moment_of(millis(moment)) == whole
    assert stored_millis(iso(moment)) == millis(moment)


@given(moments, st.integers(-14 * 60, 14 * 60))
def test_a_time_is_the_same_in_every_zone(moment: datetime, minutes: int) -> None:
    there = moment.astimezone(timezone(timedelta(minutes=minutes)))
    assert millis(there) == millis(moment)
    assert date_argument("since", there.isoformat(), UTC) == millis(moment)
    assert date_argument("since", there.replace(tzinfo=None).isoformat(), there.tzinfo or UTC) == millis(moment)


@pytest.mark.parametrize("stored", [None, "", "never", "2026-02-30", "2026-01-01T25:00:00Z", "9" * 40])
def test_a_stored_time_that_cannot_be_read_is_none(stored: str | None) -> None:
    assert stored_millis(stored) is None


def test_a_date_alone_is_its_first_moment() -> None:
    zone = timezone(timedelta(hours=2))
    assert date_argument("since", " 2026-01-02 ", zone) == millis(datetime(2026, 1, 1, 22, tzinfo=UTC))


def test_a_naive_time_needs_a_zone() -> None:
    with pytest.raises(ValueError, match="time zone"):
        parse_iso("2026-01-01")


# --- positions --------------------------------------------------------------------------------------------------------


@given(
    st.dictionaries(
        st.from_regex(r"[A-Za-z0-9_-]{1,40}", fullmatch=True), st.integers(0, 2**59), min_size=1, max_size=5
    )
)
def test_a_position_comes_back(position: dict[str, int]) -> None:
    assert parse_position("atLeast", format_position(position)) == position


@pytest.mark.parametrize(
    "bad", ["", "x", "x@", "@1", "x@-1", "x@1,", "x@01", "x y@1", 5, None, "x@1," * 2000, "x@" + "9" * 30]
)
def test_what_is_no_position_is_refused(bad: object) -> None:
    with pytest.raises(InvalidInput):
        parse_position("atLeast", bad)


# --- what comes in ----------------------------------------------------------------------------------------------------


@given(st.text(st.characters(), max_size=50))
def test_a_clean_text_is_normal_and_cleaning_it_again_changes_nothing(raw: str) -> None:
    try:
        clean = check.clean_text("content", raw)
    except InvalidInput:
        assert "\0" in raw or any("\ud800" <= char <= "\udfff" for char in raw)
        return
    assert clean == unicodedata.normalize("NFC", raw)
    assert check.clean_text("content", clean) == clean
    assert clean.encode().decode() == clean


@given(values | st.dictionaries(plain, values, max_size=4))
def test_clean_metadata_can_be_stored_and_read_back(raw: Any) -> None:
    try:
        clean = check.clean_metadata(raw, LIMITS)
    except InvalidInput as error:
        assert str(error.details["field"]).startswith("metadata")  # noqa: PT017
        return
    assert clean is None or msgspec.json.decode(msgspec.json.encode(clean)) == clean
    assert check.clean_metadata(clean, LIMITS) == clean


def test_metadata_that_is_odd_is_refused() -> None:
    deep: Any = "x"
    for _ in range(40):
        deep = [deep]
    for bad in (
        {"x": deep},
        {"x": float("nan")},
        {"x": 2**60},
        {"x": {1}},
        {"\0": 1},
        {"x": b"y"},
        {"x": {"y": "\ud800"}},
    ):
        with pytest.raises(InvalidInput):
            check.clean_metadata(bad, LIMITS)
    with pytest.raises(InvalidInput):
        check.clean_metadata({"relatedTo": ["x"] * 101}, LIMITS)
    assert check.clean_metadata({"priority": 2.0}, LIMITS) == {"priority": 2}


@pytest.mark.parametrize("scope", [None, *Scope, "shared", "banana", 5, ""])
@pytest.mark.parametrize("category", [None, *Category, "banana", 5, ""])
def test_a_place_is_one_that_exists(scope: Any, category: Any) -> None:
    try:
        place, kind = check.clean_place(scope, category)
    except InvalidCategory:
        assert category not in CATEGORIES.get(scope, tuple(Category)) or scope == "shared"
        return
    except InvalidInput:
        assert scope in ("banana", 5, "")
        return
    assert kind in CATEGORIES[place]
    assert kind == (category or "recent")
    assert scope in (None, place) or (scope, place) == ("shared", "team")


@pytest.mark.parametrize("bad", [None, "", " ", "a b", "a\n", "*", "a>", "x" * 129, 5, "\0", ["a"]])
def test_what_is_no_id_is_refused(bad: object) -> None:
    with pytest.raises(InvalidInput):
        check.clean_id(bad, LIMITS)


@given(memories(), st.integers(0, 10**13))
def test_a_change_is_later_than_the_last_one(memory: Memory, now_ms: int) -> None:
    edit = plan.Edit(content="new")
    if plan.is_expired(memory, now_ms):
        return
    after = plan.edited(memory, edit, now_ms, LIMITS)
    before = stored_millis(memory.updated_at)
    changed = stored_millis(after.updated_at)
    assert before is not None
    assert changed == max(now_ms, before + 1)


def test_nothing_is_later_than_the_end_of_time() -> None:
    last = "9999-12-31T23:59:59.999Z"
    memory = msgspec.structs.replace(Memory(**_REQUIRED), updated_at=last)
    assert plan.edited(memory, plan.Edit(content="new"), 0, LIMITS).updated_at == last
    patient = Limits(ttl_recent_s=10**12)
    draft = plan.Draft(scope=Scope.PRIVATE, category=Category.RECENT, content="x")
    assert plan.created(draft, agent(), "i", 0, patient).expires_at == last


@given(st.integers(1, 10**6), st.integers(0, 10**6))
def test_the_server_erases_a_grace_after_the_end(ttl_s: int, passed_ms: int) -> None:
    draft = plan.Draft(scope=Scope.PRIVATE, category=Category.LONGTERM, content="x", ttl_s=ttl_s)
    memory = plan.created(draft, agent(), "i", 0, LIMITS)
    left = plan.server_ttl_s(memory, passed_ms, LIMITS)
    assert left is not None
    erased_ms = passed_ms + left * 1000
    end_ms = max(ttl_s * 1000 + LIMITS.ttl_grace_s * 1000, passed_ms + 1000)
    assert end_ms <= erased_ms < end_ms + 1000


@pytest.mark.parametrize(("asked", "kind"), [(None, "learnings"), ("decisions", "decisions")])
def test_a_share_has_a_team_category(asked: object, kind: str) -> None:
    assert plan.share_category(asked) == kind


def test_no_refusal_is_longer_than_it_helps() -> None:
    for huge in (10**4000, -(10**5000), 1e300):
        with pytest.raises(InvalidInput) as raised:
            check.clean_integer("limit", huge, low=1, high=9)
        assert len(raised.value.message) < 120
    assert len(check.shown_id("x" * 10_000, LIMITS)) == LIMITS.id_chars
    assert check.shown_id("\ud800", LIMITS) == "?"


def test_what_is_known_of_a_memory_survives_with_fields_of_later_versions() -> None:
    known = {"factType": "event", "eventDate": "2026-04-01", "supersedes": ["a"], "later": {"x": 1}}
    stored = {**to_fields(Memory(**_REQUIRED)), "deletedAt": "2026-04-02T00:00:00.000Z", "knowledge": known}
    memory = decode(json.dumps(stored).encode())
    assert memory.knowledge is not None
    assert (memory.knowledge.fact_type, memory.knowledge.supersedes) == (FactType.EVENT, ("a",))
    assert json.loads(encode(memory)) == stored
    assert decode(encode(memory)) == memory


def test_what_is_known_must_be_an_object() -> None:
    with pytest.raises(Corrupt):
        decode(json.dumps({**to_fields(Memory(**_REQUIRED)), "knowledge": "much"}).encode())
