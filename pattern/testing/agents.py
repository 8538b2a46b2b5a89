"""Agents: MCP clients of the whole service, each one a session of its own on a shared broker.

    alice = await agents("alice")
    helper = await agents("alice", subagent="explore")
    ben = await agents("ben", user="ben", project="other")
    real = await agents.spawn("carol")
    await alice.call("remember", content="Never deploy on Fridays.", scope="team", category="decisions")

In this process nothing is skipped but the process and its pipes: the SDK's client, the protocol, the tools, the engine,
the buckets. A spawned agent is the real command, with an environment that holds nothing of the test run's own.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import msgspec
from mcp import StdioServerParameters, stdio_client
from mcp.client import Client
from mcp.shared.dispatcher import ProgressFnT

import pattern
from identity.agent import AgentId, Caller, subagent_id
from identity.ports import Clock, Progress
from pattern.app import server_of
from pattern.parts import identity_spec
from pattern.server.errors import Failure
from pattern.settings import Settings, from_environment
from pattern.testing.guarded import GuardedBroker

OPEN_S = 30.0
"""How long a client may take to open; a spawned one starts an interpreter."""
PASSED_ON = ("LANG", "LC_ALL", "PATH", "TZ")
"""What a spawned agent inherits of this process's environment, beside what measures coverage."""

Mode = Literal["auto", "legacy", "2026-07-28"]
"""Which era of the protocol a client speaks."""

SignIn = Callable[[Caller], Awaitable[Mapping[str, str]]]
"""The settings (`NATS_URL` and more) with which a caller reaches the broker."""


class ToolFailed(AssertionError):
    """A tool answered with an error that the test did not expect."""

    def __init__(self, tool: str, failure: Failure) -> None:
        self.failure = failure
        self.code = failure.code
        self.message = failure.message
        self.details = failure.details
        super().__init__(f"{tool}: {failure.code}: {failure.message} {failure.details}")


class Agent:
    """One agent's session."""

    def __init__(self, client: Client, caller: Caller, closing: asyncio.Event, log_file: Path | None = None) -> None:
        self.client = client
        self.caller = caller
        """Who it is, by its settings alone; Warp's records may say otherwise."""
        self.name = caller.parent_id or caller.agent_id
        """The id of the root agent that it acts as, or under."""
        self._log_file = log_file
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
            raise AssertionError(f"{tool} was expected to fail, and answered {str(answer)[:500]}")
        return answer

    async def close(self) -> None:
        """End the session, as a client does that goes away."""
        self._closing.set()
        await self._closed.wait()

    def log(self) -> str:
        """Return what a spawned agent has written to stderr so far; "" for one in this process."""
        return "" if self._log_file is None else self._log_file.read_text(encoding="utf-8", errors="replace")

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

    def __init__(self, sign_in: SignIn, directory: Path, group: asyncio.TaskGroup) -> None:
        self._sign_in = sign_in
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
        mode: Mode = "auto",
    ) -> Agent:
        """Return an agent of a project and a user; with `subagent` the sub-agent of that type under the root agent `name`.

        `clock` is what its memories live by, the machine's when none is given; `env` are further settings. Two agents of
        one name are two sessions of the same agent.
        """
        environment = {**_identity(name, project, user, subagent), **(env or {})}
        settings, _ = await self._settings(environment)
        return await self._open(Client(server_of(settings, clock=clock), mode=mode), caller_of(settings))

    async def spawn(
        self,
        name: str = "agent-a",
        *,
        project: str = "project-p",
        user: str = "user-u",
        subagent: str | None = None,
        env: Mapping[str, str] | None = None,
        mode: Mode = "auto",
    ) -> Agent:
        """Return an agent that runs as a process of its own, as an MCP client of a user starts it; else as a call.

        Raises: what the client raises when the process does not serve, with the process's words as a note.
        """
        environment = {**_identity(name, project, user, subagent), **(env or {})}
        settings, variables = await self._settings(environment)
        log_file = self._directory / f"stderr-{len(self._closings)}.log"
        parameters = StdioServerParameters(
            command=sys.executable, args=["-m", "pattern"], env=variables, cwd=settings.project_path
        )
        with log_file.open("w", encoding="utf-8") as log:
            client = Client(stdio_client(parameters, errlog=log), mode=mode)
            try:
                return await self._open(client, caller_of(settings), log_file)
            except Exception as error:
                error.add_note(log_file.read_text(encoding="utf-8", errors="replace"))
                raise

    def close(self) -> None:
        """Let every session end."""
        for closing in self._closings:
            closing.set()

    async def _settings(self, environment: Mapping[str, str]) -> tuple[Settings, dict[str, str]]:
        """Return an agent's settings, and the variables they are made of."""
        variables = {
            **{name: value for name, value in os.environ.items() if name in PASSED_ON or name.startswith("COVERAGE")},
            "HOME": str(self._directory),
            "PYTHONPATH": str(Path(pattern.__file__).parents[1]),
            "PATTERN_HOME": str(self._directory / "pattern-home"),
            "PATTERN_NODE": "off",
            "PATTERN_FILES_DIR": str(self._directory),
            **environment,
        }
        if "NATS_URL" not in variables:
            variables |= await self._sign_in(caller_of(from_environment(variables, self._directory)))
        return from_environment(variables, self._directory), variables

    async def _open(self, client: Client, caller: Caller, log_file: Path | None = None) -> Agent:
        opened: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        closing = asyncio.Event()
        agent = Agent(client, caller, closing, log_file)
        self._closings.append(closing)
        self._group.create_task(_session(agent, opened, closing))
        async with asyncio.timeout(OPEN_S):
            await opened
        return agent


