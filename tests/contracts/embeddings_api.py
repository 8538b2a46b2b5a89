"""A server on loopback that speaks the embeddings API, as far as its answers can be known: texts that share words are near.

It refuses what it is told to, fails when it is told to, and counts.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec

REFUSED = "unspeakable"
"""A text with this word is answered with HTTP 400."""
DIMENSIONS = 64


def vector_of(text: str) -> list[float]:
    """Return a vector in which each word has its place."""
    found = [0.01] * DIMENSIONS
    for word in text.lower().split():
        found[hashlib.sha256(word.encode()).digest()[0] % DIMENSIONS] += 1.0
    return found


class EmbeddingsApi:
    """What the server does, and what it was asked."""

    def __init__(self) -> None:
        self.url = ""
        self.asked: Counter[str] = Counter()
        """How often each text was given a vector, or refused."""
        self.requests = 0
        self.largest = 0
        self.keys: set[str | None] = set()
        self.models: set[str] = set()
        self.fails: list[tuple[int, dict[str, str]]] = []
        """Answers to the next requests, before it serves again."""
        self.down = False
        self.held = 0
        """Requests that wait at the gate."""
        self.gate = asyncio.Event()
        self.gate.set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                lines = head.split("\r\n")
                headers = dict(line.split(": ", 1) for line in lines[1:] if ": " in line)
                fields = {name.lower(): value for name, value in headers.items()}
                body = await reader.readexactly(int(fields.get("content-length", 0)))
                self.held += 1
                await self.gate.wait()
                self.held -= 1
                status, extra, answer = self._answer(lines[0], fields, body)
                said = "".join(f"{name}: {value}\r\n" for name, value in extra.items())
                writer.write(f"HTTP/1.1 {status} X\r\nContent-Length: {len(answer)}\r\n{said}\r\n".encode() + answer)
                await writer.drain()
        writer.close()

    def _answer(self, first: str, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
        self.requests += 1
        if self.down:
            return 503, {}, b"{}"
        if self.fails:
            status, extra = self.fails.pop(0)
            return status, extra, b'{"error": "not now"}'
        if not first.startswith("POST /v1/embeddings "):
            return 404, {}, b"{}"
        asked: dict[str, Any] = msgspec.json.decode(body)
        texts: list[str] = asked["input"]
        self.keys.add(headers.get("authorization"))
        self.models.add(asked["model"])
        self.largest = max(self.largest, len(texts))
        if any(REFUSED in text for text in texts):
            self.asked.update(texts if len(texts) == 1 else [])
            return 400, {}, msgspec.json.encode({"error": {"message": f"cannot embed: {texts}"}})
        self.asked.update(texts)
        data = [{"object": "embedding", "index": i, "embedding": vector_of(text)} for i, text in enumerate(texts)]
        # The order of the answers is not promised.
        return 200, {}, msgspec.json.encode({"object": "list", "data": data[::-1], "model": asked["model"]})


@asynccontextmanager
async def embeddings_api(port: int = 0) -> AsyncGenerator[EmbeddingsApi]:
    """Serve on loopback while the context lasts."""
    api = EmbeddingsApi()
    connections: set[asyncio.StreamWriter] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.add(writer)
        try:
            await api.serve(reader, writer)
        finally:
            connections.discard(writer)
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", port)
    api.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        yield api
    finally:
        api.gate.set()
        server.close()
        for writer in list(connections):
            writer.close()
        await server.wait_closed()
