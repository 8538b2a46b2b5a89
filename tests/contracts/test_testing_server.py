"""The servers of the testing kit start, die and come back as tests expect of them."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import ssl
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import nats.errors
import pytest
from nats.aio.client import Client
from nats.js import JetStreamContext
from nats.js.kv import KeyValue

from pattern.testing.accounts import AccountPool, NatsAccount
from pattern.testing.certificates import Certificates
from pattern.testing.server import NatsCluster, NatsServer, ServerOptions, ServerStartError

Servers = Callable[..., NatsServer]


async def _quiet(_error: Exception) -> None:
    """A client without this prints every failed attempt."""


@asynccontextmanager
async def connected(url: str | list[str], *, token: str | None = None) -> AsyncGenerator[JetStreamContext]:
    client = Client()
    async with asyncio.timeout(5):
        await client.connect(url, token=token, error_cb=_quiet, max_reconnect_attempts=2, connect_timeout=1)
    try:
        yield client.jetstream(timeout=5)  # pyright: ignore[reportUnknownMemberType] - its options have no types
    finally:
        await client.close()


async def create_bucket(js: JetStreamContext, name: str, replicas: int = 1) -> KeyValue:
    return await js.create_key_value(bucket=name, replicas=replicas)  # pyright: ignore[reportUnknownMemberType]


def answer_to(server: NatsServer, context: ssl.SSLContext | None = None, *, password: str = "") -> str:
    """Say hello as a client would, and return what the server says; a refused nats-py client would leak its socket."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=5) as raw:
        raw.recv(65536)
        talk = raw if context is None else context.wrap_socket(raw, server_hostname="localhost")
        with talk:
            hello = json.dumps({"verbose": False, "user": "a", "pass": password})
            talk.sendall(f"CONNECT {hello}\r\nPING\r\n".encode())
            return talk.recv(65536).decode()


async def test_accounts_do_not_see_each_others_buckets(nats_accounts: AccountPool, nats_account: NatsAccount) -> None:
    async with connected(nats_account.url) as one, connected(nats_accounts.take().url) as other:
        await create_bucket(one, "loom-memory-global")

        assert len(await one.streams_info()) == 1
        assert await other.streams_info() == []


async def test_a_used_up_pool_starts_another_server(tmp_path: Path) -> None:
    pool = AccountPool(tmp_path, per_server=1)
    try:
        first, second = pool.take(), pool.take()
        assert first.server_url != second.server_url
        for account in (first, second):
            async with connected(account.url) as js:
                assert (await js.account_info()).streams == 0
    finally:
        pool.close()


@pytest.mark.parametrize("same_port", [True, False])
async def test_a_killed_server_comes_back_with_what_it_acknowledged(nats_private: NatsServer, same_port: bool) -> None:
    async with connected(nats_private.url) as js:
        await (await create_bucket(js, "B")).create("a", b"1")
    pid, port = nats_private.pid, nats_private.port

    nats_private.kill()

    assert not nats_private.running
    with pytest.raises(ConnectionRefusedError):
        answer_to(nats_private)

    nats_private.restart(same_port=same_port)

    assert nats_private.pid != pid
    assert (nats_private.port == port) is same_port
    async with connected(nats_private.url) as js:
        assert (await (await js.key_value("B")).get("a")).value == b"1"


def test_a_stopped_server_leaves_no_process(tmp_path: Path) -> None:
    with NatsServer(tmp_path) as server:
        pid = server.pid
        os.kill(pid, 0)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    server.stop()


def test_a_server_that_cannot_start_says_why(tmp_path: Path) -> None:
    with pytest.raises(ServerStartError, match="no_such_option"):
        NatsServer(tmp_path, ServerOptions(extra="no_such_option: 1")).start()


def test_a_tls_server_wants_the_authority_and_a_client_certificate(
    nats_servers: Servers, certificates: Certificates
) -> None:
    server = nats_servers(tls=certificates, verify_clients=True)
    context = ssl.create_default_context(cafile=str(certificates.ca))
    with pytest.raises(ssl.SSLError, match="certificate required"):
        answer_to(server, context)
    context.load_cert_chain(certificates.client_cert, certificates.client_key)

    assert "PONG" in answer_to(server, context)


def test_a_websocket_listener_keeps_its_port_over_a_restart(nats_servers: Servers) -> None:
    server = nats_servers(websocket=True)
    url = server.websocket_url

    server.restart()

    assert server.websocket_url == url
    host, port = url.removeprefix("ws://").split(":")
    with socket.create_connection((host, int(port)), timeout=5) as raw:
        upgrade = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg=="
        raw.sendall(f"GET / HTTP/1.1\r\nHost: {host}\r\n{upgrade}\r\n\r\n".encode())
        assert raw.recv(65536).startswith(b"HTTP/1.1 101")


def test_permissions_can_be_replaced_while_it_runs(nats_servers: Servers) -> None:
    server = nats_servers(auth="authorization { user: a, password: one }")

    server.reload("authorization { user: a, password: two }")

    assert "Authorization Violation" in answer_to(server, password="one")
    assert "PONG" in answer_to(server, password="two")


async def test_a_whole_configuration_may_be_given(nats_servers: Servers) -> None:
    server = nats_servers(config="server_name: mine\nauthorization { token: secret }\n")

    assert server.monitor("/varz")["server_name"] == "mine"
    async with connected(server.url, token="secret") as js:
        assert (await js.account_info()).streams == 0


def test_a_paused_server_answers_when_it_is_resumed(nats_private: NatsServer) -> None:
    with socket.create_connection(("127.0.0.1", nats_private.port), timeout=0.2) as raw:
        raw.recv(65536)
        nats_private.pause()
        raw.sendall(b"PING\r\n")
        with pytest.raises(TimeoutError):
            raw.recv(65536)
        nats_private.resume()
        raw.settimeout(5)
        assert b"P" in raw.recv(65536)


async def test_a_cluster_goes_on_without_its_leader(nats_cluster: NatsCluster) -> None:
    async with asyncio.timeout(60):
        async with connected([node.url for node in nats_cluster.nodes]) as js:
            await (await create_bucket(js, "B", replicas=3)).create("a", b"1")
        leader = nats_cluster.leader_of("KV_B")
        assert leader is not None

        leader.kill()

        assert nats_cluster.wait_for_leader() is not leader
        async with connected([node.url for node in nats_cluster.nodes if node.running]) as js:
            while True:  # the bucket elects its own leader, and until then nobody answers
                try:
                    entry = await (await js.key_value("B")).get("a")
                    break
                except (nats.errors.Error, TimeoutError):
                    await asyncio.sleep(0.1)
            assert entry.value == b"1"
