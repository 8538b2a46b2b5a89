"""Queries are embedded in the node: asked over the broker, bounded, remembered."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from identity.errors import LoomError, Unavailable
from loomem.core.embedding import Readiness, Refused
from loomem.embed.host import ModelHost
from loomem.embed.settings import Adapter, EmbedSettings
from loomem.nats.link import Link
from loomem.node import embedding
from loomem.node.embedding import NodeAsker, answering, embed_subject
from pattern.testing.accounts import NatsAccount
from tests.contracts.embed_kit import remote
from tests.contracts.embeddings_api import REFUSED, EmbeddingsApi, embeddings_api
from tests.contracts.workers_kit import linked
from tests.waiting import eventually

pytestmark = pytest.mark.requirement("embed-query")
NODE = "node1"


class World:
    """A node's model and a server that asks for it, on one broker."""

    def __init__(self, api: EmbeddingsApi, link: Link, host: ModelHost) -> None:
        self.api = api
        self.link = link
        self.host = host
        self.node: str | None = NODE

    def asker(self, **options: float) -> NodeAsker:
        return NodeAsker(self.link, lambda: self.node, query_chars=100, **options)  # pyright: ignore[reportArgumentType]


@asynccontextmanager
async def world(url: str, settings: EmbedSettings | None = None) -> AsyncGenerator[World]:
    async with AsyncExitStack() as stack:
        api = await stack.enter_async_context(embeddings_api())
        node, server = [await stack.enter_async_context(linked(url)) for _ in range(2)]
        host = ModelHost(settings or remote(api.url))
        await stack.enter_async_context(host.running())
        await stack.enter_async_context(answering(node, NODE, host))
        await stack.enter_async_context(asyncio.timeout(20))
        if settings is None:
            await host.ready()
        yield World(api, server, host)


async def test_a_query_becomes_the_vector_that_the_model_gives(nats_account: NatsAccount) -> None:
    async with world(nats_account.url) as here:
        asker = here.asker()
        found = await asker.query("where does Anna live")
        assert found == await here.host.query("where does Anna live")
        assert found.model == "words"
        assert asker.state().state is Readiness.READY


async def test_what_was_asked_is_remembered_by_the_server_and_by_the_node(nats_account: NatsAccount) -> None:
    async with world(nats_account.url) as here:
        asker = here.asker()
        for _ in range(3):
            await asker.query("the same")
            await here.asker().query("the same")
        assert here.api.asked["the same"] == 1
        here.node = None
        await asker.query("the same")  # without asking anybody
        with pytest.raises(Unavailable):
            await asker.query("another")


async def test_the_cache_is_bounded(nats_account: NatsAccount) -> None:
    async with world(nats_account.url) as here:
        asker = here.asker(cache=2)
        for text in ("one", "two", "one", "three"):
            await asker.query(text)
        here.node = None
        await asker.query("one")
        with pytest.raises(Unavailable):
            await asker.query("two")


async def test_a_query_of_a_new_model_makes_the_old_answers_useless(nats_account: NatsAccount) -> None:
    async with world(nats_account.url) as here, linked(nats_account.url) as link:
        asker = here.asker()
        await asker.query("first")
        later = ModelHost(remote(here.api.url, "other"))
        async with later.running(), answering(link, "node2", later):
            await later.ready()
            here.node = "node2"
            assert (await asker.query("second")).model == "other"
            assert (await asker.query("first")).model == "other"


@pytest.mark.requirement("embed-look")
async def test_a_remembered_question_notices_that_the_model_is_another(
    nats_account: NatsAccount, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding, "HEARD_S", 0.0)
    async with world(nats_account.url) as here, linked(nats_account.url) as link:
        asker = here.asker()
        assert (await asker.query("first")).model == "words"
        later = ModelHost(remote(here.api.url, "other"))
        async with later.running(), answering(link, "node2", later):
            await later.ready()
            here.node = "node2"
            assert (await asker.query("first")).model == "other"
        # Nor does a node that is gone take away what is remembered.
        assert (await asker.query("first")).model == "other"


