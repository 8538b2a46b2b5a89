"""Acceptance check 47: how the environment says where the broker is and who one is there; and that no password is told.

Each story opens an agent with settings alone, and has it remember and recall.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from pattern.testing import Certificates, NatsServer
from pattern.testing.agents import Agent, Agents
from tests.stories.trust import nkey_user, trust

Servers = Callable[..., NatsServer]

USER = "ann@work"
PASSWORD = "p@ss:w/rd?#%, ö"
ENCODED = "ann%40work:p%40ss%3Aw%2Frd%3F%23%25%2C%20%C3%B6"
AUTH = f'authorization {{ users: [ {{ user: "{USER}", password: "{PASSWORD}" }} ] }}'

websocket = pytest.mark.filterwarnings("ignore:parameter 'timeout' of type 'float':DeprecationWarning")
"""nats-py calls aiohttp in a way that aiohttp is about to drop."""


async def works(agent: Agent, content: str = "x") -> None:
    """The agent remembers, and recalls."""
    await agent.call("remember", content=content, category="longterm")
    recalled = await agent.call("recall-context")
    assert [memory["content"] for memory in recalled["private"]] == [content]


async def is_refused(agent: Agent, *says: str) -> dict[str, Any]:
    """The agent cannot reach its store, says why soon, and tells no secret; returns its health."""
    async with asyncio.timeout(10):
        failure = await agent.refused("remember", content="x")
    assert failure.code == "NATS_ERROR", failure
    for word in says:
        assert word in failure.message
    health = await agent.call("pattern_health")
    assert health["status"] in ("degraded", "unavailable")
    told = json.dumps(health, ensure_ascii=False) + str(failure)
    assert [secret for secret in (PASSWORD, ENCODED, "s3cret") if secret in told] == []
    return health


def inserted(url: str, credentials: str) -> str:
    return url.replace("://", f"://{credentials}@", 1)


# --- user and password ------------------------------------------------------------------------------------------------


@pytest.mark.requirement("config-47.environment", "config-47.url", "config-47.mixed")
@pytest.mark.parametrize(
    ("credentials", "env"),
    [
        ("", {"NATS_USER": USER, "NATS_PASS": PASSWORD}),
        (ENCODED, {}),
        (ENCODED, {"NATS_USER": "somebody", "NATS_PASS": "else"}),
        (ENCODED, {"NATS_TOKEN": "something else"}),
        ("ann%40work", {"NATS_PASS": PASSWORD}),
        ("ann%40work", {"NATS_USER": "somebody", "NATS_PASS": PASSWORD}),
    ],
)
async def test_credentials_of_url_and_environment_connect(
    agents: Agents, nats_servers: Servers, credentials: str, env: Mapping[str, str]
) -> None:
    url = nats_servers(auth=AUTH).url
    me = await agents(env={"NATS_URL": inserted(url, credentials) if credentials else url, **env})
    await works(me)
    health = await me.call("pattern_health")
    assert health["status"] == "healthy"
    assert health["storage"]["url"] == url
    assert [secret for secret in (PASSWORD, ENCODED) if secret in json.dumps(health, ensure_ascii=False)] == []


@pytest.mark.requirement("config-47.environment")
async def test_a_token_and_a_bare_address_connect(agents: Agents, nats_servers: Servers) -> None:
    server = nats_servers(auth="authorization { token: s3cret }")
    await works(await agents(env={"NATS_URL": f"127.0.0.1:{server.port}", "NATS_TOKEN": "s3cret"}))
    await is_refused(await agents(env={"NATS_URL": server.url, "NATS_TOKEN": "mistaken"}))


@pytest.mark.requirement("config-47.environment", "config-47.url")
@pytest.mark.parametrize(
    ("credentials", "env"),
    [
        ("", {}),
        ("ann%40work:mistaken", {"NATS_USER": USER, "NATS_PASS": PASSWORD}),
        ("", {"NATS_USER": USER, "NATS_PASS": "s3cret"}),
        ("", {"NATS_USER": USER}),
    ],
)
async def test_wrong_credentials_are_refused_and_not_told(
    agents: Agents, nats_servers: Servers, credentials: str, env: Mapping[str, str]
) -> None:
    url = nats_servers(auth=AUTH).url
    me = await agents(env={"NATS_URL": inserted(url, credentials) if credentials else url, **env})
    failure = await me.refused("remember", content="x")
    assert failure.code in ("NATS_ERROR", "VALIDATION_ERROR")
    health = await me.call("pattern_health")
    assert health["status"] != "healthy"
    assert [word for word in (PASSWORD, "s3cret", "mistaken") if word in json.dumps(health) + str(failure)] == []


# --- encryption -------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("config-47.tls")
@pytest.mark.parametrize("scheme", ["tls", "wss"])
@websocket
async def test_credentials_never_go_to_a_server_in_clear(agents: Agents, scheme: str) -> None:
    heard = bytearray()

    async def plaintext(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b'INFO {"server_id":"x","version":"2.15.1","auth_required":true,"max_payload":1048576}\r\n')
        heard.extend(await reader.read(65_536))
        writer.close()

    async with await asyncio.start_server(plaintext, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        me = await agents(env={"NATS_URL": f"{scheme}://ann:s3cret@127.0.0.1:{port}"})
        await is_refused(me)
        await me.close()
    assert b"s3cret" not in heard
    assert b"CONNECT" not in heard


@pytest.mark.requirement("config-47.tls", "config-47.files")
async def test_tls_is_demanded_and_the_authority_must_be_known(
    agents: Agents, nats_servers: Servers, certificates: Certificates
) -> None:
    server = nats_servers(tls=certificates, auth=AUTH)
    authority = {"NATS_CA": str(certificates.ca)}
    url = inserted(server.url, ENCODED)
    assert url.startswith("tls://")
    await works(await agents(env={"NATS_URL": url, **authority}))
    await works(await agents("other", env={"NATS_URL": url.replace("tls://", "nats://"), **authority}))
    await is_refused(await agents(env={"NATS_URL": url}), "TLS")
    plain = nats_servers(auth=AUTH)
    await is_refused(await agents(env={"NATS_URL": inserted(plain.url, ENCODED).replace("nats://", "tls://")}))


# --- what is no NATS server -------------------------------------------------------------------------------------------

GREETINGS = {
    "a web server": b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
    "a web server that agrees to nothing": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    "a mail server": b"220 mail.example.org ESMTP\r\n",
    "one that says nonsense": b"\x00\xff\x16\x03" * 100,
    "one that closes": b"",
}


@asynccontextmanager
async def stranger(greeting: bytes, *, waits: bool) -> AsyncGenerator[int]:
    """Listen, and say the same to everybody; gives the port."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            if waits:
                await reader.read(65_536)
            writer.write(greeting)
            await writer.drain()
            writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]


