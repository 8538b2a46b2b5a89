"""How a stdio server begins and ends, as a client that started it sees it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pattern.testing.accounts import NatsAccount
from tests.stories.served import C_LOCALE, TOOLS, Served, environment, served

ENDS_WITHIN_S = 2.0


@pytest.fixture
def silent() -> Iterator[str]:
    """The URL of something that takes connections and never says a word, so that whoever calls it hangs."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"nats://agent:hunter2@127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture
def deaf(tmp_path: Path, silent: str) -> Iterator[Served]:
    """A server whose broker never answers."""
    with served(tmp_path, {"NATS_URL": silent, "PATTERN_NODE": "off"}) as server:
        yield server.handshake()


def reached(account: NatsAccount) -> dict[str, str]:
    return {"NATS_URL": account.url, "PATTERN_NODE": "off"}


@pytest.mark.requirement("process-48.first", "lesson-3.11")
def test_the_tools_are_listed_before_anything_is_reached(tmp_path: Path, silent: str) -> None:
    log = {"LOG_LEVEL": "DEBUG", "NATS_URL": silent, "PATTERN_NODE": "off"}
    with served(tmp_path, log) as server:
        tools = server.handshake().ask("tools/list")["tools"]
    assert len(tools) == TOOLS
    assert "event=connected" not in server.stderr()
    assert not (tmp_path / "memory").exists()


@pytest.mark.requirement("process-48.unreachable", "process-48.health", "deliver-8.secrets")
def test_an_unreachable_broker_fails_calls_in_time_and_health_says_so(deaf: Served) -> None:
    deaf.ask("tools/list")
    deaf.call("pattern_health")
    began = time.perf_counter()
    answer = deaf.call("remember", content="x")
    took_s = time.perf_counter() - began
    health = deaf.call("pattern_health")["structuredContent"]

    assert took_s < ENDS_WITHIN_S
    assert answer["isError"]
    assert answer["structuredContent"]["code"] == "NATS_ERROR"
    assert "NATS_URL" in answer["content"][0]["text"]
    assert (health["status"], health["storage"]["connected"]) == ("degraded", False)
    assert health["reasons"]
    assert len(deaf.ask("tools/list")["tools"]) == TOOLS
    assert "hunter2" not in b"".join(deaf.lines).decode() + deaf.stderr()


@pytest.mark.requirement("process-48.eof")
def test_the_end_of_stdin_ends_it_with_a_call_in_flight(deaf: Served) -> None:
    deaf.post("tools/call", {"name": "remember", "arguments": {"content": "x"}})
    deaf.hang_up()
    code, took_s = deaf.left(ENDS_WITHIN_S)
    assert (code, took_s < ENDS_WITHIN_S) == (0, True)


@pytest.mark.requirement("process-48.eof")
def test_the_end_of_stdin_ends_it_while_it_is_connected(tmp_path: Path, nats_account: NatsAccount) -> None:
    with served(tmp_path, reached(nats_account)) as server:
        assert not server.handshake().call("remember", content="x").get("isError")
        server.hang_up()
        code, took_s = server.left(ENDS_WITHIN_S)
    assert (code, took_s < ENDS_WITHIN_S) == (0, True)


@pytest.mark.requirement("process-48.sigterm")
def test_sigterm_ends_it_with_a_call_in_flight(deaf: Served) -> None:
    deaf.post("tools/call", {"name": "remember", "arguments": {"content": "x"}})
    deaf.process.send_signal(signal.SIGTERM)
    code, took_s = deaf.left(ENDS_WITHIN_S)
    assert (code, took_s < ENDS_WITHIN_S) == (0, True)


@pytest.mark.requirement("process-48.sigterm")
def test_sigterm_ends_it_while_nobody_reads_what_it_says(deaf: Served) -> None:
    for _ in range(20):
        deaf.post("tools/list")  # some 25 kB each: more than a pipe holds
    deaf.heard()
    deaf.process.send_signal(signal.SIGTERM)
    code, took_s = deaf.left(ENDS_WITHIN_S)
    assert (code, took_s < ENDS_WITHIN_S + 0.5) == (0, True)


PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-m", "pattern"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
child.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\\n')
child.stdin.flush()
child.stdout.readline()
print(child.pid, flush=True)
sys.stdin.read()
"""


@pytest.mark.requirement("process-48.parent", "lesson-3.8.orphans")
def test_a_parent_killed_leaves_no_orphan_though_its_pipes_stay_open(tmp_path: Path, silent: str) -> None:
    settings = environment(tmp_path, {"NATS_URL": silent, "PATTERN_NODE": "off"})
    with subprocess.Popen(
        [sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=settings, cwd=tmp_path
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        # The server's pipes outlive its parent, as when another process inherited them: no end of stdin comes.
        held = [os.open(f"/proc/{parent.pid}/fd/{fd}", os.O_RDWR) for fd in _pipes(parent.pid)]
        parent.kill()
        parent.wait()
        took_s = _gone(pid)
        for fd in held:
            os.close(fd)
    assert took_s < ENDS_WITHIN_S + 0.3


def _pipes(pid: int) -> list[str]:
    """Return the descriptors by which a process holds its child's pipes."""
    folder = Path(f"/proc/{pid}/fd")
    return [fd.name for fd in folder.iterdir() if int(fd.name) > 2 and os.readlink(fd).startswith("pipe:")]


def _gone(pid: int) -> float:
    began = time.perf_counter()
    while time.perf_counter() - began < 10:
        try:
            if "State:\tZ" in Path(f"/proc/{pid}/status").read_text():
                break
        except FileNotFoundError:
            break
        time.sleep(0.02)  # no event tells of the end of a process that is not our child
    return time.perf_counter() - began


NOISY = """
import os, sys
import pattern.wire
claim = pattern.wire.claim
def noisy_claim():
    pipes = claim()
    print("noise"); sys.stdout.flush(); os.write(1, b"more noise"); os.system("echo child noise")
    return pipes
pattern.wire.claim = noisy_claim
import pattern.__main__
sys.argv = ["pattern-memory"]
pattern.__main__.main()
"""


@pytest.mark.requirement("process-48.stdout", "lesson-3.12", "lesson-3.15.locale", "lesson-3.15.input")
def test_stdout_is_json_alone_whatever_dependencies_locale_and_clients_do(
    tmp_path: Path, nats_account: NatsAccount
) -> None:
    program = ("-c", NOISY)
    with served(tmp_path, {**reached(nats_account), **C_LOCALE, "LOG_LEVEL": "DEBUG"}, program=program) as server:
        server.handshake()
        stored = server.call("remember", content="zażółć 😀 記憶")
        recalled = server.call("recall-context")
        server.send(b"no json at all")
        unreadable = server.heard()
        server.send(
            b'{"jsonrpc":"2.0","id":"s","method":"tools/call","params":'
            b'{"name":"remember","arguments":{"content":"lone \\ud800"}}}'
        )
        surrogate = server.heard()
        server.send(
            b'{"jsonrpc":"2.0","id":"b","method":"tools/call","params":'
            b'{"name":"remember","arguments":{"content":"\xff\xfe"}}}'
        )
        no_utf8 = server.heard()
        nul = server.call("remember", content="a\0b")
        deep = server.call("remember", content="x", metadata={"a": json.loads("[" * 900 + "]" * 900)})
        server.hang_up()
        server.left(ENDS_WITHIN_S)

    assert not stored.get("isError")
    assert "zażółć 😀 記憶" in recalled["content"][0]["text"]
    assert unreadable["error"]["code"] == -32700
    for answer in (surrogate["result"], no_utf8["result"], nul, deep):
        assert answer["structuredContent"]["code"] == "VALIDATION_ERROR"
    for line in server.lines:
        assert json.loads(line)["jsonrpc"] == "2.0"
    assert "child noise" in server.stderr()
