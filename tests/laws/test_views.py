"""The view is the fold of the log: under restarts, repetition, starting over, and moves that nobody finished."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from identity.errors import InvalidInput, Unavailable
from identity.keys import GLOBAL_BUCKET, Kind, Root, Space, project_bucket, user_bucket
from identity.ports import CaughtUp, Entry, Event, Marker, Reason, Reset
from identity.visibility import Scope, Sight, sight_of, sights
from loomem.core.limits import Limits
from loomem.core.plan import text_of
from loomem.core.record import Category, Memory, encode
from loomem.views.kinds import Kinds
from loomem.views.projection import Projection, ViewState
from loomem.views.records import Records
from loomem.views.stretch import Stretch
from loomem.views.track import Track
from tests.laws.worlds import World, agent

ME = agent("a")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
PROJECT, USER = project_bucket(ME.project_id), user_bucket(ME.user_id)
SPACES = {
    "private": (Space(PROJECT, Root.AGENTS, "a" * 32), Scope.PRIVATE, Category.RECENT),
    "core": (Space(PROJECT, Root.CORE, "a" * 32), Scope.PRIVATE, Category.CORE),
    "personal": (Space(USER, Root.PERSONAL, "user"), Scope.PERSONAL, Category.LONGTERM),
    "team": (Space(PROJECT, Root.SHARED, "a" * 32), Scope.TEAM, Category.DECISIONS),
    "team of another": (Space(PROJECT, Root.SHARED, "b" * 32), Scope.TEAM, Category.DECISIONS),
    "public of another": (Space(GLOBAL_BUCKET, Root.SHARED, "b" * 32), Scope.PUBLIC, Category.DECISIONS),
}
OWN = ("private", "core", "personal", "team")
IDS = ["one", "two", "three", "x" * 200]  # the last one's key holds a hash of it


def entry(where: str, ident: str, revision: int, *, updated: int = 0, **changes: Any) -> Entry:
    """An entry as its owner writes it; changes forge it."""
    space, scope, category = SPACES[where]
    fields: dict[str, Any] = {
        "id": ident,
        "agent_id": space.owner if space.root is not Root.PERSONAL else "a" * 32,
        "project_id": "p",
        "scope": scope,
        "category": category,
        "content": f"{revision}",
        "created_at": text_of(0),
        "updated_at": text_of(updated or revision),
        "version": 1,
    }
    value = encode(Memory(**{**fields, **changes}))
    return Entry(key=space.key(Kind.MEMORY, ident), value=value, revision=revision, at=NOW)


def garbage(where: str, ident: str, revision: int) -> Entry:
    key = SPACES[where][0].key(Kind.MEMORY, ident)
    return Entry(key=key, value=b'{"version":7}', revision=revision, at=NOW)


def marker(where: str, ident: str, revision: int, reason: Reason = Reason.FORGET) -> Marker:
    return Marker(key=SPACES[where][0].key(Kind.MEMORY, ident), revision=revision, at=NOW, reason=reason)


Change = tuple[str, Entry | Marker]


@st.composite
def logs(draw: st.DrawFn) -> list[Change]:
    """What several buckets tell, each in order; revisions of one bucket grow."""
    changes: list[Change] = []
    for revision in range(1, draw(st.integers(0, 25)) + 1):
        where = draw(st.sampled_from(sorted(SPACES)))
        ident = draw(st.sampled_from(IDS))
        kind = draw(st.sampled_from(["put", "put", "put", "delete", "erase", "remove", "garbage"]))
        if kind in ("put", "delete", "erase"):
            gone = {
                "put": {},
                "delete": {"deleted_at": text_of(9)},
                "erase": {"deleted_at": text_of(9), "erased": True},
            }
            # Several copies of one id may bear the same time.
            changes.append((where, entry(where, ident, revision, updated=draw(st.integers(1, 4)), **gone[kind])))
        elif kind == "remove":
            changes.append((where, marker(where, ident, revision, draw(st.sampled_from(Reason)))))
        else:
            changes.append((where, garbage(where, ident, revision)))
    return changes


def sight(where: str) -> Sight:
    found = sight_of(ME, SPACES[where][0])
    assert found is not None
    return found


def seen(records: Records) -> Any:
    """Everything that can be seen of a view."""
    rows = {(row.place.bucket, row.key): row.memory for shelf in records.shelves() for row in shelf.rows}
    shadows = {ident: [(c.key, c.memory) for c in records.copies(ident)] for ident in IDS}
    deleted = {(row.place.bucket, row.key): row.memory for row in records.deleted_rows()}
    stubs = {ident: [row.key for row in records.stubs(ident)] for ident in IDS}
    return rows, shadows, deleted, stubs, records.corrupt(), {ident: records.forgotten(ident) for ident in IDS}


def fold(changes: Iterable[Change]) -> Records:
    records = Records(ME)
    for where, change in changes:
        records.apply(sight(where), change)
    return records


def last_per_key(changes: list[Change]) -> list[Change]:
    last = {(SPACES[where][0].bucket, change.key): (where, change) for where, change in changes}
    return sorted(last.values(), key=lambda change: change[1].revision)


@given(logs())
@pytest.mark.requirement("lesson-3.23.rebuild")
def test_the_view_is_the_fold_of_the_last_changes(log: list[Change]) -> None:
    # What a process that was there all the time sees is what one sees that starts now.
    assert seen(fold(log)) == seen(fold(last_per_key(log)))


@given(logs(), st.randoms(use_true_random=False))
@pytest.mark.requirement("lesson-3.23.rebuild")
def test_the_buckets_may_interleave_as_they_like(log: list[Change], random: Any) -> None:
    queues = [[change for change in log if sight(change[0]) == row] for row in sights(ME)]
    mixed: list[Change] = []
    while queues := [queue for queue in queues if queue]:
        mixed.append(random.choice(queues).pop(0))
    assert seen(fold(mixed)) == seen(fold(log))


@given(logs())
def test_of_one_id_the_newest_own_copy_is_seen_and_strangers_hide_nothing(log: list[Change]) -> None:
    records = fold(log)
    held = {
        where: {change.key: change for at, change in last_per_key(log) if at == where and isinstance(change, Entry)}
        for where in SPACES
    }
    good = {
        where: {k for k, e in entries.items() if b'"version":1' in e.value and b"deletedAt" not in e.value}
        for where, entries in held.items()
    }
    for ident in IDS:
        keys = {where: space.key(Kind.MEMORY, ident) for where, (space, _, _) in SPACES.items()}
        own = [where for where in OWN if keys[where] in good[where]]
        found = records.find(ident)
        assert [row.place.mine for row in found].count(True) == (1 if own else 0)
        assert len(records.copies(ident)) == len(own)
        assert sum(not row.place.mine for row in found) == sum(keys[w] in good[w] for w in SPACES if w not in OWN)
        if own:
            copies = records.copies(ident)
            assert found[0] is copies[0]
            assert found[0].updated == max(copy.updated for copy in copies)


@given(logs(), st.data())
@pytest.mark.requirement("lesson-3.23.rebuild")
def test_a_track_survives_repetition_and_starting_over(log: list[Change], data: st.DataObject) -> None:
    where = "team"
    told = [change for at, change in log if sight(at) == sight(where)]
    cut = data.draw(st.integers(0, len(told)))
    kept: dict[str, Entry | Marker] = {change.key: change for change in told}
    # While nobody listened some keys vanished without a trace: their markers, too, have had their time.
    for key in data.draw(st.sets(st.sampled_from(sorted(kept)))) if kept else ():
        del kept[key]
    again: list[Entry | Marker] = sorted(kept.values(), key=lambda change: change.revision)
    caught_up = CaughtUp(PROJECT, sight(where).filter)
    before: list[Event] = [*told[:cut], *told[:cut], caught_up]
    after: list[Event] = [Reset(PROJECT, sight(where).filter), *again, *again[:1], caught_up]
    records = Records(ME)
    track = Track(Stretch(sight(where), Kind.MEMORY), Kinds(records, {}))
    for event in before:
        track.on_event(event)
    assert seen(records) == seen(fold(("team", change) for change in told[:cut]))
    for event in after:
        track.on_event(event)
    assert seen(records) == seen(fold(("team", change) for change in again))
    assert track.cursor == (again[-1].revision if again else 0)


@pytest.mark.parametrize(
    ("where", "forged", "reason"),
    [
        ("team", {"id": "two"}, "another id"),
        ("team", {"agent_id": "b" * 32}, "another creator"),
        ("private", {"agent_id": "b" * 32}, "another creator"),
        ("team", {"scope": Scope.PUBLIC}, "scope"),
        ("private", {"scope": Scope.PERSONAL}, "scope"),
        ("private", {"category": Category.CORE}, "does not live under"),
        ("core", {"category": Category.LONGTERM}, "does not live under"),
        ("team", {"version": 2}, "schema version"),
        ("team", {"category": Category.CORE}, "does not hold"),
    ],
)
def test_a_record_that_contradicts_its_key_is_corrupt(where: str, forged: dict[str, Any], reason: str) -> None:
    records = fold([(where, entry(where, "one", 1)), (where, entry(where, "one", 2, **forged))])
    assert records.count() == 0
    [found] = records.corrupt().values()
    assert reason in found


def test_foreign_keys_and_other_kinds_are_nobodys_memories() -> None:
    records = Records(ME)
    owner = "a" * 32
    for number, key in enumerate(
        [
            f"agents.{owner}.g.one",
            f"agents.{owner}.v.one.e5",
            f"agents/{owner}/recent/one",
            "agents.x",
            f"agents.{owner}.m.=FF",
        ]
    ):
        records.apply(sight("private"), Entry(key=key, value=b"{}", revision=number + 1, at=NOW))
    assert records.count() == 0
    assert len(records.corrupt()) == 1  # the last one claims to be a memory


async def test_an_unfinished_move_shows_the_newer_copy_and_forgetting_takes_both() -> None:
    world = World()
    async with world.enter() as me:
        one = await me.remember(content="x")
        world.broker.fail_next("before", Unavailable("gone for a moment"), bucket=PROJECT)
        done = await me.commit(memory_id=one.memory_id, target_scope="personal")
        assert done.warnings is not None
        assert [warning.type for warning in done.warnings] == ["move-unfinished"]
        answer = await me.recall()
        assert (answer.total, len(answer.personal)) == (1, 1)
        assert (await me.forget(memory_id=one.memory_id)).deleted
        assert (await me.recall()).total == 0
    assert not any(isinstance(held, Entry) for bucket in world.broker.buckets.values() for held in bucket.holds())


async def test_a_source_that_changed_stops_the_move() -> None:
    world = World()
    async with world.enter() as me, world.enter() as twin:
        one = await me.remember(content="x")
        await twin.recall(at_least=one.position)
        with world.broker.hold():
            await twin.update(memory_id=one.memory_id, expected_revision=one.revision, content="y")
            world.broker.held = False
        done = await me.commit(memory_id=one.memory_id, target_scope="personal")
        assert done.previous_scope == "private"
        answer = await me.recall()
        assert [row["content"] for row in answer.personal] == ["y"]
        assert answer.total == 1


async def test_a_view_says_how_it_is() -> None:
    world = World()
    async with Projection(world.broker, world.broker, ME) as projection:
        assert projection.status.state is ViewState.LOADING
        await projection.ready()
        assert projection.status.state is ViewState.READY
        bucket = world.broker.buckets[PROJECT]
        with world.broker.hold():
            bucket.following[0].start_over()
        assert projection.status.state is ViewState.READY  # told again within one turn of the loop
        bucket.plant(SPACES["team"][0].key(Kind.MEMORY, "one"), b"garbage")
        await projection.sync()
        assert (projection.status.corrupt, projection.status.records) == (1, 0)
        with pytest.raises(InvalidInput):
            await projection.wait({"loom-memory-project-elsewhere": 1})


async def test_a_view_that_cannot_load_says_so_in_time_and_comes_when_it_can() -> None:
    world = World()
    world.broker.reachable = False
    async with Projection(world.broker, world.broker, ME, patience_s=0.05) as projection:
        with pytest.raises(Unavailable, match="loading"):
            await projection.ready()
        assert projection.status.error is not None
        world.broker.reachable = True
        async with asyncio.timeout(5):
            while projection.status.state is not ViewState.READY:
                with suppress(Unavailable):
                    await projection.ready()
        assert projection.status.error is None


async def test_an_error_of_the_body_passes_a_view_as_it_is() -> None:
    world = World()
    with pytest.raises(KeyError):
        async with Projection(world.broker, world.broker, ME):
            raise KeyError


async def test_a_read_waits_for_its_own_write_and_no_longer_than_allowed() -> None:
    world = World()
    async with world.enter() as me:
        await me.recall()
        with world.broker.hold():
            one = await me.remember(content="x")
            reading = asyncio.ensure_future(me.recall())
            await asyncio.sleep(0)
            assert not reading.done()
        assert (await reading).total == 1
        assert (await me.get(memory_id=one.memory_id)).memory["content"] == "x"


async def test_a_wiped_store_does_not_hang_its_readers() -> None:
    world = World()
    async with world.enter() as me:
        for number in range(5):
            await me.remember(content=f"{number}")
        bucket = world.broker.buckets[PROJECT]
        bucket.wipe()
        for following in bucket.following:
            following.start_over()
        assert (await me.recall()).total == 0
        await me.remember(content="anew")
        assert (await me.recall()).total == 1


@settings(max_examples=25)
@given(st.lists(st.sampled_from(["remember", "core", "forget", "restart"]), max_size=30), st.integers(1, 4))
def test_quotas_are_never_overshot(steps: list[str], limit: int) -> None:
    async def run() -> None:
        world = World()
        limits = Limits(core=limit, space=2 * limit, personal=2 * limit)
        engine = world.enter(limits=limits)
        me = await engine.__aenter__()
        for step in steps:
            match step:
                case "remember":
                    calls = [me.remember(content="x") for _ in range(3)]
                    await asyncio.gather(*calls, return_exceptions=True)
                case "core":
                    items = [{"content": "x", "category": "core"}] * 3
                    await me.remember_bulk(memories=items)
                case "forget":
                    rows = [*(await me.recall()).private, *(await me.recall()).personal][:2]
                    await me.forget_bulk(memory_ids=[row["id"] for row in rows], force=True)
                case _:
                    await engine.__aexit__(None, None, None)
                    engine = world.enter(limits=limits)
                    me = await engine.__aenter__()
            answer = await me.recall(limit=200)
            assert answer.counts.private <= 2 * limit
            assert answer.counts.personal <= limit
        await engine.__aexit__(None, None, None)

    asyncio.run(run())


def test_folded_contents_take_no_more_than_their_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loomem.views.records.FOLDED_LIMIT", 10)
    texts = [("one", "ABCDEF"), ("two", "lower"), ("three", "GHIJKL"), ("four", "MNOPQR")]
    changes = [("team", entry("team", ident, number + 1, content=text)) for number, (ident, text) in enumerate(texts)]
    records = fold(changes)
    kept = {row.id: row.folded for shelf in records.shelves() for row in shelf.rows}
    assert kept == {"one": "abcdef", "two": "lower", "three": "ghijkl", "four": None}
    for number, (ident, _) in enumerate(texts):
        records.apply(sight("team"), marker("team", ident, 10 + number))
    records.apply(sight("team"), entry("team", "five", 20, content="X" * 5))
    records.apply(sight("team"), entry("team", "six", 21, content="Y" * 5))
    assert all(row.folded is not None for shelf in records.shelves() for row in shelf.rows)
