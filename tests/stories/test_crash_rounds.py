"""Server, node and nats-server killed in any order, round after round, on one store.

`PATTERN_SEED=...` repeats a run; the seed is printed. `--long` runs all rounds.
"""

from __future__ import annotations

import asyncio
import os
import random
import secrets
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest

from tests.stories.machine import Fault, Gone, Machine, Server, machine
from tests.stories.workload import Ledger

IDLE_S = "1"
"""A node that a dying server started once more leaves by itself: nobody else ends it here."""
WRITES_MAX = 12
"""Acknowledged writes between two kills are fewer than this."""


@pytest.mark.timeout(900)
@pytest.mark.requirement("shown-kill", "deliver-2.killed")
async def test_kills_in_any_order_lose_nothing_and_leave_nothing_running(
    tmp_path: Path, long_form: bool, tell: Callable[[str], None]
) -> None:
    seed = int(os.environ.get("PATTERN_SEED") or secrets.randbelow(10**6))
    rounds = 20 if long_form else 3
    chance = random.Random(seed)
    ledger = Ledger()
    orders: list[str] = []
    tell(f"crash rounds: PATTERN_SEED={seed}")
    async with machine(tmp_path, PATTERN_NODE_IDLE_S=IDLE_S) as here:
        for number in range(rounds):
            server = await here.server()
            await server.healthy()
            ledger.check(await server.all_memories())
            orders.append(await _round(here, server, ledger, chance, f"round {number}"))
            await here.nothing_runs()

        server = await here.server()
        await server.healthy()
        ledger.check(await server.all_memories())
        tell(f"{rounds} rounds ({', '.join(orders)}): {ledger}")


async def _round(here: Machine, server: Server, ledger: Ledger, chance: random.Random, label: str) -> str:
    """Kill the three in some order while the server writes, one by one and in bulk."""
    order = chance.sample(["server", "node", "broker"], 3)
    kills: dict[str, Callable[[], object]] = {
        "server": lambda: os.kill(server.pid, 9),
        "node": here.kill_node,
        "broker": here.kill_broker,
    }
    async with asyncio.TaskGroup() as group:
        group.create_task(_write(server, ledger, label))
        for victim in order:
            await ledger.reach(ledger.done + chance.randrange(WRITES_MAX))
            kills[victim]()
    return ">".join(order)


async def _write(server: Server, ledger: Ledger, label: str) -> None:
    """Write until the server is gone."""
    async with ledger.open():
        with suppress(Gone):
            for number in count():
                await ledger.remember(server, f"{label}, write {number}")
                await _write_many(server, ledger, f"{label}, bulk {number}")


async def _write_many(server: Server, ledger: Ledger, label: str) -> None:
    items = [f"{label}, item {n}" for n in range(5)]
    ledger.unknown.update(items)
    with suppress(Fault):
        written = await server.call(
            "remember-bulk", memories=[{"content": item, "category": "longterm"} for item in items]
        )
        failed = {error["index"] for error in written["errors"]}
        stored = [item for index, item in enumerate(items) if index not in failed]
        ledger.acknowledged |= dict(zip(written["memoryIds"], stored, strict=True))
        ledger.unknown.difference_update(stored)
        await ledger.count()
