"""Extraction workers killed at random points, round after round; the model says something else each time it is asked.

`PATTERN_SEED=...` repeats a run; the seed is printed. `--long` runs all rounds.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import re
import secrets
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import pytest

from loomem.core.jobs import Step
from loomem.core.plan import deleted
from loomem.llm.extract import cut
from loomem.nats.topology import KvBuckets
from loomem.workers import duty
from pattern.testing.accounts import NatsAccount
from tests.contracts.extract_kit import BUCKET, Look, extracting, keep, look, now_ms, records
from tests.contracts.workers_kit import linked
from tests.llm_server import Asked, LlmServer, Reply, llm_server, says
from tests.waiting import eventually

FACTS = 5
"""Of each source, whatever the model says."""
SOURCES = 12
"""Of one round."""


@asynccontextmanager
async def crew(url: str, llm: str, *options: str) -> AsyncGenerator[asyncio.subprocess.Process]:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.contracts.extract_process", url, llm, *options, stdin=pipe, stdout=pipe
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


def fickle(llm: LlmServer) -> None:
    """Let the model say the same facts in other words each time it is asked."""
    times = itertools.count(1)

    def rule(asked: Asked) -> Reply:
        del asked
        time = next(times)
        facts = [
            {
                "content": f"User prefers Rust over Go, reason {number}, as of answer {time}.",
                "fact_type": "fact",
                "subject": None,
                "event_date": None,
                "event_date_context": None,
                "attributed_to": None,
                "confidence": 0.9,
            }
            for number in range(FACTS)
        ]
        return says({"facts": facts})

    llm.rule = rule


def check(found: Look, sources: set[str], gone: set[str]) -> None:
    """Say that each source has each of its facts once, all from one answer, hidden with the source where it is deleted."""
    for source in sources:
        taken = found.taken(source)
        answers = {memory.content.rpartition("answer ")[2] for memory in taken}
        assert len(answers) <= 1, (source, [memory.content for memory in taken])
        if source in gone:
            deleted_at = found.memories[source].deleted_at
            assert all(memory.deleted_at == deleted_at for memory in taken), source
        else:
            assert len({memory.content for memory in taken}) == len(taken) == FACTS, (source, len(taken))
            assert all(memory.deleted_at is None for memory in taken)


@pytest.mark.timeout(1500)
@pytest.mark.requirement("know-43.once", "know-43.meanwhile")
async def test_killed_workers_apply_each_job_once(
    nats_account: NatsAccount, long_form: bool, tell: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duty, "CRASHES", 1_000)  # no job is to blame for the kills of a test
    seed = int(os.environ.get("PATTERN_SEED") or secrets.randbelow(10**6))
    chance = random.Random(seed)
    rounds = 20 if long_form else 3
    sources: set[str] = set()
    gone: set[str] = set()
    async with llm_server() as llm, linked(nats_account.url) as link:
        fickle(llm)
        bucket = await KvBuckets(link).open(BUCKET)
        for _ in range(rounds):
            async with crew(nats_account.url, llm.url) as one:
                for step in range(SOURCES):
                    [source] = records()
                    revision = await keep(bucket, source)
                    sources.add(source.id)
                    if chance.random() < 0.25:  # somebody deletes it while its facts are being written
                        await asyncio.sleep(chance.random() / 20)
                        await keep(bucket, deleted(source, now_ms()), expected=revision)
                        gone.add(source.id)
                    if step == SOURCES // 2:
                        await asyncio.sleep(chance.random() / 4)
                await asyncio.sleep(chance.random() / 2)
                await kill(one)
        plenty = llm.settings(calls_per_day=1_000_000, cost_per_day=1e6, tokens_per_day=10**10, judge=False)
        async with extracting(link, llm=plenty):

            async def settled() -> bool:
                found = await look(link)
                live = sources - gone
                done = {
                    ident
                    for ident, record in found.jobs.items()
                    if record.extraction is not None and record.extraction.step is Step.DONE
                }
                hidden = all(memory.deleted_at for source in gone for memory in found.taken(source))
                return live <= done and hidden

            await eventually(settled, within_s=180)
        found = await look(link)
        check(found, sources, gone)
        asked = llm.calls
    tell(
        f"extraction workers killed in {rounds} rounds: PATTERN_SEED={seed}, {len(sources)} sources, {len(gone)} deleted "
        f"meanwhile, the model asked {asked} times, each fact once"
    )


@pytest.mark.timeout(180)
@pytest.mark.requirement("know-43.pieces")
async def test_killed_between_the_pieces_of_a_long_source_no_piece_is_asked_again(nats_account: NatsAccount) -> None:
    talk = "".join(f"User: line {number} says that I prefer word{number}.\n" for number in range(160))
    pieces = len(list(cut(talk, 1_200)))
    waits = {3, 6}
    """The calls that are not answered: the crew is killed while it waits."""
    assert pieces > 6

    async with llm_server() as llm, linked(nats_account.url) as link:

        def rule(asked: Asked) -> Reply:
            fact = {"content": f"User prefers {first_word(asked)}", "confidence": 0.9}
            return says({"facts": [fact]}, waits_s=60.0 if llm.calls in waits else 0.0)

        llm.rule = rule
        bucket = await KvBuckets(link).open(BUCKET)
        [source] = records(talk)
        await keep(bucket, source)
        for call in sorted(waits):
            async with crew(nats_account.url, llm.url, "300") as one:
                await eventually(lambda call=call: llm.calls == call, within_s=30)
                await kill(one)
        async with crew(nats_account.url, llm.url, "300"):

            async def done() -> bool:
                extraction = (await look(link)).jobs[source.id].extraction
                return extraction is not None and extraction.step is Step.DONE

            await eventually(done, within_s=60)
        answered = [first_word(asked) for at, asked in enumerate(llm.asked, 1) if at not in waits]
        assert len(answered) == len(set(answered)) == pieces
        assert len((await look(link)).taken(source.id)) == pieces


def first_word(asked: Asked) -> str:
    """Return by what a piece is known."""
    return re.findall(r"word\d+\.", asked.user)[0]
