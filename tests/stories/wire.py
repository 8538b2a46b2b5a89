"""A wire between one agent and the broker that a test can hold still or cut."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

CHUNK_BYTES = 65_536


class Wire:
    """Passes bytes on both ways, until it is told not to."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port
        self._passes = asyncio.Event()
        self._passes.set()
        self._whole = True
        self._writers: set[asyncio.StreamWriter] = set()

    def hold(self) -> None:
        """Let nothing from the broker through for now; nobody notices, it is only late."""
        self._passes.clear()

    def release(self) -> None:
        self._passes.set()

    def cut(self) -> None:
        """Break every connection, and take no new one."""
        self._whole = False
        for writer in self._writers:
            writer.transport.abort()

    def mend(self) -> None:
        self._whole = True

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not self._whole:
            writer.transport.abort()
            return
        upstream, to_broker = await asyncio.open_connection(self._host, self._port)
        self._writers |= {writer, to_broker}
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._pass_on(reader, to_broker, late=False))
                group.create_task(self._pass_on(upstream, writer, late=True))
        finally:
            self._writers -= {writer, to_broker}

    async def _pass_on(self, source: asyncio.StreamReader, target: asyncio.StreamWriter, *, late: bool) -> None:
        with suppress(ConnectionError):
            while data := await source.read(CHUNK_BYTES):
                if late:
                    await self._passes.wait()
                target.write(data)
                await target.drain()
        target.close()


@asynccontextmanager
async def wire_to(url: str) -> AsyncGenerator[tuple[Wire, str]]:
    """Give a wire to a broker, and the URL with which an agent is at its other end."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    assert parts.port is not None
    wire = Wire(parts.hostname, parts.port)
    async with await asyncio.start_server(wire.serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        try:
            yield wire, url.replace(f":{parts.port}", f":{port}")
        finally:
            wire.release()
            wire.cut()
