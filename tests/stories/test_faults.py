"""What is wrong with the machine is said to the client, soon and with what to do; once it is put right, all goes on without restart."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pattern.testing import NatsServer
from pattern.testing.server import free_port
from tests.permissions import OBEDIENT
from tests.stories.machine import CALL_FAILS_S, Fault, Server, Stopwatch, contents, machine


async def told(server: Server, *words: str) -> str:
    """Return what a call is told, in time, once the first attempt to start has failed; health says the same."""
    async with asyncio.timeout(30):
        while "error" not in (await server.call("pattern_health"))["storage"]:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    with Stopwatch() as took, pytest.raises(Fault) as failure:
        await server.call("remember", content="x", category="longterm")
    assert took.seconds < CALL_FAILS_S
    assert failure.value.code == "NATS_ERROR"
    health = await server.call("pattern_health")
    assert health["status"] != "healthy"
    for word in words:
        assert word in failure.value.message
        assert word in " ".join(health["reasons"])
    return failure.value.message


async def put_right(server: Server) -> None:
    await server.healthy()
    await server.call("remember", content="all is well", category="longterm")
    assert contents((await server.call("recall-context"))["private"]) == ["all is well"]


@pytest.mark.requirement("deliver-2.faults")
async def test_a_read_only_home_is_told_and_used_once_it_is_writable(tmp_path: Path) -> None:
    async with machine(tmp_path) as here:
        here.home.mkdir(mode=0o500)
        server = await here.server(prefix=OBEDIENT)
        await told(server, "Permission denied", str(here.home), "PATTERN_HOME", "NATS_URL")
        here.home.chmod(0o700)
        await put_right(server)


@pytest.mark.requirement("deliver-2.faults")
async def test_a_home_that_is_a_file_is_told_and_used_once_it_is_a_folder(tmp_path: Path) -> None:
    async with machine(tmp_path) as here:
        here.home.write_text("not a folder")
        server = await here.server()
        await told(server, "not a directory", str(here.home), "PATTERN_HOME", "NATS_URL")
        here.home.unlink()
        await put_right(server)


@pytest.mark.requirement("deliver-2.faults")
async def test_a_home_where_nothing_can_be_made_is_told(tmp_path: Path) -> None:
    async with machine(tmp_path) as here:
        server = await here.server(PATTERN_HOME="/proc/pattern-memory")
        await told(server, "/proc/pattern-memory", "PATTERN_HOME", "NATS_URL")


@pytest.mark.requirement("deliver-2.faults")
async def test_a_corrupt_store_is_told_and_never_begun_anew_in_silence(tmp_path: Path) -> None:
    async with machine(tmp_path) as here:
        store = here.node_files.store
        store.mkdir(parents=True)
        (store / "jetstream").write_text("not a folder")
        server = await here.server()
        message = await told(server, "damaged", "backup", str(store))
        assert str(here.node_files.log) in message
        (store / "jetstream").unlink()
        await put_right(server)


@pytest.mark.requirement("deliver-2.faults")
async def test_a_port_taken_is_no_reason_not_to_start(tmp_path: Path) -> None:
    async with machine(tmp_path) as here:
        with closing(socket.create_server(("127.0.0.1", 0))) as taken:
            port: int = taken.getsockname()[1]
            here.node_files.prepare(here.home)
            here.node_files.last_port.write_text(str(port))
            server = await here.server()
            await put_right(server)
            node = here.node
            assert node is not None
            assert node.port not in (None, port)


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of something that takes connections and is no broker."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        yield f"nats://127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.requirement("deliver-2.faults", "process-48.unreachable")
async def test_an_address_without_a_broker_is_told(tmp_path: Path, silent: str) -> None:
    async with machine(tmp_path, PATTERN_NODE="off") as here:
        for url in (silent, f"nats://127.0.0.1:{free_port()}", "nats://broker.invalid:4222"):
            server = await here.server(NATS_URL=url)
            assert "NATS_URL" in await told(server, f"connecting to {url}")


@pytest.mark.requirement("deliver-2.faults")
async def test_a_broker_without_jetstream_is_told(tmp_path: Path, nats_servers: Callable[..., NatsServer]) -> None:
    plain = nats_servers(config="# No jetstream block, hence no store_dir either.\n")
    async with machine(tmp_path, NATS_URL=plain.url, PATTERN_NODE="off") as here:
        server = await here.server()
        await server.call("pattern_health")
        with pytest.raises(Fault, match="JetStream") as failure:
            await server.call("remember", content="x")
        assert failure.value.code == "NATS_ERROR"
        health = await server.call("pattern_health")
        assert health["status"] == "degraded"
        assert "JetStream" in " ".join(health["reasons"])
