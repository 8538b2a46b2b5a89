"""One budget a day for all agents, on a real server: whatever the interleaving, no call that was not taken from it."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, suppress
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loomem.core.llm import Fault, LlmSettings, ModelFailed, Question, Usage, Use
from loomem.llm.budget import Budget, spent, told
from loomem.llm.client import Client, opened
from loomem.nats.topology import KvBuckets
from pattern.clock import RandomIds
from pattern.testing.accounts import NatsAccount
from tests.contracts.nats_kit import linked
from tests.doubles import CountingIds, ManualClock, MemoryBroker
from tests.llm_server import fails, llm_server, says

AGENTS = 10


@pytest.mark.requirement("llm-budget.shared")
@pytest.mark.parametrize("most", [1, 13, 25])
async def test_ten_agents_share_a_budget_and_never_get_one_call_more(nats_account: NatsAccount, most: int) -> None:
    clock = ManualClock(datetime.now(UTC))
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(asyncio.timeout(60))
        server = await stack.enter_async_context(llm_server())
        # Some calls fail and are repeated: each repetition is a call too.
        server.rule = lambda asked: fails(500) if len(server.asked) % 5 == 0 else says({"a": 1})
        agents: list[Client] = []
        buckets = KvBuckets(await stack.enter_async_context(linked(nats_account.url)))
        for _ in range(AGENTS):
            link = await stack.enter_async_context(linked(nats_account.url))
            chosen = server.settings(calls_per_day=most, retries=1)
            budget = Budget(KvBuckets(link), clock, RandomIds(), chosen)
            agents.append(await stack.enter_async_context(opened(chosen, budget, shared=False)))
        outcomes: list[str] = []

        async def work(agent: int) -> None:
            for _ in range(4):
                question = Question(use=Use.JUDGE, rules="r", given="g", schema={"type": "object"}, answer_tokens=10)
                try:
                    await agents[agent].ask(question)
                    outcomes.append("answered")
                except ModelFailed as failed:
                    outcomes.append(failed.fault)

        async with asyncio.TaskGroup() as group:
            for agent in range(AGENTS):
                group.create_task(work(agent))
        assert server.calls == most
        assert (await spent(buckets, clock)).calls == most
        assert outcomes.count(Fault.BUDGET) > 0
        assert len(outcomes) == 4 * AGENTS


@pytest.mark.requirement("llm-status")
async def test_what_is_taken_is_told_in_words(nats_account: NatsAccount) -> None:
    clock = ManualClock(datetime.now(UTC))
    async with linked(nats_account.url) as link:
        buckets = KvBuckets(link)
        limits = LlmSettings(key="k", calls_per_day=2, tokens_per_day=1_000, cost_per_day=1.5)
        budget = Budget(buckets, clock, RandomIds(), limits)
        taken = await budget.take(Usage(100, 50))
        await budget.settle(taken, Usage(90, 10))
        await budget.take(Usage(10, 0))
        with suppress(ModelFailed):
            await budget.take(Usage(1, 0))
        assert await told(buckets, clock, limits) == (
            "extract; today, of all agents: 2/2 calls, 110/1000 tokens, $0.00/$1.50, 1 refused"
        )
        assert await told(buckets, clock, LlmSettings()) == "off (there is no key: ANTHROPIC_API_KEY is not set)"


@pytest.mark.requirement("llm-budget")
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    calls=st.integers(0, 6),
    tokens=st.integers(0, 500),
    asks=st.lists(
        st.tuples(st.integers(0, 120), st.integers(0, 120), st.sampled_from(["settled", "died", "half"])), max_size=12
    ),
)
def test_what_is_taken_never_exceeds_the_limits(calls: int, tokens: int, asks: list[tuple[int, int, str]]) -> None:
    """Whatever calls take, and whichever die under way: what they used stays within what was taken, and that within the limits."""

    async def run() -> None:
        clock = ManualClock()
        broker = MemoryBroker(clock)
        limits = LlmSettings(key="k", calls_per_day=calls, tokens_per_day=tokens, cost_per_day=1.0)
        budgets = [Budget(broker, clock, CountingIds(), limits) for _ in range(3)]
        used = made = 0

        async def one(at: int, read: int, written: int, end: str) -> None:
            nonlocal used, made
            with suppress(ModelFailed):
                taken = await budgets[at % 3].take(Usage(read, written))
                made += 1
                used += read + written if end != "half" else (read + written) // 2
                if end == "settled":
                    await budgets[at % 3].settle(taken, Usage(read, written))
                elif end == "half":
                    await budgets[at % 3].settle(taken, Usage((read + written) // 2, 0))

        async with asyncio.TaskGroup() as group:
            for at, (read, written, end) in enumerate(asks):
                group.create_task(one(at, read, written, end))
        today = await spent(broker, clock)
        assert made == today.calls <= calls
        assert used <= today.tokens <= tokens

    asyncio.run(run())
