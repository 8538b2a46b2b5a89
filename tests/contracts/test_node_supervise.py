"""The node lives as long as it is needed, brings its broker back, and takes it along when it dies."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from identity.errors import Unavailable
from loomem.nats.link import Link
from loomem.node import NodeFiles, NodeSpec, Phase, embedded_endpoint, ensure, logs, read_state, status, stop
from loomem.node.broker import Guard
from loomem.node.presence import ask_status, hello_subject, present
from loomem.node.supervise import RESTARTS_MAX
from tests.contracts.node_rooms import is_kept, keep_something, next_state, node_spec, processes_of, runs
from tests.waiting import eventually


@pytest.fixture
async def home(tmp_path: Path) -> AsyncGenerator[Path]:
    home = tmp_path / "home"
    yield home
    await stop(node_spec(home))
    await eventually(lambda: processes_of(home) == [])


def client(spec: NodeSpec) -> Link:
    return Link(lambda: embedded_endpoint(spec), name="client")


@pytest.mark.parametrize("guard", list(Guard))
async def test_a_killed_node_takes_its_server_along_and_the_next_one_has_all_memories(home: Path, guard: Guard) -> None:
    spec = node_spec(home, guard=guard)
    before = await ensure(spec)
    async with client(spec) as link:
        await link.ready(5)
        await keep_something(link)

    os.kill(before.pid, signal.SIGKILL)
    await eventually(lambda: not runs(before.server_pid), within_s=1)
    await eventually(lambda: processes_of(home) == [], within_s=1)

    after = await ensure(spec)
    assert after.pid != before.pid
    assert after.port == before.port
    async with client(spec) as link:
        await link.ready(5)
        assert await is_kept(link)


@pytest.mark.parametrize("guard", list(Guard))
async def test_a_killed_server_is_started_again_on_its_port(home: Path, guard: Guard) -> None:
    spec = node_spec(home, guard=guard)
    before = await ensure(spec)
    assert before.server_pid is not None

    os.kill(before.server_pid, signal.SIGKILL)
    after = await next_state(spec, lambda state: state.server_pid != before.server_pid)

    assert after.pid == before.pid
    assert after.port == before.port
    assert await ensure(spec) == after
    if guard is Guard.PIPE:
        assert len([line for line in processes_of(home) if line.startswith("/bin/sh")]) == 0
    async with client(spec) as link:
        await link.ready(5)


async def test_a_client_that_lost_the_node_starts_it_again(home: Path) -> None:
    spec = node_spec(home)
    before = await ensure(spec)
    async with client(spec) as link:
        await link.ready(5)
        os.kill(before.pid, signal.SIGKILL)
        after = await next_state(spec, lambda state: state.pid != before.pid and state.phase is Phase.RUNNING)
        await eventually(lambda: link.connected)
    assert after.port == before.port


async def test_server_and_node_killed_together_come_back(home: Path) -> None:
    spec = node_spec(home)
    for _ in range(3):
        state = await ensure(spec)
        assert state.server_pid is not None
        os.kill(state.server_pid, signal.SIGKILL)
        os.kill(state.pid, signal.SIGKILL)
    assert (await ensure(spec)).phase is Phase.RUNNING


async def test_the_node_leaves_when_nobody_is_there(home: Path) -> None:
    spec = node_spec(home, idle_s=0.3)
    state = await ensure(spec)

    await eventually(lambda: not runs(state.pid) and not runs(state.server_pid))

    assert read_state(spec) is None
    assert not NodeFiles.of(spec).state.exists()
    assert "event=node_idle" in logs(spec)


async def test_the_node_stays_as_long_as_a_client_answers(home: Path) -> None:
    spec = node_spec(home, idle_s=0.3)
    state = await ensure(spec)
    async with client(spec) as link:
        await link.ready(5)
        async with present(link, state.node_id):
            pings = asyncio.Semaphore(0)

            async def count(_: object) -> None:
                pings.release()

            async with link.subscribe(f"pattern.node.{state.node_id}.ping", count):
                async with asyncio.timeout(10):
                    # More pings than the idle time holds.
                    for _ in range(15):
                        await pings.acquire()
            assert runs(state.pid)
        await eventually(lambda: not runs(state.pid))


async def test_the_node_stays_while_clients_come_and_go_between_its_pings(home: Path) -> None:
    spec = node_spec(home, idle_s=2.0)
    state = await ensure(spec)
    async with client(spec) as link:
        await link.ready(5)
        pings = asyncio.Semaphore(0)

        async def count(_: object) -> None:
            pings.release()

        async with link.subscribe(f"pattern.node.{state.node_id}.ping", count), asyncio.timeout(30):
            # More pings, none of them answered, than the idle time holds.
            for _ in range(4):
                await pings.acquire()
                await link.publish(hello_subject(state.node_id), b"")
        assert runs(state.pid)
    await eventually(lambda: not runs(state.pid))


async def test_the_node_stays_as_long_as_a_job_is_pending(home: Path) -> None:
    spec = node_spec(home, idle_s=0.1, worker="pending")
    state = await ensure(spec)
    async with client(spec) as link:
        await link.ready(5)
        report = await ask_status(link, state.node_id)
        pings = asyncio.Semaphore(0)

        async def count(_: object) -> None:
            pings.release()

        async with link.subscribe(f"pattern.node.{state.node_id}.ping", count), asyncio.timeout(30):
            for _ in range(2):
                await pings.acquire()
    assert report.workers == [{"name": "idle", "done": 0}]
    assert runs(state.pid)


async def test_workers_that_fail_leave_the_memory_usable_and_are_told(home: Path) -> None:
    spec = node_spec(home, worker="broken")
    state = await ensure(spec)
    await next_state(spec, lambda state: state.error is not None)

    told = await status(spec)
    assert told.running is True
    assert told.error is not None
    assert "no worker today" in told.error
    assert told.workers == []
    async with client(spec) as link:
        await link.ready(5)
    assert runs(state.pid)


async def test_workers_that_failed_once_are_tried_again(home: Path) -> None:
    spec = node_spec(home, worker="broken once")
    await ensure(spec)
    await next_state(spec, lambda state: state.error is not None)

    await next_state(spec, lambda state: state.error is None)

    assert (await status(spec)).workers == [{"name": "idle", "done": 0}]


async def test_a_node_whose_server_dies_again_and_again_gives_up_and_says_so(home: Path) -> None:
    spec = node_spec(home)
    state = await ensure(spec)
    for _ in range(RESTARTS_MAX):
        assert state.server_pid is not None
        os.kill(state.server_pid, signal.SIGKILL)
        dead = state.server_pid
        state = await next_state(spec, lambda state, dead=dead: state.server_pid != dead)
    assert state.server_pid is not None
    os.kill(state.server_pid, signal.SIGKILL)
    await eventually(lambda: not runs(state.pid))

    told = await status(spec)
    assert told.running is False
    assert told.error is not None
    assert "died" in told.error
    assert (await ensure(spec)).phase is Phase.RUNNING


@pytest.mark.parametrize("word", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
async def test_a_node_asked_to_leave_leaves_in_order(home: Path, word: signal.Signals) -> None:
    spec = node_spec(home)
    state = await ensure(spec)

    os.kill(state.pid, word)
    await eventually(lambda: not runs(state.pid))

    assert not runs(state.server_pid)
    assert not NodeFiles.of(spec).state.exists()
    log = logs(spec)
    assert "event=node_left" in log
    assert "Server Exiting" in log
    assert "Traceback" not in log


@pytest.mark.requirement("deliver-2.lock")
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows what another process has open")
async def test_the_server_holds_the_lock_of_the_store_too(home: Path) -> None:
    spec = node_spec(home)
    state = await ensure(spec)
    lock = str(NodeFiles.of(spec).lock)
    for pid in (state.pid, state.server_pid):
        opened = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
        assert lock in opened, pid


@pytest.mark.requirement("deliver-2.lock")
async def test_a_second_node_by_hand_finds_the_store_held_and_goes(home: Path) -> None:
    spec = node_spec(home)
    state = await ensure(spec)

    process = await asyncio.create_subprocess_exec(*spec.command, stderr=asyncio.subprocess.PIPE)
    async with asyncio.timeout(15):
        _, said = await process.communicate()

    assert process.returncode == 75
    assert b"event=node_already_there" in said
    assert await ensure(spec) == state


async def test_nobody_answers_for_another_node(home: Path) -> None:
    spec = node_spec(home)
    await ensure(spec)
    async with client(spec) as link:
        await link.ready(5)
        with pytest.raises(Unavailable):
            await ask_status(link, "0" * 16, timeout_s=0.1)


async def test_finding_a_running_node_is_cheap(home: Path) -> None:
    spec = node_spec(home)
    await ensure(spec)
    # The bound is wide for busy machines; what it catches is a second start or a wait in the way.
    started = time.perf_counter()
    for _ in range(20):
        await ensure(spec)
    assert time.perf_counter() - started < 2
