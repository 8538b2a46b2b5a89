"""Queries become vectors in the node: servers, which hold no model, ask their own node over the broker.

The subject carries the node's id, so no text of a query reaches another's node. Every wait is bounded: a node refuses at
once when too many questions wait, passes over those whose asker has left, and a server without a node hears so at once.

Plain requests, and not the `micro` module of nats-py (read at 2.16): its service is bound to one client, and a link of ours has
a new one after each loss, so it would come back as another instance with its counts at zero; what an endpoint counts as its
time ends where its callback does, which here only queues; an error of a handler is sent to the asker with its text; and
`datetime.utcnow` warns from Python 3.12 on. So `nats micro ls` does not list nodes: `pattern-memory node status` does.

Deliberately absent: the model (`loomem.embed`); vectors of memories, which stand in the buckets.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress

import msgspec

from identity.errors import LoomError, Unavailable
from loomem.core.embedding import Asker, Embedded, EmbeddingState, Readiness, Refused, Vector, cut
from loomem.nats.faults import NobodyThere
from loomem.nats.link import Link, Message

log = logging.getLogger(__name__)

ASKED_LIMIT = 64
"""Questions that wait for the model."""
AT_ONCE = 4
ASK_S = 2.0
LONGEST_ASK_S = 30.0
LOOK_S = 0.3
HEARD_S = 5.0
"""How long a server takes the model for what it was; then a remembered question is asked about first."""
STARTING_S = 5.0
"""How long a node that does not answer yet is taken to be starting."""
ASK_AGAIN_S = 0.1
CACHE_QUERIES = 512


class Question(msgspec.Struct, frozen=True):
    """What a server asks."""

    text: str
    """Empty: nothing but how the model is."""
    within_s: float
    """How long the asker waits."""


class Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the node answers: a vector, or why there is none."""

    state: EmbeddingState
    model: str | None = None
    vector: Vector | None = None
    refused: str | None = None
    """The model does not take this text."""
    error: str | None = None


class _Asked(msgspec.Struct, frozen=True):
    question: Question
    reply: str
    until: float


def embed_subject(node_id: str) -> str:
    return f"pattern.node.{node_id}.embed"


@asynccontextmanager
async def answering(link: Link, node_id: str, source: Asker) -> AsyncGenerator[None]:
    """Answer the queries of this node's servers while the context lasts."""
    desk = _Desk(link, source)
    failed: BaseException | None = None
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(desk.work(), name="embed-queries") for _ in range(AT_ONCE)]
        try:
            async with link.subscribe(embed_subject(node_id), desk.take):
                yield
        except BaseException as error:  # noqa: BLE001 - raised again outside of the group, which would wrap it
            failed = error
        finally:
            for task in tasks:
                task.cancel()
    if failed is not None:
        raise failed


class _Desk:
    """Takes questions and has them answered, a few at a time."""

    def __init__(self, link: Link, source: Asker) -> None:
        self._link = link
        self._source = source
        self._asked: asyncio.Queue[_Asked] = asyncio.Queue(ASKED_LIMIT)

    async def take(self, message: Message) -> None:
        try:
            question = msgspec.msgpack.decode(message.data, type=Question)
        except msgspec.MsgspecError:
            await self._reply(message.reply, Answer(self._source.state(), error="not a question this version reads"))
            return
        if not question.text:
            await self._reply(message.reply, Answer(self._source.state()))
            return
        until = asyncio.get_running_loop().time() + min(question.within_s, LONGEST_ASK_S)
        try:
            self._asked.put_nowait(_Asked(question, message.reply, until))
        except asyncio.QueueFull:
            await self._reply(message.reply, Answer(self._source.state(), error="too many queries wait for the model"))

    async def work(self) -> None:
        while True:
            asked = await self._asked.get()
            if asyncio.get_running_loop().time() < asked.until:
                await self._reply(asked.reply, await self._answer(asked.question.text))

    async def _answer(self, text: str) -> Answer:
        try:
            found = await self._source.query(text)
        except Refused as error:
            return Answer(self._source.state(), refused=error.message)
        except LoomError as error:
            return Answer(self._source.state(), error=error.message)
        except Exception as error:
            log.exception("event=query_not_embedded")
            return Answer(self._source.state(), error=type(error).__name__)
        return Answer(self._source.state(), model=found.model, vector=found.vector)

    async def _reply(self, reply: str, answer: Answer) -> None:
        with suppress(LoomError):  # then the asker's own deadline tells it
            await self._link.publish(reply, msgspec.msgpack.encode(answer))


