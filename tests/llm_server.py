"""A server on loopback that speaks the Messages API: answers what it is told to, in order, or by a rule; counts, and keeps what it was asked.

The real SDK is used with it. An answer is a `Reply`: an object (the JSON that the model "says"), a text, a status of HTTP, a
refusal, bytes that are no answer, or one that takes its time: all of it, or byte by byte.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec

from loomem.core.llm import LlmSettings

KEY = "sk-test"


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """What the server answers once."""

    says: Any = None
    """Of what the model says: an object is written as JSON, a text as it is."""
    status: int = 200
    headers: dict[str, str] = {}
    raw: bytes | None = None
    """The body, whatever it is."""
    stop_reason: str = "end_turn"
    tokens: tuple[int, int] = (100, 20)
    """Read and written."""
    waits_s: float = 0.0
    """Before anything is sent."""
    drips_s: float = 0.0
    """Between every few bytes of the body."""
    hangs_up: bool = False


class Asked(msgspec.Struct, frozen=True):
    """A call that came."""

    body: dict[str, Any]
    headers: dict[str, str]

    @property
    def system(self) -> str:
        return self.body["system"]

    @property
    def user(self) -> str:
        return self.body["messages"][0]["content"]

    @property
    def prompt(self) -> str:
        """All that the model is given to read."""
        return f"{self.system}\n\n{self.user}"


def says(value: Any, **options: Any) -> Reply:
    return Reply(says=value, **options)


def fails(status: int, kind: str = "api_error", message: str = "not now", **headers: str) -> Reply:
    body = {"type": "error", "error": {"type": kind, "message": message}}
    return Reply(
        status=status,
        raw=msgspec.json.encode(body),
        headers={name.replace("_", "-"): value for name, value in headers.items()},
    )


REFUSES = Reply(says="I cannot help with that.", stop_reason="refusal")
NONSENSE = Reply(says='{"facts": [')


class LlmServer:
    """What the server does, and what it was asked."""

    def __init__(self) -> None:
        self.url = ""
        self.asked: list[Asked] = []
        self.script: list[Reply] = []
        """Answers to the next calls; when none is left, `rule` answers."""
        self.rule: Callable[[Asked], Reply] = lambda _: says({})

    @property
    def calls(self) -> int:
        return len(self.asked)

    @property
    def prompts(self) -> list[str]:
        return [asked.prompt for asked in self.asked]

    def settings(self, **options: Any) -> LlmSettings:
        """Return settings that ask this server, for every use, and repeat nothing."""
        asked: dict[str, Any] = {"judge": True, "entities": True, "retries": 0, "timeout_s": 10.0, **options}
        return LlmSettings(url=self.url, key=KEY, **asked)

    @property
    def environment(self) -> dict[str, str]:
        """The variables that make a process ask this server."""
        return {
            "ANTHROPIC_API_KEY": KEY,
            "ANTHROPIC_BASE_URL": self.url,
            "PATTERN_LLM_JUDGE": "true",
            "PATTERN_LLM_ENTITIES": "true",
            "PATTERN_LLM_RETRIES": "0",
        }

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                lines = head.split("\r\n")
                fields = dict(line.split(": ", 1) for line in lines[1:] if ": " in line)
                headers = {name.lower(): value for name, value in fields.items()}
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                reply = self._reply(lines[0], headers, body)
                if reply.hangs_up:
                    return
                await self._send(writer, reply)

    def _reply(self, first: str, headers: dict[str, str], body: bytes) -> Reply:
        if not first.startswith("POST /v1/messages "):
            return fails(404, "not_found_error")
        asked = Asked(msgspec.json.decode(body), headers)
        self.asked.append(asked)
        if KEY not in (headers.get("x-api-key"), headers.get("authorization", "").removeprefix("Bearer ")):
            return fails(401, "authentication_error", "invalid key")
        return self.script.pop(0) if self.script else self.rule(asked)

    async def _send(self, writer: asyncio.StreamWriter, reply: Reply) -> None:
        body = reply.raw if reply.raw is not None else msgspec.json.encode(_message(reply))
        if reply.waits_s:
            await asyncio.sleep(reply.waits_s)
        said = "".join(f"{name}: {value}\r\n" for name, value in reply.headers.items())
        head = (
            f"HTTP/1.1 {reply.status} X\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n{said}\r\n"
        )
        writer.write(head.encode())
        step = 8 if reply.drips_s else len(body)
        for at in range(0, len(body), max(1, step)):
            writer.write(body[at : at + step])
            await writer.drain()
            if reply.drips_s:
                await asyncio.sleep(reply.drips_s)
        await writer.drain()


def _message(reply: Reply) -> dict[str, Any]:
    text = reply.says if isinstance(reply.says, str) else msgspec.json.encode(reply.says).decode()
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-test",
        "content": [{"type": "text", "text": text}],
        "stop_reason": reply.stop_reason,
        "stop_sequence": None,
        "usage": {"input_tokens": reply.tokens[0], "output_tokens": reply.tokens[1]},
    }


@asynccontextmanager
async def llm_server() -> AsyncGenerator[LlmServer]:
    """Serve on loopback while the context lasts."""
    llm = LlmServer()
    connections: set[asyncio.Task[None] | None] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        connections.add(task)
        try:
            await llm.serve(reader, writer)
        except asyncio.CancelledError:
            pass  # the server closes; asyncio would log a handler that was cancelled
        finally:
            connections.discard(task)
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    llm.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield llm
    finally:
        server.close()
        for task in list(connections):
            if task is not None:
                task.cancel()
        await server.wait_closed()
