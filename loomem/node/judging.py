"""Contradictions are judged by the model in the node: a server, which has no SDK, asks its own node over the broker.

As with queries (`node.embedding`), the subject carries the node's id; every wait is bounded; whatever fails, the rules judge.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, suppress

import msgspec

from identity.errors import LoomError, Unavailable
from loomem.core.contradict import Verdict
from loomem.core.llm import Models, Use
from loomem.llm.judge import judge
from loomem.nats.link import Link, Message

log = logging.getLogger(__name__)

AT_ONCE = 4
WAITING = 32
"""Questions that may wait; more are refused at once."""
LONGEST_S = 30.0
MARGIN_S = 0.3
"""How much earlier than its asker the node gives up, so that its answer still arrives."""


class Pair(msgspec.Struct, frozen=True):
    """What a server asks."""

    new: str
    old: list[str]
    within_s: float


class Judged(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the node answers."""

    model: str = ""
    verdicts: list[Verdict] = []
    error: str | None = None


def judge_subject(node_id: str) -> str:
    return f"pattern.node.{node_id}.judge"


@asynccontextmanager
async def judging(link: Link, node_id: str, models: Models) -> AsyncGenerator[None]:
    """Answer what this node's servers ask, while the context lasts."""
    asked: asyncio.Queue[tuple[Pair, str]] = asyncio.Queue(WAITING)

    async def take(message: Message) -> None:
        try:
            asked.put_nowait((msgspec.msgpack.decode(message.data, type=Pair), message.reply))
        except (msgspec.MsgspecError, asyncio.QueueFull) as error:
            await _reply(link, message.reply, Judged(error=f"not judged ({type(error).__name__})"))

    async def work() -> None:
        while True:
            pair, reply = await asked.get()
            await _reply(link, reply, await _answer(models, pair))

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(work(), name="judge") for _ in range(AT_ONCE)]
        if models.off(Use.JUDGE) is None:
            tasks.append(group.create_task(models.warm(), name="judge-warm"))
        try:
            async with link.subscribe(judge_subject(node_id), take):
                yield
        finally:
            for task in tasks:
                task.cancel()


async def _answer(models: Models, pair: Pair) -> Judged:
    within_s = max(0.1, min(pair.within_s, LONGEST_S) - MARGIN_S)
    try:
        async with asyncio.timeout(within_s):
            verdicts = await judge(models, pair.new, pair.old, within_s=within_s)
    except LoomError as error:
        return Judged(error=error.message)
    except TimeoutError:
        return Judged(error=f"no judgement within {within_s:g} seconds")
    except Exception as error:
        log.exception("event=not_judged")
        return Judged(error=type(error).__name__)
    return Judged(models.name(Use.JUDGE), verdicts)


async def _reply(link: Link, reply: str, answer: Judged) -> None:
    with suppress(LoomError):  # then the asker's own deadline tells it
        await link.publish(reply, msgspec.msgpack.encode(answer))


class NodeJudge:
    """Asks the node. The port is `loomem.judging.ModelJudge`."""

    def __init__(self, link: Link, node_id: Callable[[], str | None]) -> None:
        self._link = link
        self._node_id = node_id

    async def judge(self, new: str, old: Sequence[str], *, within_s: float) -> tuple[str, list[Verdict]]:
        """Return which model judged, and what. Raises: Unavailable."""
        node_id = self._node_id()
        if node_id is None:
            raise Unavailable("There is no background node, which asks the model.")
        question = msgspec.msgpack.encode(Pair(new, list(old), within_s))
        reply = await self._link.request(judge_subject(node_id), question, timeout_s=within_s)
        try:
            answer = msgspec.msgpack.decode(reply.data, type=Judged)
        except msgspec.MsgspecError as error:
            raise Unavailable("The background node answers what this version cannot read.") from error
        if answer.error is not None or len(answer.verdicts) != len(old):
            raise Unavailable(answer.error or "The background node judged something else.")
        return answer.model, answer.verdicts