class _NotYet(Unavailable):
    """The node does not answer, but may be starting."""


class NodeAsker:
    """Asks the node, and remembers what it answered. The port is `loomem.core.embedding.Asker`.

    A node that does not answer is taken to be starting for `starting_s`, and is asked again meanwhile.
    """

    def __init__(
        self,
        link: Link,
        node_id: Callable[[], str | None],
        *,
        query_chars: int,
        within_s: float = ASK_S,
        starting_s: float = STARTING_S,
        cache: int = CACHE_QUERIES,
    ) -> None:
        self._link = link
        self._node_id = node_id
        self._query_chars = query_chars
        self._within_s = within_s
        self._starting_s = starting_s
        self._cache = cache
        self._known: OrderedDict[tuple[str, str], Vector] = OrderedDict()
        self._model: str | None = None
        self._heard_at = -HEARD_S
        self._starting_until = float("inf")
        self._state = EmbeddingState(state=Readiness.LOADING)

    async def look(self) -> EmbeddingState:
        """Return how the node says its model is; without a node, that there is none."""
        return await self._look(self._within_s)

    def state(self) -> EmbeddingState:
        """Return how the model was when it was last asked."""
        return self._state

    async def query(self, text: str) -> Embedded:
        """Return the query as a vector.

        Raises: Unavailable, at once when there is no node or it has no model; Refused.
        """
        given = cut(text, self._query_chars)
        if (self._model, given) in self._known and self._now() - self._heard_at > HEARD_S:
            # By now it may be another model. A node that does not say so at once has not hindered an answer before.
            await self._look(LOOK_S)
        if self._model is not None and (known := self._known.get((self._model, given))) is not None:
            self._known.move_to_end((self._model, given))
            return Embedded(self._model, known)
        answer = await self._answered(given)
        if answer.refused is not None:
            raise Refused(answer.refused)
        if answer.model is None or answer.vector is None:
            raise Unavailable(answer.error or "The node has no embedding model.")
        self._keep(answer.model, given, answer.vector)
        return Embedded(answer.model, answer.vector)

    async def _answered(self, text: str) -> Answer:
        """Return the node's answer; one that is starting, or is loading its model, is asked again."""
        until = self._now() + self._within_s
        while True:
            try:
                answer = await self._ask(text, self._within_s)
                self._hear(answer.state)
                if answer.state.state is not Readiness.LOADING or answer.vector is not None:
                    return answer
            except _NotYet:
                pass
            if self._now() + ASK_AGAIN_S > until:
                raise Unavailable(self._state.reason or "The embedding model is being loaded; ask again in a moment.")
            await asyncio.sleep(ASK_AGAIN_S)

    async def _look(self, within_s: float) -> EmbeddingState:
        with suppress(Unavailable):  # then that is how it is
            self._hear((await self._ask("", within_s)).state)
        return self._state

    def _hear(self, state: EmbeddingState) -> None:
        self._starting_until = float("inf")
        self._state, self._heard_at = state, self._now()
        if state.state is Readiness.READY and state.model is not None:
            self._model = state.model

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    async def _ask(self, text: str, within_s: float) -> Answer:
        self._starting_until = min(self._starting_until, self._now() + self._starting_s)
        node_id = self._node_id()
        if node_id is None:
            raise self._failed("There is no background node, which embeds queries.")
        question = msgspec.msgpack.encode(Question(text, within_s))
        try:
            reply = await self._link.request(embed_subject(node_id), question, timeout_s=within_s)
            return msgspec.msgpack.decode(reply.data, type=Answer)
        except NobodyThere as error:
            failed = self._failed("The background node does not embed queries (yet).")
            if self._now() >= self._starting_until:
                raise failed from error
            self._state = EmbeddingState(state=Readiness.LOADING, model=self._model, reason=failed.message)
            raise _NotYet(failed.message) from error
        except LoomError as error:
            raise self._failed(error.message) from error
        except msgspec.MsgspecError as error:
            raise self._failed("The background node answers what this version cannot read.") from error

    def _failed(self, reason: str) -> Unavailable:
        self._heard_at = self._now()
        self._state = EmbeddingState(state=Readiness.FAILED, model=self._model, reason=reason)
        return Unavailable(reason)

    def _keep(self, model: str, text: str, vector: Vector) -> None:
        """Remember an answer. Those of a former model stay until they are the oldest, and are never given again."""
        self._model = model
        self._known[model, text] = vector
        if len(self._known) > self._cache:
            self._known.popitem(last=False)
