"""A live store of the older layout is copied by the command line, and only read."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import nats
import pytest
from nats.js import JetStreamContext

from pattern.cli.migrate import old_endpoint
from pattern.settings import Nats
from pattern.testing import AccountPool, NatsAccount
from tests.stories.conftest import RawStore
from tests.stories.files import item
from tests.stories.shell import Shell

ME = {"LOOMINAL_AGENT_ID": "agent-a", "LOOMINAL_PROJECT_ID": "project-p", "LOOMINAL_USER_ID": "user-u"}


def old(ident: str, agent: str = "agent-a", **changes: Any) -> bytes:
    """Return a value as older versions wrote it."""
    return json.dumps(item(ident, agentId=agent, **changes)).encode()


OLD_STORE: dict[str, dict[str, bytes]] = {
    # Pattern called the project so, and put every character that is no letter, digit or hyphen to a hyphen.
    "loom-pattern-project-p": {
        "agents/agent-a/longterm/mine": old("mine", metadata={"tags": ["kept"], "priority": 1}),
        "agents/agent-a/recent/over": old("over", category="recent", expiresAt="2026-01-02T03:00:00.000Z"),
        "agents/agent-b/longterm/theirs": old("theirs", "agent-b"),
        "shared/decisions/ours": old("ours", scope="shared", category="decisions"),
        "shared/learnings/of-b": old("of-b", "agent-b", scope="project-only", category="learnings"),
        "shared/decisions/broken": b"{",
    },
    "loom-user-agent-a": {
        "agents/agent-a/longterm/personal": old("personal", scope="user"),
        "pattern.agents/agent-a/core/hidden": old("hidden", scope="user-only", category="core"),
    },
    "loom-pattern-default": {"agents/old-name/longterm/before": old("before", "old-name", projectId="default")},
    "loom-user-old-name": {"agents/old-name/longterm/self": old("self", "old-name", scope="personal")},
    "loom-global-pattern": {"shared/learnings/all": old("all", "agent-c", scope="public", category="learnings")},
}


@asynccontextmanager
async def jetstream(account: NatsAccount) -> AsyncGenerator[JetStreamContext]:
    client = await nats.connect(account.url)  # pyright: ignore[reportUnknownMemberType] - its keywords are untyped
    yield client.jetstream()  # pyright: ignore[reportUnknownMemberType]
    await client.close()


async def make_old_store(account: NatsAccount, buckets: Mapping[str, Mapping[str, bytes]]) -> None:
    async with jetstream(account) as js:
        for name, keys in buckets.items():
            kv = await js.create_key_value(bucket=name, history=1)  # pyright: ignore[reportUnknownMemberType]
            for key, value in keys.items():
                await kv.put(key, value)


async def state_of(account: NatsAccount) -> dict[str, tuple[int, int]]:
    """Return how many messages each stream holds and the number of the last one."""
    async with jetstream(account) as js:
        return {str(s.config.name): (s.state.messages, s.state.last_seq) for s in await js.streams_info()}


@pytest.mark.requirement("deliver-7.migrate")
async def test_an_older_store_comes_over_with_everything_that_is_the_callers(
    shell: Shell, nats_accounts: AccountPool, raw: RawStore
) -> None:
    there = nats_accounts.take()
    await make_old_store(there, OLD_STORE)
    before = await state_of(there)
    command = ("migrate", "--from", there.url, "--project", "default", "--agent", "old-name")

    dry = shell.run(*command, "--dry-run", "--json", **ME)
    assert (dry.returncode, dry.stderr) == (0, "")
    assert await raw.everywhere() == {}, "a dry run writes nothing"

    real = shell.run(*command, "--json", **ME)
    assert (real.returncode, real.stderr) == (0, "")
    report = json.loads(real.stdout)
    assert json.loads(dry.stdout) | {"dryRun": False} == report
    assert (report["read"], report["migrated"]) == (11, 8)
    assert report["byScope"] == {"private": 2, "personal": 3, "team": 2, "public": 1}
    assert report["skipped"] == {"private memory of another agent": 1, "expired": 1, "not a record": 1}
    assert report["absent"] == []
    assert [problem.split(":")[0] for problem in report["problems"]] == [
        "loom-pattern-project-p shared/decisions/broken"
    ]

    records = await raw.everywhere()
    assert {record["id"]: (key.split(".")[0], record["scope"]) for key, record in records.items()} == {
        "mine": ("agents", "private"),
        "before": ("agents", "private"),
        "ours": ("shared", "team"),
        "of-b": ("shared", "team"),
        "personal": ("personal", "personal"),
        "hidden": ("personal", "personal"),
        "self": ("personal", "personal"),
        "all": ("shared", "public"),
    }
    mine = next(record for record in records.values() if record["id"] == "mine")
    assert mine == item("mine", metadata={"tags": ["kept"], "priority": 1})
    assert await state_of(there) == before, "the older store is only read"


@pytest.mark.requirement("deliver-7.migrate")
async def test_it_can_be_run_again_and_says_for_people_what_it_did(
    shell: Shell, nats_accounts: AccountPool, raw: RawStore
) -> None:
    there = nats_accounts.take()
    await make_old_store(there, OLD_STORE)
    first = shell.run("migrate", "--from", there.url, **ME)
    assert first.returncode == 0
    assert first.stdout.splitlines()[0] == "9 records read, 6 migrated (private 1, personal 2, team 2, public 1)"
    assert "1 left: private memory of another agent" in first.stdout
    assert "broken: no JSON object" in first.stderr
    before = await raw.everywhere()
    assert shell.run("forget", "mine", **ME).returncode == 0

    again = shell.run("migrate", "--from", there.url, **ME)
    assert again.stdout.startswith("9 records read, 0 migrated\n")
    assert "5 left: here already" in again.stdout
    assert "1 left: forgotten here" in again.stdout
    after = await raw.everywhere()
    assert after == {key: record for key, record in before.items() if record["id"] != "mine"}


@pytest.mark.requirement("deliver-7.bar")
async def test_a_terminal_sees_how_far_it_is(shell: Shell, nats_accounts: AccountPool) -> None:
    there = nats_accounts.take()
    await make_old_store(there, OLD_STORE)
    commands = {
        "Migrating": ("migrate", "--from", there.url),
        "Exporting": ("export", "all.json"),
        "Importing": ("import", "all.json"),
    }
    for label, command in commands.items():
        drawn = shell.run_on_terminal(*command, **ME)
        assert label in drawn
        assert "100%" in drawn
        assert label not in shell.run(*command, **ME).stderr


@pytest.mark.requirement("deliver-7.migrate")
async def test_an_operator_leaves_what_is_others_theirs(
    shell: Shell, nats_accounts: AccountPool, raw: RawStore
) -> None:
    there = nats_accounts.take()
    await make_old_store(there, OLD_STORE)
    assert shell.run("migrate", "--from", there.url, "--operator", **ME).returncode == 0
    owners = {record["id"]: (key.split(".")[1], record["agentId"]) for key, record in (await raw.everywhere()).items()}
    assert owners["of-b"] == ("agent-b", "agent-b")
    assert owners["all"] == ("agent-c", "agent-c")
    assert owners["ours"] == ("agent-a", "agent-a")


@pytest.mark.requirement("deliver-7.migrate")
async def test_what_cannot_be_read_is_said_so(shell: Shell, nats_accounts: AccountPool) -> None:
    nothing = shell.run("migrate", "--from", nats_accounts.take().url, **ME)
    assert nothing.returncode == 0
    assert "no bucket loom-pattern-project-p there" in nothing.stdout
    assert "--project and --agent" in nothing.stderr

    closed = shell.run("migrate", "--from", "nats://me:hunter2@127.0.0.1:1", **ME)
    assert closed.returncode == 3
    assert "The older store at nats://127.0.0.1:1: " in closed.stderr
    bad = shell.run("migrate", "--from", "http://me:hunter2@example.org", **ME)
    assert bad.returncode == 2
    for told in (closed, bad):
        assert "hunter2" not in told.stdout + told.stderr
        assert "Traceback" not in told.stderr


@pytest.mark.requirement("deliver-7.migrate", "deliver-8.secrets")
def test_our_credentials_go_to_no_server_but_our_own() -> None:
    ours = Nats(url="nats://here:4222", user="me", password="hunter2", credentials_file="/me.creds")
    assert old_endpoint("nats://here:4222", ours).password == "hunter2"
    there = old_endpoint("nats://there:4222", ours)
    assert (there.user, there.password, there.credentials_file) == (None, None, None)
    named = old_endpoint("nats://you:secret@here:4222", ours)
    assert (named.user, named.password, named.credentials_file) == ("you", "secret", None)
