"""A server that speaks OpenAI's embeddings API: `POST {url}/embeddings`. The extra `openai`.

Texts of memories leave this machine for that server; that is the point of choosing it, and nobody's default. What it says
of an error is never repeated: it may quote the text. Tried again are what passes by itself (no connection, 408, 429, 5xx),
a few times and no longer than a minute, then whoever asked hears `Unavailable`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import msgspec

from identity.errors import Corrupt, InvalidInput, Unavailable
from loomem.core.embedding import Model, Refused, Vector, unit_vector

if TYPE_CHECKING:
    import httpx2

PAUSES_S = (0.5, 2.0, 8.0)
"""Between tries; a server that asks for more (`Retry-After`) gets up to the longest wait."""
LONGEST_WAIT_S = 20.0
AT_ONCE = 8
"""Requests under way together."""
REFUSALS = frozenset({400, 413, 422})
"""The text is at fault, or what we ask with it."""
PASSING = frozenset({408, 409, 425, 429})


class _One(msgspec.Struct):
    index: int
    embedding: list[float]


class _Reply(msgspec.Struct):
    data: list[_One]


@asynccontextmanager
async def opened(url: str, model: str, key: str | None, timeout_s: float) -> AsyncGenerator[Remote, None]:
    """Connect for as long as the context lasts; one word is embedded at once, so that what is wrong shows now.

    Raises: InvalidInput (not installed, no URL, refused: somebody must do something), Unavailable (later).
    """
    try:
        import httpx2
    except ImportError as error:
        raise InvalidInput(
            "PATTERN_EMBEDDER=openai needs the extra: install pattern-memory[openai].", field="PATTERN_EMBEDDER"
        ) from error
    address = httpx2.URL(url.rstrip("/") + "/embeddings")
    if address.scheme not in ("http", "https") or not address.host:
        raise InvalidInput(
            "PATTERN_EMBEDDER_URL must be an address such as https://api.openai.com/v1", field="PATTERN_EMBEDDER_URL"
        )
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    async with httpx2.AsyncClient(headers=headers, timeout=timeout_s, trust_env=False) as client:
        remote = Remote(client, address, model)
        await remote.begin()
        yield remote


class Remote:
    """A model at work elsewhere. The port is `loomem.core.embedding.Embedder`."""

    def __init__(self, client: httpx2.AsyncClient, address: httpx2.URL, model: str) -> None:
        self._client = client
        self._address = address
        self._model = Model(model, 0)
        self._gate = asyncio.Semaphore(AT_ONCE)

    @property
    def model(self) -> Model:
        return self._model

    async def begin(self) -> None:
        """Learn how many dimensions its vectors have. Raises: InvalidInput, Unavailable."""
        try:
            vectors = await self._ask(["memory"])
        except Refused as error:
            raise InvalidInput(
                f"The embedding server at {self._shown} refuses the model {self._model.name}: {error.message}",
                field="PATTERN_EMBEDDER_MODEL",
            ) from error
        self._model = Model(self._model.name, len(vectors[0]) // 2)

    async def passages(self, texts: Sequence[str]) -> list[Vector]:
        return await self._ask(texts)

    async def query(self, text: str) -> Vector:
        return (await self._ask([text]))[0]

    async def _ask(self, texts: Sequence[str]) -> list[Vector]:
        for pause_s in (*PAUSES_S, None):
            try:
                async with self._gate:
                    return await self._try(texts)
            except _Passing as fault:
                if pause_s is None:
                    raise Unavailable(f"The embedding server at {self._shown} does not serve: {fault}.") from fault
                await asyncio.sleep(min(max(pause_s, fault.wait_s), LONGEST_WAIT_S))
        raise AssertionError  # the loop ends by a return or a raise

    async def _try(self, texts: Sequence[str]) -> list[Vector]:
        import httpx2

        body = {"model": self._model.name, "input": list(texts), "encoding_format": "float"}
        try:
            reply = await self._client.post(
                self._address,
                content=msgspec.json.encode(body),
                headers={"Content-Type": "application/json"},
            )
        except httpx2.HTTPError as error:
            raise _Passing(type(error).__name__) from error
        status = reply.status_code
        if status in REFUSALS:
            raise Refused(f"the embedding server refused the text (HTTP {status})")
        if status in PASSING or status >= 500:
            raise _Passing(f"HTTP {status}", _seconds(reply.headers.get("Retry-After")))
        if status != 200:
            raise Unavailable(
                f"The embedding server at {self._shown} answers HTTP {status}: check PATTERN_EMBEDDER_URL, "
                "PATTERN_EMBEDDER_MODEL and PATTERN_EMBEDDER_KEY."
            )
        return self._read(reply.content, len(texts))

    def _read(self, content: bytes, count: int) -> list[Vector]:
        try:
            found = msgspec.json.decode(content, type=_Reply).data
            vectors = [unit_vector(one.embedding) for one in sorted(found, key=lambda one: one.index)]
        except (msgspec.MsgspecError, UnicodeDecodeError, Corrupt) as error:
            raise Unavailable(f"The embedding server at {self._shown} answers what is no list of vectors.") from error
        if [one.index for one in sorted(found, key=lambda one: one.index)] != list(range(count)):
            raise Unavailable(f"The embedding server at {self._shown} answers {len(found)} vectors for {count} texts.")
        if len({len(vector) for vector in vectors} | ({2 * self._model.dimensions} - {0})) != 1:
            raise Unavailable(f"The embedding server at {self._shown} changed the number of dimensions.")
        return vectors

    @property
    def _shown(self) -> str:
        return f"{self._address.scheme}://{self._address.host}"


class _Passing(Exception):
    """A fault that passes by itself."""

    def __init__(self, told: str, wait_s: float = 0.0) -> None:
        super().__init__(told)
        self.wait_s = wait_s


def _seconds(text: str | None) -> float:
    """Return how long a server asks to be left alone, where it says it in seconds."""
    try:
        return max(0.0, float(text or 0))
    except ValueError:
        return 0.0
