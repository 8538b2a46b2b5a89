"""What a service is made of: the link, the node beside it, the identity, the views, the engine. Imported late.

Deliberately absent: waiting on behalf of a call and answering while nothing is there (`pattern.service`), the
environment (`pattern.app`).
"""

from __future__ import annotations

import asyncio
import getpass
import logging
import socket
import sys
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import msgspec

from identity.agent import Caller
from identity.errors import InvalidInput, LoomError
from identity.registry import IdentitySpec, load
from loomem.engine import Engine
from loomem.nats.bucket import KvBuckets
from loomem.nats.endpoint import Endpoint, endpoint_from
from loomem.nats.follow import KvFeed
from loomem.nats.link import Link
from loomem.node.launcher import endpoint_of, ensure
from loomem.node.presence import present
from loomem.node.state import NodeSpec, NodeState
from loomem.views.projection import Projection
from pattern.settings import Settings
from pattern.version import VERSION

log = logging.getLogger(__name__)

NODE_CHECK_S = 30.0
"""How often it is made sure that the node is there."""
CONNECT_S = 3600.0
"""The first connection may take as long as it takes; whoever has a call waits for less."""


class SystemClock:
    """The present, as the machine tells it."""

    def now(self) -> datetime:
        return datetime.now(UTC)


class RandomIds:
    """Ids that nobody can guess."""

    def memory_id(self) -> str:
        return str(uuid.uuid4())

    def op_id(self) -> str:
        return uuid.uuid4().hex


class Broker:
    """Where the broker is, and the node beside it: the source that a link asks whenever it connects."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.embedded = settings.nats.url is None
        self.spec = node_spec(settings)
        self.node: NodeState | None = None
        self.node_error: str | None = None
        self.starting = self.embedded
        """The embedded broker may not be there for the sole reason that it is just being started."""

    async def endpoint(self) -> Endpoint:
        """Return where to connect; starts the embedded broker when it is not there.

        Raises: Unavailable, InvalidInput.
        """
        nats = self._settings.nats
        if nats.url is not None:
            return endpoint_from(**msgspec.structs.asdict(nats))
        if not self._settings.node:
            raise InvalidInput("PATTERN_NODE=off leaves nothing to connect to: set NATS_URL too", field="NATS_URL")
        try:
            return endpoint_of(self.spec, await self.ensure_node())
        finally:
            self.starting = False

    async def ensure_node(self) -> NodeState:
        """Return the node's state; starts it when it is not there. Raises: Unavailable, InvalidInput."""
        try:
            self.node = await ensure(self.spec)
        except LoomError as error:
            self.node_error = error.message
            raise
        self.node_error = None
        return self.node

    async def attend(self, link: Link) -> None:
        """Keep the node there, and from leaving, until cancelled."""
        if not self._settings.node:
            return
        while True:
            try:
                # An embedded broker is started by whoever needs its address; that has happened once this passes.
                await link.ready(CONNECT_S)
                node = self.node if self.embedded and self.node is not None else await self.ensure_node()
                async with present(link, node.node_id):
                    await self._watch(node)
            except LoomError as error:
                log.warning("event=node_missing reason=%r", error.message)
            await asyncio.sleep(NODE_CHECK_S)

    async def _watch(self, node: NodeState) -> None:
        """Return when another node took this one's place."""
        while True:
            await asyncio.sleep(NODE_CHECK_S)
            latest = self.node if self.embedded else await self.ensure_node()
            if latest is not None and latest.node_id != node.node_id:
                return


class Parts:
    """The parts of one service: what is there as long as it runs, and what is opened anew after a failure."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.broker = Broker(settings)
        self.link = Link(self.broker.endpoint, name=f"pattern-memory {VERSION}")
        self.caller: Caller | None = None

    @asynccontextmanager
    async def engine(self) -> AsyncIterator[Engine]:
        """Open the engine of this caller: who it is, then what it may see.

        Raises: Unavailable, InvalidInput, AccessDenied.
        """
        settings = self.settings
        await self.link.ready(CONNECT_S)
        buckets = KvBuckets(self.link, replicas=settings.replicas)
        self.caller = await load(buckets, identity_spec(settings))
        async with Projection(KvFeed(self.link), buckets, self.caller) as projection:
            yield Engine(
                caller=self.caller,
                buckets=buckets,
                projection=projection,
                limits=settings.limits,
                clock=SystemClock(),
                ids=RandomIds(),
                scan=settings.scan_policy,
                zone=settings.timezone,
            )


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Parts]:
    """Connect, and keep the node there, behind the body."""
    parts = Parts(settings)
    async with parts.link, asyncio.TaskGroup() as group:
        attending = group.create_task(parts.broker.attend(parts.link), name="node")
        try:
            yield parts
        finally:
            attending.cancel()


def node_spec(settings: Settings) -> NodeSpec:
    """Return which node serves these settings, and how to start it."""
    return NodeSpec(
        home=settings.home,
        url=settings.nats.url,
        version=VERSION,
        command=(sys.executable, "-m", "pattern", "node", "run"),
        idle_s=settings.node_idle_s,
        environment=settings.node_environment,
    )


def identity_spec(settings: Settings) -> IdentitySpec:
    """Return what is known about who calls before anything is read."""
    return IdentitySpec(
        hostname=socket.gethostname(),
        os_user=getpass.getuser(),
        project_path=str(settings.project_path),
        project_id=settings.project_id,
        agent_id=settings.agent_id,
        user_id=settings.user_id,
        subagent_type=settings.subagent_type,
        warp=settings.warp,
    )
