"""The models of `fastembed`, run by onnxruntime: the extra `fastembed`.

Files of a model are read from a folder that fastembed keeps models in; that of the service, since its own default lies among
the temporary files of everybody. They are never downloaded from here: a background process
that fetches gigabytes unasked is nobody's wish, and the words answer meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any, Protocol, cast

from identity.errors import Corrupt, InvalidInput
from loomem.core.embedding import Model, Refused, Vector, unit_vector

BATCH = 16


class _Numbers(Protocol):
    def tolist(self) -> list[float]: ...


class _TextEmbedding(Protocol):
    """What we use of `fastembed.TextEmbedding`; both put before the text what the model wants there."""

    embedding_size: int

    def passage_embed(self, texts: Iterable[str], **kwargs: Any) -> Iterable[_Numbers]: ...
    def query_embed(self, query: str, **kwargs: Any) -> Iterable[_Numbers]: ...


@asynccontextmanager
async def opened(model: str, folder: str | None, threads: int) -> AsyncGenerator[Fastembed, None]:
    """Load a model for as long as the context lasts.

    Raises: InvalidInput (not installed, unknown, its files are not here), saying what to do.
    """
    # Left without waiting: a text that is being embedded then ends unheard.
    texts, queries = ThreadPoolExecutor(1, "embed-texts"), ThreadPoolExecutor(1, "embed-query")
    try:
        loop = asyncio.get_running_loop()
        yield Fastembed(model, await loop.run_in_executor(texts, _load, model, folder, threads), texts, queries)
    finally:
        texts.shutdown(wait=False, cancel_futures=True)
        queries.shutdown(wait=False, cancel_futures=True)


class Fastembed:
    """A model at work. The port is `loomem.core.embedding.Embedder`."""

    def __init__(
        self, name: str, engine: _TextEmbedding, texts: ThreadPoolExecutor, queries: ThreadPoolExecutor
    ) -> None:
        self._engine = engine
        self._texts = texts
        self._queries = queries
        self._model = Model(name, engine.embedding_size)

    @property
    def model(self) -> Model:
        return self._model

    async def passages(self, texts: Sequence[str]) -> list[Vector]:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._texts, self._many, list(texts))

    async def query(self, text: str) -> Vector:
        loop = asyncio.get_running_loop()
        return (await loop.run_in_executor(self._queries, lambda: _vectors(self._engine.query_embed(text))))[0]

    def _many(self, texts: list[str]) -> list[Vector]:
        return _vectors(self._engine.passage_embed(texts, batch_size=BATCH))


def _vectors(found: Iterable[_Numbers]) -> list[Vector]:
    try:
        return [unit_vector(numbers.tolist()) for numbers in found]
    except Corrupt as error:
        raise Refused("the model gave no vector for this text") from error


def _load(model: str, folder: str | None, threads: int) -> _TextEmbedding:
    try:
        import fastembed  # pyright: ignore[reportMissingImports, reportUnknownVariableType]
    except ImportError as error:
        raise InvalidInput(
            "PATTERN_EMBEDDER=fastembed needs the extra: install pattern-memory[fastembed].", field="PATTERN_EMBEDDER"
        ) from error
    try:
        engine = fastembed.TextEmbedding(model, threads=threads, local_files_only=True, cache_dir=folder)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    except Exception as error:  # fastembed, its hub client and onnxruntime raise what they like
        raise InvalidInput(
            f"fastembed cannot load the model {model} ({type(error).__name__}). Its files are not downloaded from here. Fetch "
            f"them once: python -c \"from fastembed import TextEmbedding; TextEmbedding('{model}', cache_dir={folder!r})\"",
            field="PATTERN_EMBEDDER_MODEL",
        ) from error
    return cast("_TextEmbedding", engine)