@pytest.mark.requirement("config-47.websocket", "config-47.tls")
@websocket
async def test_what_is_no_nats_server_is_said_so_and_ends_no_session(agents: Agents) -> None:
    async def meet(scheme: str, greeting: bytes) -> None:
        async with stranger(greeting, waits=scheme.startswith("ws")) as port:
            me = await agents(env={"NATS_URL": f"{scheme}://ann:s3cret@127.0.0.1:{port}"})
            await is_refused(me)
            await me.close()

    async with asyncio.TaskGroup() as group:
        for scheme in ("nats", "tls", "ws", "wss"):
            for greeting in GREETINGS.values():
                group.create_task(meet(scheme, greeting))


# --- files ------------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("config-47.files")
async def test_a_credentials_file_connects(agents: Agents, nats_servers: Servers, tmp_path: Path) -> None:
    trusted = trust()
    server = nats_servers(extra=trusted.config)
    (tmp_path / "me.creds").write_text(trusted.credentials)
    await works(await agents(env={"NATS_URL": server.url, "NATS_CREDS": "me.creds"}))
    (tmp_path / "other.creds").write_text(trust().credentials)
    await is_refused(await agents(env={"NATS_URL": server.url, "NATS_CREDS": str(tmp_path / "other.creds")}))


@pytest.mark.requirement("config-47.files")
async def test_an_nkey_file_connects(agents: Agents, nats_servers: Servers, tmp_path: Path) -> None:
    public, seed = nkey_user()
    server = nats_servers(auth=f"authorization {{ users: [ {{ nkey: {public} }} ] }}")
    (tmp_path / "me.nk").write_text(seed)
    await works(await agents(env={"NATS_URL": server.url, "NATS_NKEY": str(tmp_path / "me.nk")}))
    (tmp_path / "other.nk").write_text(nkey_user()[1])
    await is_refused(await agents(env={"NATS_URL": server.url, "NATS_NKEY": str(tmp_path / "other.nk")}))


