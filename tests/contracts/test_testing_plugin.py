"""The plugin serves a project of others: a test file of theirs, in a pytest of its own, with nothing configured."""

from __future__ import annotations

import os
import re
import select
import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

PLUGIN = "pattern.testing.installed"
ROOT = Path(__file__).parents[2]

SAMPLE = """
import nats
import pytest

from pattern.testing import ManualClock, NatsAccount, NatsServer
from pattern.testing.agents import Agents, ToolFailed


@pytest.mark.asyncio
@pytest.mark.parametrize("round", [1, 2])
async def test_every_test_has_buckets_of_its_own(nats_account: NatsAccount, round: int) -> None:
    client = await nats.connect(nats_account.url)
    js = client.jetstream()
    assert await js.streams_info() == []
    await js.create_key_value(bucket="mine")
    await client.close()


@pytest.mark.asyncio
async def test_several_agents(agents: Agents, manual_clock: ManualClock) -> None:
    alice = await agents("alice", clock=manual_clock)
    ben = await agents("ben", clock=manual_clock)
    await alice.call("remember", content="ours", scope="team", category="decisions")
    await alice.call("remember", content="mine")
    recalled = await ben.call("recall-context")
    assert [m["content"] for m in recalled["team"]] == ["ours"]
    assert recalled["private"] == []
    with pytest.raises(ToolFailed):
        await ben.call("remember", content="")


@pytest.mark.asyncio
async def test_kill_and_restart(nats_private: NatsServer, agents: Agents) -> None:
    alice = await agents("alice", env={"NATS_URL": nats_private.url})
    await alice.call("remember", content="before")
    nats_private.kill()
    nats_private.restart()
    await alice.call("remember", content="after")
    assert (await alice.call("recall-context"))["total"] == 2


def test_a_cluster(nats_cluster) -> None:
    print("pids", *(node.pid for node in nats_cluster.nodes))
    assert nats_cluster.wait_for_leader() in nats_cluster.nodes


def test_the_server_of_the_session(nats_server: NatsServer) -> None:
    print("pids", nats_server.pid)
    assert nats_server.running
"""


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.requirement("deliver-10.plugin")
def test_a_project_of_others_tests_with_it(tmp_path: Path) -> None:
    (tmp_path / "test_sample.py").write_text(SAMPLE, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\nasyncio_default_fixture_loop_scope = function\n", encoding="utf-8")
    installed = "pattern_memory" in entry_points(group="pytest11").names
    loaded = [] if installed else ["-p", PLUGIN]

    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-s",
            "-p",
            "no:randomly",
            "-p",
            "no:cacheprovider",
            *loaded,
            str(tmp_path),
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "NATS_URL": "nats://nobody.invalid", "LOOMINAL_AGENT_ID": "other"},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )

    assert "6 passed" in run.stdout, run.stdout + run.stderr
    pids = [int(pid) for line in re.findall(r"pids((?: \d+)+)", run.stdout) for pid in line.split()]
    assert len(pids) == 4
    assert [pid for pid in pids if is_alive(pid)] == []


ALONE = """
import sys

sys.modules["pytest_asyncio"] = None
import pytest

sys.exit(pytest.main(["-q", "-p", "pattern.testing.installed", "-p", "no:cacheprovider", "-p", "no:randomly", sys.argv[1]]))
"""
"""A pytest of somebody who has the service and not the extra."""


def test_without_its_extra_it_leaves_the_tests_of_others_alone(tmp_path: Path) -> None:
    (tmp_path / "test_theirs.py").write_text("def test_theirs(): ...\n", encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-c", ALONE, str(tmp_path)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "1 passed" in run.stdout, run.stdout + run.stderr


@pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("setpriv") is None, reason="Linux can end a child with its parent"
)
def test_a_killed_test_run_leaves_no_server(tmp_path: Path) -> None:
    script = (
        "import sys, time; from pathlib import Path; from pattern.testing import NatsServer\n"
        "server = NatsServer(Path(sys.argv[1])); server.start(); print(server.pid, flush=True); time.sleep(60)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    ) as run:
        assert run.stdout is not None
        pid = int(run.stdout.readline())
        watched = os.pidfd_open(pid)
        assert is_alive(pid)
        run.kill()

    assert select.select([watched], [], [], 5)[0], "the server is still there"
    os.close(watched)
