"""The servers of the testing kit start, die and come back as tests expect of them."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import ssl
from collections.abc import Callable
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


async def connect(url: str | list[str], token: str | None = None) -> Client:
    async with asyncio.timeout(5):
        client = Client()
        await client.connect(url, token=token, error_cb=_quiet, max_reconnect_attempts=2, connect_timeout=1)
        return client


def jetstream(client: Client, timeout: float = 5) -> JetStreamContext:
    return client.jetstream(timeout=timeout)  # pyright: ignore[reportUnknownMemberType] - its options have no types


async def create_bucket(client: Client, name: str, replicas: int = 1) -> KeyValue:
    js = jetstream(client, timeout=10)
    return await js.create_key_value(bucket=name, replicas=replicas)  # pyright: ignore[reportUnknownMemberType]


def answer_to(server: NatsServer, context: ssl.SSLContext | None = None, password: str = "") -> str:
    """Say hello as a client would, and return what the server says; a refused nats-py client would leak its socket."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=5) as raw:
        raw.recv(65536)
        talk = raw if context is None else context.wrap_socket(raw, server_hostname="localhost")
        with talk:
            talk.sendall(
                f"CONNECT {json.dumps({'verbose': False, 'user': 'a', 'pass': password})}\r\nPING\r\n".encode()
            )
            return talk.recv(65536).decode()


async def test_accounts_do_not_see_each_others_buckets(nats_accounts: AccountPool, nats_account: NatsAccount) -> None:
    one, other = await connect(nats_account.url), await connect(nats_accounts.take().url)
    bucket = await create_bucket(one, "loom-memory-global")
    await bucket.create("a", b"1")

    assert await jetstream(other).streams_info() == []

    await one.close()
    await other.close()


async def test_a_used_up_pool_starts_another_server(tmp_path: Path) -> None:
    pool = AccountPool(tmp_path, per_server=1)
    try:
        first, second = pool.take(), pool.take()
        assert first.server_url != second.server_url
        for account in (first, second):
            client = await connect(account.url)
            await client.close()
    finally:
        pool.close()


@pytest.mark.parametrize("same_port", [True, False])
async def test_a_killed_server_comes_back_with_what_it_acknowledged(nats_private: NatsServer, same_port: bool) -> None:
    client = await connect(nats_private.url)
    bucket = await create_bucket(client, "B")
    await bucket.create("a", b"1")
    await client.close()
    pid, port = nats_private.pid, nats_private.port

    nats_private.kill()

    assert not nats_private.running
    with pytest.raises(ConnectionRefusedError):
        answer_to(nats_private)

    nats_private.restart(same_port=same_port)

    assert nats_private.pid != pid
    assert (nats_private.port == port) is same_port
    client = await connect(nats_private.url)
    assert (await (await jetstream(client).key_value("B")).get("a")).value == b"1"
    await client.close()


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


async def test_a_websocket_listener_keeps_its_port_over_a_restart(nats_servers: Servers) -> None:
    server = nats_servers(websocket=True)
    url = server.websocket_url
    server.restart()
    assert server.websocket_url == url
    client = await connect(url)
    await client.flush(timeout=2)
    await client.close()


def test_permissions_can_be_replaced_while_it_runs(nats_servers: Servers) -> None:
    server = nats_servers(auth="authorization { user: a, password: one }")
    server.reload("authorization { user: a, password: two }")
    assert "Authorization Violation" in answer_to(server, password="one")
    assert "PONG" in answer_to(server, password="two")


async def test_a_whole_configuration_may_be_given(nats_servers: Servers) -> None:
    server = nats_servers(config="server_name: mine\nauthorization { token: secret }\n")
    client = await connect(server.url, token="secret")
    assert (await jetstream(client).account_info()).streams == 0
    await client.close()
    assert server.monitor("/varz")["server_name"] == "mine"


async def test_a_cluster_goes_on_without_its_leader(nats_cluster: NatsCluster) -> None:
    client = await connect(nats_cluster.url.split(","))
    async with asyncio.timeout(30):
        bucket = await create_bucket(client, "B", replicas=3)
        await bucket.create("a", b"1")
        await client.close()
        leader = nats_cluster.leader_of("KV_B")
        assert leader is not None

        leader.kill()
        nats_cluster.wait_for_leader()

        client = await connect([node.url for node in nats_cluster.nodes if node.running])
        bucket = await jetstream(client).key_value("B")
        while True:
            try:
                entry = await bucket.get("a")
                break
            except (nats.errors.Error, TimeoutError):
                await asyncio.sleep(0.1)
        assert entry.value == b"1"
        await client.close()
