"""A world of several agents on one store, and an observer who knows from the written table what each of them may see.

The observer reads the buckets as a plain NATS client. It trusts the keys alone, judges them by the table as design and
documents state it, and knows nothing of how the service decides. Whatever text an agent is answered may hold only what
stands in the memories that the agent may read at that moment, what it said itself, and who it is.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import nats
from nats.aio.client import Client as NatsClient

from pattern.testing import ManualClock, NatsAccount
from pattern.testing.agents import Agent, agents_on, at

GLOBAL = "loom-memory-global"
Address = tuple[str, str]
"""Bucket and key."""


class Who(msgspec.Struct, frozen=True):
    """One agent of the world. All names are words that occur nowhere else."""

    agent: str
    project: str
    user: str
    subagent: str | None = None

    @property
    def project_bucket(self) -> str:
        return f"loom-memory-project-{self.project}"

    @property
    def user_bucket(self) -> str:
        return f"loom-memory-user-{self.user}"


CAST = {
    "alice": Who("agent-alice-3f9c", "project-acme-77aa", "user-ann-51d0"),
    "helper": Who("agent-alice-3f9c", "project-acme-77aa", "user-ann-51d0", "explore"),
    "bob": Who("agent-bob-82b1", "project-acme-77aa", "user-ben-9e64"),
    "dora": Who("agent-dora-c5d7", "project-zeta-4e0b", "user-ann-51d0"),
    "eve": Who("agent-eve-16fa", "project-zeta-4e0b", "user-eve-2c38"),
}
BUCKETS = sorted({GLOBAL} | {who.project_bucket for who in CAST.values()} | {who.user_bucket for who in CAST.values()})


class Leak(AssertionError):
    """Somebody was told what it may not see."""


class Player:
    """An agent of the world and what the table gives it."""

    def __init__(self, who: Who, agent: Agent, files: Path) -> None:
        self.who = who
        self.agent = agent
        self.files = files
        self.id = agent.caller.agent_id
        self.personal = "user" if who.subagent is None else f"type=3A{who.subagent}"
        self.itself = f"{self.id} {who.agent} {who.project} {who.user} {files}"

    @property
    def buckets(self) -> tuple[str, ...]:
        return (self.who.project_bucket, self.who.user_bucket, GLOBAL)

    def may_read(self, address: Address) -> bool:
        """The table: private is the agent's and its sub-agents' to read, core its own alone, and so on."""
        bucket, key = address
        root, owner, *_ = key.split(".")
        if bucket == self.who.project_bucket:
            parent = self.who.agent if self.who.subagent is not None else self.id
            return {"agents": owner in (self.id, parent), "core": owner == self.id, "shared": True}[root]
        if bucket == self.who.user_bucket:
            return (root, owner) == ("personal", self.personal)
        return bucket == GLOBAL and root == "shared"

    def may_write(self, address: Address) -> bool:
        """The table: each its own part."""
        bucket, key = address
        root, owner, *_ = key.split(".")
        if bucket == self.who.user_bucket:
            return (root, owner) == ("personal", self.personal)
        own_roots = {self.who.project_bucket: ("agents", "core", "shared"), GLOBAL: ("shared",)}
        return root in own_roots.get(bucket, ()) and owner == self.id

    def home_of(self, scope: str, category: str) -> tuple[str, str]:
        """The table: bucket and root in which a new memory of a scope belongs."""
        match scope:
            case "private":
                return self.who.project_bucket, "core" if category == "core" else "agents"
            case "personal":
                return self.who.user_bucket, "personal"
            case "team":
                return self.who.project_bucket, "shared"
            case _:
                return GLOBAL, "shared"


class World:
    """The agents, the observer, and everything that was ever written or said as a secret."""

    def __init__(self, players: dict[str, Player], raw: NatsClient, clock: ManualClock) -> None:
        self.players = players
        self.clock = clock
        self.ids: list[str] = ["3f0c2a9e-6a52-4c1d-9d57-0e2b7c6a1f10"]
        """Of all memories there ever were, and one that never was."""
        self.cursors: list[str] = []
        self.calls = 0
        self.held: dict[Address, dict[str, Any]] = {}
        self.last: dict[str, int] = {}
        self._raw = raw
        self._secrets: set[str] = {word for p in players.values() for word in p.itself.split()[:4]}
        self._markers: set[str] = set()

    def marker(self) -> str:
        """Return a new word, which from now on nobody may see unless it stands in what it may see."""
        word = f"mk{secrets.token_hex(6)}"
        self._secrets.add(word)
        self._markers.add(word)
        return word

    def visible(self, player: Player) -> list[dict[str, Any]]:
        """Return the records that a player may read now."""
        return [record for address, record in self.held.items() if player.may_read(address)]

    def live(self, record: dict[str, Any]) -> bool:
        return "expiresAt" not in record or record["expiresAt"] >= self.clock.now().strftime("%Y-%m-%dT%H:%M:%S.000Z")

    async def call(self, player: Player, tool: str, arguments: dict[str, Any], said: str = "") -> dict[str, Any]:
        """Let a player call a tool, and judge all that it is told and all that it changes; returns the answer.

        `said` is what the player says beside the arguments, in a file.
        """
        self.calls += 1
        told: list[str] = []

        async def listen(progress: float, total: float | None, message: str | None) -> None:
            told.append(f"{progress} of {total}: {message}")

        before = dict(self.held)
        result = await player.agent.client.call_tool(tool, arguments, progress_callback=listen)
        text = "\n".join([*told, *(getattr(part, "text", "") for part in result.content)])
        answer: dict[str, Any] = result.structured_content or {}
        text = f"{text}\n{json.dumps(answer, ensure_ascii=False)}"
        said = f"{said}\n{json.dumps(arguments, ensure_ascii=False)}"
        self._judge_telling(player, f"{tool} {arguments}", text, said)
        await self.observe()
        self._judge_writing(player, f"{tool} {arguments}", before, said)
        return answer

    async def observe(self) -> None:
        """Read the buckets."""
        self.held.clear()
        for bucket in BUCKETS:
            await self._read(bucket)
        known = set(self.ids)
        for record in self.held.values():
            if record["id"] not in known:
                self.ids.append(record["id"])
                self._secrets.add(record["id"])

    def judge_file(self, player: Player, text: str) -> None:
        """Judge what was written to a file for a player."""
        self._judge_telling(player, "a file", text, "")

    def judge_log(self, lines: list[str]) -> None:
        """Judge what was logged: content never is."""
        for line in lines:
            found = [word for word in self._markers if word in line]
            if found:
                raise Leak(f"{found} stand in the log: {line}")

    def _judge_telling(self, player: Player, what: str, text: str, said: str) -> None:
        may = f"{player.itself}\n{said}\n" + "\n".join(
            json.dumps(record, ensure_ascii=False) for record in self.visible(player)
        )
        found = [word for word in self._secrets if word in text and word not in may]
        if found:
            raise Leak(f"{player.id} was told {found} by {what}: {text}")

    def _judge_writing(self, player: Player, what: str, before: dict[Address, dict[str, Any]], said: str) -> None:
        """Nobody writes into another's part, nor anything it could not know."""
        seen = "\n".join(json.dumps(record) for address, record in before.items() if player.may_read(address))
        for address in before.keys() | self.held.keys():
            old, new = before.get(address), self.held.get(address)
            if old == new:
                continue
            if not player.may_write(address):
                raise Leak(f"{player.id} changed {address} by {what}")
            text = json.dumps({} if new is None else new)
            found = [word for word in self._markers if word in text and word not in f"{seen}\n{said}"]
            if found:
                raise Leak(f"{player.id} wrote {found}, which it cannot know, to {address} by {what}")

    async def _read(self, bucket: str) -> None:
        inbox = self._raw.new_inbox()
        subscription = await self._raw.subscribe(inbox)  # pyright: ignore[reportUnknownMemberType]
        ask = json.dumps({"multi_last": [f"$KV.{bucket}.>"]}).encode()
        await self._raw.publish(f"$JS.API.DIRECT.GET.KV_{bucket}", ask, reply=inbox)
        while True:
            message = await subscription.next_msg(timeout=5)
            headers = message.headers or {}
            if "Status" in headers:
                break
            key = headers["Nats-Subject"].removeprefix(f"$KV.{bucket}.")
            self.last[bucket] = max(self.last.get(bucket, 0), int(headers["Nats-Sequence"]))
            if message.data and "KV-Operation" not in headers:
                self.held[bucket, key] = json.loads(message.data)
        await subscription.unsubscribe()


