"""The broker goes away and comes back, elsewhere too: calls say so at once, nothing is lost, and everything heals by itself.

An outage lasts a minute with `--long`, else twelve seconds.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from loomem.node.process import try_lock
from pattern.testing import NatsServer
from pattern.testing.server import free_port
from tests.stories.machine import CALL_FAILS_S, Fault, Json, Machine, Server, Stopwatch, contents, machine
from tests.stories.served import TOOLS
from tests.stories.workload import Ledger
from tests.waiting import eventually

SECRET = "hunter2-and-more"
AUTH = f'authorization {{ user: agent, password: "{SECRET}" }}'
BULK = 1000

Brokers = Callable[..., NatsServer]


@asynccontextmanager
async def outlook(folder: Path, *ports: int, **settings: str) -> AsyncGenerator[Machine]:
    """Give a machine whose broker is the user's own, on one of these ports."""
    url = ",".join(f"nats://agent:{SECRET}@127.0.0.1:{port}" for port in ports)
    async with machine(folder, NATS_URL=url, PATTERN_NODE="off", **settings) as here:
        yield here
        for server in here.servers:
            assert SECRET not in server.stdout.decode() + server.log()


async def refused(server: Server, tool: str = "remember", **arguments: object) -> Fault:
    """Return how a call fails while the broker is away: soon, and saying what to do."""
    with Stopwatch() as took, pytest.raises(Fault) as failure:
        await server.call(tool, **(arguments or {"content": "into the void", "category": "longterm"}))
    assert took.seconds < CALL_FAILS_S, f"{tool} took {took.seconds:.2f} s to fail"
    assert failure.value.code == "NATS_ERROR"
    assert "NATS_URL" in failure.value.message
    assert "doctor" in failure.value.message
    return failure.value


async def degraded(server: Server) -> Json:
    """Return the report of health, which says what is wrong, in time."""
    with Stopwatch() as took:
        report = await server.call("pattern_health")
    assert took.seconds < CALL_FAILS_S + 0.5
    assert report["status"] == "degraded", report
    assert report["storage"]["connected"] is False
    assert "not connected" in report["reasons"][0]
    return report


@pytest.mark.timeout(300)
@pytest.mark.requirement("process-48.outage", "process-48.unreachable", "process-48.health", "scenario-32")
async def test_an_outage_heals_without_restart_on_another_port_too(
    tmp_path: Path, nats_servers: Brokers, long_form: bool, tell: Callable[[str], None]
) -> None:
    outage_s = 60.0 if long_form else 12.0
    broker, other_port = nats_servers(auth=AUTH), free_port()
    async with outlook(tmp_path, broker.port, other_port) as here:
        writer, reader = await asyncio.gather(here.server(), here.server())
        await writer.healthy()
        await writer.call("remember", content="before", category="longterm")

        broker.kill()
        began, calls = time.monotonic(), 0
        while time.monotonic() - began < outage_s:
            await refused(writer)
            await refused(reader, "recall-context", limit=1)
            await degraded(writer)
            assert "remember" in await writer.tools()
            calls += 2
        with NatsServer(broker.directory, msgspec.structs.replace(broker.options, port=other_port)):
            with Stopwatch() as healed:
                await asyncio.gather(writer.healthy(), reader.healthy())
            written = await writer.call("remember", content="after", category="longterm")
            seen = await reader.call("recall-context", atLeast=written["position"])
            assert contents(seen["private"]) == ["after", "before"]
        tell(
            f"outage of {outage_s:g} s, ended on another port: {calls} calls failed within {CALL_FAILS_S:g} s each; "
            f"healthy {healed.seconds:.1f} s after the broker was back"
        )


@pytest.mark.requirement("process-48.first", "process-48.unreachable", "scenario-32", "lesson-3.11")
async def test_an_outage_before_the_start_hides_no_tool_and_ends_by_itself(
    tmp_path: Path, nats_servers: Brokers
) -> None:
    broker = nats_servers(auth=AUTH)
    broker.stop()
    async with outlook(tmp_path, broker.port) as here:
        server = await here.server()
        assert len(await server.tools()) == TOOLS
        await degraded(server)
        await refused(server)
        await asyncio.to_thread(broker.restart)
        await server.healthy()
        await server.call("remember", content="better late", category="longterm")


