"""What stories see besides the tools: the buckets, as a client sees them that knows nothing of the service."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import nats
import pytest
import pytest_asyncio
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js.errors import BucketNotFoundError, NoKeysError

from pattern.testing import NatsAccount, NatsServer
from pattern.testing.agents import Agents
from pattern.testing.guarded import OPERATOR
from tests.stories.shell import Shell

PROJECT_BUCKET = "loom-memory-project-project-p"
USER_BUCKET = "loom-memory-user-user-u"
GLOBAL_BUCKET = "loom-memory-global"
"""Of the agents that `agents()` gives."""


OPEN_ONLY = {"raw", "nats_account", "nats_private"}
"""Fixtures that look at, or disturb, a broker which trusts everybody."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """With `--guarded`, give the agents of every story a broker that keeps them apart by credentials."""
    if metafunc.config.getoption("--guarded") and is_of_agents(metafunc.fixturenames, metafunc.definition):
        metafunc.parametrize("agents", ["guarded"], indirect=True)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--guarded"):
        items[:] = [item for item in items if "guarded" in item.name]


@pytest.fixture
def node_url(request: pytest.FixtureRequest, agents: Agents) -> str:
    """Where a node would sign in at the broker of these agents: with an operator's credentials, where it keeps them apart."""
    assert agents  # their broker is there
    if not request.config.getoption("--guarded"):
        account: NatsAccount = request.getfixturevalue("nats_account")
        return account.url
    server: NatsServer = request.getfixturevalue("nats_private")
    return server.url.replace("://", f"://{OPERATOR}:{OPERATOR}@")


def is_of_agents(fixtures: Sequence[str], definition: pytest.Item) -> bool:
    """Say whether a story is of agents alone, and does not choose their broker itself."""
    chosen = any("agents" in mark.args[0] for mark in definition.iter_markers("parametrize"))
    return "agents" in fixtures and not chosen and OPEN_ONLY.isdisjoint(fixtures)


class RawStore:
    """A plain NATS client on the account of the test."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._js = client.jetstream()  # pyright: ignore[reportUnknownMemberType] - nats-py leaves its keywords untyped

    async def records(self, bucket: str) -> dict[str, dict[str, Any]]:
        """Return every value of a bucket by its key; none while there is no such bucket."""
        try:
            kv = await self._js.key_value(bucket)
            keys = await kv.keys()  # pyright: ignore[reportUnknownMemberType] - nats-py leaves its keywords untyped
        except (BucketNotFoundError, NoKeysError):
            return {}
        return {key: json.loads((await kv.get(key)).value or b"null") for key in keys}

    async def everywhere(self) -> dict[str, dict[str, Any]]:
        """Return the keys and values of the three buckets together."""
        return {
            **await self.records(PROJECT_BUCKET),
            **await self.records(USER_BUCKET),
            **await self.records(GLOBAL_BUCKET),
        }

    async def headers(self, bucket: str, key: str) -> dict[str, str]:
        """Return the headers of the last message of a key."""
        message = await self._js.get_last_msg(f"KV_{bucket}", f"$KV.{bucket}.{key}")
        return dict(message.headers or {})  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType, reportUnknownArgumentType]

    async def consumers(self, bucket: str) -> dict[str, dict[str, Any]]:
        """Return the configuration of every consumer on a bucket, by its name."""
        found = await self._js.consumers_info(f"KV_{bucket}")
        return {info.name: info.config.as_dict() for info in found}

    @asynccontextmanager
    async def listening(self) -> AsyncGenerator[list[str]]:
        """Give the subjects of what anybody asks JetStream or writes, as they come."""
        heard: list[str] = []

        async def hear(message: Msg) -> None:
            heard.append(message.subject)

        subscribe = self._client.subscribe  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        subscriptions = [await subscribe(subject, cb=hear) for subject in ("$KV.>", "$JS.API.>")]
        await self._client.flush()
        yield heard
        for subscription in subscriptions:
            await subscription.unsubscribe()

    async def flush(self) -> None:
        """Return when everything that the server has sent here is here."""
        await self._client.flush()

    async def put(self, bucket: str, key: str, record: dict[str, Any] | bytes) -> int:
        """Write a value as another program might have; returns its revision."""
        kv = await self._js.key_value(bucket)
        return await kv.put(key, record if isinstance(record, bytes) else json.dumps(record).encode())

    async def make(self, bucket: str) -> None:
        """Make a bucket as other programs do."""
        await self._js.create_key_value(bucket=bucket, history=1)  # pyright: ignore[reportUnknownMemberType]

    async def wipe(self) -> None:
        """Delete every bucket, as an operator may who starts anew."""
        for stream in await self._js.streams_info():
            await self._js.delete_stream(str(stream.config.name))


@pytest_asyncio.fixture
async def raw(nats_account: NatsAccount) -> AsyncIterator[RawStore]:
    client = await nats.connect(nats_account.url)  # pyright: ignore[reportUnknownMemberType] - as above
    yield RawStore(client)
    await client.close()


@pytest.fixture
def shell(tmp_path: Path, nats_account: NatsAccount) -> Shell:
    """The command line in the folder of the test, on its account."""
    return Shell(tmp_path, {"NATS_URL": nats_account.url, "PATTERN_NODE": "off"})
