"""Embedding workers killed at random points, round after round, while memories come, change and go.

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
from loomem.core.vector import content_hash
from loomem.nats.topology import KvBuckets
from pattern.testing.accounts import NatsAccount
from tests.contracts.embed_kit import BUCKET, embedding, forget, keep, look, remote
from tests.contracts.embeddings_api import embeddings_api
from tests.contracts.workers_kit import linked
from tests.waiting import eventually

ROUND_MEMORIES = 60


class Crew:
    """A process that embeds."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def ended(self) -> None:
        await self._process.wait()

    async def kill(self) -> None:
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()


@asynccontextmanager
async def crew(url: str, api: str) -> AsyncGenerator[Crew]:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.contracts.embed_process", url, api, stdin=pipe, stdout=pipe
    )
    assert process.stdout is not None
    one = Crew(process)
    try:
        async with asyncio.timeout(30):
            assert await process.stdout.readline() == b"running\n"
        yield one
    finally:
        await one.kill()


class Writer:
    """Writes, changes and forgets memories, and knows what must be there in the end."""

    def __init__(self, bucket: Bucket, chance: random.Random) -> None:
        self._bucket = bucket
        self._chance = chance
        self._revisions: dict[int, int] = {}
        self.texts: dict[int, str] = {}
        self.count = 0

    async def step(self, label: str) -> None:
        self.count += 1
        number = self._chance.choice(list(self.texts)) if self.texts and self._chance.random() < 0.4 else self.count
        known = self._revisions.get(number, 0)
        if known and self._chance.random() < 0.4:
            await forget(self._bucket, known, number=number)
            del self._revisions[number], self.texts[number]
            return
        text = f"{label} {self.count}"
        self._revisions[number] = await keep(self._bucket, text, number=number, expected=known)
        self.texts[number] = text


@pytest.mark.timeout(1200)
@pytest.mark.requirement("embed-killed", "embed-compete")
async def test_killed_workers_lose_no_memory_and_double_no_vector(
    nats_account: NatsAccount, long_form: bool, tell: Callable[[str], None]
) -> None:
    seed = int(os.environ.get("PATTERN_SEED") or secrets.randbelow(10**6))
    chance = random.Random(seed)
    rounds = 20 if long_form else 3
    async with embeddings_api() as api, linked(nats_account.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        writer = Writer(bucket, chance)
        for number in range(rounds):
            async with crew(nats_account.url, api.url) as one, crew(nats_account.url, api.url) as other:
                killed_at = sorted(chance.sample(range(1, ROUND_MEMORIES), 2))
                for step in range(ROUND_MEMORIES):
                    await writer.step(f"round {number}, step")
                    if step in killed_at:
                        await asyncio.sleep(chance.random() / 20)
                        await (one if step == killed_at[0] else other).kill()
        async with embedding(link, remote(api.url)):

            async def complete() -> bool:
                return (await look(link)).complete("words")

            await eventually(complete, within_s=60)
        found = await look(link)
        tell(f"embedding workers killed in {rounds} rounds: PATTERN_SEED={seed}, {len(found.vectors)} vectors")
    assert {ident: vectors["words"].hash for ident, vectors in found.vectors.items()} == {
        f"memory-{number}": content_hash(text) for number, text in writer.texts.items()
    }


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.requirement("embed-dead")
async def test_a_text_that_ends_the_process_is_given_up_and_takes_nobody_with_it(nats_account: NatsAccount) -> None:
    """Twenty memories, one of which kills whoever embeds it, again and again."""
    async with embeddings_api() as api, linked(nats_account.url) as link:
        bucket = await KvBuckets(link).open(BUCKET)
        for number in range(20):
            await keep(bucket, "a deadly text" if number == 5 else f"fact {number}", number=number)

        async def settled() -> bool:
            found = await look(link)
            return len(found.vectors) == 19 and "memory-5" in found.failures

        for _ in range(30):  # each one takes a start and a second until the jobs are another's
            async with crew(nats_account.url, api.url) as one, asyncio.TaskGroup() as group:
                ending = group.create_task(one.ended())
                settling = group.create_task(eventually(settled, within_s=60))
                await asyncio.wait((ending, settling), return_when=asyncio.FIRST_COMPLETED)
                over = settling.done()
                ending.cancel()
                settling.cancel()
            if over:
                break
        found = await look(link)
        assert sorted(found.failures) == ["memory-5"]
        assert "memory-5" not in found.vectors
        assert len(found.vectors) == 19
