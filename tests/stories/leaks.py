"""A world of several agents on one store, and an observer who knows from the written table what each of them may see.

The observer reads the buckets as a plain NATS client. It trusts the keys alone, judges them by the table as design and
documents state it, and knows nothing of how the service decides. Whatever text an agent is answered may hold only what
stands in the memories that the agent may read at that moment, what it said itself, and who it is.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
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

    @property
    def stream(self) -> str:
        """The stream of the user, which some of its agents call "work"."""
        return f"stream-of-{self.user}"


CAST = {
    "alice": Who("agent-alice-3f9c", "project-acme-77aa", "user-ann-51d0"),
    "helper": Who("agent-alice-3f9c", "project-acme-77aa", "user-ann-51d0", "explore"),
    "bob": Who("agent-bob-82b1", "project-acme-77aa", "user-ben-9e64"),
    "dora": Who("agent-dora-c5d7", "project-zeta-4e0b", "user-ann-51d0"),
    "eve": Who("agent-eve-16fa", "project-zeta-4e0b", "user-eve-2c38"),
}
BUCKETS = sorted({GLOBAL} | {who.project_bucket for who in CAST.values()} | {who.user_bucket for who in CAST.values()})


NAMES = "PATTERN_NAMESPACES"
UNCONFIGURED = ("dora", "helper")
"""Those who are not told what the stream is called."""
MARKER = r"mk[0-9a-f]{12}"
NONE: frozenset[str] = frozenset()
UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"


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
        self.version = -1
        """Of the world, when this player last heard of everything."""
        self.itself = f"{self.id} {who.agent} {who.project} {who.user} {files}"
        if who.subagent is None:
            self.itself += f" {who.stream}"

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
            return (root, owner) == ("personal", self.personal) or self._owns_stream(address)
        return bucket == GLOBAL and root == "shared"

    def may_write(self, address: Address) -> bool:
        """The table: each its own part."""
        bucket, key = address
        root, owner, *_ = key.split(".")
        if bucket == self.who.user_bucket:
            return (root, owner) == ("personal", self.personal) or self._owns_stream(address)
        own_roots = {self.who.project_bucket: ("agents", "core", "shared"), GLOBAL: ("shared",)}
        return root in own_roots.get(bucket, ()) and owner == self.id

    def _owns_stream(self, address: Address) -> bool:
        """The table: every stream of the user is its root agents', whatever it is called."""
        bucket, key = address
        return bucket == self.who.user_bucket and key.startswith("streams.") and self.who.subagent is None

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
        """All memories as their buckets hold them, deleted ones and stubs among them."""
        self.last: dict[str, int] = {}
        """Of each bucket the number of its last change."""
        self.version = 0
        """Grows with every change of any bucket."""
        self._raw = raw
        self._values: dict[Address, bytes] = {}
        self._words: dict[Address, frozenset[str]] = {}
        names = {word for player in players.values() for word in (*player.itself.split()[:4], player.who.stream)}
        self._ever = names
        """Every secret there is; what was forgotten stays one."""
        self._secret = re.compile("|".join([MARKER, UUID, *map(re.escape, sorted(names, key=len, reverse=True))]))

    def marker(self) -> str:
        """Return a new word, which nobody may see unless it stands in what it may see."""
        word = f"mk{secrets.token_hex(6)}"
        self._ever.add(word)
        return word

    def visible(self, player: Player) -> list[dict[str, Any]]:
        """Return the records that a player may read now, those of streams among them."""
        return [record for address, record in self.held.items() if player.may_read(address) and not gone(record)]

    def recallable(self, player: Player) -> list[dict[str, Any]]:
        """Return of them those that recalling shows: what lies in a stream is found by searching alone."""
        return [
            record
            for address, record in self.held.items()
            if player.may_read(address) and not gone(record) and not in_stream(address)
        ]

    def twins(self, player: Player) -> int:
        """Return how many of a player's own records have the id of another one of its own.

        Its views show the newest of them alone. Only imports of one user's agents in two projects can bring this about.
        """
        own = Counter(
            record["id"] for address, record in self.held.items() if player.may_write(address) and not gone(record)
        )
        return sum(own.values()) - len(own)

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

        values, words = dict(self._values), dict(self._words)
        result = await player.agent.client.call_tool(tool, arguments, progress_callback=listen)
        text = "\n".join([*told, *(getattr(part, "text", "") for part in result.content)])
        answer: dict[str, Any] = result.structured_content or {}
        text = f"{text}\n{json.dumps(answer, ensure_ascii=False)}"
        said = f"{said}\n{json.dumps(arguments, ensure_ascii=False)}"
        self._judge_telling(player, f"{tool} {arguments}", text, said)
        await self.observe()
        self._judge_writing(player, f"{tool} {arguments}", values, words, said)
        return answer

    async def observe(self) -> None:
        """Read the buckets that have changed."""
        now = await asyncio.gather(*(self._last_of(bucket) for bucket in BUCKETS))
        changed = {bucket for bucket, last in zip(BUCKETS, now, strict=True) if last != self.last.get(bucket)}
        old = self._values
        self._values = {address: value for address, value in old.items() if address[0] not in changed}
        for bucket in changed:
            await self._read(bucket)
            self.version += 1
        self.last = dict(zip(BUCKETS, now, strict=True))
        for address in old.keys() - self._values.keys():
            self.held.pop(address, None)
            del self._words[address]
        for address, value in self._values.items():
            if old.get(address) != value:
                # A vector is no text: of it the key alone says something.
                self._words[address] = self._words_of(f"{address[1]} {value.decode(errors='replace')}")
                self._ever |= self._words[address]
                if kind_of(address) != "m":
                    continue
                self.held[address] = json.loads(value)
                if self.held[address]["id"] not in self.ids:
                    self.ids.append(self.held[address]["id"])

    async def plant_vectors(self) -> None:
        """Put a vector beside every memory, as a node with a model would; what it holds is no text."""
        for bucket, key in list(self.held):
            value = msgspec.msgpack.encode([1, "model-1", b"\xfe" * 16, 2, b"\x00\x3c\xff\x00"])
            await self._raw.request(f"$KV.{bucket}.{key.replace('.m.', '.v.')}.model-1", value, timeout=5)
        await self.observe()

    def judge_file(self, player: Player, text: str) -> None:
        """Judge what was written to a file for a player."""
        self._judge_telling(player, "a file", text, "")

    def judge_log(self, lines: list[str]) -> None:
        """Judge what was logged: content never is."""
        for line in lines:
            if re.search(MARKER, line):
                raise Leak(f"content stands in the log: {line}")

    def _words_of(self, text: str) -> frozenset[str]:
        """Return the words of a text that are somebody's secret."""
        return frozenset(self._secret.findall(text))

    def _judge_telling(self, player: Player, what: str, text: str, said: str) -> None:
        told = self._words_of(text) - self._words_of(f"{player.itself} {said}")
        seen = [self._tellable(address) for address in self._words if player.may_read(address)]
        # The id that this call has made is not among them yet.
        if found := told.difference(*seen) & self._ever:
            raise Leak(f"{player.id} was told {sorted(found)} by {what}: {text}")

    def _tellable(self, address: Address) -> frozenset[str]:
        """Return the words of a readable value that may still be said: of what is deleted, that there was one and whose."""
        words = self._words[address]
        if address in self.held and gone(self.held[address]):
            return frozenset(word for word in words if not re.fullmatch(MARKER, word))
        return words

    def _judge_writing(
        self,
        player: Player,
        what: str,
        values: dict[Address, bytes],
        words: dict[Address, frozenset[str]],
        said: str,
    ) -> None:
        """Nobody writes into another's part, nor anything it could not know."""
        known = self._words_of(said).union(*(words[address] for address in words if player.may_read(address)))
        for address in values.keys() | self._values.keys():
            if values.get(address) == self._values.get(address):
                continue
            if not player.may_write(address):
                raise Leak(f"{player.id} changed {address} by {what}")
            found = {word for word in self._words.get(address, NONE) - known if re.fullmatch(MARKER, word)}
            if found:
                raise Leak(f"{player.id} wrote {found}, which it cannot know, to {address} by {what}")

    async def _last_of(self, bucket: str) -> int:
        """Return the number of the last change of a bucket."""
        answer = await self._raw.request(f"$JS.API.STREAM.INFO.KV_{bucket}", b"", timeout=5)
        return int(json.loads(answer.data)["state"]["last_seq"])

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
            if message.data and "KV-Operation" not in headers:
                self._values[bucket, key] = message.data
        await subscription.unsubscribe()


def kind_of(address: Address) -> str:
    """Return what a value is: a memory, a vector, somebody's ratings."""
    return address[1].split(".")[2]


def in_stream(address: Address) -> bool:
    """Say whether a value lies in a stream."""
    return address[1].startswith("streams.")


def gone(record: dict[str, Any]) -> bool:
    """Say whether a memory is deleted, or nothing but a stub."""
    return "deletedAt" in record or record.get("erased", False)


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
                env={
                    "PATTERN_FILES_DIR": str(files),
                    **({} if name in UNCONFIGURED else {NAMES: f"work={who.stream}"}),
                },
            )
            await agent.call("recall-context")
            players[name] = Player(who, agent, files)
        raw = await nats.connect(account.url)  # pyright: ignore[reportUnknownMemberType]
        stack.push_async_callback(raw.close)
        found = World(players, raw, clock)
        await found.observe()
        yield found
        found.judge_log(lines.lines)
