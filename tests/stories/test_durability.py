"""What was acknowledged stays, once, whoever is killed meanwhile: many processes write and change while brokers die.

Run with `-s` to see the counts; `--long` for the full numbers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from pattern.testing import NatsCluster
from tests.stories.machine import Json, Machine, Server, Stopwatch, machine
from tests.stories.workload import Contest, Ledger

PROCESSES = 8


class Size(msgspec.Struct, frozen=True):
    writes: int
    """Of each process."""
    changes: int
    """Of all together, of one memory."""
    kills: int


SHORT = Size(writes=100, changes=80, kills=2)
LONG = Size(writes=1000, changes=500, kills=8)


@pytest.mark.timeout(900)
@pytest.mark.requirement("lesson-3.1.creates", "lesson-3.1.updates", "deliver-2.killed", "store-49.restart")
async def test_eight_processes_lose_and_double_nothing_while_the_node_is_killed(
    tmp_path: Path, long_form: bool, tell: Callable[[str], None]
) -> None:
    size = LONG if long_form else SHORT
    async with machine(tmp_path) as here:
        servers = await _servers(here)
        ledger, contest = Ledger(), await _contest(servers[0], size)

        async def kill_nodes() -> None:
            for number in range(1, size.kills + 1):
                await ledger.reach(number * PROCESSES * size.writes // (size.kills + 1))
                victim = here.kill_node()
                assert victim is not None
                await here.next_node(other_than=victim)

        with Stopwatch() as took:
            async with asyncio.TaskGroup() as group:
                group.create_task(kill_nodes())
                _work(group, servers, ledger, contest, size)
        for server in servers:
            await _check(server, ledger, contest)

        # And in whatever comes after all of them.
        for server in servers:
            await server.kill()
        here.kill_node()
        await _check(await here.server(), ledger, contest)
        tell(f"embedded node killed {size.kills} times in {took.seconds:.1f} s: {ledger}; {contest}")


@pytest.mark.timeout(900)
@pytest.mark.requirement("shown-cluster")
async def test_a_killed_node_of_a_cluster_loses_and_doubles_nothing(
    tmp_path: Path, long_form: bool, tell: Callable[[str], None]
) -> None:
    size = Size(writes=200, changes=200, kills=4) if long_form else Size(writes=40, changes=30, kills=1)
    with NatsCluster(tmp_path / "cluster") as cluster:
        async with machine(tmp_path, NATS_URL=cluster.url, PATTERN_REPLICAS="3", PATTERN_NODE="off") as here:
            servers = await _servers(here, number=PROCESSES if long_form else 3)
            ledger, contest = Ledger(), await _contest(servers[0], size)

            async def kill_leaders() -> None:
                for number in range(1, size.kills + 1):
                    await ledger.reach(number * len(servers) * size.writes // (size.kills + 1))
                    leader = await asyncio.to_thread(cluster.leader_of, await _stream(servers[0]))
                    victim = leader or cluster.nodes[0]
                    victim.kill()
                    await ledger.reach(ledger.done + 5)  # two of three go on
                    # In a thread, since it blocks until the node listens; it is stopped by its cluster all the same.
                    await asyncio.to_thread(victim.start)

            with Stopwatch() as took:
                async with asyncio.TaskGroup() as group:
                    group.create_task(kill_leaders())
                    _work(group, servers, ledger, contest, size)
            for server in servers:
                await _check(server, ledger, contest)
            tell(f"leaders of a cluster killed {size.kills} times in {took.seconds:.1f} s: {ledger}; {contest}")


async def _servers(here: Machine, number: int = PROCESSES) -> list[Server]:
    servers = await asyncio.gather(*(here.server() for _ in range(number)))
    await asyncio.gather(*(server.healthy() for server in servers))
    return servers


async def _contest(server: Server, size: Size) -> Contest:
    written = await server.call("remember", content="start", category="longterm")
    return Contest(written["memoryId"], size.changes)


def _work(group: asyncio.TaskGroup, servers: list[Server], ledger: Ledger, contest: Contest, size: Size) -> None:
    for number, server in enumerate(servers):
        group.create_task(ledger.write(server, f"process {number}", size.writes))
        group.create_task(contest.take_part(server, f"process-{number}"))


async def _check(server: Server, ledger: Ledger, contest: Contest) -> None:
    """Compare what a server shows with what was acknowledged."""
    await server.healthy()
    contested: Json = (await server.call("get-memory", memoryId=contest.memory_id))["memory"]
    contest.check(contested["content"])
    ledger.check(await server.all_memories(), besides=[contest.memory_id])


async def _stream(server: Server) -> str:
    health = await server.call("pattern_health")
    return f"KV_loom-memory-project-{health['session']['projectId']}"