@pytest.mark.requirement("embed-look")
async def test_how_the_model_is_can_be_asked_before_any_question(nats_account: NatsAccount) -> None:
    async with world(nats_account.url) as here:
        here.api.gate.clear()  # it costs the model nothing
        requests = here.api.requests
        assert await here.asker().look() == here.host.state()
        assert (here.host.state().state, here.api.requests) == (Readiness.READY, requests)
        here.node = "nobody"
        gone = await here.asker(starting_s=0).look()
        assert (gone.state, gone.reason) == (Readiness.FAILED, "The background node does not embed queries (yet).")
    async with world(nats_account.url, EmbedSettings(adapter=Adapter.NONE)) as here:
        assert (await here.asker().look()).state is Readiness.OFF


async def test_long_queries_are_cut(nats_account: NatsAccount) -> None:
    async with world(nats_account.url) as here:
        await here.asker().query("word " * 1_000)
        longest = max(here.api.asked, key=len)
        assert 50 < len(longest) <= 100
        assert longest.endswith("word")


async def test_without_a_node_the_answer_comes_at_once(nats_account: NatsAccount) -> None:
    async with world(nats_account.url) as here, asyncio.timeout(1):
        here.node = "nobody"
        asker = here.asker(starting_s=0)
        with pytest.raises(Unavailable, match="does not embed"):
            await asker.query("anything")
        assert asker.state().state is Readiness.FAILED
        here.node = None
        with pytest.raises(Unavailable, match="no background node"):
            await asker.query("anything")


async def test_a_node_that_is_starting_is_asked_again(nats_account: NatsAccount) -> None:
    async with world(nats_account.url) as here, asyncio.timeout(10):
        here.node, node = "starting", here.node
        asker = here.asker(within_s=9.0, starting_s=9.0)
        asking = asyncio.ensure_future(asker.query("anything"))
        await eventually(lambda: asker.state().reason is not None)
        assert asker.state().state is Readiness.LOADING
        here.node = node
        assert (await asking).vector


async def test_without_a_model_the_answer_comes_at_once_and_says_why(nats_account: NatsAccount) -> None:
    async with world(nats_account.url, EmbedSettings(adapter=Adapter.NONE)) as here, asyncio.timeout(1):
        asker = here.asker()
        with pytest.raises(Unavailable, match="PATTERN_EMBEDDER=none"):
            await asker.query("anything")
        assert asker.state().state is Readiness.OFF


async def test_a_refused_query_is_told_from_a_model_that_is_down(nats_account: NatsAccount) -> None:
    async with world(nats_account.url) as here:
        asker = here.asker()
        with pytest.raises(Refused):
            await asker.query(REFUSED)
        assert asker.state().state is Readiness.READY


async def test_a_slow_model_costs_the_asker_its_deadline_and_no_more(nats_account: NatsAccount) -> None:
    async with world(nats_account.url) as here:
        here.api.gate.clear()
        asker = here.asker(within_s=0.2)
        async with asyncio.timeout(1):
            with pytest.raises(Unavailable):
                await asker.query("slow")
        here.api.gate.set()
        # The answer that came too late is there for the next one.
        await eventually(lambda: here.api.asked["slow"] == 1)
        assert (await here.asker().query("slow")).model == "words"
        assert here.api.asked["slow"] == 1


async def test_too_many_questions_are_refused_at_once(
    nats_account: NatsAccount, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding, "ASKED_LIMIT", 2)
    async with world(nats_account.url) as here:
        here.api.gate.clear()
        asker = here.asker(within_s=5)

        async def ask(number: int) -> str:
            try:
                return (await asker.query(f"question {number}")).model
            except LoomError as error:
                return error.message

        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(ask(number)) for number in range(20)]
            await eventually(lambda: sum(task.done() for task in asked) >= 20 - 2 - embedding.AT_ONCE)
            here.api.gate.set()
        answers = [task.result() for task in asked]
        assert answers.count("words") >= 2
        assert any("too many" in answer for answer in answers)


async def test_what_is_no_question_is_answered_too(nats_account: NatsAccount) -> None:
    async with world(nats_account.url) as here:
        reply = await here.link.request(embed_subject(NODE), b"\xc1 nonsense")
        assert b"not a question" in reply.data
