"""The record of changes as people see it, and purging from the command line."""

from __future__ import annotations

import asyncio
import json
import signal
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest

from loomem.core.audit.lines import Line, Shown
from loomem.nats.audit import AuditStream
from pattern.testing.accounts import NatsAccount
from pattern.testing.agents import Agents
from tests.contracts.audit_kit import all_recorded, recording, told
from tests.contracts.workers_kit import linked
from tests.stories.served import environment
from tests.stories.shell import Shell


async def on_record(url: str) -> list[Shown]:
    async with linked(url) as link:
        async with recording(link) as services:
            await all_recorded(link, services)
        return await told(link)


@pytest.mark.requirement("audit-actions")
async def test_each_thing_that_is_done_is_on_record_as_what_it_is(agents: Agents, nats_account: NatsAccount) -> None:
    me = await agents()
    ident = (await me.call("remember", content="walnut words"))["memoryId"]
    await me.call("commit-insight", memoryId=ident, targetScope="personal")
    shared = await me.call("remember", content="walnut words", scope="private", category="longterm")
    team = (await me.call("share-learning", memoryId=shared["memoryId"]))["teamMemoryId"]
    fact = (await me.call("memory_store", content="walnut words"))["memoryId"]
    await me.call("memory_delete", chunk_id=fact)
    await me.call("forget", memoryId=ident)
    await me.call("export-memories")
    found = await on_record(nats_account.url)
    by_id = {each: [one.action for one in found if one.id == each] for each in (ident, team, fact)}
    assert sorted(by_id[ident]) == ["committed", "forgotten", "moved", "stored"]
    assert by_id[team] == ["shared"]
    assert by_id[fact] == ["stored", "deleted"]
    exported = [one for one in found if one.action == "exported"]
    assert [sorted(one.details or {}) for one in exported] == [["file", "memories"]]
    assert all(one.at and one.agent for one in found)
    assert all(one.revision and one.project and one.space and one.owner for one in found if one.id)
    assert "walnut" not in json.dumps([one.action + str(one.details) + str(one.id) for one in found])


@pytest.mark.requirement("audit-guard", "audit-superseded")
async def test_whose_place_was_taken_and_whose_was_not_is_on_record(agents: Agents, nats_account: NatsAccount) -> None:
    me = await agents()
    old = (await me.call("memory_store", content="The cellar holds green paint"))["memoryId"]
    new = (await me.call("memory_store", content="Nobody sings on the bridge", supersedes=old))["memoryId"]
    trusted = (
        await me.call("remember", content="Seven horses graze near Lyon", scope="personal", category="longterm")
    )["memoryId"]
    blocked = (await me.call("memory_store", content="Bread tastes better warm", supersedes=trusted))["memoryId"]
    found = await on_record(nats_account.url)
    assert [(one.id, one.by) for one in found if one.action == "superseded"] == [(old, new)]
    assert [
        (one.id, one.by, one.trust, one.by_trust, one.context) for one in found if one.action == "trust_guard_blocked"
    ] == [(trusted, blocked, "none", "a2", "store")]


@pytest.mark.timeout(180)
@pytest.mark.requirement("audit-command", "purge-command", "purge-dry")
async def test_the_record_and_a_purge_on_the_command_line(nats_account: NatsAccount, tmp_path: Path) -> None:
    shell = Shell(
        tmp_path, {"NATS_URL": nats_account.url, "PATTERN_NODE": "off", "PATTERN_HOME": str(tmp_path / "home")}
    )

    async def run(*arguments: str, code: int = 0) -> str:
        done = await asyncio.to_thread(shell.run, *arguments)
        assert done.returncode == code, done.stderr
        return done.stdout

    nothing = await asyncio.to_thread(shell.run, "audit")
    assert (nothing.returncode, nothing.stdout) == (0, "")
    assert "Nothing is on record yet" in nothing.stderr
    ident = json.loads(await run("remember", "walnuts", "--scope", "personal", "--category", "longterm", "--json"))[
        "memoryId"
    ]
    copy = tmp_path / "home" / "views" / "copy.sqlite"
    _copied(copy, ident)
    assert f"Would be purged: {ident}" in await run("purge", ident)
    await run("get", ident)
    receipt: dict[str, Any] = json.loads(await run("purge", ident, "--yes", "--json"))
    assert receipt["verified"]
    assert receipt["warmCopies"] == 2
    assert [row["id"] for row in receipt["purged"]] == [ident]
    assert b"walnuts" not in copy.read_bytes()
    await run("get", ident, code=4)
    await run("purge", ident, "--yes", code=4)
    await run("purge", code=2)
    await run("audit", "--since", "yesterday-ish", code=2)
    async with linked(nats_account.url) as link, recording(link) as services:
        await all_recorded(link, services)
    lines = [json.loads(line) for line in (await run("audit", "--since", "1h", "--id", ident, "--json")).splitlines()]
    assert [line["action"] for line in lines] == ["stored", "purged"]
    shown = await run("audit", "--action", "purged", "--agent", lines[0]["agent"][:8])
    assert ident in shown
    assert "purged" in shown
    assert await run("audit", "--agent", "nobody") == ""


def _copied(path: Path, ident: str) -> None:
    """Make a copy of a view that holds the memory."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE entries (key TEXT, value BLOB)")
        connection.execute("CREATE TABLE terms (address TEXT, words TEXT)")
        key = _key(ident)
        connection.execute("INSERT INTO entries VALUES (?, ?)", (key, b"walnuts"))
        connection.execute("INSERT INTO terms VALUES (?, ?)", (f"bucket {key}", "walnuts"))
    connection.close()


def _key(ident: str) -> str:
    return f"personal.user.m.{ident}"


@pytest.mark.timeout(120)
@pytest.mark.requirement("audit-follow")
async def test_the_record_is_followed_until_one_is_interrupted(nats_account: NatsAccount, tmp_path: Path) -> None:
    settings = {"NATS_URL": nats_account.url, "PATTERN_NODE": "off"}
    async with linked(nats_account.url) as link, recording(link):
        await AuditStream(link).tell(Line(action="exported", agent="A", op="before"))
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "pattern", "audit", "--follow", "--json"),
            env=environment(tmp_path, settings),
            cwd=tmp_path,
            stdout=pipe,
        )
        assert process.stdout is not None
        async with asyncio.timeout(60):
            assert json.loads(await process.stdout.readline())["operation"] == "before"
            await AuditStream(link).tell(Line(action="exported", agent="A", op="after"))
            assert json.loads(await process.stdout.readline())["operation"] == "after"
            process.send_signal(signal.SIGINT)
            assert await process.wait() == 0
