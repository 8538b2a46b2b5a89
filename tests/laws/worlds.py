"""A small world for the laws of the engine: one broker in memory, and agents on it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC

from identity.agent import AgentId, Caller, ProjectId, UserId, subagent_id
from identity.ports import Buckets, Feed
from loomem.core.limits import Limits
from loomem.core.scan import ScanPolicy
from loomem.engine import Engine
from loomem.store.files import Files
from loomem.views.projection import Projection
from tests.doubles import CountingIds, ManualClock, MemoryBroker

LIMITS = Limits()
PATIENCE_S = 2.0


def agent(name: str = "a", *, project: str = "p", user: str = "u", subagent: str | None = None) -> Caller:
    """Return a caller; `subagent` makes it a sub-agent of that name."""
    root = AgentId(name * 32)
    return Caller(
        agent_id=root if subagent is None else subagent_id(root, subagent),
        project_id=ProjectId(project),
        user_id=UserId(user),
        parent_id=None if subagent is None else root,
        subagent_type=subagent,
    )


class World:
    """A broker, a clock, and whoever enters."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.broker = MemoryBroker(self.clock)
        self.buckets: Buckets = self.broker
        self.feed: Feed = self.broker

    @asynccontextmanager
    async def enter(
        self,
        caller: Caller | None = None,
        *,
        limits: Limits = LIMITS,
        scan: ScanPolicy = ScanPolicy.WARN,
        files: Files | None = None,
    ) -> AsyncGenerator[Engine]:
        """Start a process of an agent."""
        caller = caller or agent()
        async with Projection(self.feed, self.buckets, caller, patience_s=PATIENCE_S) as projection:
            yield Engine(
                caller=caller,
                buckets=self.buckets,
                projection=projection,
                limits=limits,
                clock=self.clock,
                ids=CountingIds(),
                scan=scan,
                zone=UTC,
                files=files,
            )
