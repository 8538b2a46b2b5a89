"""Views of single spaces, for workers that have to know what lies beside a memory: opened when asked for, kept a short while.

A worker has no caller, and sees for a job what lies in the space of that job and nothing else. Deliberately absent: what is
done with the views; more than a few of them at once, since each holds all of its space in memory.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from types import TracebackType
from typing import Self

from identity.agent import AgentId, Caller, ProjectId, UserId
from identity.errors import LoomError, Unavailable
from identity.keys import GLOBAL_BUCKET, Key, Root, unescape_token
from identity.ports import Buckets, Feed
from identity.visibility import Scope, Sight
from loomem.views.together import Views, views_of

log = logging.getLogger(__name__)

KEPT_S = 30.0
"""How long the views of a space stay open when nobody uses them."""
KEPT_MAX = 3
"""Spaces whose views are open at once; one that nobody uses makes room for another."""
OPEN_S = 60.0
"""How long the views of a space may take to hold it."""

_SCOPES = {
    Root.AGENTS: Scope.PRIVATE,
    Root.CORE: Scope.PRIVATE,
    Root.PERSONAL: Scope.PERSONAL,
    Root.STREAMS: Scope.PERSONAL,
}
_NOBODY = Caller(agent_id=AgentId("-"), project_id=ProjectId("-"), user_id=UserId("-"))


class _Open:
    """One space: its views once they are there, and who uses them."""

    def __init__(self) -> None:
        self.views: asyncio.Future[Views] = asyncio.get_running_loop().create_future()
        self.users = 0
        self.left = asyncio.Event()
        self.task: asyncio.Task[None] | None = None

    async def unused(self) -> None:
        """Return when nobody has used it for a while."""
        while True:
            self.left.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(None if self.users else KEPT_S):
                    await self.left.wait()
                    continue
            if not self.users:
                return


class Spaces:
    """The spaces whose views are open, while the context is."""

    def __init__(self, feed: Feed, buckets: Buckets) -> None:
        self._feed = feed
        self._buckets = buckets
        self._open: dict[Sight, _Open] = {}
        self._group = asyncio.TaskGroup()

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for held in self._open.values():
            if held.task is not None:
                held.task.cancel()
        await self._group.__aexit__(kind, error, trace)

    @asynccontextmanager
    async def views(self, bucket: str, key: Key) -> AsyncGenerator[Views]:
        """Give the views of the space that a key lies in, once they hold all of it.

        Raises: Unavailable.
        """
        sight = sight_of(bucket, key)
        if sight is None:
            raise Unavailable("the owner of this space is known by a hash alone")
        held = self._open.get(sight) or self._opened(sight)
        held.users += 1
        try:
            try:
                async with asyncio.timeout(OPEN_S):
                    views = await asyncio.shield(held.views)
                    await views.projection.sync()
                    await views.words.settled()
            except TimeoutError:
                raise Unavailable("this space takes too long to be told") from None
            yield views
        finally:
            held.users -= 1
            held.left.set()

    def _opened(self, sight: Sight) -> _Open:
        if len(self._open) >= KEPT_MAX:
            idle = next((held for held in self._open.values() if not held.users), None)
            if idle is None or idle.task is None:
                raise Unavailable("too many spaces are being looked at")
            idle.task.cancel()
            self._open = {of: held for of, held in self._open.items() if held is not idle}
        held = self._open[sight] = _Open()
        held.task = self._group.create_task(self._keep(sight, held), name=f"space {sight.bucket}")
        return held

    async def _keep(self, sight: Sight, held: _Open) -> None:
        """Keep the views of a space open until nobody has used them for a while."""
        try:
            async with views_of(self._feed, self._buckets, _NOBODY, within=(sight,)) as views:
                held.views.set_result(views)
                await held.unused()
                self._forget(sight, held)  # before they close: whoever comes from here on opens them anew
        except* LoomError as errors:
            log.warning("event=space_not_seen bucket=%s error=%s", sight.bucket, type(errors.exceptions[0]).__name__)
        finally:
            self._forget(sight, held)
            if not held.views.done():
                held.views.set_exception(Unavailable("this space cannot be seen"))
                held.views.exception()  # nobody may be waiting for it

    def _forget(self, sight: Sight, held: _Open) -> None:
        if self._open.get(sight) is held:
            del self._open[sight]


def sight_of(bucket: str, key: Key) -> Sight | None:
    """Return the stretch of keys that is looked at together: the space, in team and public everybody's part.

    None when the owner of a space cannot be told from its key.
    """
    if key.root is Root.SHARED:
        return Sight(Scope.PUBLIC if bucket == GLOBAL_BUCKET else Scope.TEAM, bucket, key.root, None, mine=False)
    owner = unescape_token(key.owner)
    if owner is None and key.root is Root.STREAMS:
        owner = key.owner
    return None if owner is None else Sight(_SCOPES[key.root], bucket, key.root, owner, mine=False)
