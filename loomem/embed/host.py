"""A model at work in a process: it loads behind everything else, and everybody here asks it through this.

Memories are embedded in batches of what waits, one batch at a time; queries go beside them and never wait for a batch. A
text that the model refuses is found by halving its batch, so the others get their vectors; one that was given out before
and never answered for is embedded alone, since it may be what ended a process.

What the model is given of a memory is cut at 500 characters. Measured with the default model on long chat messages (BEAM
100K: 794 messages of 1 740 characters in the middle, 72 questions; recall@10 and NDCG@10):

    cut at    meaning alone    joined with the words .3/.7    cost of a message of the middle length
    500       .65  .51         .63  .55                       1
    1 000     .61  .48         .64  .53                       2.3

What stands further back is found by its words, of which nothing is cut.

Deliberately absent: buckets and jobs (`loomem.workers.embed`), models (the rest of this room).
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from itertools import chain, repeat

from identity.errors import InvalidInput, LoomError, Unavailable
from loomem.core.embedding import Embedded, Embedder, EmbeddingState, Readiness, Refused, Vector, cut
from loomem.embed.opening import model_name, open_embedder
from loomem.embed.settings import Adapter, EmbedSettings

log = logging.getLogger(__name__)

RELOAD_S = (1.0, 5.0, 15.0, 60.0)
"""Before a model that may come yet is tried again; the last one repeats."""
PAUSES_S = (1.0, 5.0, 15.0, 30.0)
"""Between tries of a batch; then its jobs are put off."""
TROUBLE_S = 5.0
"""How long queries are refused at once after the model was not available."""
WAITING_LIMIT = 1_024
CACHE_QUERIES = 1_000

Open = Callable[[EmbedSettings], AbstractAsyncContextManager[Embedder]]


class _Asked:
    """A text that waits for its vector."""

    def __init__(self, text: str, *, alone: bool) -> None:
        self.text = text
        self.alone = alone
        self.vector: asyncio.Future[Vector] = asyncio.get_running_loop().create_future()


class ModelHost:
    """The model of one process, or the reason why there is none. For queries it is a `loomem.core.embedding.Asker`."""

    def __init__(self, settings: EmbedSettings, *, open_model: Open = open_embedder) -> None:
        self._settings = settings
        self._open = open_model
        self._name = model_name(settings)
        self._embedder: Embedder | None = None
        self._readiness = Readiness.OFF if self._name is None else Readiness.LOADING
        self._reason: str | None = None
        self._trouble_until = 0.0
        self._ready = asyncio.Event()
        self._waiting: deque[_Asked] = deque()
        self._came = asyncio.Event()
        self._answers: OrderedDict[str, Embedded] = OrderedDict()

    @property
    def name(self) -> str | None:
        """Name of the model; None when there is to be none."""
        return self._name

    @property
    def able(self) -> bool:
        """Whether it embeds, now or soon by itself."""
        return self._readiness in (Readiness.LOADING, Readiness.READY) and self._reason is None

    def state(self) -> EmbeddingState:
        readiness = Readiness.FAILED if self._readiness is Readiness.READY and self._reason else self._readiness
        return EmbeddingState(state=readiness, model=self._name, reason=self._reason)

    async def look(self) -> EmbeddingState:
        return self.state()

    async def ready(self) -> None:
        """Return when the model is loaded, which may be never."""
        await self._ready.wait()

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[ModelHost, None]:
        """Load the model behind the body, and embed for as long as the context lasts."""
        failed: BaseException | None = None
        async with asyncio.TaskGroup() as group:
            work = group.create_task(self._work(), name="embedding")
            try:
                yield self
            except BaseException as error:  # noqa: BLE001 - raised again outside of the group, which would wrap it
                failed = error
            finally:
                work.cancel()
                self._ready.clear()
                _fail(self._waiting, Unavailable("The embedding model is being put away."))
                self._waiting.clear()
        if failed is not None:
            raise failed

    async def passage(self, text: str, *, alone: bool = False) -> Vector:
        """Return the vector of a memory's text; `alone`: in no batch with others.

        Raises: Refused, Unavailable.
        """
        if len(self._waiting) >= WAITING_LIMIT:
            raise Unavailable("Too many memories wait for the embedding model.")
        asked = _Asked(cut(text, self._settings.text_chars), alone=alone)
        self._waiting.append(asked)
        self._came.set()
        return await asked.vector

    async def query(self, text: str) -> Embedded:
        """Return the vector of a query; one that was asked lately is remembered.

        Raises: Unavailable (at once when there is no model), Refused.
        """
        given = cut(text, self._settings.query_chars)
        if (known := self._answers.get(given)) is not None:
            self._answers.move_to_end(given)
            return known
        embedder = self._embedder
        if embedder is None or asyncio.get_running_loop().time() < self._trouble_until:
            raise Unavailable(self._reason or _NOT_YET.get(self._readiness, "There is no embedding model."))
        try:
            answer = Embedded(embedder.model.name, await embedder.query(given))
        except Unavailable as error:
            self._troubled(error)
            raise
        self._calm()
        self._answers[given] = answer
        if len(self._answers) > CACHE_QUERIES:
            self._answers.popitem(last=False)
        return answer

    # The work

    async def _work(self) -> None:
        if self._settings.adapter is Adapter.NONE:
            return
        async with AsyncExitStack() as stack:
            self._embedder = await self._load(stack)
            if self._embedder is None:
                return
            try:
                await self._batches(self._embedder)
            finally:
                self._embedder = None

    async def _load(self, stack: AsyncExitStack) -> Embedder | None:
        """Return the model once it is loaded; None when it never will."""
        for pause_s in chain(RELOAD_S, repeat(RELOAD_S[-1])):
            try:
                embedder = await stack.enter_async_context(self._open(self._settings))
            except Unavailable as error:
                self._readiness, self._reason = Readiness.FAILED, error.message
                log.warning("event=model_not_loaded model=%s error=%r", self._name, error.message)
                await asyncio.sleep(pause_s)
            except Exception as error:  # noqa: BLE001 - libraries of models raise what they like
                told = error.message if isinstance(error, LoomError) else type(error).__name__
                self._readiness, self._reason = Readiness.FAILED, told
                level = logging.WARNING if isinstance(error, InvalidInput) else logging.ERROR
                log.log(level, "event=model_unusable model=%s error=%r", self._name, told)
                return None
            else:
                self._readiness, self._reason = Readiness.READY, None
                self._ready.set()
                log.info("event=model_loaded model=%s dimensions=%d", self._name, embedder.model.dimensions)
                return embedder
        return None

    async def _batches(self, embedder: Embedder) -> None:
        while True:
            await self._came.wait()
            batch = self._next_batch()
            if not batch:
                self._came.clear()
                continue
            await self._embed(embedder, batch)

    def _next_batch(self) -> list[_Asked]:
        """Take what waits, as much as goes together; nobody waits any more for a job that was cut short."""
        batch: list[_Asked] = []
        while self._waiting and len(batch) < self._settings.batch:
            if self._waiting[0].vector.done():
                self._waiting.popleft()
                continue
            if self._waiting[0].alone and batch:
                break
            batch.append(self._waiting.popleft())
            if batch[-1].alone:
                break
        return batch

    async def _embed(self, embedder: Embedder, batch: Sequence[_Asked]) -> None:
        """Answer everybody of a batch, whatever happens."""
        try:
            vectors = await self._insist(embedder, [asked.text for asked in batch])
        except Unavailable as error:
            _fail(batch, error)
        except Exception as error:  # noqa: BLE001 - as above; whoever asked hears of it
            if len(batch) > 1:
                middle = len(batch) // 2
                await self._embed(embedder, batch[:middle])
                await self._embed(embedder, batch[middle:])
                return
            if not isinstance(error, Refused):
                log.error("event=model_stumbled model=%s error=%s", self._name, type(error).__name__)
            _fail(batch, error)
        else:
            for asked, vector in zip(batch, vectors, strict=True):
                if not asked.vector.done():
                    asked.vector.set_result(vector)

    async def _insist(self, embedder: Embedder, texts: Sequence[str]) -> list[Vector]:
        """Return the vectors, trying again while the model is not available, for a while.

        Raises: as the model.
        """
        for pause_s in (*PAUSES_S, None):
            try:
                vectors = await embedder.passages(texts)
            except Unavailable as error:
                self._troubled(error)
                if pause_s is None:
                    raise
                await asyncio.sleep(pause_s)
            else:
                self._calm()
                return vectors
        raise AssertionError  # the loop ends by a return or a raise

    def _troubled(self, error: Unavailable) -> None:
        if self._reason is None:
            log.warning("event=model_unavailable model=%s error=%r", self._name, error.message)
        self._reason = error.message
        self._trouble_until = asyncio.get_running_loop().time() + TROUBLE_S

    def _calm(self) -> None:
        self._reason, self._trouble_until = None, 0.0


_NOT_YET = {
    Readiness.LOADING: "The embedding model is being loaded.",
    Readiness.OFF: "PATTERN_EMBEDDER=none: search uses words alone.",
}


def _fail(batch: Sequence[_Asked] | deque[_Asked], error: Exception) -> None:
    for asked in batch:
        if not asked.vector.done():
            asked.vector.set_exception(error)
