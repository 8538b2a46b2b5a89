"""The node is found or started: by anybody, once, with clear words when it cannot be."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from identity.errors import InvalidInput, Unavailable
from loomem.nats.link import Link
from loomem.node import NodeFiles, NodeSpec, Phase, embedded_endpoint, ensure, logs, read_state, start, status, stop
from loomem.node.process import try_lock
from tests.contracts.node_rooms import forge, is_kept, keep_something, node_spec, processes_of, runs
from tests.permissions import obeying_modes
from tests.waiting import eventually

REPOSITORY = Path(__file__).parents[2]

ONE_CLIENT = """
import asyncio, pathlib, sys
from loomem.node import ensure
from tests.contracts.node_rooms import node_spec
state = asyncio.run(ensure(node_spec(pathlib.Path(sys.argv[1]))))
sys.stdout.write(f"{state.pid} {state.server_pid} {state.port}\\n")
"""


@pytest.fixture
async def home(tmp_path: Path) -> AsyncGenerator[Path]:
    """A home whose node is gone when the test is over."""
    home = tmp_path / "a home"
    yield home
    await stop(node_spec(home))
    await eventually(lambda: processes_of(home) == [])


@asynccontextmanager
async def connected(spec: NodeSpec) -> AsyncGenerator[Link]:
    async with Link(lambda: embedded_endpoint(spec), name="test") as link:
        await link.ready(5)
        yield link


async def test_the_first_caller_starts_a_node_and_the_second_finds_it(home: Path) -> None:
    first = await ensure(node_spec(home))
    second = await ensure(node_spec(home))

    assert first.phase is Phase.RUNNING
    assert second == first
    assert read_state(node_spec(home)) == first
    async with connected(node_spec(home)) as link:
        assert (await link.js.account_info()).storage == 0


async def test_twenty_processes_at_once_get_one_node(home: Path) -> None:
    async def client() -> str:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", ONE_CLIENT, home, stdout=subprocess.PIPE, cwd=REPOSITORY
        )
        async with asyncio.timeout(60):
            said, _ = await process.communicate()
        return said.decode()

    answers = await asyncio.gather(*(client() for _ in range(20)))

    assert len(set(answers)) == 1, answers
    assert len(answers[0].split()) == 3
    assert logs(node_spec(home)).count("event=broker_ready") == 1


async def test_twenty_tasks_of_one_process_get_one_node(home: Path) -> None:
    states = await asyncio.gather(*(ensure(node_spec(home)) for _ in range(20)))

    assert len({state.pid for state in states}) == 1


async def test_stop_leaves_nothing_running_and_the_next_start_keeps_port_and_memories(home: Path) -> None:
    spec = node_spec(home)
    before = await start(spec)
    async with connected(spec) as link:
        await keep_something(link)

    assert await stop(spec) is True
    assert read_state(spec) is None
    assert processes_of(home) == []
    assert await stop(spec) is False

    after = await start(spec)
    assert after.pid != before.pid
    assert after.port == before.port
    assert after.node_id == before.node_id
    async with connected(spec) as link:
        assert await is_kept(link)


async def test_a_taken_port_makes_the_node_take_another_one(home: Path) -> None:
    spec = node_spec(home)
    before = await ensure(spec)
    assert before.port is not None
    await stop(spec)

    with socket.create_server(("127.0.0.1", before.port)):
        after = await ensure(spec)

    assert after.port != before.port
    async with connected(spec) as link:
        assert link.connected


async def test_two_homes_know_nothing_of_each_other(home: Path, tmp_path: Path) -> None:
    other = node_spec(tmp_path / "other")
    try:
        one, two = await ensure(node_spec(home)), await ensure(other)
        assert one.port != two.port
        assert one.node_id != two.node_id
        assert NodeFiles.of(other).secret() != NodeFiles.of(node_spec(home)).secret()
        await stop(other)
        assert read_state(node_spec(home)) == one
    finally:
        await stop(other)


@pytest.mark.requirement("deliver-2.private")
async def test_folders_and_files_are_for_their_owner_alone_and_the_token_stands_in_no_log(home: Path) -> None:
    spec = node_spec(home)
    state = await ensure(spec)
    files = NodeFiles.of(spec)

    def mode(path: Path) -> int:
        return stat.S_IMODE(path.stat().st_mode)

    assert {mode(path) for path in (home, files.root, files.store, files.ports)} == {0o700}
    assert {mode(path) for path in (files.token, files.config, files.state, files.log, files.lock)} == {0o600}
    async with connected(spec):
        pass
    await stop(spec)
    token = files.secret()
    assert len(token) >= 32
    assert token not in files.log.read_text("utf-8")
    assert token not in repr(state)
    assert token not in repr(await status(spec))


async def test_a_stranger_without_the_token_is_refused(home: Path) -> None:
    spec = node_spec(home)
    endpoint = msgspec.structs.replace(await embedded_endpoint(spec), token="guessed")

    async def stranger() -> object:
        return endpoint

    with pytest.raises(Unavailable):
        async with Link(stranger, name="stranger") as link:  # pyright: ignore[reportArgumentType]
            await link.ready(5)


async def test_a_node_inherits_nothing_of_its_starter(home: Path) -> None:
    leak_in, leak_out = os.pipe()
    os.set_inheritable(leak_out, True)  # noqa: FBT003  takes no keywords
    try:
        state = await ensure(node_spec(home))
        leak = os.readlink(f"/proc/self/fd/{leak_out}")
        for pid in (state.pid, state.server_pid):
            folder = Path(f"/proc/{pid}")
            opened = [os.readlink(fd) for fd in (folder / "fd").iterdir()]
            assert leak not in opened
            assert os.readlink(folder / "fd/0") == "/dev/null"
            assert (
                os.readlink(folder / "fd/1") == os.readlink(folder / "fd/2") == str(NodeFiles.of(node_spec(home)).log)
            )
        assert os.getsid(state.pid) != os.getsid(0)
        assert os.readlink(f"/proc/{state.pid}/cwd") != str(Path.cwd())
    finally:
        os.close(leak_in)
        os.close(leak_out)


@pytest.mark.requirement("deliver-2.upgrade")
async def test_a_newer_client_takes_over_and_an_older_one_does_not(home: Path) -> None:
    old = await ensure(node_spec(home, version="1.0.0"))
    new = await ensure(node_spec(home, version="1.1.0"))

    assert new.version == "1.1.0"
    assert new.pid != old.pid
    assert not runs(old.pid)
    assert not runs(old.server_pid)
    assert await ensure(node_spec(home, version="1.0.0")) == new


@pytest.mark.requirement("deliver-2.upgrade")
async def test_clients_of_two_versions_at_once_agree_on_the_newer_node(home: Path) -> None:
    await ensure(node_spec(home, version="1.0.0"))
    versions = ("1.0.0", "2.0.0") * 5
    await asyncio.gather(*(ensure(node_spec(home, version=version)) for version in versions))

    state = read_state(node_spec(home))
    assert state is not None
    assert state.version == "2.0.0"


async def test_a_leftover_state_with_a_foreign_process_id_hurts_nobody(home: Path) -> None:
    spec = node_spec(home)
    before = await ensure(spec)
    os.kill(before.pid, signal.SIGKILL)
    await eventually(lambda: read_state(spec) is None)
    bystander = await asyncio.create_subprocess_exec(sys.executable, "-c", "input()", stdin=subprocess.PIPE)
    try:
        forge(spec, pid=bystander.pid)
        assert read_state(spec) is None
        assert await stop(spec) is False
        after = await ensure(node_spec(home, version="2.0.0"))
        assert after.pid != bystander.pid
        assert bystander.returncode is None

        # Even while a node is there: the start time tells that the process in its state is somebody else.
        forge(spec, pid=bystander.pid)
        with pytest.raises(Unavailable, match="does not leave"):
            await stop(spec, timeout_s=0.1)
        assert runs(bystander.pid)
        assert runs(after.pid)
        forge(spec, pid=after.pid)
    finally:
        await bystander.communicate(b"\n")


async def test_a_damaged_store_is_reported_with_the_servers_words_and_what_to_do(home: Path) -> None:
    spec = node_spec(home)
    files = NodeFiles.of(spec)
    files.prepare(home)
    files.store.mkdir()
    (files.store / "jetstream").write_text("not a folder")

    with pytest.raises(Unavailable) as failure:
        await ensure(spec)

    assert "Can't start JetStream" in failure.value.message
    assert "backup" in failure.value.message
    assert str(files.log) in failure.value.message
    told = await status(spec)
    assert told.running is False
    assert told.phase is Phase.FAILED
    assert told.error == failure.value.message

    (files.store / "jetstream").unlink()
    assert (await ensure(spec)).phase is Phase.RUNNING


async def test_a_home_that_is_a_file_is_refused_with_what_to_do(tmp_path: Path) -> None:
    home = tmp_path / "a home"
    home.write_text("a file")

    with pytest.raises(Unavailable, match="not a directory") as failure:
        await ensure(node_spec(home))

    assert "Point PATTERN_HOME" in failure.value.message
    assert str(home) in failure.value.message


async def test_a_read_only_home_is_refused_with_what_to_do(tmp_path: Path) -> None:
    home = tmp_path / "a home"
    home.mkdir(mode=0o500)

    with obeying_modes(), pytest.raises(Unavailable, match="Point PATTERN_HOME"):
        await ensure(node_spec(home))


async def test_a_kernel_folder_is_refused_with_what_to_do() -> None:
    with pytest.raises(Unavailable, match="Point PATTERN_HOME"):
        await ensure(node_spec(Path("/proc/pattern-memory")))


async def test_a_relative_home_is_refused() -> None:
    with pytest.raises(InvalidInput, match="absolute"):
        await ensure(node_spec(Path("memory")))


async def test_a_node_that_crashes_at_once_is_reported_with_its_last_words(home: Path) -> None:
    spec = msgspec.structs.replace(node_spec(home), command=(sys.executable, "-c", "raise SystemExit('no such luck')"))

    with pytest.raises(Unavailable, match="no such luck"):
        await ensure(spec)


async def test_a_command_that_does_not_exist_is_reported(home: Path) -> None:
    spec = msgspec.structs.replace(node_spec(home), command=("/nowhere/pattern-memory",))

    with pytest.raises(Unavailable, match="/nowhere/pattern-memory"):
        await ensure(spec)


async def test_waiting_for_a_silent_holder_of_the_lock_is_bounded(home: Path) -> None:
    spec = node_spec(home)
    files = NodeFiles.of(spec)
    files.prepare(home)
    lock = try_lock(files.lock)
    assert lock is not None
    try:
        with pytest.raises(Unavailable, match="did not come up"):
            await ensure(spec, timeout_s=0.2)
    finally:
        os.close(lock)


async def test_the_status_tells_everything_but_secrets(home: Path) -> None:
    spec = node_spec(home)
    assert (await status(spec)).running is False

    state = await ensure(spec)
    told = await status(spec)

    assert told.running is True
    assert (told.pid, told.server_pid, told.version) == (state.pid, state.server_pid, "1.0.0")
    assert told.url == f"nats://127.0.0.1:{state.port}"
    assert told.log_path == str(NodeFiles.of(spec).log)
    assert told.store_bytes is not None
    assert told.uptime_s is not None
    assert told.uptime_s >= 0
    assert told.workers == [{"name": "idle", "done": 0}]
    assert "event=broker_ready" in logs(spec)


@pytest.mark.requirement("deliver-2.durable")
async def test_the_broker_syncs_every_write_and_listens_on_loopback_alone(home: Path) -> None:
    state = await ensure(node_spec(home))
    config = NodeFiles.of(node_spec(home)).config
    command = await asyncio.to_thread(Path(f"/proc/{state.server_pid}/cmdline").read_bytes)
    assert os.fsencode(config) in command.split(b"\0")
    assert {"sync_interval: always", 'host: "127.0.0.1"'} <= {
        line.strip() for line in config.read_text("utf-8").splitlines()
    }


async def test_a_node_for_a_broker_of_ones_own_has_workers_and_no_server(home: Path, tmp_path: Path) -> None:
    own = node_spec(home)
    endpoint = await embedded_endpoint(own)
    url = endpoint.servers[0].replace("nats://", f"nats://{endpoint.token}@")
    spec = node_spec(tmp_path / "clients", url=url)

    async def source() -> object:
        return endpoint

    try:
        state = await ensure(spec)
        assert state.server_pid is None
        assert state.url == endpoint.shown
        assert NodeFiles.of(spec).root != NodeFiles.of(node_spec(spec.home)).root
        told = await status(spec, source=source)  # pyright: ignore[reportArgumentType]
        assert told.workers == [{"name": "idle", "done": 0}]
        assert told.store_bytes is None
        assert endpoint.token is not None
        assert endpoint.token not in NodeFiles.of(spec).log.read_text("utf-8") + repr(told) + repr(spec)
    finally:
        await stop(spec)
