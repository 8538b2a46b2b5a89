"""What a service is made of: the link, the node beside it, the identity, the views, the engine. Imported late.

Deliberately absent: waiting on behalf of a call and answering while nothing is there (`pattern.service`), the
environment (`pattern.app`).
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import pwd
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from identity.agent import Caller
from identity.ports import Clock
from identity.registry import IdentitySpec, load
from loomem.companion import Companion
from loomem.core.llm import Use
from loomem.embed.settings import Adapter
from loomem.engine import Engine
from loomem.judging import Judging
from loomem.llm.budget import told
from loomem.nats.audit import AuditStream
from loomem.nats.follow import KvFeed
from loomem.nats.link import Link
from loomem.nats.topology import KvBuckets
from loomem.node.embedding import NodeAsker
from loomem.node.judging import NodeJudge
from loomem.search import Search
from loomem.store.files import Files
from loomem.views.projection import Projection
from loomem.views.together import Views, views_of
from loomem.views.warm import WarmStart
from pattern import collector
from pattern.clock import RandomIds
from pattern.dictionary import dictionary
from pattern.node import CONNECT_S, Broker
from pattern.settings import Settings
from pattern.version import VERSION


class Parts:
    """The parts of one service: what is there as long as it runs, and what is opened anew after a failure."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self.settings = settings
        self.clock = clock
        self.broker = Broker(settings)
        self.link = Link(self.broker.endpoint, name=f"pattern-memory {VERSION}")
        self.caller: Caller | None = None
        self._projection: Projection | None = None

    @asynccontextmanager
    async def engine(self) -> AsyncGenerator[Engine, None]:
        """Open the engine of this caller: who it is, then what it may see.

        Raises: Unavailable, InvalidInput, AccessDenied.
        """
        settings = self.settings
        await self.link.ready(CONNECT_S)
        buckets = KvBuckets(self.link, replicas=settings.replicas)
        self.caller = await load(buckets, identity_spec(settings))
        collector.relax()
        async with (
            warm_start(settings, self.caller, self.clock) as warm,
            views_of(
                KvFeed(self.link), buckets, self.caller, warm=warm, dictionary=dictionary(settings.graph)
            ) as views,
            settling(views),
        ):
            self._projection = views.projection
            asker = self._asker()
            yield Engine(
                caller=self.caller,
                buckets=buckets,
                projection=views.projection,
                limits=settings.limits,
                clock=self.clock,
                ids=RandomIds(),
                scan=settings.scan_policy,
                zone=settings.timezone,
                facts=settings.facts,
                files=Files((settings.files_dir,)),
                jobs=views.jobs,
                record=AuditStream(self.link, settings.audit, replicas=settings.replicas),
                search=Search(
                    views=views,
                    clock=self.clock,
                    settings=settings.search,
                    zone=settings.timezone,
                    asker=asker,
                ),
                llm=lambda: told(buckets, self.clock, settings.llm),
                judging=Judging(
                    views=views,
                    clock=self.clock,
                    settings=settings.contradict,
                    asker=asker,
                    model=self._judge(),
                ),
            )

    def _asker(self) -> NodeAsker | None:
        """Return who embeds queries; None when there is to be no model, or no node that has it."""
        if self.settings.embed.adapter is Adapter.NONE or not self.settings.node:
            return None
        return NodeAsker(self.link, lambda: self.broker.node_id, query_chars=self.settings.embed.query_chars)

    def _judge(self) -> NodeJudge | None:
        """Return who judges contradictions; None when rules do."""
        if self.settings.llm.off(Use.JUDGE) is not None or not self.settings.node:
            return None
        return NodeJudge(self.link, lambda: self.broker.node_id)

    async def loaded(self) -> None:
        """Return when the views hold what the buckets held at the start. Raises: Unavailable."""
        if self._projection is not None:
            await self._projection.ready()


@asynccontextmanager
async def settling(views: Views) -> AsyncGenerator[None, None]:
    """Tell the collector, behind the body, what stays: the memories when they are there, and everything at last."""

    async def tell() -> None:
        await views.projection.loaded()
        await collector.settle()
        await views.filled()
        await collector.settle()

    companion = Companion()
    await companion.start(tell(), "collector")
    try:
        yield
    except BaseException as error:
        await companion.stop(error)
        raise
    else:
        await companion.stop(None)
    finally:
        collector.release()


@asynccontextmanager
async def opened(settings: Settings, clock: Clock) -> AsyncGenerator[Parts, None]:
    """Connect, and keep the node there, behind the body."""
    parts = Parts(settings, clock)
    async with parts.link, asyncio.TaskGroup() as group:
        attending = group.create_task(parts.broker.attend(parts.link), name="node")
        try:
            yield parts
        finally:
            attending.cancel()


@asynccontextmanager
async def warm_start(settings: Settings, caller: Caller, clock: Clock) -> AsyncGenerator[WarmStart | None, None]:
    """Open the copy of what this caller's views were told of this store, unless there is to be none."""
    if not settings.warm_start:
        yield None
        return
    whose = (settings.nats.url or "", caller.project_id, caller.user_id, caller.agent_id, caller.parent_id or "")
    name = hashlib.sha256("\0".join(whose).encode("utf-8", "surrogatepass")).hexdigest()[:32]
    warm = WarmStart(settings.home / "views" / f"{name}.sqlite", clock)
    try:
        yield warm
    finally:
        await warm.close()


def identity_spec(settings: Settings) -> IdentitySpec:
    """Return what is known about who calls before anything is read."""
    return IdentitySpec(
        hostname=socket.gethostname(),
        os_user=_os_user(),
        project_path=str(settings.project_path),
        project_id=settings.project_id,
        agent_id=settings.agent_id,
        user_id=settings.user_id,
        subagent_type=settings.subagent_type,
        warp=settings.warp,
    )


def _os_user() -> str:
    """Return who runs this by the system's word; an MCP client may have started us with hardly any environment."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a container with a user id of no name
        return f"uid-{os.getuid()}"
