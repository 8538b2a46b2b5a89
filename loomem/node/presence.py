"""How node and clients know of each other: the node asks, clients answer; anyone may ask the node how it is.

Both subjects carry the node's id, so on a shared broker a stranger's node and clients are never asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import msgspec

from identity.errors import LoomError, Unavailable
from loomem.nats.faults import NobodyThere
from loomem.nats.link import Link, Message

PING_S = 1.0
STATUS_S = 2.0
ASK_AGAIN_S = 0.05


class NodeReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a node answers when it is asked for its status."""

    node_id: str
    version: str
    workers: list[dict[str, object]]
    """What each worker says of itself; the node does not look into it."""
    embedding: dict[str, object] | None = None
    """How the model is that embeds; None while nobody knows."""


def ping_subject(node_id: str) -> str:
    return f"pattern.node.{node_id}.ping"


def status_subject(node_id: str) -> str:
    return f"pattern.node.{node_id}.status"


def hello_subject(node_id: str) -> str:
    return f"pattern.node.{node_id}.hello"


@asynccontextmanager
async def greeted(link: Link, node_id: str, seen: Callable[[], None]) -> AsyncGenerator[None]:
    """Call `seen` whenever a client comes, while this context lasts: one that stays shortly is asked by no ping."""

    async def note(_message: Message) -> None:
        seen()

    async with link.subscribe(hello_subject(node_id), note):
        yield


@asynccontextmanager
async def present(link: Link, node_id: str) -> AsyncGenerator[None]:
    """Keep the node from leaving while this context lasts: say hello, and answer its pings."""

    async def answer(message: Message) -> None:
        with suppress(Unavailable):
            await link.publish(message.reply, b"+")

    async with link.subscribe(ping_subject(node_id), answer):
        with suppress(LoomError):
            await link.publish(hello_subject(node_id), b"")
        yield


async def anyone_present(link: Link, node_id: str, *, timeout_s: float = PING_S) -> bool:
    """Return whether a client answers; without a connection, or the right to ask, nobody can."""
    try:
        await link.request(ping_subject(node_id), timeout_s=timeout_s)
    except LoomError:
        return False
    return True


@asynccontextmanager
async def reporting(link: Link, node_id: str, report: Callable[[], Awaitable[NodeReport]]) -> AsyncGenerator[None]:
    """Answer everyone who asks for the node's status while this context lasts."""

    async def answer(message: Message) -> None:
        with suppress(Unavailable):
            await link.publish(message.reply, msgspec.json.encode(await report()))

    async with link.subscribe(status_subject(node_id), answer):
        yield


async def ask_status(link: Link, node_id: str, *, timeout_s: float = STATUS_S) -> NodeReport:
    """Return what the node says of itself and its workers.

    A node that has just started is asked again until it listens.

    Raises: Unavailable (no connection, no such node, no answer).
    """
    deadline = asyncio.get_running_loop().time() + timeout_s
    while True:
        try:
            answer = await link.request(status_subject(node_id), timeout_s=timeout_s)
        except NobodyThere:
            if asyncio.get_running_loop().time() > deadline:
                raise
            await asyncio.sleep(ASK_AGAIN_S)
        else:
            break
    try:
        return msgspec.json.decode(answer.data, type=NodeReport)
    except msgspec.MsgspecError as error:
        raise Unavailable(f"The memory node answers what this version cannot read: {error}") from error
