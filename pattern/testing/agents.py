"""Agents: MCP clients of the whole service in this process, each one a session of its own on a shared broker.

Nothing is skipped but the process and its pipes: the SDK's client, the protocol, the tools, the engine, the buckets.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from mcp.client import Client
from mcp.shared.dispatcher import ProgressFnT

from identity.ports import Clock, Progress
from pattern.app import INSTRUCTIONS
from pattern.server.errors import Failure
from pattern.server.handlers import build
from pattern.service import running
from pattern.settings import from_environment
from pattern.testing.accounts import NatsAccount
from pattern.tools.pattern import TOOLS
from pattern.version import VERSION


class ToolFailed(AssertionError):
    """A tool answered with an error that the test did not expect."""

    def __init__(self, tool: str, failure: Failure) -> None:
        self.failure = failure
        super().__init__(f"{tool}: {failure.code}: {failure.message} {failure.details}")


class Agent:
    """One agent's session."""

    def __init__(self, client: Client, name: str, closing: asyncio.Event) -> None:
        self.client = client
        self.name = name
        """The id of the root agent that it acts as, or under."""
        self._closing = closing
        self._closed = asyncio.Event()

    async def call(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """Return the structured result of a tool.

        Raises: ToolFailed.
        """
        return await self.call_with(tool, arguments)

    async def call_with(
        self, tool: str, arguments: Mapping[str, Any], *, progress: Progress | None = None
    ) -> dict[str, Any]:
        """As `call`, telling progress. Raises: ToolFailed."""
        answer = await self._answer(tool, arguments, progress)
        if isinstance(answer, Failure):
            raise ToolFailed(tool, answer)
        return answer

    async def refused(self, tool: str, /, **arguments: Any) -> Failure:
        """Return the failure of a tool; that it succeeds is an AssertionError."""
        answer = await self._answer(tool, arguments, None)
        if not isinstance(answer, Failure):
            raise AssertionError(f"{tool} was expected to fail, and answered {answer}")
        return answer

    async def close(self) -> None:
        """End the session, as a client does that goes away."""
        self._closing.set()
        await self._closed.wait()

    def ended(self) -> None:
        """Note that the session is over."""
        self._closed.set()

    async def _answer(
        self, tool: str, arguments: Mapping[str, Any], progress: Progress | None
    ) -> dict[str, Any] | Failure:
        callback = None if progress is None else _told(progress)
        result = await self.client.call_tool(tool, dict(arguments), progress_callback=callback)
        answer: dict[str, Any] = result.structured_content or {}
        if result.is_error:
            return msgspec.convert(answer, Failure)
        return answer


class Agents:
    """Opens agents that share one broker; see the fixture `agents`."""

    def __init__(self, account: NatsAccount, directory: Path, group: asyncio.TaskGroup) -> None:
        self._account = account
        self._directory = directory
        self._group = group
        self._closings: list[asyncio.Event] = []

    async def __call__(
        self,
        name: str = "agent-a",
        *,
        project: str = "project-p",
        user: str = "user-u",
        subagent: str | None = None,
        clock: Clock | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Agent:
        """Return an agent of a project and a user; with `subagent` the sub-agent of that type under the root agent `name`.

        `clock` is what its memories live by, the machine's when none is given; `env` are further settings. Two agents of
        one name are two sessions of the same agent.
        """
        environment = {
            "NATS_URL": self._account.url,
            "PATTERN_NODE": "off",
            "PATTERN_FILES_DIR": str(self._directory),
            "LOOMINAL_PROJECT_ID": project,
            "LOOMINAL_AGENT_ID": name,
            "LOOMINAL_USER_ID": user,
            "LOOMINAL_SUBAGENT_TYPE": subagent or "",
            **(env or {}),
        }
        settings = from_environment(environment, self._directory)
        server = build(
            TOOLS,
            lambda: running(settings, clock=clock),
            name="pattern-memory",
            version=VERSION,
            instructions=INSTRUCTIONS,
        )
        opened: asyncio.Future[Agent] = asyncio.get_running_loop().create_future()
        closing = asyncio.Event()
        self._closings.append(closing)
        self._group.create_task(_session(Client(server), name, opened, closing))
        return await opened

    def close(self) -> None:
        """Let every session end."""
        for closing in self._closings:
            closing.set()


def _told(listener: Progress) -> ProgressFnT:
    async def tell(progress: float, total: float | None, message: str | None) -> None:
        await listener(progress, total, message or "")

    return tell


async def _session(client: Client, name: str, opened: asyncio.Future[Agent], closing: asyncio.Event) -> None:
    """Hold a session open in one task, from its first to its last moment: the SDK's scopes may not change tasks."""
    try:
        async with client:
            agent = Agent(client, name, closing)
            opened.set_result(agent)
            await closing.wait()
    except Exception as error:
        if opened.done():
            raise
        opened.set_exception(error)
    else:
        agent.ended()


@asynccontextmanager
async def agents_on(account: NatsAccount, directory: Path) -> AsyncGenerator[Agents, None]:
    """Give agents on an account; their files lie in `directory`. All are closed at the end."""
    async with asyncio.TaskGroup() as group:
        agents = Agents(account, directory, group)
        try:
            yield agents
        finally:
            agents.close()
