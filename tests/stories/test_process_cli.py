"""The command line, for people and for scripts."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from loomem.nats.topology import KvBuckets
from pattern.testing.accounts import NatsAccount
from tests.contracts.nats_kit import linked, put
from tests.stories.served import C_LOCALE
from tests.stories.shell import Shell


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
    assert "pattern-memory search how do we reach staging" in helped
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


@pytest.mark.requirement("search-cli")
def test_a_search_shows_what_is_found_and_why(shell: Shell) -> None:
    shell.run("remember", "The VPN is needed for staging", "--scope", "team", "--category", "learnings")
    shell.run("remember", "Lunch is at noon", "--category", "longterm")
    shown = shell.run("search", "which", "vpn")
    assert shown.returncode == 0, shown.stderr
    assert "The VPN is needed for staging" in shown.stdout
    assert "Lunch" not in shown.stdout
    answer = json.loads(shell.run("search", "--json", "--explain", "--since", "yesterday", "vpn").stdout)
    [row] = answer["rows"]
    assert (row["scope"], row["explained"]["arms"][0]["arm"]) == ("team", "words")
    assert "No relevant memories found." in shell.run("search", "quince").stdout
    wrong = shell.run("search", "--since", "recently", "vpn")
    assert (wrong.returncode, "time_filter" in wrong.stderr) == (2, True)


@pytest.mark.requirement("vectors-prune")
def test_vectors_of_former_models_go_when_one_says_yes(shell: Shell, nats_account: NatsAccount) -> None:
    assert shell.run("vectors", "list").stdout == "No vectors.\n"
    asyncio.run(_vector_of_a_former_model(nats_account.url))
    assert shell.run("vectors", "list").stdout == "       1 of former in loom-memory-project-embed (former)\n"
    told = shell.run("vectors", "prune")
    assert told.stdout.splitlines()[-1] == "1 vectors of former models would be removed: --yes does"
    assert json.loads(shell.run("vectors", "prune", "--keep", "former", "--json").stdout)["vectors"] == 0
    assert json.loads(shell.run("vectors", "list", "--json").stdout)["vectors"][0]["vectors"] == 1
    assert shell.run("vectors", "prune", "--yes").stdout.splitlines()[-1] == "1 vectors of former models removed"
    assert shell.run("vectors", "list").stdout == "No vectors.\n"
    nothing = shell.run("vectors", "prune", "--yes", PATTERN_EMBEDDER="none")
    assert (nothing.returncode, "--keep" in nothing.stderr) == (2, True)


async def _vector_of_a_former_model(url: str) -> None:
    async with linked(url) as link:
        bucket = await KvBuckets(link).open("loom-memory-project-embed")
        await bucket.write(put("agents.A.v.memory-1.former"))
