"""The end of a server, whatever it is doing and whoever ends it; and its stdout, whatever is loaded into it.

`test_process_life` shows the plain cases, this the hard ones: a broker that is down or frozen, a server that is still starting,
the embedded broker beside it.
"""

from __future__ import annotations

import asyncio
import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from pattern.testing import NatsServer
from tests.stories.machine import GONE_S, Server, Stopwatch, alive, contents, machine
from tests.waiting import eventually

NOISE = '''
"""A dependency that talks: at the import of others, from a thread, and past Python's own streams."""
import os, subprocess, sys, threading

def talk(where):
    print("noise at", where)
    sys.stdout.flush()
    os.write(1, b"noise by descriptor\\n")

def heard(event, arguments):
    if event == "import" and arguments[0] in ("mcp", "nats", "msgspec", "pydantic", "anyio", "zoneinfo"):
        talk(arguments[0])
        threading.Thread(target=talk, args=("thread",)).start()
        subprocess.run(["echo", "noise of a child"])

print("noise before everything")
sys.addaudithook(heard)
'''

PARENT = """
import os, subprocess, sys
child = subprocess.Popen([sys.executable, "-m", "pattern"])
os.write(2, b"%d\\n" % child.pid)
child.wait()
"""
"""A client that hands its own stdin and stdout to the server, so that they stay open when it is killed."""


def has_claimed(pid: int) -> bool:
    """Return whether a server has put its client's pipes in safety; it then goes on to load what it needs."""
    return os.readlink(f"/proc/{pid}/fd/0") == os.devnull


def seconds_of(pid: int) -> float:
    """Return the processor time that a running process has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def children_s() -> float:
    """Return the processor time that all ended children have taken."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


End = Callable[[Server], object]
ENDS: dict[str, End] = {
    "stdin": lambda server: server.hang_up(),
    "SIGTERM": lambda server: server.signal(signal.SIGTERM),
    "SIGINT": lambda server: server.signal(signal.SIGINT),
}


async def leaves(server: Server, how: str) -> None:
    """End a server and see that it is gone in time, in order."""
    with Stopwatch() as took:
        ENDS[how](server)
        code = await server.ended()
    assert (code, took.seconds < GONE_S) == (0, True), (code, took.seconds, server.log())


@pytest.mark.parametrize("how", ENDS)
@pytest.mark.requirement("process-48.eof", "process-48.sigterm")
async def test_it_ends_in_time_while_a_call_hangs_on_a_frozen_broker(
    tmp_path: Path, nats_private: NatsServer, how: str
) -> None:
    async with machine(tmp_path, NATS_URL=nats_private.url, PATTERN_NODE="off") as here:
        server = await here.server()
        await server.healthy()
        nats_private.pause()
        await server.send(
            b'{"jsonrpc": "2.0", "id": "hangs", "method": "tools/call", '
            b'"params": {"name": "remember", "arguments": {"content": "x"}}}\n'
        )
        await server.request("ping")
        await leaves(server, how)


@pytest.mark.parametrize("how", ENDS)
@pytest.mark.requirement("process-48.eof", "process-48.sigterm")
async def test_it_ends_in_time_while_the_broker_is_down(tmp_path: Path, nats_private: NatsServer, how: str) -> None:
    async with machine(tmp_path, NATS_URL=nats_private.url, PATTERN_NODE="off") as here:
        server = await here.server()
        await server.healthy()
        nats_private.kill()
        assert (await server.call("pattern_health"))["status"] == "degraded"
        await leaves(server, how)


@pytest.mark.parametrize("how", ENDS)
@pytest.mark.requirement("process-48.eof", "process-48.sigterm")
async def test_it_ends_in_time_while_it_is_starting(tmp_path: Path, how: str) -> None:
    async with machine(tmp_path) as here:
        server = await here.spawn()
        await eventually(lambda: has_claimed(server.pid), within_s=20)
        before = children_s() - seconds_of(server.pid)
        ENDS[how](server)
        code = await server.ended()
        # What is in time is told by its own time, and not by that of a machine on which all else starts, too.
        assert code == 0, server.log()
        assert children_s() - before < GONE_S


@pytest.mark.requirement("process-48.parent", "lesson-3.8.orphans")
@pytest.mark.parametrize("broker", ["frozen", "embedded"])
async def test_it_ends_in_time_when_its_parent_is_killed_and_its_pipes_stay_open(
    tmp_path: Path, nats_private: NatsServer, broker: str
) -> None:
    settings = {} if broker == "embedded" else {"NATS_URL": nats_private.url, "PATTERN_NODE": "off"}
    async with machine(tmp_path, PATTERN_NODE_IDLE_S="1", **settings) as here:
        parent = await here.spawn(program=("-c", PARENT))
        await parent.initialize()
        await parent.healthy()
        pid = int(parent.log().splitlines()[0])
        if broker == "frozen":
            nats_private.pause()
            await parent.send(
                b'{"jsonrpc": "2.0", "id": "hangs", "method": "tools/call", '
                b'"params": {"name": "remember", "arguments": {"content": "x"}}}\n'
            )
            await parent.request("ping")
        with Stopwatch() as took:
            parent.signal(signal.SIGKILL)
            await eventually(lambda: not alive(pid), within_s=10)
        assert took.seconds < GONE_S
        await here.nothing_runs()


