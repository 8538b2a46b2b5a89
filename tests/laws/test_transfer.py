"""Export and import: nothing is lost on the way out and back, and nothing lands where its owner did not put it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from identity.agent import Caller
from identity.errors import AccessDenied, InvalidInput, LimitExceeded, LoomError, Unavailable
from identity.keys import Kind
from identity.ports import Entry
from identity.visibility import Scope, space_for
from loomem.core.limits import Limits
from loomem.core.scan import ScanPolicy
from loomem.engine import Engine
from loomem.results import Imported
from loomem.store.files import Files
from tests.laws.worlds import World, agent

NOW = "2026-01-01T11:00:00.000Z"
ALICE = agent("a")
BOB = agent("b")


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files((tmp_path,))


def item(caller: Caller = ALICE, **changes: Any) -> dict[str, Any]:
    """A good item of a file, changed."""
    return {
        "id": "3f0c2a9e-6a52-4c1d-9d57-0e2b7c6a1f10",
        "agentId": caller.agent_id,
        "projectId": caller.project_id,
        "scope": "private",
        "category": "longterm",
        "content": "Example only",
        "createdAt": NOW,
        "updatedAt": NOW,
        "version": 1,
    } | changes


def write(files: Files, *items: object, caller: Caller = ALICE, **changes: Any) -> str:
    """Write a file as this caller might have exported it, and return its name."""
    fields = {
        "version": "1.0",
        "exportedAt": NOW,
        "projectId": caller.project_id,
        "agentId": caller.agent_id,
        "memories": list(items),
    } | changes
    (files.roots[0] / "in.json").write_text(json.dumps(fields))
    return "in.json"


async def import_(engine: Engine, files: Files, *items: object, **options: object) -> Imported:
    return await engine.import_(input_path=write(files, *items), **options)  # type: ignore[arg-type]


def held(world: World) -> dict[str, dict[str, Any]]:
    """Everything all buckets hold, by bucket and key."""
    return {
        f"{name} {entry.key}": json.loads(entry.value)
        for name, bucket in world.broker.buckets.items()
        for entry in bucket.holds()
        if isinstance(entry, Entry)
    }


async def fill(engine: Engine) -> None:
    """Store one memory of every scope and category."""
    for category in ("recent", "tasks", "longterm", "core"):
        for scope in ("private", "personal"):
            await engine.remember(content=f"{scope} {category} ż", scope=scope, category=category)
    for scope in ("team", "public"):
        for category in ("decisions", "architecture", "learnings"):
            metadata = {"tags": ["x"], "priority": 1, "mine": {"deep": [1, None]}}
            await engine.remember(content=f"{scope} {category}", scope=scope, category=category, metadata=metadata)


# --- export -----------------------------------------------------------------------------------------------------------


async def test_an_export_says_what_and_where(files: Files) -> None:
    async with World().enter(files=files) as engine:
        await fill(engine)
        told: list[tuple[float, float | None]] = []

        async def progress(done: float, total: float | None, message: str) -> None:
            assert message
            told.append((done, total))

        result = await engine.export(progress=progress)
        path = files.roots[0] / "memories-backup-2026-01-01T12-00-00-000Z.json"
        assert result.filepath == str(path)
        assert (result.exported, result.bytes, result.warnings) == (14, path.stat().st_size, None)
        assert told[-1] == (14, 14)
        file = json.loads(path.read_text())
        assert list(file) == ["version", "exportedAt", "projectId", "agentId", "memories"]
        scopes = [each["scope"] for each in file["memories"]]
        assert scopes == ["private"] * 4 + ["personal"] * 4 + ["team"] * 3 + ["public"] * 3


async def exported(engine: Engine, files: Files, **filters: object) -> list[str]:
    result = await engine.export(output_path="out.json", **filters)  # type: ignore[arg-type]
    return [
        each["content"] for each in json.loads((files.roots[0] / "out.json").read_text())["memories"][: result.exported]
    ]


async def test_filters_of_an_export_are_combined(files: Files) -> None:
    world = World()
    async with world.enter(files=files) as engine:
        await fill(engine)
        world.clock.move(hours=1)
        await engine.remember(content="later", scope="team", category="decisions")
        assert await exported(engine, files, scope="team", category="decisions", since="2026-01-01T12:00:00Z") == [
            "later"
        ]
        assert await exported(engine, files, scope="shared", category="decisions") == ["team decisions", "later"]
        assert await exported(engine, files, since="2026-01-01T13:00:00Z") == []
        world.clock.move(hours=23.5)
        everything = await exported(engine, files, include_expired=True)
        assert len(everything) - len(await exported(engine, files)) == 4


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("scope", "galaxy"),
        ("category", "x"),
        ("since", "yesterday"),
        ("since", 5),
        ("include_expired", 1),
        ("output_path", 5),
    ],
)
async def test_a_bad_argument_of_an_export_is_named(files: Files, argument: str, value: object) -> None:
    async with World().enter(files=files) as engine:
        with pytest.raises(InvalidInput) as caught:
            await engine.export(**{argument: value})  # type: ignore[arg-type]
        assert caught.value.field == {"include_expired": "includeExpired", "output_path": "outputPath"}.get(
            argument, argument
        )


async def test_an_export_holds_what_the_caller_may_carry_away(files: Files) -> None:
    world, child = World(), agent("a", subagent="scout")
    async with (
        world.enter(files=files) as engine,
        world.enter(BOB, files=files) as bob,
        world.enter(child, files=files) as sub,
    ):
        await fill(engine)
        await bob.remember(content="bob's private")
        await bob.remember(content="bob's team", category="decisions")
        await sub.remember(content="scout's own")
        await engine.recall()
        assert "bob's team" in await exported(engine, files)
        assert "bob's private" not in await exported(engine, files)
        mine = await exported(sub, files)
        assert "scout's own" in mine
        assert not [content for content in mine if content.startswith(("private", "personal"))]


async def test_unreadable_records_are_told_of(files: Files) -> None:
    world = World()
    async with world.enter(files=files) as engine:
        await engine.remember(content="fine")
        space = space_for(ALICE, Scope.PRIVATE)
        world.broker.buckets[space.bucket].plant(space.key(Kind.MEMORY, "x"), b"rubbish")
        await engine.recall()
        result = await engine.export()
        assert result.exported == 1
        assert result.warnings is not None
        assert result.warnings[0].type == "corrupt"


async def test_without_a_directory_there_are_no_files() -> None:
    async with World().enter() as engine:
        with pytest.raises(InvalidInput):
            await engine.export()
        with pytest.raises(InvalidInput):
            await engine.import_(input_path="x")


# --- import -----------------------------------------------------------------------------------------------------------


async def test_out_and_back_nothing_changes(files: Files) -> None:
    world = World()
    async with world.enter(files=files) as engine:
        await fill(engine)
        other_project = agent("c", project="q")
        async with world.enter(other_project) as elsewhere:
            await elsewhere.remember(content="another agent's, in the user's personal space", category="core")
        before = held(world)
        await engine.recall()
        await engine.export(output_path="out.json")
    wiped = World()
    async with wiped.enter(files=files) as engine:
        result = await engine.import_(input_path="out.json")
        assert (result.imported, result.skipped, result.errors, result.warnings) == (15, 0, [], None)
        assert held(wiped) == before
        again = await engine.import_(input_path="out.json")
        assert (again.imported, again.skipped) == (0, 15)
        for message in again.errors:
            assert "already exists" in message
            assert "overwriteExisting" in message
        assert {m.split(":")[0] for m in again.errors} == {record["id"] for record in before.values()}
        over = await engine.import_(input_path="out.json", overwrite_existing=True)
        assert (over.imported, over.skipped) == (15, 0)
        assert held(wiped) == before


async def test_unknown_fields_and_ids_that_are_no_uuids_come_along(files: Files) -> None:
    world = World()
    async with world.enter(files=files) as engine:
        result = await import_(engine, files, item(id="old/1.x", trust={"level": 3}))
        assert (result.imported, result.errors) == (1, [])
        (record,) = held(world).values()
        assert (record["id"], record["trust"]) == ("old/1.x", {"level": 3})
        assert (await engine.get(memory_id="old/1.x", at_least=result.position)).memory["trust"] == {"level": 3}


async def test_overwriting_takes_the_record_of_the_file(files: Files) -> None:
    world = World()
    async with world.enter(files=files) as engine:
        await import_(engine, files, item())
        assert (await import_(engine, files, item(content="new"))).imported == 0
        assert (await import_(engine, files, item(content="new"), overwrite_existing=True)).imported == 1
        (record,) = held(world).values()
        assert record["content"] == "new"


@pytest.mark.parametrize(
    ("scope", "category"),
    [
        ("private", "core"),
        ("private", "recent"),
        ("personal", "longterm"),
        ("team", "decisions"),
        ("public", "learnings"),
    ],
)
async def test_one_id_is_one_record_across_scopes_and_categories(files: Files, scope: str, category: str) -> None:
    world = World()
    async with world.enter(files=files) as engine:
        await import_(engine, files, item())
        other = item(scope=scope, category=category)
        refused = await import_(engine, files, other)
        assert (refused.imported, refused.skipped) == (0, 1)
        assert item()["id"] in refused.errors[0]
        assert "already exists (private/longterm)" in refused.errors[0]
        assert (await import_(engine, files, other, overwrite_existing=True)).imported == 1
        (record,) = held(world).values()
        assert (record["scope"], record["category"]) == (scope, category)


async def test_an_id_appears_once_in_a_file(files: Files) -> None:
    async with World().enter(files=files) as engine:
        result = await import_(engine, files, item(), item(content="again"), overwrite_existing=True)
        assert (result.imported, result.skipped) == (1, 1)
        assert "twice" in result.errors[0]


async def test_what_was_forgotten_is_not_brought_back_unasked(files: Files) -> None:
    async with World().enter(files=files) as engine:
        await import_(engine, files, item())
        await engine.forget(memory_id=item()["id"])
        refused = await import_(engine, files, item(scope="personal"))
        assert (refused.imported, refused.skipped) == (0, 1)
        assert item()["id"] in refused.errors[0]
        assert "overwriteExisting" in refused.errors[0]
        assert (await import_(engine, files, item(), overwrite_existing=True)).imported == 1
        await import_(engine, files, item(), overwrite_existing=True)
        assert (await import_(engine, files, item())).errors[0].count("already exists") == 1


STRANGE = [
    item(BOB),
    item(BOB, category="core"),
    item(agent("a", project="q")),
    item(BOB, scope="team", category="decisions"),
    item(agent("a", project="q"), scope="team", category="decisions"),
    item(BOB, scope="public", category="learnings"),
]


@pytest.mark.parametrize("strange", STRANGE)
async def test_what_is_another_agents_or_projects_is_refused_or_becomes_ones_own(
    files: Files, strange: dict[str, Any]
) -> None:
    world = World()
    async with world.enter(files=files) as engine:
        refused = await import_(engine, files, strange)
        assert (refused.imported, refused.skipped, held(world)) == (0, 1, {})
        assert "takeOwnership" in refused.errors[0]
        with pytest.raises(AccessDenied):
            await import_(engine, files, strange, skip_invalid=False)
        taken = await import_(engine, files, strange, take_ownership=True)
        assert taken.imported == 1
        ((address, record),) = held(world).items()
        assert (record["agentId"], record["projectId"]) == (ALICE.agent_id, ALICE.project_id)
        space = space_for(ALICE, Scope(strange["scope"]), core=strange["category"] == "core")
        assert address == f"{space.bucket} {space.key(Kind.MEMORY, strange['id'])}"


async def test_a_personal_memory_out_of_a_strangers_file_is_refused(files: Files) -> None:
    personal = item(BOB, scope="personal", category="core")
    async with World().enter(files=files) as engine:
        theirs = write(files, personal, caller=BOB)
        assert (await engine.import_(input_path=theirs)).skipped == 1
        assert (await engine.import_(input_path=theirs, take_ownership=True)).imported == 1


async def test_anothers_existing_memory_is_never_overwritten(files: Files) -> None:
    world = World()
    async with world.enter(files=files) as engine, world.enter(BOB) as bob:
        await bob.remember(content="bob's team", category="decisions")
        await engine.recall()
        await engine.export(output_path="out.json")
        before = held(world)
        assert (await engine.import_(input_path="out.json")).skipped == 1
        same = await engine.import_(input_path="out.json", overwrite_existing=True)
        assert (same.imported, same.errors) == (1, [])  # it is there, exactly so
        path = files.roots[0] / "out.json"
        path.write_text(path.read_text().replace("bob's team", "forged"))
        forged = await engine.import_(input_path="out.json", overwrite_existing=True, take_ownership=True)
        assert (forged.imported, forged.skipped) == (0, 1)
        assert held(world) == before


async def test_a_sub_agent_plants_nothing_in_its_parents_space(files: Files) -> None:
    world, child = World(), agent("a", subagent="scout")
    async with world.enter(child, files=files) as sub:
        assert (await import_(sub, files, item(category="core"))).skipped == 1
        assert held(world) == {}


async def test_bad_items_are_skipped_and_named_and_the_others_come_in(files: Files) -> None:
    good = [item(id=f"good-{i}") for i in range(3)]
    bad = [
        None,
        "text",
        item(id="big", content="x" * 40_000),
        item(id="blank", content=" "),
        item(id="odd", scope="team"),
        item(id="gone", category="recent", expiresAt="2026-01-01T11:59:59.000Z"),
    ]
    async with World().enter(files=files) as engine:
        result = await import_(engine, files, good[0], *bad, *good[1:])
        assert (result.imported, result.skipped) == (3, len(bad))
        assert [error.split(":")[0] for error in result.errors] == [
            "Invalid memory structure",
            "Invalid memory structure",
            "big",
            "Invalid memory structure",
            "odd",
            "gone",
        ]


async def test_the_first_bad_item_stops_a_strict_import(files: Files) -> None:
    world = World()
    async with world.enter(files=files) as engine:
        with pytest.raises(LoomError) as caught:
            await import_(engine, files, item(id="one"), None, item(id="two"), skip_invalid=False)
        assert caught.value.code == "VALIDATION_ERROR"
        assert caught.value.details["index"] == 1
        assert caught.value.details["imported"] == 1
        assert [record["id"] for record in held(world).values()] == ["one"]


async def test_a_file_without_memories_gives_zeros_and_another_version_a_warning(files: Files) -> None:
    async with World().enter(files=files) as engine:
        empty = await import_(engine, files)
        assert (empty.imported, empty.skipped, empty.errors, empty.position, empty.warnings) == (0, 0, [], None, None)
        newer = await engine.import_(input_path=write(files, item(scope="personal"), version="9.9"))
        assert newer.imported == 1
        assert newer.warnings is not None
        assert [w.type for w in newer.warnings] == ["version"]
        assert "9.9" in newer.warnings[0].description


async def test_a_file_without_personal_memories_is_remarked(files: Files) -> None:
    async with World().enter(files=files) as engine:
        result = await import_(engine, files, item())
        assert result.warnings is not None
        assert [w.type for w in result.warnings] == ["no-personal"]


async def test_items_are_scanned_like_any_write(files: Files) -> None:
    secret = "hunter2" + "hunter2"
    leaky = item(content=f"password={secret}", metadata={"source": f"pwd={secret}"}, note={"password": secret})
    told = {}
    for policy in ScanPolicy:
        world = World()
        async with world.enter(files=files, scan=policy) as engine:
            result = await import_(engine, files, item(id="first", scope="personal"), leaky)
            told[policy] = [(w.index, w.field) for w in result.warnings or []]
            stored = json.dumps(held(world))
            assert (secret in stored) == (policy in (ScanPolicy.OFF, ScanPolicy.WARN))
            assert secret not in json.dumps(result.as_json())
            assert result.imported == (1 if policy is ScanPolicy.BLOCK else 2)
    fields = [(1, "content"), (1, "metadata.source"), (1, "note.password")]
    assert told == {"off": [], "warn": fields, "redact": fields, "block": []}


async def test_limits_hold_in_an_import(files: Files) -> None:
    limits = Limits(core=2, space=3)
    cores = [item(id=f"core-{i}", category="core") for i in range(4)]
    async with World().enter(files=files, limits=limits) as engine:
        result = await import_(engine, files, *cores)
        assert (result.imported, result.skipped) == (2, 2)
        assert "core-2: 2 of 2 core memories" in result.errors[0]
        rest = [item(id=f"more-{i}") for i in range(3)]
        assert (await import_(engine, files, *rest)).imported == 1
        with pytest.raises(LimitExceeded):
            await import_(engine, files, item(id="last"), skip_invalid=False)


async def test_overwriting_does_not_pass_by_the_limit_of_core(files: Files) -> None:
    limits = Limits(core=1)
    async with World().enter(files=files, limits=limits) as engine:
        those = [item(id=f"p-{i}", scope="personal") for i in range(3)]
        assert (await import_(engine, files, *those)).imported == 3
        cores = [each | {"category": "core"} for each in those]
        result = await import_(engine, files, *cores, overwrite_existing=True)
        assert (result.imported, result.skipped) == (1, 2)


async def test_thousands_are_written_in_batches(files: Files) -> None:
    world = World()
    async with world.enter(files=files) as engine:
        result = await import_(engine, files, *(item(id=f"m-{i}", scope="personal") for i in range(1_001)))
        assert (result.imported, result.skipped) == (1_001, 0)
        assert sum(bucket.writes for bucket in world.broker.buckets.values()) <= 10


async def test_a_batch_that_fails_is_made_one_by_one(files: Files) -> None:
    world = World()
    async with world.enter(files=files) as engine:
        await engine.recall()
        world.broker.fail_next("before", Unavailable("no batches here"))
        assert (await import_(engine, files, item(id="one"), item(id="two"))).imported == 2
        world.broker.fail_next("after", Unavailable("answer lost"))
        assert (await import_(engine, files, item(id="three"), item(id="four"))).imported == 2
        assert len(held(world)) == 4


async def test_an_outage_ends_an_import_and_tells_how_far_it_came(files: Files) -> None:
    world = World()
    async with world.enter(files=files) as engine:
        await engine.recall()
        world.broker.fail_next("before", Unavailable())
        world.broker.fail_next("before", Unavailable())
        with pytest.raises(Unavailable) as caught:
            await import_(engine, files, item(id="one"), item(id="two"))
        assert (caught.value.details["imported"], caught.value.details["index"]) == (0, 0)


@pytest.mark.parametrize(
    ("argument", "field"),
    [
        ({"input_path": None}, "inputPath"),
        ({"input_path": 5}, "inputPath"),
        ({"input_path": "nowhere.json"}, "inputPath"),
        ({"input_path": "."}, "inputPath"),
        ({"input_path": "../../etc/passwd"}, "inputPath"),
        ({"overwrite_existing": "yes"}, "overwriteExisting"),
        ({"skip_invalid": 1}, "skipInvalid"),
        ({"take_ownership": 0}, "takeOwnership"),
    ],
)
async def test_a_bad_argument_of_an_import_is_named(files: Files, argument: dict[str, Any], field: str) -> None:
    async with World().enter(files=files) as engine:
        with pytest.raises(InvalidInput) as caught:
            await engine.import_(**({"input_path": write(files, item())} | argument))  # type: ignore[arg-type]
        assert caught.value.field == field


PATTERN_0_4 = """{
  "version": "1.0",
  "exportedAt": "2025-11-30T10:00:00.000Z",
  "projectId": "p",
  "agentId": "AGENT",
  "memories": [
    {
      "id": "0b7d7c2e-8d1f-4a53-b3e2-4a1f0f1d2c3b",
      "agentId": "AGENT",
      "projectId": "p",
      "scope": "private",
      "category": "recent",
      "content": "Multi\\nline \\"quoted\\" ż 🔐",
      "metadata": {
        "tags": [],
        "custom": {}
      },
      "createdAt": "2025-11-29T10:00:00.000Z",
      "updatedAt": "2025-11-29T10:00:00.000Z",
      "expiresAt": "2026-11-30T10:00:00.000Z",
      "version": 1
    },
    {
      "id": "1c8e8d3f-9e20-4b64-84f3-5b201a2e3d4c",
      "agentId": "AGENT",
      "projectId": "p",
      "scope": "team",
      "category": "architecture",
      "content": "Decided",
      "createdAt": "2025-11-29T10:00:00.000Z",
      "updatedAt": "2025-11-29T10:00:00.000Z",
      "version": 1
    }
  ]
}""".replace("AGENT", ALICE.agent_id)
"""A file as Pattern 0.4.0 writes it."""


async def test_a_file_of_pattern_0_4_comes_in_whole_and_goes_out_the_same(files: Files) -> None:
    (files.roots[0] / "old.json").write_text(PATTERN_0_4, encoding="utf-8")
    async with World().enter(files=files) as engine:
        result = await engine.import_(input_path="old.json")
        assert (result.imported, result.skipped) == (2, 0)
        await engine.export(output_path="new.json")
    ours = (files.roots[0] / "new.json").read_text(encoding="utf-8")
    assert ours == PATTERN_0_4.replace("2025-11-30T10:00:00.000Z", "2026-01-01T12:00:00.000Z", 1)
