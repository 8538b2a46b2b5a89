"""`pattern.toml` as those meet it who write one: what it changes, what it cannot, and what the command line says of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pattern.testing.agents import Agents
from tests.stories.served import served
from tests.stories.shell import Shell

PROJECT = """
profile = "loomem"
[search.top_k]
default = 7
most = 40
[nats]
url = "nats://elsewhere.example:4222"
[scan]
policy = "off"
"""
USER = """
user = "ann"
[nats]
credentials_file = "~/ann.creds"
[node]
start = "off"
"""
NOWHERE = {"NATS_URL": "nats://agent:hunter2@127.0.0.1:1", "PATTERN_NODE": "off", "NATS_TOKEN": "hunter2"}


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """The user's file."""
    path = tmp_path / ".config" / "pattern-memory" / "pattern.toml"
    path.parent.mkdir(parents=True)
    path.write_text(USER, encoding="utf-8")
    return path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The project's file."""
    path = tmp_path / "pattern.toml"
    path.write_text(PROJECT, encoding="utf-8")
    return path


@pytest.mark.requirement("search-1.limits", "config-project")
def test_a_project_s_file_changes_the_profile_and_the_limits_that_are_told(tmp_path: Path, project: Path) -> None:
    with served(tmp_path, NOWHERE) as server:
        server.handshake()
        listed: list[dict[str, Any]] = server.ask("tools/list")["tools"]
        by_name = {tool["name"]: tool for tool in listed}
        assert set(by_name) == {name for name in by_name if name.startswith("memory_")}
        told = by_name["memory_search"]["inputSchema"]["properties"]["top_k"]
        assert "40" in json.dumps(told)
        assert "7" in json.dumps(told)
    assert "nats.url: is not for a project to say" in server.stderr()
    assert "scan.policy: stays warn" in server.stderr()


@pytest.mark.requirement("config-refused")
def test_a_file_that_means_nothing_ends_the_server_with_a_reason(tmp_path: Path, project: Path) -> None:
    project.write_text('profile = "huge"\n[search]\ndeadline_ms = 5\n', encoding="utf-8")
    with served(tmp_path, NOWHERE) as server:
        code, _ = server.left(10)
    assert code == 2
    assert f"{project}: profile must be full or core or pattern or loomem, not 'huge'" in server.stderr()
    assert f"{project}: search.deadline_ms must be a whole number from 50 to 30000, not 5" in server.stderr()
    assert server.lines == []


@pytest.mark.requirement("config-show")
def test_show_tells_every_value_and_where_it_comes_from(tmp_path: Path, own: Path, project: Path) -> None:
    shell = Shell(tmp_path, NOWHERE)
    shown = shell.run("config", "show", "--json", PATTERN_SEARCH_DEADLINE_MS="900")
    assert shown.returncode == 0, shown
    body = json.loads(shown.stdout)
    lines = {line["key"]: line for line in body["settings"]}
    assert body["files"] == [str(own), str(project)]
    told = {key: (lines[key]["value"], lines[key]["origin"]) for key in lines}
    assert told["profile"] == ("loomem", str(project))
    assert told["search.top_k.most"] == (40, str(project))
    assert told["search.deadline_ms"] == (900, "PATTERN_SEARCH_DEADLINE_MS")
    assert told["user"] == ("ann", str(own))
    assert told["nats.credentials_file"] == (str(tmp_path / "ann.creds"), str(own))
    assert told["nats.url"] == ("nats://(secret)@127.0.0.1:1", "NATS_URL")
    assert told["retention.soft_delete_days"] == (30, "default")
    people = shell.run("config", "show")
    for output in (shown.stdout + shown.stderr, people.stdout + people.stderr):
        assert "hunter2" not in output
    assert f"# {project} (project)" in people.stdout