@pytest.mark.requirement("process-48.parent", "lesson-3.8.orphans")
async def test_it_ends_when_its_parent_was_killed_while_it_was_starting(tmp_path: Path) -> None:
    async with machine(tmp_path, PATTERN_NODE_IDLE_S="1") as here:
        parent = await here.spawn(program=("-c", PARENT))
        await eventually(lambda: parent.log().count("\n") > 0, within_s=20)
        pid = int(parent.log().splitlines()[0])
        await eventually(lambda: has_claimed(pid), within_s=20)
        parent.signal(signal.SIGKILL)
        await eventually(lambda: not alive(pid), within_s=20)
        await here.nothing_runs()


@pytest.mark.requirement("lesson-3.8.orphans", "deliver-2.idle")
async def test_the_last_client_gone_the_node_leaves_too(tmp_path: Path) -> None:
    async with machine(tmp_path, PATTERN_NODE_IDLE_S="1") as here:
        server = await here.server()
        await server.healthy()
        await server.call("remember", content="still there tomorrow", category="longterm")
        await leaves(server, "stdin")
        await here.nothing_runs()

        again = await here.server()
        assert contents((await again.call("recall-context"))["private"]) == ["still there tomorrow"]


@pytest.mark.requirement("process-48.stdout", "lesson-3.12")
async def test_a_noisy_dependency_writes_no_byte_between_the_messages(tmp_path: Path) -> None:
    noisy = tmp_path / "noisy"
    noisy.mkdir()
    (noisy / "sitecustomize.py").write_text(NOISE)
    async with machine(tmp_path) as here:
        path = f"{noisy}:{here.environment()['PYTHONPATH']}"
        server = await here.server(PYTHONPATH=path)
        await server.tools()
        await server.healthy()
        await server.call("remember", content="x", category="longterm")
        await server.call("recall-context")
        await leaves(server, "stdin")

        # `Server.listen` has read every line as a message.
        assert server.stdout.endswith(b"\n")
        assert b"noise" not in server.stdout
        for where in ("at mcp", "at nats", "by descriptor", "of a child", "at thread"):
            assert f"noise {where}" in server.log()


@pytest.mark.requirement("lesson-3.15.locale")
async def test_text_is_utf_8_in_files_and_logs_in_the_c_locale(tmp_path: Path) -> None:
    text = "記憶 🧠 Zażółć gęślą jaźń"
    c_locale = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}
    async with machine(tmp_path) as here:
        folder = here.project / "プロジェクト"
        folder.mkdir()
        own = {"MCP_PROJECT_PATH": str(folder), "PATTERN_FILES_DIR": str(folder), "LOOMINAL_USER_ID": "użytkownik"}
        strange = await here.server(**own, **c_locale)
        usual = await here.server(**own, LC_ALL="C.UTF-8")
        await strange.call("remember", content=text, category="longterm", metadata={"tags": ["標籤"]})
        await strange.call("export-memories", outputPath="出力.json")
        exported = (folder / "出力.json").read_bytes().decode()
        assert text in exported
        assert "標籤" in exported
        # The same folder is the same agent in every locale.
        sessions = [(await server.healthy())["session"] for server in (strange, usual)]
        for field in ("agentId", "projectId", "userId"):
            assert sessions[0][field] == sessions[1][field]
        assert contents((await usual.call("recall-context"))["private"]) == [text]
        assert strange.log()


LINES = {
    "no JSON": b"hello?",
    "half of it": b'{"jsonrpc": "2.0", "id": 1, "method": "tools/',
    "no message": b'{"a": 1}',
    "a number": b"17",
    "no UTF-8": b'{"jsonrpc": "2.0", "id": "\xff\xfe", "method": "ping"}',
    "a NUL": b"\x00",
    "too deep": b"[" * 100_000,
    "a lone surrogate outside of arguments": b'{"jsonrpc": "2.0", "method": "\\ud800"}',
}


@pytest.mark.requirement("lesson-3.15.input", "process-48.stdout")
async def test_no_line_is_too_broken_to_be_answered_nor_ends_the_session(
    tmp_path: Path, nats_private: NatsServer
) -> None:
    async with machine(tmp_path, NATS_URL=nats_private.url, PATTERN_NODE="off") as here:
        server = await here.server()
        for what, line in LINES.items():
            server.answered.clear()
            await server.send(line + b"\n")
            async with asyncio.timeout(10):
                await server.answered.wait()
            assert "error" in server.unasked[-1], what
        assert len(server.unasked) == len(LINES)
        await server.send(b"\n  \n\r\n")
        await server.healthy()
        for bad in ("lone \ud800 surrogate", "a NUL \0 inside"):
            for tool, field in {"remember": "content", "get-memory": "memoryId", "recall-context": "search"}.items():
                answer = (await server.request("tools/call", {"name": tool, "arguments": {field: bad}}))["result"]
                if tool != "recall-context":
                    assert answer["structuredContent"]["code"] == "VALIDATION_ERROR", (tool, bad)
                    assert answer["structuredContent"]["details"]["field"] == field
        assert await server.all_memories() == []
