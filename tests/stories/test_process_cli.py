"""The command line, for people and for scripts."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import nats
import pytest

from pattern.testing.accounts import AccountPool, NatsAccount
from tests.stories.served import C_LOCALE, environment


class Shell:
    """Runs `pattern-memory` in one folder against one broker."""

    def __init__(self, home: Path, settings: dict[str, str]) -> None:
        self._home = home
        self._settings = settings

    def run(self, *arguments: str, text: str = "", **settings: str) -> subprocess.CompletedProcess[str]:
        """Return what a command did."""
        return subprocess.run(
            [sys.executable, "-m", "pattern", *arguments],
            input=text,
            env=environment(self._home, {**self._settings, **settings}),
            cwd=self._home,
            capture_output=True,
            timeout=60,
            check=False,
            encoding="utf-8",
        )


@pytest.fixture
def shell(tmp_path: Path, nats_account: NatsAccount) -> Shell:
    return Shell(tmp_path, {"NATS_URL": nats_account.url, "PATTERN_NODE": "off"})


@pytest.mark.requirement("deliver-9.cli")
def test_a_memory_is_stored_shown_exported_and_forgotten(shell: Shell, tmp_path: Path) -> None:
    told = shell.run(
        "remember",
        "Zażółć: we ship on Fridays",
        "--category",
        "decisions",
        "--tag",
        "release",
        "--priority",
        "1",
        **C_LOCALE,
    )
    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout.startswith("Remembered in team/decisions: ")

    piped = json.loads(
        shell.run("remember", "--category", "longterm", "--json", text="zażółć\ngęślą\n", **C_LOCALE).stdout
    )
    shown = shell.run("recall", **C_LOCALE)
    assert "team/decisions" in shown.stdout
    assert "#release" in shown.stdout
    assert "  zażółć\n  gęślą\n" in shown.stdout
    found = json.loads(shell.run("recall", "--search", "fridays", "--scope", "team", "--json").stdout)
    assert [row["content"] for row in found["team"]] == ["Zażółć: we ship on Fridays"]
    assert found["team"][0]["metadata"] == {"tags": ["release"], "priority": 1}

    exported = json.loads(shell.run("export", "all.json", "--json").stdout)
    assert (exported["exported"], exported["filepath"]) == (2, str(tmp_path / "all.json"))
    again = shell.run("import", "all.json")
    assert again.stdout == "0 imported, 2 skipped\n"

    gone = shell.run("forget", piped["memoryId"])
    assert (gone.returncode, gone.stdout) == (0, f"Forgotten: {piped['memoryId']}\n")
    assert shell.run("get", piped["memoryId"]).returncode == 4


@pytest.mark.requirement("deliver-9.cli")
def test_doctor_says_who_and_where_and_its_exit_code_whether_all_is_well(
    shell: Shell, nats_account: NatsAccount
) -> None:
    well = shell.run("doctor")
    assert well.returncode == 0, well
    assert well.stdout.startswith("healthy\n")
    assert "agent " in well.stdout
    assert nats_account.password not in well.stdout + well.stderr
    report = json.loads(shell.run("doctor", "--json").stdout)
    assert (report["status"], report["storage"]["backend"]) == ("healthy", "nats-kv")

    ill = shell.run("doctor", NATS_URL="nats://agent:hunter2@127.0.0.1:1")
    assert ill.returncode == 1
    assert ill.stdout.startswith("degraded\n")
    assert "hunter2" not in ill.stdout + ill.stderr


@pytest.mark.requirement("deliver-9.cli")
@pytest.mark.parametrize(
    ("arguments", "settings", "code", "says"),
    [
        (("remember", ""), {}, 2, "content must not be blank"),
        (("remember", "x", "--scope", "moon"), {}, 2, "'moon' is not one of"),
        (("remember", "x", "--scope", "team", "--category", "tasks"), {}, 2, "category 'tasks' is not allowed"),
        (("recall", "--since", "yesterday"), {}, 2, "since must be"),
        (("nonsense",), {}, 2, "No such command"),
        (("recall",), {"PATTERN_NODE": "perhaps"}, 2, "PATTERN_NODE must be"),
        (("recall",), {"NATS_URL": "nats://agent:hunter2@127.0.0.1:1"}, 3, "NATS_URL"),
        (("get", "3f0c2a9e-6a52-4c1d-9d57-0e2b7c6a1f10"), {}, 4, ""),
        (("export", "../out.json"), {}, 2, "outputPath"),
    ],
)
def test_exit_codes_mean_what_help_says(
    shell: Shell, arguments: tuple[str, ...], settings: dict[str, str], code: int, says: str
) -> None:
    did = shell.run(*arguments, **settings)
    assert did.returncode == code, did
    assert says in did.stderr
    assert "Traceback" not in did.stderr
    assert "hunter2" not in did.stderr


def test_help_and_version_teach(shell: Shell) -> None:
    helped = shell.run("--help").stdout
    assert "pattern-memory recall --search staging" in helped
    assert "3  the broker or the node cannot be reached" in helped
    assert shell.run("--version").stdout == shell.run("-v").stdout != ""


@pytest.mark.requirement("deliver-2.commands")
def test_the_node_is_started_shown_and_stopped(tmp_path: Path) -> None:
    shell = Shell(tmp_path, {"PATTERN_NODE_IDLE_S": "60"})
    assert shell.run("node", "status").returncode == 3
    assert shell.run("node", "stop").stdout == "No node runs.\n"
    started = shell.run("node", "start")
    try:
        assert started.returncode == 0, started
        status = json.loads(shell.run("node", "status", "--json").stdout)
        assert status["running"]
        assert status["url"].startswith("nats://127.0.0.1:")
        assert "event=broker_ready" in shell.run("node", "logs").stdout
    finally:
        assert shell.run("node", "stop").stdout == "The node has left.\n"
    assert shell.run("node", "status").returncode == 3


@pytest.mark.requirement("deliver-7.migrate")
async def test_memories_of_an_older_store_are_copied(shell: Shell, nats_accounts: AccountPool) -> None:
    old = nats_accounts.take()
    client = await nats.connect(old.url)  # pyright: ignore[reportUnknownMemberType] - nats-py leaves its keywords untyped
    bucket = await client.jetstream().create_key_value(bucket="loom-pattern-default")  # pyright: ignore[reportUnknownMemberType]
    record = {
        "id": "3f0c2a9e-6a52-4c1d-9d57-0e2b7c6a1f10",
        "agentId": "old-agent",
        "projectId": "default",
        "scope": "shared",
        "category": "decisions",
        "content": "kept from before",
        "createdAt": "2026-01-02T03:00:00.000Z",
        "updatedAt": "2026-01-02T03:00:00.000Z",
        "version": 1,
    }
    await bucket.put(f"shared/decisions/{record['id']}", json.dumps(record).encode())
    await client.close()

    command = ("migrate", "--from", old.url, "--project", "default", "--agent", "old-agent")
    planned = await asyncio.to_thread(shell.run, *command, "--dry-run")
    assert "1 of 1 would be migrated" in planned.stdout, planned
    assert "1 of 1 migrated" in (await asyncio.to_thread(shell.run, *command)).stdout
    again = json.loads((await asyncio.to_thread(shell.run, *command, "--json")).stdout)
    assert (again["migrated"], again["read"]) == (0, 1)
    assert "kept from before" in (await asyncio.to_thread(shell.run, "recall")).stdout