@pytest.mark.requirement("config-check")
def test_check_tells_all_and_its_exit_code_whether_something_must_be_mended(
    tmp_path: Path, own: Path, project: Path
) -> None:
    shell = Shell(tmp_path, NOWHERE)
    here = shell.run("config", "check")
    assert here.returncode == 0, here
    assert here.stdout.count("warning: ") == 2
    own.write_text('profil = "core"\n[nats]\npassword = "hunter2"\nreplicas = 9\n', encoding="utf-8")
    wrong = shell.run("config", "check")
    assert wrong.returncode == 1
    assert "did you mean profile?" in wrong.stdout
    assert "nats.password is not read from files" in wrong.stdout
    assert "nats.replicas must be a whole number from 1 to 5, not 9" in wrong.stdout
    assert "hunter2" not in wrong.stdout + wrong.stderr
    one = json.loads(shell.run("config", "check", "--json", str(own)).stdout)
    assert [problem["weight"] for problem in one["problems"]] == ["warning", "error", "error"]
    own.write_text("", encoding="utf-8")
    assert "nothing is wrong" in shell.run("config", "check", str(own)).stdout
    broken = tmp_path / "broken.toml"
    broken.write_text("a = = 1", encoding="utf-8")
    assert (shell.run("config", "check", str(broken)).returncode, shell.run("config", "check", "no").returncode) == (
        2,
        2,
    )
    assert (
        "There is no configuration file here"
        in Shell(tmp_path, {"PATTERN_CONFIG": ""})
        .run("config", "check", XDG_CONFIG_HOME="/nonexistent", MCP_PROJECT_PATH="/")
        .stdout
    )


@pytest.mark.requirement("config-layers")
def test_a_named_file_counts_alone_and_as_the_user_s_own(tmp_path: Path, own: Path, project: Path) -> None:
    named = tmp_path / "named.toml"
    named.write_text('[scan]\npolicy = "off"\n', encoding="utf-8")
    body = json.loads(Shell(tmp_path, {}).run("config", "show", "--json", PATTERN_CONFIG="named.toml").stdout)
    lines = {line["key"]: (line["value"], line["origin"]) for line in body["settings"]}
    assert body["files"] == [str(named)]
    assert lines["scan.policy"] == ("off", str(named))
    assert lines["profile"] == ("full", "default")
    assert lines["user"] == (None, "default")


def test_the_dotted_name_comes_first_and_the_other_is_told(tmp_path: Path, project: Path) -> None:
    (tmp_path / ".pattern.toml").write_text('profile = "core"\n', encoding="utf-8")
    shell = Shell(tmp_path, {})
    body = json.loads(shell.run("config", "show", "--json").stdout)
    assert body["files"] == [str(tmp_path / ".pattern.toml")]
    assert "is not read, since there is .pattern.toml beside it" in body["problems"][0]


@pytest.mark.requirement("config-project")
def test_the_node_reads_the_user_s_file_and_not_the_project_s(tmp_path: Path, own: Path, project: Path) -> None:
    own.write_text("[node]\nidle_s = -1\n", encoding="utf-8")
    project.write_text('[search]\ndeadline_ms = "never"\n', encoding="utf-8")
    ended = Shell(tmp_path, {}).run("node", "run", PATTERN_NODE_IDLE_S="")
    assert ended.returncode == 1
    assert ended.stderr == (f"pattern-memory: {own}: node.idle_s must be a number from 0 to 999999999, not -1\n")


@pytest.mark.requirement("search-1.limits")
async def test_the_limits_that_are_told_hold(agents: Agents) -> None:
    agent = await agents(
        env={"PATTERN_PROFILE": "loomem", "PATTERN_SEARCH_TOP_K_DEFAULT": "2", "PATTERN_SEARCH_TOP_K_MOST": "3"}
    )
    colours = ("red", "green", "blue", "white", "black")
    for colour in colours:
        await agent.call("memory_store", content=f"The door of house {colour} is painted {colour}")
    assert len((await agent.call("memory_search", query="door"))["rows"]) == 2
    assert len((await agent.call("memory_search", query="door", top_k=50))["rows"]) == 3


@pytest.mark.requirement("config-show")
def test_doctor_tells_the_profile_the_files_and_what_was_not_understood(
    tmp_path: Path, own: Path, project: Path
) -> None:
    own.write_text("", encoding="utf-8")
    ill = Shell(tmp_path, NOWHERE).run("doctor")
    assert "profile    loomem" in ill.stdout
    assert f"settings   {own}, {project}" in ill.stdout
    assert "scan.policy: stays warn" in ill.stdout
