"""The background node that goes with the settings: which it is, being it, keeping it there.

Being it imports nothing heavy at first, since clients wait for its broker; its workers come after that.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import msgspec

from identity.errors import InvalidInput, LoomError
from loomem.embed.settings import EmbedSettings
from loomem.nats.endpoint import Endpoint, endpoint_from
from loomem.nats.link import Link
from loomem.node.launcher import endpoint_of, ensure
from loomem.node.presence import present
from loomem.node.state import NodeFiles, NodeSpec, NodeState
from loomem.node.supervise import StatusSource, run_node
from pattern.clock import SystemClock
from pattern.settings import Nats, Settings
from pattern.version import VERSION

log = logging.getLogger(__name__)

CONNECT_S = 3600.0
"""The first connection may take as long as it takes; whoever has a call waits for less."""
CHECK_S = 30.0
"""How often it is made sure that the node is there."""


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


def own_endpoint(nats: Nats) -> Endpoint:
    """Return where the user's own broker is. Raises: InvalidInput."""
    if nats.url is None:
        raise InvalidInput("NATS_URL is not set", field="NATS_URL")
    return endpoint_from(**msgspec.structs.asdict(nats))


def run(settings: Settings) -> int:
    """Be the node until nobody needs it; return the exit code. Raises: Unavailable, InvalidInput."""
    spec = node_spec(settings)

    @asynccontextmanager
    async def services(link: Link) -> AsyncGenerator[StatusSource, None]:
        from loomem.node.embedding import answering
        from loomem.node.judging import judging
        from loomem.workers.extract import Hygiene
        from loomem.workers.services import open_services
        from pattern.dictionary import dictionary

        node_id = await asyncio.to_thread(NodeFiles.of(spec).node_id)
        opened = open_services(
            link,
            limits=settings.limits,
            clock=SystemClock(),
            replicas=settings.replicas,
            embed=model_settings(settings),
            audit=settings.audit,
            llm=settings.llm,
            names=dictionary(settings.graph) if settings.graph.recognise else None,
            rules=settings.extraction,
            contradict=settings.contradict,
            hygiene=Hygiene(pii=settings.facts.pii, scan=settings.scan_policy),
            shared=settings.nats.url is not None,
        )
        async with (
            opened as background,
            answering(link, node_id, background.host),
            judging(link, node_id, background.models),
        ):
            yield background

    return asyncio.run(run_node(spec, services, source=source_of(settings)))


def model_settings(settings: Settings) -> EmbedSettings:
    """Return what the node embeds with; models that are kept on disk are kept in the home of the service."""
    if settings.embed.folder is not None:
        return settings.embed
    return msgspec.structs.replace(settings.embed, folder=str(settings.home / "models"))


def source_of(settings: Settings) -> Callable[[], Awaitable[Endpoint]] | None:
    """Return what tells where the user's own broker is; None when the embedded one is used."""
    if settings.nats.url is None:
        return None

    async def source() -> Endpoint:
        return own_endpoint(settings.nats)

    return source


class Broker:
    """Where the broker is, and the node beside it: the source that a link asks whenever it connects."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.embedded = settings.nats.url is None
        self.spec = node_spec(settings)
        self.node: NodeState | None = None
        self.node_error: str | None = None

    @property
    def starting(self) -> bool:
        """Whether the embedded broker, when it is not there, is on its way: nobody has failed to start it, again or at first."""
        return self.embedded and self.node_error is None

    @property
    def node_id(self) -> str | None:
        """Name of this machine's node; None while none is known."""
        return self.node.node_id if self.node is not None else None

    async def endpoint(self) -> Endpoint:
        """Return where to connect; starts the embedded broker when it is not there.

        Raises: Unavailable, InvalidInput.
        """
        if self._settings.nats.url is not None:
            return own_endpoint(self._settings.nats)
        if not self._settings.node:
            raise InvalidInput("PATTERN_NODE=off leaves nothing to connect to: set NATS_URL too", field="NATS_URL")
        return await asyncio.to_thread(endpoint_of, self.spec, await self.ensure_node())

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
            await asyncio.sleep(CHECK_S)

    async def _watch(self, node: NodeState) -> None:
        """Return when another node took this one's place."""
        while True:
            await asyncio.sleep(CHECK_S)
            latest = self.node if self.embedded else await self.ensure_node()
            if latest is not None and latest.node_id != node.node_id:
                return