def counted(records: list[dict[str, Any]]) -> Counter[tuple[str, str, str]]:
    """Return records as what they are known by, to compare with no regard to order."""
    return Counter((record["id"], record["agentId"], record["content"]) for record in records)


class _Lines(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


@asynccontextmanager
async def world(account: NatsAccount, directory: Path) -> AsyncGenerator[World]:
    """Open the world; at its end the log is judged."""
    clock, lines = ManualClock(), _Lines()
    watched = [logging.getLogger(name) for name in ("identity", "loomem", "pattern")]
    async with AsyncExitStack() as stack:
        agents = await stack.enter_async_context(agents_on(at(account.url), directory))
        for logger in watched:
            logger.addHandler(lines)
            stack.callback(logger.removeHandler, lines)
            stack.callback(logger.setLevel, logger.level)
            logger.setLevel(logging.DEBUG)
        players: dict[str, Player] = {}
        for name, who in CAST.items():
            files = directory / f"files-of-{name}"
            await asyncio.to_thread(files.mkdir)
            agent = await agents(
                who.agent,
                project=who.project,
                user=who.user,
                subagent=who.subagent,
                clock=clock,
                env={"PATTERN_FILES_DIR": str(files)},
            )
            await agent.call("recall-context")
            players[name] = Player(who, agent, files)
        raw = await nats.connect(account.url)  # pyright: ignore[reportUnknownMemberType]
        stack.push_async_callback(raw.close)
        found = World(players, raw, clock)
        await found.observe()
        yield found
        found.judge_log(lines.lines)