@pytest.mark.requirement("scenario-32", "deliver-3.cas")
async def test_a_broker_that_freezes_and_dies_during_a_write_neither_loses_nor_doubles_it(
    tmp_path: Path, nats_servers: Brokers
) -> None:
    broker = nats_servers(auth=AUTH, sync_always=True)
    ledger = Ledger()
    async with outlook(tmp_path, broker.port) as here, asyncio.TaskGroup() as group:
        server = await here.server()
        await server.healthy()
        broker.pause()
        writing = group.create_task(ledger.remember(server, "in flight"))
        await server.request("ping")  # it has taken the call before
        await asyncio.to_thread(broker.kill)
        await asyncio.to_thread(broker.start)

        assert await writing
        await server.healthy()
        ledger.check(await server.all_memories())
        assert ledger.unasked == 0


@pytest.mark.requirement("scenario-32", "bulk-34.atomic")
@pytest.mark.parametrize("atomic", [False, True])
async def test_a_broker_killed_amid_a_bulk_write_leaves_what_was_told_and_no_double(
    tmp_path: Path, nats_servers: Brokers, atomic: bool
) -> None:
    broker = nats_servers(auth=AUTH, sync_always=True)
    items = [{"content": f"item {n}", "category": "longterm"} for n in range(BULK)]
    async with outlook(tmp_path, broker.port) as here, asyncio.TaskGroup() as group:
        server = await here.server()
        await server.healthy()
        writing = group.create_task(server.call("remember-bulk", memories=items, atomic=atomic))
        if atomic:
            await server.request("ping")
        else:
            await server.noted.wait()  # the first progress: some are stored
        await asyncio.to_thread(broker.kill)
        await asyncio.to_thread(broker.start)

        written = await writing
        await server.healthy()
        found = await server.all_memories()
        ids = [memory["id"] for memory in found]
        assert len(ids) == len(set(contents(found)))
        assert set(written["memoryIds"]) <= set(ids)
        assert written["stored"] + written["failed"] == BULK
        if atomic:
            assert len(ids) == BULK


@pytest.mark.timeout(300)
@pytest.mark.requirement("scenario-32")
async def test_a_flapping_connection_loses_and_doubles_nothing(
    tmp_path: Path, nats_servers: Brokers, long_form: bool, tell: Callable[[str], None]
) -> None:
    broker = nats_servers(auth=AUTH)
    flaps, ledger = 20 if long_form else 5, Ledger()
    async with outlook(tmp_path, broker.port) as here:
        server = await here.server()
        await server.healthy()

        async def flap() -> None:
            for number in range(flaps):
                await ledger.reach(number * 5)
                await asyncio.to_thread(broker.kill)
                await asyncio.to_thread(broker.start)

        async with asyncio.TaskGroup() as group:
            group.create_task(flap())
            group.create_task(ledger.write(server, "flapping", flaps * 5))
        await server.healthy()
        ledger.check(await server.all_memories())
        tell(f"{flaps} flaps: {ledger}")


@pytest.mark.requirement("process-48.outage", "deliver-2.killed")
async def test_a_call_waits_for_the_embedded_broker_that_is_being_started_again(tmp_path: Path) -> None:
    async with machine(tmp_path) as here, asyncio.TaskGroup() as group:
        server = await here.server()
        await server.healthy()
        launch = try_lock(here.node_files.launch_lock)
        assert launch is not None
        try:
            here.kill_node()
            await eventually(lambda: here.node is None)
            await degraded(server)
            writing = group.create_task(server.call("remember", content="patience", category="longterm"))
            for _ in range(2):  # together longer than a call waits for a broker that nobody starts
                await degraded(server)
            assert not writing.done()
        finally:
            os.close(launch)
        await writing


@pytest.mark.requirement("process-48.outage", "deliver-2.killed")
async def test_the_embedded_broker_is_found_on_another_port_without_a_call(tmp_path: Path) -> None:
    async with machine(tmp_path) as here:
        server = await here.server()
        await server.healthy()
        await server.call("remember", content="before", category="longterm")
        first = here.node
        assert first is not None
        assert first.port is not None
        taker = await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", port=0)
        async with taker:
            # Another program takes the port before the node is back: said by the file that the node reads.
            here.node_files.last_port.write_text(str(taker.sockets[0].getsockname()[1]))
            here.kill_node()
            second = await here.next_node(other_than=first.pid)
            assert second.port not in (None, first.port, taker.sockets[0].getsockname()[1])
            await eventually(lambda: server.log().count("event=connected") == 2, within_s=20)
        assert contents((await server.call("recall-context"))["private"]) == ["before"]