@pytest.mark.requirement("config-47.files")
async def test_a_client_certificate_connects(agents: Agents, nats_servers: Servers, certificates: Certificates) -> None:
    server = nats_servers(tls=certificates, verify_clients=True)
    shown = {"NATS_CERT": str(certificates.client_cert), "NATS_KEY": str(certificates.client_key)}
    settings = {"NATS_URL": server.url, "NATS_CA": str(certificates.ca)}
    await works(await agents(env={**settings, **shown}))
    await is_refused(await agents(env=settings))


# --- WebSocket --------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def proxy(port: int, tls: ssl.SSLContext | None = None) -> AsyncGenerator[tuple[int, list[str]]]:
    """Pass WebSocket connections on, as a web server in front of NATS; gives its port and the request lines it saw."""
    asked: list[str] = []

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            line = await reader.readuntil(b"\r\n")
            asked.append(line.decode().strip())
            inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", port)
            inner_writer.write(b"GET / HTTP/1.1\r\n")
            await asyncio.gather(pass_on(reader, inner_writer), pass_on(inner_reader, writer))

    async with await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls) as server:
        yield server.sockets[0].getsockname()[1], asked
        server.close()


@pytest.mark.requirement("config-47.websocket")
@pytest.mark.parametrize("scheme", ["ws", "wss"])
@websocket
async def test_a_websocket_address_keeps_its_path_and_query(
    agents: Agents, nats_servers: Servers, certificates: Certificates, scheme: str
) -> None:
    server = nats_servers(websocket=True, auth=AUTH)
    inner = int(server.websocket_url.rpartition(":")[2])
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(certificates.server_cert, certificates.server_key)
    async with proxy(inner, tls if scheme == "wss" else None) as (port, asked):
        url = f"{scheme}://{ENCODED}@127.0.0.1:{port}/team/memory?via=web&n=1"
        me = await agents(env={"NATS_URL": url, **({"NATS_CA": str(certificates.ca)} if scheme == "wss" else {})})
        await works(me)
        health = await me.call("pattern_health")
        assert health["storage"]["url"] == f"{scheme}://127.0.0.1:{port}/team/memory?via=web&n=1"
        await me.close()
    assert set(asked) == {"GET /team/memory?via=web&n=1 HTTP/1.1"}


@pytest.mark.requirement("config-47.websocket", "config-47.tls")
@websocket
async def test_an_encrypted_websocket_needs_a_known_authority(
    agents: Agents, nats_servers: Servers, certificates: Certificates
) -> None:
    server = nats_servers(websocket=True, tls=certificates)
    await works(await agents(env={"NATS_URL": server.websocket_url, "NATS_CA": str(certificates.ca)}))
    await is_refused(await agents(env={"NATS_URL": server.websocket_url}))


@pytest.mark.requirement("scenario-27")
@websocket
async def test_memories_near_the_limit_pass_through_a_websocket(agents: Agents, nats_servers: Servers) -> None:
    server = nats_servers(websocket=True)
    me = await agents(env={"NATS_URL": server.websocket_url})
    # A frame holds the record and its headers: these lengths lie on both sides of every length of a frame's size.
    lengths = [1, 100, 126, 65_535 // 4, 32_000, 32_767, 32_768]
    texts = [("ż" * (length // 2) + "x" * (length % 2)) for length in lengths]
    stored = [await me.call("remember", content=text, category="longterm") for text in texts]
    refused = await me.refused("remember", content="ż" * 16_384 + "x")
    assert refused.details["maxSize"] == 32_768
    bulk = await me.call("remember-bulk", memories=[{"content": "x" * 32_768, "category": "longterm"}] * 50)
    assert bulk["stored"] == 50
    again = await agents(env={"NATS_URL": server.websocket_url})
    for answer, text in zip(stored, texts, strict=True):
        memory = (await again.call("get-memory", memoryId=answer["memoryId"]))["memory"]
        assert memory["content"] == text
    assert (await again.call("recall-context", limit=1))["total"] == len(lengths) + 50
