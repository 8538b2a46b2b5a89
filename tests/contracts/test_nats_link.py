"""The connection: held for ever, found again elsewhere, private when asked to be, and never in anybody's way."""

from __future__ import annotations

import asyncio
import logging
import ssl
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from identity.errors import AccessDenied, Unavailable
from loomem.nats import client as client_module
from loomem.nats import faults
from loomem.nats.endpoint import Endpoint, endpoint_from
from loomem.nats.link import Link, Message
from pattern.testing import Certificates, NatsAccount, NatsCluster, NatsServer
from tests.contracts.nats_kit import linked
from tests.waiting import eventually

Servers = Callable[..., NatsServer]


def fixed(endpoint: Endpoint) -> Link:
    async def source() -> Endpoint:
        return endpoint

    return Link(source, name="test")


async def refusal(endpoint: Endpoint, *, within_s: float = 2.0) -> str:
    """Return what a link that cannot connect says to a caller that gives it two seconds."""
    async with fixed(endpoint) as link:
        async with asyncio.timeout(within_s + 0.5):
            with pytest.raises(Unavailable) as raised:
                await link.ready(within_s)
        assert not link.connected
        return raised.value.message


# --- being connected ---


async def test_a_connected_link_says_where(nats_account: NatsAccount) -> None:
    async with linked(nats_account.url) as link:
        state = link.state
        assert state.connected
        assert state.shown_url == nats_account.server_url
        assert (state.server_name or "").startswith("test-")
        assert (state.server_version or "").startswith("{}.{}.".format(*link.server_version))
        assert state.last_error is None
        assert state.since is not None
        assert link.nc.options["name"] == "test"


async def test_leaving_closes_the_connection(nats_account: NatsAccount) -> None:
    async with linked(nats_account.url) as link:
        client = link.nc
    assert client.is_closed
    assert not link.connected
    with pytest.raises(Unavailable):
        _ = link.nc


async def test_an_error_of_the_body_passes_as_it_is(nats_account: NatsAccount) -> None:
    with pytest.raises(ZeroDivisionError):
        async with linked(nats_account.url):
            raise ZeroDivisionError


async def test_requests_are_answered_each_its_own(nats_account: NatsAccount) -> None:
    async with linked(nats_account.url) as server, linked(nats_account.url) as link:

        async def echo(message: Message) -> None:
            await server.publish(message.reply, message.data, headers={"Seen": message.subject})

        async with server.subscribe("echo.*", echo, queue="q"):
            await server.nc.settled()
            answers = await asyncio.gather(*(link.request(f"echo.{n}", str(n).encode()) for n in range(100)))
            assert [answer.data for answer in answers] == [str(n).encode() for n in range(100)]
            assert answers[7].headers == {"Seen": "echo.7"}
        await server.nc.settled()
        with pytest.raises(faults.NobodyThere):
            await link.request("echo.1")


async def test_a_request_gives_up_in_time(nats_account: NatsAccount) -> None:
    async def ignore(_: Message) -> None: ...

    async with linked(nats_account.url) as link, link.subscribe("deaf", ignore):
        with pytest.raises(faults.NoAnswer):
            await link.request("deaf", timeout_s=0.05)


