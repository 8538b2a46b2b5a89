"""A server asks its own node to judge, over the broker; bounded, and whatever fails is told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from identity.errors import Unavailable
from loomem.core.contradict import Kind
from loomem.llm.budget import Budget
from loomem.llm.client import opened
from loomem.nats.link import Link
from loomem.nats.topology import KvBuckets
from loomem.node.judging import NodeJudge, judge_subject, judging
from pattern.clock import RandomIds
from pattern.testing.accounts import NatsAccount
from tests.contracts.nats_kit import linked
from tests.doubles import ManualClock
from tests.llm_server import LlmServer, fails, llm_server, says

pytestmark = pytest.mark.requirement("know-10.node")
NODE = "node1"


@asynccontextmanager
async def world(url: str, **options: Any) -> AsyncGenerator[tuple[LlmServer, Link]]:
    async with AsyncExitStack() as stack:
        llm = await stack.enter_async_context(llm_server())
        node, server = [await stack.enter_async_context(linked(url)) for _ in range(2)]
        chosen = llm.settings(**options)
        budget = Budget(KvBuckets(node), ManualClock(datetime.now(UTC)), RandomIds(), chosen)
        models = await stack.enter_async_context(opened(chosen, budget, shared=True))
        await models.warm()
        await stack.enter_async_context(judging(node, NODE, models))
        await stack.enter_async_context(asyncio.timeout(30))
        yield llm, server


async def test_the_node_judges_in_order_and_says_with_which_model(nats_account: NatsAccount) -> None:
    async with world(nats_account.url, judge_model="claude-judge") as (llm, link):
        llm.rule = lambda one: says({"relation": "updates" if "tea" in one.user else "none", "reason": "so"})
        model, verdicts = await NodeJudge(link, lambda: NODE).judge("coffee", ["water", "tea", "milk"], within_s=10)
        assert model == "claude-judge"
        assert [verdict.kind for verdict in verdicts] == [Kind.NONE, Kind.UPDATES, Kind.NONE]


@pytest.mark.parametrize(
    ("options", "word"), [({"judge": False}, "off"), ({"calls_per_day": 0}, "used up"), ({}, "HTTP 500")]
)
async def test_what_fails_there_is_told_here(nats_account: NatsAccount, options: dict[str, Any], word: str) -> None:
    async with world(nats_account.url, **options) as (llm, link):
        llm.rule = lambda _: fails(500)
        with pytest.raises(Unavailable, match=word):
            await NodeJudge(link, lambda: NODE).judge("a", ["b"], within_s=10)


async def test_the_wait_is_bounded_and_without_a_node_there_is_none(nats_account: NatsAccount) -> None:
    async with world(nats_account.url) as (llm, link):
        llm.rule = lambda _: says({"relation": "updates", "reason": "late"}, waits_s=20.0)
        before = asyncio.get_running_loop().time()
        with pytest.raises(Unavailable):
            await NodeJudge(link, lambda: NODE).judge("a", ["b"], within_s=1.0)
        for nobody in (None, "gone"):
            with pytest.raises(Unavailable):
                await NodeJudge(link, lambda nobody=nobody: nobody).judge("a", ["b"], within_s=1.0)
        assert asyncio.get_running_loop().time() - before < 5
        reply = await link.request(judge_subject(NODE), b"rubbish", timeout_s=2)
        assert b"not judged" in reply.data
