"""Migration: what each key of an older store becomes, whose it is then, and that a second run changes nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from identity.keys import GLOBAL_BUCKET, project_bucket
from identity.ports import Entry
from loomem.core.legacy import Left, Moved, OldBucket, Source, bucket_part, buckets, newest, parse_old_key, translated
from loomem.core.limits import Limits
from loomem.core.scan import ScanPolicy
from tests.doubles import MemoryBroker, MemoryBucket
from tests.laws.worlds import World, agent

ALICE = agent("a")
BOB = agent("b")
OLD = "OldAgent_1"
SOURCE = Source(projects=("My_Proj",), agents=(ALICE.agent_id, OLD))
PROJECT, MINE, OLD_USER, PUBLIC = (
    "loom-pattern-my-proj",
    f"loom-user-{ALICE.agent_id}",
    "loom-user-oldagent-1",
    "loom-global-pattern",
)
NOW = "2026-01-01T11:00:00.000Z"


def record(ident: str, agent_id: str = ALICE.agent_id, **changes: Any) -> bytes:
    """A value as an older writer stored it."""
    fields = {
        "id": ident,
        "agentId": agent_id,
        "projectId": "My_Proj",
        "scope": "private",
        "category": "longterm",
        "content": f"about {ident}",
        "metadata": {"source": "elsewhere"},
        "createdAt": NOW,
        "updatedAt": NOW,
        "version": 1,
    }
    return json.dumps(fields | changes).encode()


def old_store() -> MemoryBroker:
    """An older store with something of every kind."""
    broker = MemoryBroker()
    own = ALICE.agent_id
    values: dict[str, dict[str, bytes]] = {
        PROJECT: {
            f"agents/{own}/longterm/p-own": record("p-own"),
            f"agents/{own}/core/p-core": record("p-core", category="core"),
            f"agents/{OLD}/longterm/p-old": record("p-old", OLD),
            f"agents/{BOB.agent_id}/longterm/p-bob": record("p-bob", BOB.agent_id),
            f"agents/{own}/recent/p-late": record("p-late", category="recent", expiresAt="2026-01-01T11:30:00.000Z"),
            f"agents/{own}/recent/p-twice": record("p-twice", category="recent"),
            f"agents/{own}/longterm/p-twice": record("p-twice", updatedAt="2026-01-01T11:30:00.000Z"),
            f"agents/{own}/longterm/p-void": b" ",
            f"agents/{own}/longterm/p-bad": b"{rubbish",
            f"agents/{own}/longterm/p-big": record("p-big", content="x" * 40_000),
            "shared/decisions/t-own": record("t-own", scope="shared", category="decisions"),
            "shared/learnings/t-bob": record("t-bob", BOB.agent_id, scope="team", category="learnings"),
            "index": b"{}",
        },
        MINE: {
            f"agents/{own}/longterm/u-own": record("u-own", scope="user"),
            f"pattern.agents/{own}/core/u-core": record("u-core", scope="personal", category="core"),
        },
        OLD_USER: {f"agents/{OLD}/core/u-old": record("u-old", OLD, scope="personal", category="core")},
        PUBLIC: {"shared/architecture/g-bob": record("g-bob", BOB.agent_id, scope="public", category="architecture")},
    }
    for name, keys in values.items():
        broker.buckets[name] = bucket = MemoryBucket(broker, name)
        for key, value in keys.items():
            bucket.plant(key, value)
    return broker


def stored(world: World) -> dict[str, tuple[str, dict[str, Any]]]:
    """What ours holds: id -> key with its bucket, record."""
    return {
        fields["id"]: (f"{name} {entry.key}", fields)
        for name, bucket in world.broker.buckets.items()
        for entry in bucket.holds()
        if isinstance(entry, Entry)
        for fields in [json.loads(entry.value)]
    }


# --- planning ---------------------------------------------------------------------------------------------------------


def test_old_buckets_are_named_as_their_writers_did() -> None:
    assert [bucket.name for bucket in buckets(SOURCE)] == [PROJECT, MINE, OLD_USER, PUBLIC]
    assert bucket_part("My Proj/Ü") == "my-proj--"


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("agents/A/longterm/x", ("private", "A", "longterm", "x")),
        ("pattern.agents/A/core/x.y", ("private", "A", "core", "x.y")),
        ("shared/decisions/x", ("team", None, "decisions", "x")),
        ("agents/A/longterm", None),
        ("agents/A/longterm/x/y", None),
        ("agents//longterm/x", None),
        ("shared/x", None),
        ("shared/a/b/c", None),
        ("agents.A.m.x", None),
        ("", None),
    ],
)
def test_an_old_key_is_taken_apart(key: str, expected: tuple[Any, ...] | None) -> None:
    bucket = buckets(SOURCE)[0]
    old = parse_old_key(bucket, key)
    assert (old and (old.scope, old.owner, old.category, old.id)) == expected


def test_a_bucket_holds_what_its_kind_holds() -> None:
    personal, public = buckets(SOURCE)[1], buckets(SOURCE)[3]
    assert parse_old_key(personal, "shared/decisions/x") is None
    assert parse_old_key(public, "agents/A/longterm/x") is None


def plan(bucket: OldBucket, key: str, value: bytes) -> Moved | Left:
    return translated(bucket, key, value, caller=ALICE, source=SOURCE, limits=Limits(), now_ms=0)


def test_a_record_that_names_another_id_than_its_key_is_left() -> None:
    became = plan(buckets(SOURCE)[0], f"agents/{OLD}/longterm/x", record("y", OLD))
    assert became == Left("not a record", "it names another id than its key")


def test_of_two_copies_the_one_changed_last_counts() -> None:
    bucket = buckets(SOURCE)[0]
    copies = [
        plan(
            bucket,
            f"agents/{OLD}/{category}/x",
            record("x", OLD, category=category, updatedAt=f"2026-01-0{day}T00:00:00Z"),
        )
        for category, day in (("recent", 1), ("longterm", 3), ("tasks", 2))
    ]
    chosen, older = newest([copy for copy in copies if isinstance(copy, Moved)])
    assert [moved.memory.category for moved in chosen] == ["longterm"]
    assert older == 2


# --- doing ------------------------------------------------------------------------------------------------------------


async def test_everything_that_is_the_callers_comes_over_and_the_rest_is_counted() -> None:
    world = World()
    async with world.enter(ALICE) as engine:
        told: list[str] = []

        async def progress(done: float, total: float | None, message: str) -> None:
            told.append(f"{done:g}/{total} {message}")

        report = await engine.migrate(feed=old_store(), projects=["My_Proj"], agents=[OLD], progress=progress)
    assert report.read == 17
    assert report.migrated == 10
    assert report.by_scope == {"private": 4, "personal": 3, "team": 2, "public": 1}
    assert report.skipped == {
        "private memory of another agent": 1,
        "expired": 1,
        "older copy of another record": 1,
        "empty": 1,
        "not a record": 1,
        "not a record that can be stored here": 1,
        "a key of no known layout": 1,
    }
    assert sum(report.skipped.values()) + report.migrated == report.read
    assert told[-1] == "10/10.0 10 of 10 memories migrated"
    assert "about" not in json.dumps(report.as_json())
    found = stored(world)
    assert set(found) == {"p-own", "p-core", "p-old", "p-twice", "t-own", "t-bob", "u-own", "u-core", "u-old", "g-bob"}
    address, old = found["p-old"]
    assert address == f"{project_bucket(ALICE.project_id)} agents.{ALICE.agent_id}.m.p-old"
    assert (old["agentId"], old["projectId"]) == (ALICE.agent_id, ALICE.project_id)
    assert old["migratedFrom"] == {"agentId": OLD, "projectId": "My_Proj"}
    assert old["metadata"] == {"source": "elsewhere"}
    assert found["p-core"][0].split()[1].startswith("core.")
    assert found["u-own"][1]["scope"] == "personal"
    assert "migratedFrom" not in found["u-own"][1]
    assert found["t-own"][1]["scope"] == "team"
    assert found["t-bob"][1]["migratedFrom"]["agentId"] == BOB.agent_id
    assert found["p-twice"][1]["updatedAt"] == "2026-01-01T11:30:00.000Z"


async def test_a_second_run_changes_nothing_and_brings_nothing_back() -> None:
    world = World()
    async with world.enter(ALICE) as engine:
        await engine.migrate(feed=old_store(), projects=["My_Proj"], agents=[OLD])
        await engine.forget(memory_id="p-own")
        before = stored(world)
        report = await engine.migrate(feed=old_store(), projects=["My_Proj"], agents=[OLD])
        assert report.migrated == 0
        assert (report.skipped["here already"], report.skipped["forgotten here"]) == (9, 1)
        assert stored(world) == before


async def test_a_dry_run_says_the_same_and_writes_nothing() -> None:
    world = World()
    async with world.enter(ALICE) as engine:
        dry = await engine.migrate(feed=old_store(), projects=["My_Proj"], agents=[OLD], dry_run=True)
        assert stored(world) == {}
        wet = await engine.migrate(feed=old_store(), projects=["My_Proj"], agents=[OLD])
        assert dry.as_json() | {"dryRun": False} == wet.as_json()


async def test_an_operator_leaves_what_is_others_theirs() -> None:
    world = World()
    async with world.enter(ALICE) as engine, world.enter(BOB) as bob:
        await engine.migrate(feed=old_store(), projects=["My_Proj"], operator=True)
        found = stored(world)
        assert found["t-bob"][0] == f"{project_bucket(ALICE.project_id)} shared.{BOB.agent_id}.m.t-bob"
        assert found["g-bob"][0] == f"{GLOBAL_BUCKET} shared.{BOB.agent_id}.m.g-bob"
        assert "p-bob" not in found
        assert "p-old" not in found
        assert (await bob.forget(memory_id="t-bob")).deleted


async def test_a_second_agent_does_not_double_what_the_first_has_brought() -> None:
    world = World()
    async with world.enter(ALICE) as engine, world.enter(BOB) as bob:
        await engine.migrate(feed=old_store(), projects=["My_Proj"])
        report = await bob.migrate(feed=old_store(), projects=["My_Proj"])
        assert report.by_scope == {"private": 1}


async def test_secrets_are_screened_on_the_way() -> None:
    broker = MemoryBroker()
    broker.buckets[PROJECT] = bucket = MemoryBucket(broker, PROJECT)
    secret = "hunter2" + "hunter2"
    bucket.plant(f"agents/{ALICE.agent_id}/longterm/x", record("x", content=f"password={secret}"))
    for policy, migrated in ((ScanPolicy.WARN, 1), (ScanPolicy.BLOCK, 0), (ScanPolicy.REDACT, 1)):
        world = World()
        async with world.enter(ALICE, scan=policy) as engine:
            report = await engine.migrate(feed=broker, projects=["My_Proj"])
            assert report.migrated == migrated
            assert report.warnings == migrated
            assert secret not in json.dumps(report.as_json())
            assert (secret in json.dumps(stored(world))) == (policy is ScanPolicy.WARN)


async def test_quotas_hold_and_are_told() -> None:
    world = World()
    async with world.enter(ALICE, limits=Limits(space=2)) as engine:
        report = await engine.migrate(feed=old_store(), projects=["My_Proj"], agents=[OLD])
        assert report.by_scope["private"] == 2
        assert report.skipped["not stored (STORAGE_FULL)"] == 2