async def test_an_error_of_a_handler_does_not_end_the_subscription(
    nats_account: NatsAccount, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[bytes] = []

    async def handle(message: Message) -> None:
        seen.append(message.data)
        raise ZeroDivisionError("s3cret")

    async with linked(nats_account.url) as link, link.subscribe("work", handle):
        for data in (b"1", b"2"):
            await link.publish("work", data)
        await eventually(lambda: seen == [b"1", b"2"])
    assert "ZeroDivisionError" in caplog.text
    assert "s3cret" not in caplog.text


async def test_what_the_broker_refuses_is_known_at_once(nats_servers: Servers) -> None:
    """nats-py reports it to a callback, and lets the caller wait for its timeout."""
    server = nats_servers(
        auth='authorization { users: [ { user: u, password: p, permissions: { publish: ["ok", "_INBOX.>"] } } ] }'
    )
    async with linked(server.url.replace("://", "://u:p@")) as link:
        async with asyncio.timeout(1):
            with pytest.raises(AccessDenied):
                await link.request("Some.Subject.With.A.Long.Name." + "x" * 400, timeout_s=30)
        with pytest.raises(faults.NobodyThere):
            await link.request("ok")


async def test_an_inbox_prefix_of_ones_own_suffices(nats_servers: Servers) -> None:
    server = nats_servers(
        auth="authorization { users: [ { user: u, password: p, permissions: "
        '{ publish: ["$JS.API.INFO"], subscribe: ["_INBOX_u.>"] } } ] }'
    )
    endpoint = endpoint_from(server.url, user="u", password="p")
    async with fixed(msgspec.structs.replace(endpoint, inbox_prefix="_INBOX_u")) as link:
        await link.ready(2)
        assert b"account_info" in (await link.request("$JS.API.INFO")).data


async def test_credentials_that_may_not_hear_answers_say_so(nats_servers: Servers) -> None:
    server = nats_servers(
        auth='authorization { users: [ { user: u, password: p, permissions: { subscribe: ["mine.>"] } } ] }'
    )
    async with linked(server.url.replace("://", "://u:p@")) as link, asyncio.timeout(2):
        with pytest.raises(AccessDenied, match="inbox prefix"):
            await link.request("$JS.API.INFO", timeout_s=30)
        with pytest.raises(AccessDenied, match="inbox prefix"):
            await link.request("$JS.API.INFO", timeout_s=30)


async def test_a_caller_that_gives_up_is_let_go_even_when_nothing_can_be_sent(nats_private: NatsServer) -> None:
    """nats-py swallows the cancellation of a sender that waits for room in its buffer."""
    async with linked(nats_private.url) as link:
        nats_private.pause()
        requests = [link.request("x", b"x" * 1_000_000, timeout_s=0.2) for _ in range(40)]
        async with asyncio.timeout(5):
            answers = await asyncio.gather(*requests, return_exceptions=True)
        assert {type(answer) for answer in answers} == {faults.NoAnswer}


async def test_a_cancellation_in_the_moment_of_success_is_not_lost() -> None:
    """`asyncio.wait_for` of Python 3.11, which nats-py uses everywhere, returns the result and forgets the cancellation."""

    async def wait(done: asyncio.Future[None]) -> str:
        with faults.cancellable():
            await asyncio.wait_for(done, 10)
        return "went on"

    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    task = asyncio.ensure_future(wait(done))
    await asyncio.sleep(0)
    done.set_result(None)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_leaving_in_the_middle_of_an_attempt_ends_at_once(
    nats_servers: Servers, certificates: Certificates
) -> None:
    server = nats_servers(tls=certificates, verify_clients=True)
    for pause_s in (n / 500 for n in range(40)):
        async with asyncio.timeout(5), fixed(endpoint_from(server.url, ca_file=str(certificates.ca))):
            await asyncio.sleep(pause_s)


# --- losing the connection ---


async def test_a_restarted_broker_is_found_again(nats_private: NatsServer) -> None:
    times = 0

    def count() -> None:
        nonlocal times
        times += 1

    heard: list[bytes] = []

    async def hear(message: Message) -> None:
        heard.append(message.data)

    async with linked(nats_private.url) as link, link.subscribe("news", hear):
        remove = link.on_connected(count)
        assert times == 1
        await asyncio.to_thread(nats_private.kill)
        await eventually(lambda: not link.connected)
        assert link.state.last_error
        await asyncio.to_thread(nats_private.start)
        await link.ready(5)
        assert times == 2
        await link.publish("news", b"after")
        await eventually(lambda: heard == [b"after"])
        remove()
        await asyncio.to_thread(nats_private.restart)
        await eventually(lambda: link.connected)
        assert times == 2


async def test_a_broker_on_another_port_is_found_by_asking_again(nats_private: NatsServer) -> None:
    """nats-py alone keeps trying the old one."""
    async with linked(lambda: nats_private.url) as link:
        before = link.state.shown_url
        await asyncio.to_thread(nats_private.restart, same_port=False)
        await eventually(lambda: link.connected and link.state.shown_url != before)
        assert link.state.shown_url == nats_private.url


async def test_a_link_may_start_before_its_broker(nats_private: NatsServer) -> None:
    nats_private.kill()
    async with fixed(endpoint_from(nats_private.url)) as link:
        with pytest.raises(Unavailable):
            await link.ready(0.1)
        await asyncio.to_thread(nats_private.start)
        await link.ready(5)


async def test_what_was_in_flight_fails_at_once_and_is_not_sent_later(nats_private: NatsServer) -> None:
    """nats-py would keep it in a buffer and deliver it after the reconnect, when its sender has long been told of a timeout."""
    received: list[bytes] = []

    async def receive(message: Message) -> None:
        received.append(message.data)

    async with (
        linked(nats_private.url) as link,
        linked(nats_private.url) as receiver,
        receiver.subscribe("late", receive),
    ):
        nats_private.kill()  # Without letting the client see it before it has sent.
        async with asyncio.timeout(2):
            with pytest.raises(faults.NoAnswer):
                await link.request("late", b"lost", timeout_s=30)
        await asyncio.to_thread(nats_private.start)
        await link.ready(5)
        await receiver.ready(5)
        await link.publish("late", b"new")
        await eventually(lambda: b"new" in received)
        assert received == [b"new"]


async def test_nothing_is_sent_while_not_connected(nats_private: NatsServer) -> None:
    async with linked(nats_private.url) as link:
        await asyncio.to_thread(nats_private.kill)
        await eventually(lambda: not link.connected)
        with pytest.raises(faults.NotConnected):
            await link.publish("x")
        with pytest.raises(faults.NotConnected):
            await link.request("x")


async def test_another_node_of_a_cluster_takes_over_unasked(nats_cluster: NatsCluster) -> None:
    first = nats_cluster.nodes[0]
    async with linked(first.url) as link:
        await asyncio.to_thread(first.kill)
        await eventually(lambda: link.connected and link.state.shown_url != first.url, within_s=10)


# --- not getting one ---


async def test_an_absent_broker_says_what_to_do_within_two_seconds() -> None:
    text = await refusal(endpoint_from("nats://127.0.0.1:1"), within_s=0.5)
    for word in ("127.0.0.1:1", "NATS_URL", "pattern-memory doctor"):
        assert word in text
    assert text.count("pattern-memory doctor") == 1


async def test_wrong_credentials_are_said_at_once_and_not_shown(
    nats_account: NatsAccount, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    url = nats_account.server_url.replace("://", "://someone:s3cret@")
    async with asyncio.timeout(1.5):
        text = await refusal(endpoint_from(url), within_s=30)
    assert "refuses these credentials" in text
    assert "s3cret" not in text + caplog.text


async def test_a_broken_address_is_said_at_once() -> None:
    async def source() -> Endpoint:
        return endpoint_from("http://nowhere")

    async with Link(source, name="test") as link, asyncio.timeout(1.5):
        with pytest.raises(Unavailable, match="NATS URLs begin with"):
            await link.ready(30)


async def test_a_host_that_is_silent_does_not_hold_up_the_caller() -> None:
    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async with await asyncio.start_server(say_nothing, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        await refusal(endpoint_from(f"nats://127.0.0.1:{port}"), within_s=0.3)


async def test_a_crash_of_the_source_is_not_swallowed() -> None:
    async def source() -> Endpoint:
        raise ZeroDivisionError

    with pytest.raises(ExceptionGroup) as raised:
        async with Link(source, name="test") as link:
            await link.ready(5)
    assert raised.value.subgroup(ZeroDivisionError)


# --- credentials ---


async def test_a_token_opens(nats_servers: Servers) -> None:
    server = nats_servers(auth="authorization { token: s3cret }")
    async with linked(server.url.replace("://", "://s3cret@")) as link:
        assert link.state.shown_url == server.url


@pytest.mark.requirement("config-47.url")
async def test_odd_characters_of_a_password_survive_the_url(nats_servers: Servers) -> None:
    server = nats_servers(auth='authorization { users: [ { user: "a@b", password: "p:/?#%, ö" } ] }')
    async with linked(server.url.replace("://", "://a%40b:p%3A%2F%3F%23%25%2C%20%C3%B6@")):
        pass


@pytest.mark.requirement("config-47.files")
async def test_an_nkey_file_opens(nats_servers: Servers, tmp_path: Path) -> None:
    server = nats_servers(
        auth="authorization { users: [ { nkey: UDVEU3DD4KOFECV66VIHWEZOYX4ZKR3WV27L464SIIPOU2IUI3JCYSJF } ] }"
    )
    (tmp_path / "user.nk").write_text("SUAAOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBZ5FE\n")
    async with fixed(endpoint_from(server.url, nkey_file=str(tmp_path / "user.nk"))) as link:
        await link.ready(5)


@pytest.mark.parametrize("field", ["credentials_file", "nkey_file"])
async def test_a_file_that_is_absent_is_said_at_once(nats_account: NatsAccount, field: str) -> None:
    files = {field: "/nowhere/me.file"}
    assert "/nowhere/me.file" in await refusal(endpoint_from(nats_account.server_url, **files))


async def test_a_file_that_holds_no_credentials_is_said_at_once(nats_account: NatsAccount, tmp_path: Path) -> None:
    """nats-py searches such a file for ever."""
    (tmp_path / "me.creds").write_text("no credentials\n")
    text = await refusal(endpoint_from(nats_account.server_url, credentials_file=str(tmp_path / "me.creds")))
    assert "no NATS credentials file" in text


async def test_a_file_that_holds_no_seed_is_said_at_once(nats_account: NatsAccount, tmp_path: Path) -> None:
    (tmp_path / "user.nk").write_text("root:x:0:0\n")
    text = await refusal(endpoint_from(nats_account.server_url, nkey_file=str(tmp_path / "user.nk")))
    assert "NATS_NKEY" in text
    assert "root:x" not in text


@pytest.mark.parametrize("kind", ["nkey", "creds"])
async def test_a_secret_that_its_library_cannot_read_does_not_end_the_link(
    nats_servers: Servers, tmp_path: Path, kind: str
) -> None:
    """nats-py fails before it has a socket, and then cannot be closed either."""
    server = nats_servers(
        auth="authorization { users: [ { nkey: UDVEU3DD4KOFECV66VIHWEZOYX4ZKR3WV27L464SIIPOU2IUI3JCYSJF } ] }"
    )
    wrong = "S" + "A" * 57
    file = tmp_path / "secret"
    if kind == "nkey":
        file.write_text(wrong)
        endpoint = endpoint_from(server.url, nkey_file=str(file))
    else:
        marks = ("-----BEGIN NATS USER JWT-----\nx\n------END NATS USER JWT------", "-----BEGIN USER NKEY SEED-----")
        file.write_text("\n\n".join(marks) + f"\n{wrong}\n------END USER NKEY SEED------\n")
        endpoint = endpoint_from(server.url, credentials_file=str(file))
    text = await refusal(endpoint)
    assert "is not connected" in text
    assert wrong not in text


# --- privacy ---


@pytest.mark.requirement("config-47.files")
async def test_tls_with_a_trusted_authority_connects(nats_servers: Servers, certificates: Certificates) -> None:
    server = nats_servers(tls=certificates)
    async with fixed(endpoint_from(server.url, ca_file=str(certificates.ca))) as link:
        await link.ready(5)
        await asyncio.to_thread(server.restart)
        await eventually(lambda: link.connected)


async def test_tls_with_an_unknown_authority_is_refused_and_does_not_hang(
    nats_servers: Servers, certificates: Certificates
) -> None:
    server = nats_servers(tls=certificates)
    async with asyncio.timeout(2):
        text = await refusal(endpoint_from(server.url), within_s=30)
    assert "TLS" in text


@pytest.mark.requirement("config-47.files")
async def test_a_client_certificate_is_shown_when_asked_for(nats_servers: Servers, certificates: Certificates) -> None:
    server = nats_servers(tls=certificates, verify_clients=True)
    files = {"ca_file": str(certificates.ca)}
    mine = {"cert_file": str(certificates.client_cert), "key_file": str(certificates.client_key)}
    async with fixed(endpoint_from(server.url, **files, **mine)) as link:
        await link.ready(5)
    await refusal(endpoint_from(server.url, **files), within_s=1)


@pytest.mark.parametrize("way", ["scheme", "ca"])
@pytest.mark.requirement("config-47.tls")
async def test_a_broker_without_tls_gets_no_credentials_of_a_client_that_wants_it(
    certificates: Certificates, way: str
) -> None:
    heard = bytearray()

    async def plaintext_broker(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b'INFO {"server_id":"x","version":"2.15.1","auth_required":true,"max_payload":1048576}\r\n')
        heard.extend(await reader.read())
        writer.close()

    async with await asyncio.start_server(plaintext_broker, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        if way == "scheme":
            endpoint = endpoint_from(f"tls://user:s3cret@127.0.0.1:{port}")
        else:
            endpoint = endpoint_from(f"nats://user:s3cret@127.0.0.1:{port}", ca_file=str(certificates.ca))
        async with asyncio.timeout(3):
            text = await refusal(endpoint, within_s=30)
        assert "in clear" in text
        assert bytes(heard) == b""


async def test_a_broker_that_offers_tls_is_taken_at_its_word(nats_servers: Servers, certificates: Certificates) -> None:
    server = nats_servers(tls=certificates, extra="allow_non_tls: true")
    async with fixed(endpoint_from(server.url, ca_file=str(certificates.ca))) as link:
        await link.ready(5)
        transport = link.nc._transport  # pyright: ignore[reportPrivateUsage] - there is no public way to see it
        assert isinstance(transport._io_writer.get_extra_info("ssl_object"), ssl.SSLObject)  # type: ignore[union-attr]


@pytest.mark.parametrize("field", ["ca_file", "cert_file"])
async def test_a_certificate_that_is_none_is_said_at_once(
    nats_account: NatsAccount, certificates: Certificates, tmp_path: Path, field: str
) -> None:
    (tmp_path / "bad.pem").write_text("not a certificate")
    text = await refusal(endpoint_from(nats_account.server_url, **{field: str(tmp_path / "bad.pem")}))
    assert "bad.pem" in text


# --- WebSocket ---

WARNS = pytest.mark.filterwarnings("ignore:parameter 'timeout' of type 'float':DeprecationWarning")
"""nats-py calls aiohttp in a way that aiohttp is about to drop."""


@WARNS
async def test_a_websocket_address_connects_and_comes_back(nats_servers: Servers) -> None:
    server = nats_servers(websocket=True, auth="authorization { user: u, password: p }")
    async with linked(server.websocket_url.replace("://", "://u:p@")) as link:
        assert b"account_info" in (await link.request("$JS.API.INFO")).data
        await asyncio.to_thread(server.restart)
        await eventually(lambda: link.connected)


@WARNS
async def test_an_encrypted_websocket_address_connects(nats_servers: Servers, certificates: Certificates) -> None:
    server = nats_servers(websocket=True, tls=certificates)
    async with fixed(endpoint_from(server.websocket_url, ca_file=str(certificates.ca))) as link:
        await link.ready(5)
        assert b"account_info" in (await link.request("$JS.API.INFO")).data
    assert "TLS" in await refusal(endpoint_from(server.websocket_url), within_s=2)


@WARNS
async def test_an_encrypted_websocket_address_of_a_broker_without_tls_says_so(nats_servers: Servers) -> None:
    server = nats_servers(websocket=True)
    url = server.websocket_url.replace("ws://", "wss://")
    assert "wrong version number" in await refusal(endpoint_from(url), within_s=2)


async def test_without_its_library_a_websocket_address_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(client_module._transport.__dict__, "aiohttp", None)  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    assert "pattern-memory[ws]" in await refusal(endpoint_from("ws://127.0.0.1:1"))


async def test_the_websocket_library_is_loaded_for_nobody_else(nats_account: NatsAccount) -> None:
    code = (
        "import asyncio, sys\n"
        "from loomem.nats.endpoint import endpoint_from\n"
        "from loomem.nats.link import Link\n"
        "async def source(): return endpoint_from(sys.argv[1])\n"
        "async def main():\n"
        "    async with Link(source, name='x') as link: await link.ready(5)\n"
        "asyncio.run(main())\n"
        "print('aiohttp' in sys.modules)\n"
    )
    shown = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", code, nats_account.url], capture_output=True, text=True, check=True
    )
    assert shown.stdout.strip() == "False"
