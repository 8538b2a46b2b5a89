"""Graph workers killed at random points, round after round, while memories come, change and go.

`PATTERN_SEED=...` repeats a run; the seed is printed. `--long` runs all rounds.
"""

from __future__ import annotations

import asyncio
import os
import random
import secrets
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import pytest

from identity.ports import Bucket
from loomem.nats.topology import KvBuckets
from pattern.testing.accounts import NatsAccount
from tests.contracts.embed_kit import BUCKET, forget, keep
from tests.contracts.graph_kit import look, reading
from tests.contracts.workers_kit import linked
from tests.waiting import eventually

ROUND_MEMORIES = 60
NAMES = ("Anna Nowak", "Ben Carter", "Priya Raman", "Katrin Vogel", "nobody in particular")


@asynccontextmanager
async def crew(url: str) -> AsyncGenerator[asyncio.subprocess.Process]:
    """A process that reads; killed at the end, if not before."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.contracts.graph_process", url, stdin=pipe, stdout=pipe
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(60):
            assert await process.stdout.readline() == b"running\n"
        yield process
    finally:
        await kill(process)


async def kill(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.kill()
    await process.wait()


class Writer:
    """Writes, changes and forgets memories."""

    def __init__(self, bucket: Bucket, chance: random.Random) -> None:
        self._bucket = bucket
        self._chance = chance
        self._revisions: dict[int, int] = {}
        self._count = 0

    async def step(self) -> None:
        self._count += 1
        again = self._revisions and self._chance.random() < 0.4
        number = self._chance.choice(list(self._revisions)) if again else self._count
        known = self._revisions.get(number, 0)
        if known and self._chance.random() < 0.4:
            await forget(self._bucket, known, number=number)
            del self._revisions[number]
            return
        text = f"{self._chance.choice(NAMES)} uses Rust, {self._count}"
        self._revisions[number] = await keep(self._bucket, text, number=number, expected=known)

    @property
    def kept(self) -> int:
        return len(self._revisions)


@pytest.mark.timeout(1200)
@pytest.mark.requirement("graph-worker.killed")
async def test_killed_workers_lose_no_contribution_and_double_none(
    nats_account: NatsAccount, long_form: bool, tell: Callable[[str], None]
) -> None:
    seed = int(os.environ.get("PATTERN_SEED") or secrets.randbelow(10**6))
    chance = random.Random(seed)
    rounds = 20 if long_form else 3
    async with linked(nats_account.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        writer = Writer(bucket, chance)
        for _ in range(rounds):
            async with crew(nats_account.url) as one, crew(nats_account.url) as other:
                killed_at = sorted(chance.sample(range(1, ROUND_MEMORIES), 2))
                for step in range(ROUND_MEMORIES):
                    await writer.step()
                    if step in killed_at:
                        await asyncio.sleep(chance.random() / 20)
                        await kill(one if step == killed_at[0] else other)
        async with reading(link) as services:

            async def complete() -> bool:
                return not await services.pending() and (await look(link)).complete()

            await eventually(
                complete, within_s=240
            )  # what a killed one had in hand waits for its silence to be noticed, more than once
        found = await look(link)
        tell(f"graph workers killed in {rounds} rounds: PATTERN_SEED={seed}, {len(found.said)} contributions")
    assert len(found.memories) == writer.kept
    assert set(found.said) == set(found.memories), "all of them name Rust"