def caller_of(settings: Settings) -> Caller:
    """Return who these settings make, by derivation alone."""
    spec = identity_spec(settings)
    root = AgentId(spec.agent_id) if spec.agent_id is not None else spec.derived_root
    if spec.subagent_type is None:
        return Caller(agent_id=root, project_id=spec.project, user_id=spec.user)
    return Caller(
        agent_id=subagent_id(root, spec.subagent_type),
        project_id=spec.project,
        user_id=spec.user,
        parent_id=root,
        subagent_type=spec.subagent_type,
    )


def _identity(name: str, project: str, user: str, subagent: str | None) -> dict[str, str]:
    return {
        "LOOMINAL_PROJECT_ID": project,
        "LOOMINAL_AGENT_ID": name,
        "LOOMINAL_USER_ID": user,
        "LOOMINAL_SUBAGENT_TYPE": subagent or "",
    }


def _told(listener: Progress) -> ProgressFnT:
    async def tell(progress: float, total: float | None, message: str | None) -> None:
        await listener(progress, total, message or "")

    return tell


async def _session(agent: Agent, opened: asyncio.Future[Client], closing: asyncio.Event) -> None:
    """Hold a session open in one task, from its first to its last moment: the SDK's scopes may not change tasks."""
    try:
        async with agent.client as client:
            opened.set_result(client)
            await closing.wait()
    except Exception as error:
        if opened.done():
            raise
        opened.set_exception(error)
    finally:
        agent.ended()


@asynccontextmanager
async def agents_on(sign_in: SignIn, directory: Path) -> AsyncGenerator[Agents]:
    """Give agents on a broker; their files lie in `directory`. All are closed at the end."""
    async with asyncio.TaskGroup() as group:
        agents = Agents(sign_in, directory, group)
        try:
            yield agents
        finally:
            agents.close()


def at(url: str) -> SignIn:
    """Return what signs everybody in at one URL, with the credentials it carries."""

    async def sign_in(_caller: Caller) -> dict[str, str]:
        return {"NATS_URL": url}

    return sign_in


def guarded_by(broker: GuardedBroker) -> SignIn:
    """Return what signs each caller in as a user of its own, with the permissions of its own."""

    async def sign_in(caller: Caller) -> dict[str, str]:
        credentials = await broker.admit(caller)
        return {"NATS_URL": credentials.url, "PATTERN_INBOX_PREFIX": credentials.inbox_prefix}

    return sign_in
