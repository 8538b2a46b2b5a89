"""Acceptance checks 36-40: memories leave for a file and come back, and never into anybody else's space."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from pattern.testing import ManualClock
from pattern.testing.agents import Agent, Agents
from tests.stories.conftest import RawStore
from tests.stories.files import NOW, PATTERN_0_4, envelope, item, read, refused_by_pattern_0_4, write

PLACES = [
    ("private", "longterm"),
    ("private", "core"),
    ("private", "recent"),
    ("private", "tasks"),
    ("personal", "core"),
    ("personal", "longterm"),
    ("team", "decisions"),
    ("team", "learnings"),
    ("public", "architecture"),
]


async def fill(agent: Agent) -> list[str]:
    """Store one memory of every kind of place; returns their ids."""
    memories = [
        {
            "content": f"{scope}/{category} żółw 🐢\n",
            "scope": scope,
            "category": category,
            "metadata": {"tags": ["t"], "priority": 3, "source": "s", "free": {"deep": [1, None, "x"]}},
        }
        for scope, category in PLACES
    ]
    return (await agent.call("remember-bulk", memories=memories))["memoryIds"]


def places(file: dict[str, Any]) -> list[tuple[str, str]]:
    return [(memory["scope"], memory["category"]) for memory in file["memories"]]


# --- what an export is ------------------------------------------------------------------------------------------------


@pytest.mark.requirement("transfer-36.envelope", "transfer-36.path", "transfer-36.personal")
async def test_an_export_is_an_envelope_under_the_name_it_tells(
    agents: Agents, tmp_path: Path, manual_clock: ManualClock
) -> None:
    me = await agents(clock=manual_clock)
    idents = await fill(me)
    done = await me.call("export-memories")

    path = tmp_path / "memories-backup-2026-01-02T03-04-05-000Z.json"
    assert done == {"exported": len(PLACES), "filepath": str(path), "bytes": path.stat().st_size}
    file = read(path)
    assert list(file) == ["version", "exportedAt", "projectId", "agentId", "memories"]
    assert {name: file[name] for name in list(file)[:4]} == {
        "version": "1.0",
        "exportedAt": "2026-01-02T03:04:05.000Z",
        "projectId": "project-p",
        "agentId": "agent-a",
    }
    assert {memory["id"] for memory in file["memories"]} == set(idents)
    assert ("personal", "core") in places(file)
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.requirement("transfer-36.path", "deliver-7.files")
async def test_a_relative_path_lies_in_the_allowed_directory_and_no_path_leads_out(
    agents: Agents, tmp_path: Path
) -> None:
    allowed, outside = tmp_path / "allowed", tmp_path / "outside"
    (allowed / "deeper").mkdir(parents=True)
    outside.mkdir()
    (allowed / "link").symlink_to(outside)
    (allowed / "link.json").symlink_to(outside / "target.json")
    (outside / "theirs.json").write_text(json.dumps(envelope(item())))
    me = await agents(env={"PATTERN_FILES_DIR": str(allowed)})
    await me.call("remember", content="x")

    within = {"deeper/own.json": "deeper/own.json", str(allowed / "own.json"): "own.json", "deeper/../o.json": "o.json"}
    for given, meant in within.items():
        done = await me.call("export-memories", outputPath=given)
        assert done["filepath"] == str(allowed / meant)
        assert await me.call("import-memories", inputPath=given) is not None
    for way in ("../outside/theirs.json", str(outside / "theirs.json"), "link/theirs.json", "link.json", "/etc/passwd"):
        for tool, field in (("export-memories", "outputPath"), ("import-memories", "inputPath")):
            failure = await me.refused(tool, **{field: way})
            assert (failure.code, failure.details["field"]) == ("VALIDATION_ERROR", field), way
            assert str(allowed) in failure.message, way
    assert [path.name for path in outside.iterdir()] == ["theirs.json"]


@pytest.mark.requirement("transfer-36.filters")
async def test_filters_of_an_export_are_combined(agents: Agents, tmp_path: Path, manual_clock: ManualClock) -> None:
    me = await agents(clock=manual_clock)
    await fill(me)
    since = manual_clock.now().isoformat()
    manual_clock.advance(60)
    for scope, category in PLACES:
        await me.call("remember", content="later", scope=scope, category=category)

    async def exported(**arguments: Any) -> list[tuple[str, str]]:
        return places(read((await me.call("export-memories", outputPath="f.json", **arguments))["filepath"]))

    assert sorted(await exported()) == sorted(PLACES * 2)
    assert sorted(await exported(since=since)) == sorted(PLACES)
    assert await exported(scope="team", category="decisions") == [("team", "decisions")] * 2
    assert await exported(scope="team", category="decisions", since=since) == [("team", "decisions")]
    assert await exported(scope="personal", category="decisions") == []
    manual_clock.advance(86_400 - 30)  # the earlier ones have expired, the later ones have not
    lasting = [place for place in PLACES if place[1] not in ("recent", "tasks")]
    assert sorted(await exported()) == sorted(PLACES + lasting)
    assert sorted(await exported(includeExpired=True)) == sorted(PLACES * 2)
    assert await exported(includeExpired=True, category="tasks", since=since) == [("private", "tasks")]
    failure = await me.refused("export-memories", scope="nowhere")
    assert (failure.code, failure.details["field"]) == ("VALIDATION_ERROR", "scope")


@pytest.mark.requirement("transfer-36.date")
@pytest.mark.parametrize("since", ["yesterday", "2026-13-01", "", "2026-01-01T25:00:00Z"])
async def test_a_bad_date_of_an_export_is_refused_and_no_file_is_made(
    agents: Agents, tmp_path: Path, since: str
) -> None:
    me = await agents()
    failure = await me.refused("export-memories", since=since, outputPath="x.json")
    assert (failure.code, failure.details["field"]) == ("VALIDATION_ERROR", "since")
    assert "2026-01-31T12:00:00Z" in failure.message
    assert "x.json" not in os.listdir(tmp_path)


# --- other programs ---------------------------------------------------------------------------------------------------


@pytest.mark.requirement("transfer-37.in")
async def test_a_file_of_pattern_0_4_comes_in_whole_and_goes_out_the_same(
    agents: Agents, raw: RawStore, tmp_path: Path, manual_clock: ManualClock
) -> None:
    assert refused_by_pattern_0_4(PATTERN_0_4) == []
    (tmp_path / "old.json").write_text(PATTERN_0_4, encoding="utf-8")
    me = await agents(clock=manual_clock)
    done = await me.call("import-memories", inputPath="old.json")
    assert (done["imported"], done["skipped"], done["errors"]) == (4, 0, [])
    assert "migrate" in done["warnings"][0]["description"], "that its personal memories are missing is said"

    theirs = {memory["id"]: memory for memory in json.loads(PATTERN_0_4)["memories"]}
    assert {record["id"]: record for record in (await raw.everywhere()).values()} == theirs
    await me.call("export-memories", outputPath="new.json")
    assert {memory["id"]: memory for memory in read(tmp_path / "new.json")["memories"]} == theirs


@pytest.mark.requirement("transfer-37.in")
async def test_the_team_memories_of_others_in_an_old_file_come_in_when_they_are_taken_over(
    agents: Agents, tmp_path: Path
) -> None:
    theirs = item(agentId="another", scope="shared", category="decisions", content="theirs")
    name = write(tmp_path / "old.json", theirs, item(content="mine"))
    me = await agents()
    first = await me.call("import-memories", inputPath=name)
    assert (first["imported"], first["skipped"]) == (1, 1)
    again = await me.call("import-memories", inputPath=name, takeOwnership=True)
    assert (again["imported"], again["skipped"]) == (1, 1)
    memory = (await me.call("get-memory", memoryId=theirs["id"]))["memory"]
    assert (memory["agentId"], memory["scope"]) == ("agent-a", "team")


@pytest.mark.requirement("transfer-37.out")
async def test_our_file_passes_the_rules_of_patterns_importer(agents: Agents, tmp_path: Path) -> None:
    me = await agents()
    await fill(me)
    await me.call("export-memories", outputPath="ours.json")
    text = (tmp_path / "ours.json").read_text(encoding="utf-8")
    assert refused_by_pattern_0_4(text) == []
    assert text == json.dumps(json.loads(text), indent=2, ensure_ascii=False), "indented by two, no line end"
    order = ["id", "agentId", "projectId", "scope", "category", "content", "metadata", "createdAt", "updatedAt"]
    for memory in json.loads(text)["memories"]:
        assert list(memory) == [*order, *(["expiresAt"] if "expiresAt" in memory else []), "version"]


@pytest.mark.requirement("transfer-37.round")
async def test_what_was_exported_and_wiped_comes_back_identical(agents: Agents, raw: RawStore, tmp_path: Path) -> None:
    me = await agents()
    await fill(me)
    before = await raw.everywhere()
    await me.call("export-memories", outputPath="all.json")
    await me.close()
    await raw.wipe()

    again = await agents()
    assert (await again.call("recall-context"))["total"] == 0
    done = await again.call("import-memories", inputPath="all.json")
    assert (done["imported"], done["skipped"]) == (len(PLACES), 0)
    assert len(before) == len(PLACES)
    assert await raw.everywhere() == before
    assert (await again.call("recall-context", atLeast=done["position"]))["total"] == len(PLACES)


# --- what exists already ----------------------------------------------------------------------------------------------


@pytest.mark.requirement("transfer-38.again", "transfer-38.overwrite")
async def test_a_second_import_skips_what_is_there_and_overwrites_when_told(
    agents: Agents, raw: RawStore, tmp_path: Path
) -> None:
    me = await agents()
    idents = await fill(me)
    await me.call("export-memories", outputPath="all.json")
    before = await raw.everywhere()
    again = await me.call("import-memories", inputPath="all.json")
    assert (again["imported"], again["skipped"]) == (0, len(PLACES))
    assert len(again["errors"]) == len(PLACES)
    for ident in idents:
        (message,) = [message for message in again["errors"] if ident in message]
        assert "already exists" in message
        assert "overwriteExisting" in message

    changed = read(tmp_path / "all.json")
    for memory in changed["memories"]:
        memory["content"] += "changed"
    (tmp_path / "changed.json").write_text(json.dumps(changed))
    assert await raw.everywhere() == before
    over = await me.call("import-memories", inputPath="changed.json", overwriteExisting=True)
    assert (over["imported"], over["skipped"], over["errors"]) == (len(PLACES), 0, [])
    after = await raw.everywhere()
    assert after.keys() == before.keys()
    assert all(after[key]["content"] == record["content"] + "changed" for key, record in before.items())


@pytest.mark.requirement("transfer-38.strict")
async def test_a_strict_import_stops_at_the_first_bad_record(agents: Agents, tmp_path: Path) -> None:
    me = await agents()
    good, bad, never = item("a" * 8), item("b" * 8, content=" "), item("c" * 8)
    name = write(tmp_path / "in.json", good, bad, never)
    failure = await me.refused("import-memories", inputPath=name, skipInvalid=False)
    assert failure.code == "VALIDATION_ERROR"
    assert "b" * 8 in failure.message
    assert failure.details | {"index": 1, "imported": 1, "skipped": 0} == failure.details
    recalled = await me.call("recall-context")
    assert [memory["id"] for memory in recalled["private"]] == [good["id"]]


# --- bad files --------------------------------------------------------------------------------------------------------

BROKEN = {
    "no JSON": b"{not json",
    "half a file": json.dumps(envelope(item())).encode()[:-40],
    "no object": b"[]",
    "nothing": b"",
    "no UTF-8": b'{"version": "\xff"}',
    **{f"no {name}": json.dumps(envelope(item(), **{name: None})).encode() for name in envelope()},
    "a version that is a number": json.dumps(envelope(item(), version=1)).encode(),
    "memories that are an object": json.dumps(envelope(memories={})).encode(),
}


@pytest.mark.requirement("transfer-39.fatal", "scenario-13")
async def test_a_file_that_is_none_is_refused_as_a_whole(agents: Agents, tmp_path: Path) -> None:
    me = await agents()
    (tmp_path / "folder").mkdir()
    paths = {"missing.json": "does not exist", "folder": "directory", "": "path", "missing/deeper.json": "not exist"}
    for path, said in paths.items():
        for strict in (True, False):
            failure = await me.refused("import-memories", inputPath=path, skipInvalid=not strict)
            assert (failure.code, failure.details["field"]) == ("VALIDATION_ERROR", "inputPath"), path
            assert said in failure.message, path
    for what, data in BROKEN.items():
        (tmp_path / "broken.json").write_bytes(data)
        failure = await me.refused("import-memories", inputPath="broken.json")
        assert (failure.code, failure.details["field"]) == ("VALIDATION_ERROR", "inputPath"), what
        assert "about None" not in failure.message, "an error echoes nothing of the file"
        if what.startswith("no ") and what.removeprefix("no ") in envelope():
            assert what.removeprefix("no ") in failure.message, what
    assert (await me.call("recall-context"))["total"] == 0


@pytest.mark.requirement("transfer-39.version", "scenario-13")
async def test_another_version_is_read_with_a_warning_and_no_memories_are_zeros(agents: Agents, tmp_path: Path) -> None:
    me = await agents()
    name = write(tmp_path / "future.json", item(scope="personal"), version="9.9")
    done = await me.call("import-memories", inputPath=name)
    assert (done["imported"], done["skipped"]) == (1, 0)
    (warning,) = done["warnings"]
    assert warning["type"] == "version"
    assert "9.9" in warning["description"]

    none = await me.call("import-memories", inputPath=write(tmp_path / "empty.json"))
    assert none == {"imported": 0, "skipped": 0, "errors": []}


@pytest.mark.requirement("transfer-39.null")
async def test_what_is_no_record_is_one_skipped_item(agents: Agents, tmp_path: Path) -> None:
    me = await agents()
    name = write(tmp_path / "odd.json", None, item("x" * 8), 5, "text", [], {}, {"id": None}, item("y" * 8))
    done = await me.call("import-memories", inputPath=name)
    assert (done["imported"], done["skipped"], len(done["errors"])) == (2, 6, 6)
    assert all("Invalid memory structure: unknown" in error for error in done["errors"])
    failure = await me.refused("import-memories", inputPath=name, skipInvalid=False)
    assert (failure.code, failure.details["index"]) == ("VALIDATION_ERROR", 0)


# --- whose it is ------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("transfer-40.owner", "isolation-43.change")
async def test_nothing_is_planted_in_anybody_elses_space(agents: Agents, raw: RawStore, tmp_path: Path) -> None:
    ben = await agents("ben", user="user-ben", project="other")
    planted = [
        item("private-of-ben", agentId="ben"),
        item("core-of-ben", agentId="ben", category="core"),
        item("team-of-ben", agentId="ben", scope="team", category="decisions"),
        item("public-of-ben", agentId="ben", scope="public", category="decisions"),
        item("own-elsewhere", projectId="other"),
        item("team-elsewhere", projectId="other", scope="team", category="decisions"),
    ]
    name = write(tmp_path / "forged.json", *planted)
    me = await agents()
    done = await me.call("import-memories", inputPath=name)
    assert (done["imported"], done["skipped"]) == (0, len(planted))
    for memory, error in zip(planted, done["errors"], strict=True):
        assert memory["id"] in error
        assert "takeOwnership" in error
    assert await raw.everywhere() == {}

    taken = await me.call("import-memories", inputPath=name, takeOwnership=True)
    assert (taken["imported"], taken["errors"]) == (len(planted), [])
    records = await raw.everywhere()
    assert {key.split(".")[1] for key in records} == {"agent-a"}, "all of it is the importer's now"
    assert {(record["agentId"], record["projectId"]) for record in records.values()} == {("agent-a", "project-p")}
    seen = await ben.call("recall-context", atLeast=taken["position"].split(",")[0])
    assert [memory["id"] for memory in seen["public"]] == ["public-of-ben"]
    assert seen["total"] == 1


@pytest.mark.requirement("transfer-40.owner", "isolation-43.change")
async def test_a_sub_agent_plants_nothing_in_its_parents_space(agents: Agents, raw: RawStore, tmp_path: Path) -> None:
    parent, helper = await agents(), await agents(subagent="explore")
    stored = await parent.call("remember", content="the parent's", category="longterm")
    before = await raw.everywhere()
    name = write(
        tmp_path / "forged.json",
        item("planted"),
        item("planted-core", category="core"),
        item(stored["memoryId"], content="overwritten"),
        item("planted-personal", scope="personal"),
    )
    for arguments in ({}, {"overwriteExisting": True}):
        done = await helper.call("import-memories", inputPath=name, **arguments)
        assert (done["imported"], done["skipped"]) == (0, 4), arguments
        assert await raw.everywhere() == before, arguments

    taken = await helper.call("import-memories", inputPath=name, takeOwnership=True, overwriteExisting=True)
    assert (taken["imported"], taken["skipped"]) == (3, 1), "the parent's own stays as it is"
    new = {key: record for key, record in (await raw.everywhere()).items() if key not in before}
    assert {record["agentId"] for record in new.values()} == {helper.caller.agent_id}
    assert (await raw.everywhere()).items() >= before.items()
    mine = await parent.call("recall-context", atLeast=taken["position"])
    assert [memory["content"] for memory in mine["private"]] == ["the parent's"]
    assert mine["total"] == 1


@pytest.mark.requirement("transfer-40.size")
async def test_oversized_content_of_a_file_is_invalid(agents: Agents, tmp_path: Path) -> None:
    me = await agents()
    fits, too_large = item("fits", content="ż" * 16_384), item("large", content="ż" * 16_384 + "x")
    done = await me.call("import-memories", inputPath=write(tmp_path / "in.json", fits, too_large))
    assert (done["imported"], done["skipped"]) == (1, 1)
    (error,) = done["errors"]
    assert "large" in error
    assert "32769" in error
    assert "32768" in error


@pytest.mark.requirement("transfer-40.category")
async def test_an_id_that_exists_under_another_scope_or_category_exists(
    agents: Agents, raw: RawStore, tmp_path: Path
) -> None:
    me = await agents()
    stored = await me.call("remember", content="first a guess")
    await me.call("export-memories", outputPath="before.json")
    ident = stored["memoryId"]
    await me.call("commit-insight", memoryId=ident)
    before = await raw.everywhere()
    elsewhere = [
        item(ident, category="tasks"),
        item(ident, category="core"),
        item(ident, scope="personal"),
        item(ident, scope="team", category="decisions"),
        item(ident, scope="public", category="decisions"),
    ]
    done = await me.call("import-memories", inputPath="before.json")
    assert (done["imported"], done["skipped"]) == (0, 1), "an old backup doubles nothing"
    for other in elsewhere:
        again = await me.call("import-memories", inputPath=write(tmp_path / "in.json", other))
        assert (again["imported"], again["skipped"]) == (0, 1), other
        assert f"{ident}: already exists (private/longterm)" in again["errors"][0]
    assert await raw.everywhere() == before
    for other in elsewhere:
        over = await me.call("import-memories", inputPath=write(tmp_path / "in.json", other), overwriteExisting=True)
        assert (over["imported"], over["errors"]) == (1, []), other
        (record,) = (await raw.everywhere()).values()
        assert (record["scope"], record["category"]) == (other["scope"], other["category"])


# --- what was forgotten -----------------------------------------------------------------------------------------------


@pytest.mark.requirement("lesson-3.5.import")
@pytest.mark.parametrize("reopened", [False, True])
async def test_an_older_export_does_not_bring_back_what_was_forgotten(
    agents: Agents, tmp_path: Path, *, reopened: bool
) -> None:
    me = await agents()
    idents = await fill(me)
    await me.call("export-memories", outputPath="older.json")
    await me.call("forget-bulk", memoryIds=idents, force=True)
    if reopened:  # the tombstones are in the bucket, not in the memory of a process
        await me.close()
        me = await agents()
    done = await me.call("import-memories", inputPath="older.json")
    assert (done["imported"], done["skipped"]) == (0, len(idents))
    assert all("forgotten" in error and "overwriteExisting" in error for error in done["errors"])
    assert (await me.call("recall-context"))["total"] == 0

    back = await me.call("import-memories", inputPath="older.json", overwriteExisting=True)
    assert (back["imported"], back["errors"]) == (len(idents), [])
    assert (await me.call("recall-context"))["total"] == len(idents)


# --- many -------------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("scenario-13")
async def test_a_thousand_memories_are_exported_at_once_by_several_wiped_and_restored(
    agents: Agents, raw: RawStore, tmp_path: Path
) -> None:
    me = await agents()
    corrupt = [item(f"bad-{number}", category="nothing") for number in range(20)]
    good = [item(f"good-{number}", content=f"number {number}") for number in range(1_000)]
    mixed = [*good[:500], *corrupt, *good[500:]]
    done = await me.call("import-memories", inputPath=write(tmp_path / "in.json", *mixed))
    assert (done["imported"], done["skipped"]) == (1_000, 20)
    before = await raw.everywhere()
    assert len(before) == 1_000

    other = await agents()
    names = ["same.json", "same.json", "one.json", "two.json"]
    exports = await asyncio.gather(
        *(agent.call("export-memories", outputPath=name) for agent, name in zip([me, other] * 2, names, strict=True))
    )
    assert [export["exported"] for export in exports] == [1_000] * 4
    for name in set(names):
        assert {memory["id"] for memory in read(tmp_path / name)["memories"]} == {memory["id"] for memory in good}
    assert [name for name in os.listdir(tmp_path) if name.endswith(".tmp")] == []

    for agent in (me, other):
        await agent.close()
    await raw.wipe()
    again = await agents()
    done = await again.call("import-memories", inputPath="same.json")
    assert (done["imported"], done["skipped"]) == (1_000, 0)
    assert await raw.everywhere() == before


@pytest.mark.requirement("scenario-13")
async def test_a_file_that_lost_its_end_changes_nothing(agents: Agents, raw: RawStore, tmp_path: Path) -> None:
    me = await agents()
    whole = json.dumps(envelope(*(item() for _ in range(50))))
    for length in range(0, len(whole), len(whole) // 10):
        (tmp_path / "cut.json").write_text(whole[:length])
        failure = await me.refused("import-memories", inputPath="cut.json")
        assert failure.code == "VALIDATION_ERROR"
        assert NOW not in failure.message, "an error echoes nothing of the file"
    assert await raw.everywhere() == {}
