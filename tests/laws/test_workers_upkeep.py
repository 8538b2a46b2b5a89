"""Laws of the upkeep plan: what it may remove, and that it converges."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import groupby

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from identity.keys import Kind, Root, Space, parse_key
from identity.ports import Change, Entry, Marker, Put, Reason, Remove
from loomem.core.limits import Limits
from loomem.core.record import TEMPORARY, Category
from loomem.workers.upkeep import ROUND, Grave, Head, Rules, grave_of, head_of, plan_upkeep, rules_of

NOW = 1_000_000
AT = datetime(2026, 1, 1, tzinfo=UTC)
RULES = Rules(recent=2, tasks=1, grace_ms=100, retention_ms=200, marker_ms=1_000, tombstone_ms=5_000)

moments = st.integers(NOW - 500, NOW + 500)


@st.composite
def bucket_heads(draw: st.DrawFn) -> list[Head]:
    ids = draw(st.lists(st.integers(0, 99), unique=True, max_size=12))
    heads: list[Head] = []
    for revision, ident in enumerate(ids, 1):
        prefix = f"agents.{draw(st.sampled_from('AB'))}"
        category = draw(st.sampled_from([*TEMPORARY, None]))
        deleted = draw(st.none() | moments)
        heads.append(
            Head(
                key=f"{prefix}.m.{ident}",
                revision=revision,
                quota=None if category is None or deleted is not None else (prefix, category),
                created_ms=draw(moments),
                expires_ms=draw(st.none() | moments),
                deleted_ms=deleted,
                stub=draw(st.none() | st.just(b"stub")),
            )
        )
    return heads


def live(head: Head) -> bool:
    return head.expires_ms is None or head.expires_ms >= NOW


def limit(category: Category) -> int:
    return RULES.recent if category is Category.RECENT else RULES.tasks


def reason_of(change: Change) -> str:
    """Why something goes; a stub is written for the reason that its operation names."""
    return change.reason if isinstance(change, Remove) else change.op.split()[1]


@given(bucket_heads())
def test_each_removal_has_its_cause(heads: list[Head]) -> None:
    by_key = {head.key: head for head in heads}
    for change in plan_upkeep(heads, (), RULES, NOW).changes:
        head = by_key[change.key]
        assert change.expected == head.revision
        assert (change.value if isinstance(change, Put) else None) == head.stub
        if reason_of(change) == Reason.EXPIRE:
            over = head.expires_ms is not None and head.expires_ms + RULES.grace_ms <= NOW
            assert over or (head.deleted_ms is not None and head.deleted_ms + RULES.retention_ms <= NOW)
        else:
            assert reason_of(change) == Reason.EVICT
            assert head.quota is not None
            assert live(head)


@given(bucket_heads())
def test_exactly_the_excess_goes_and_it_is_the_oldest(heads: list[Head]) -> None:
    evicted = {r.key for r in plan_upkeep(heads, (), RULES, NOW).changes if reason_of(r) == Reason.EVICT}
    counted = sorted((h for h in heads if h.quota and live(h)), key=lambda h: h.quota or ())
    for quota, members in groupby(counted, key=lambda h: h.quota):
        held = list(members)
        assert quota is not None
        gone = [h for h in held if h.key in evicted]
        kept = [h for h in held if h.key not in evicted]
        assert len(gone) == max(0, len(held) - limit(quota[1]))
        assert all(g.created_ms <= k.created_ms for g in gone for k in kept)


@given(bucket_heads())
def test_once_done_nothing_is_left_to_do(heads: list[Head]) -> None:
    removed = {r.key for r in plan_upkeep(heads, (), RULES, NOW).changes}
    again = plan_upkeep([h for h in heads if h.key not in removed], (), RULES, NOW)
    assert again.changes == ()
    assert again.next_ms is None or again.next_ms > NOW


@given(bucket_heads(), st.randoms(use_true_random=False))
def test_the_order_of_heads_does_not_matter(heads: list[Head], random: object) -> None:
    shuffled = list(heads)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert plan_upkeep(heads, (), RULES, NOW) == plan_upkeep(shuffled, (), RULES, NOW)


@given(bucket_heads())
def test_at_the_next_time_something_is_due(heads: list[Head]) -> None:
    plan = plan_upkeep(heads, (), RULES, NOW)
    removed = {r.key for r in plan.changes}
    rest = [h for h in heads if h.key not in removed]
    if plan.next_ms is None:
        assert all(h.expires_ms is None and h.deleted_ms is None for h in rest)
    else:
        assert plan_upkeep(rest, (), RULES, plan.next_ms - 1).changes == ()
        assert plan_upkeep(rest, (), RULES, plan.next_ms).changes != ()


@given(st.lists(st.integers(NOW - 10, NOW + 10), max_size=8))
def test_markers_are_swept_when_their_time_is_over(untils: list[int]) -> None:
    graves = [Grave(f"agents.A.m.{i}", i + 1, until) for i, until in enumerate(untils)]
    plan = plan_upkeep((), graves, RULES, NOW)
    assert {g.key for g in plan.sweeps} == {g.key for g in graves if g.until_ms <= NOW}
    assert plan.next_ms == min((u for u in untils if u > NOW), default=None)


def test_a_plan_is_bounded_and_the_rest_is_due_at_once() -> None:
    heads = [Head(f"agents.A.m.{i}", i + 1, None, 0, 0) for i in range(ROUND + 1)]
    plan = plan_upkeep(heads, (), RULES, NOW)
    assert len(plan.changes) == ROUND
    assert plan.next_ms == NOW


def entry(key: str, **fields: object) -> Entry:
    return Entry(key=key, value=msgspec.json.encode(fields), revision=7, at=AT)


@given(
    root=st.sampled_from(Root),
    category=st.sampled_from(Category),
    expires=st.sampled_from([None, "2026-01-02T00:00:00.000Z", "whenever"]),
)
def test_only_temporary_memories_count_for_a_limit_and_only_readable_expiries_expire(
    root: Root, category: Category, expires: str | None
) -> None:
    key = Space("b", root, "A").key(Kind.MEMORY, "1")
    head = head_of(entry(key, category=category, expiresAt=expires, createdAt="2026-01-01T00:00:01.000Z"))
    evictable = category in TEMPORARY and root not in (Root.CORE, Root.SHARED)
    expiring = expires is not None and expires != "whenever"
    assert (head is not None) == (evictable or expiring)
    if head is not None:
        assert (head.quota is not None) == evictable
        assert (head.expires_ms is not None) == expiring


def test_what_nobody_understands_is_never_removed() -> None:
    broken = Entry(key="agents.A.m.1", value=b"\xff{", revision=1, at=AT)
    assert head_of(broken) is None
    assert head_of(entry("foreign.A.m.1", category="recent")) is None
    assert head_of(entry("agents.A.x.1", category="recent")) is None


def test_without_a_creation_time_the_time_of_the_write_counts() -> None:
    head = head_of(entry("agents.A.m.1", category="tasks"))
    assert head is not None
    assert head.created_ms == 1_767_225_600_000


def test_a_tombstone_outlives_an_ordinary_marker() -> None:
    tomb = grave_of(Marker(key="agents.A.m.1", revision=1, at=AT, reason=Reason.FORGET), RULES)
    moved = grave_of(Marker(key="agents.A.m.1", revision=1, at=AT, reason=Reason.MOVE), RULES)
    assert tomb.until_ms - moved.until_ms == RULES.tombstone_ms - RULES.marker_ms


def test_the_worker_follows_behind_a_server_that_erases_by_itself() -> None:
    limits = Limits()
    assert rules_of(limits, marker_s=60, server_erases=False).grace_ms == limits.ttl_grace_s * 1000
    assert rules_of(limits, marker_s=60, server_erases=True).grace_ms > limits.ttl_grace_s * 1000


def test_a_key_names_its_neighbours() -> None:
    key = parse_key("agents.A.m.1")
    assert key is not None
    assert key.beside(Kind.JOB) == "agents.A.x.1"
