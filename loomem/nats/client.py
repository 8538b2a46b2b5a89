"""One connection of nats-py, made safe: TLS or nothing, never hanging, never reconnecting behind our back.

This module loads nats-py, so only a link that connects imports it (75 ms, and three times that when aiohttp is there
and nobody needs it: hence `hide_aiohttp`).
"""

from __future__ import annotations

import asyncio
import re
import ssl
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from identity.errors import InvalidInput
from loomem.nats.delivery import Delivery
from loomem.nats.endpoint import Endpoint

_HIDDEN = "nats" not in sys.modules and "aiohttp" not in sys.modules
if _HIDDEN:
    # nats-py imports aiohttp whenever it is installed; `_need_websocket` brings it back for the URLs that use it.
    sys.modules["aiohttp"] = None  # type: ignore[assignment]
try:
    from nats import errors
    from nats.aio import client as _nats
    from nats.aio import transport as _transport
    from nats.aio.msg import Msg
    from nats.aio.subscription import Subscription
finally:
    if _HIDDEN:
        del sys.modules["aiohttp"]

CONNECT_S = 3.0
"""How long one address may take: name look-up, TLS and greeting together."""
CLOSE_S = 1.0
_SEED = re.compile(r"S[A-Z2-7]{57}")
"""An nkey seed; nats-py says of another text only that its padding is wrong."""
PENDING_BYTES = 8 * 1024 * 1024
"""What may wait to be sent before a sender waits too."""


class LinkClient(_nats.Client):
    """A client for one connection; when that is lost, so is the client. The overridden methods are nats-py's own
    seams without a public name; test_nats_link fails when one of them is no longer called."""

    def __init__(self, shown: str, *, secure: bool, on_error: Callable[[Exception], None]) -> None:
        super().__init__()
        self.shown = shown
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the connection is over."""
        self.causes: list[Exception] = []
        """What went wrong while connecting, first things first."""
        self._secure = secure
        self._on_error = on_error
        self._takers: dict[int, Callable[[Delivery], str | None]] = {}
        """Of `tap`, by the number of their subscription."""

    def server_text(self, field: str) -> str | None:
        """Return a field of the server's greeting."""
        value = self._server_info.get(field)
        return str(value) if value is not None else None

    @property
    def is_unborn(self) -> bool:
        """Whether it was given up before it opened a socket; nats-py cannot close such a client (pinned by test_nats_link)."""
        return self._flush_queue is None  # pyright: ignore[reportUnnecessaryComparison] - set by `connect`

    async def settled(self) -> None:
        """Return when the server has seen all that was sent so far.

        nats-py's `flush` alone writes its ping past what still waits in the buffer (pinned by test_nats_link).
        """
        await self._flush_pending(force_flush=True)
        await self.flush()

    async def abort(self) -> bool:
        """Drop the connection at once; nothing happens when it is closed. Return whether there was one to drop.

        For a server that takes nothing any more, and for a TLS handshake that was broken off: nats-py waits for ever then
        (pinned by test_nats_link).
        """
        writer = getattr(self._transport, "_io_writer", None)
        if writer is None:
            return False
        writer.transport.abort()
        await asyncio.sleep(0)
        return True

    @property
    def told_of(self) -> tuple[str, ...]:
        """Further servers of its cluster that the server has named; over WebSocket these are of no use."""
        return () if self.shown.startswith("ws") else tuple(uri.geturl() for uri in self.discovered_servers)

    async def heard(self, error: Exception) -> None:
        """Take an asynchronous error of nats-py."""
        if not self.is_connected:
            self.causes.append(error)
        self._on_error(error)

    async def listen(self, subject: str, callback: Callable[[Msg], Awaitable[None]], queue: str = "") -> Subscription:
        """Subscribe; `subscribe` of nats-py with types."""
        return await self.subscribe(subject, queue=queue, cb=callback)  # pyright: ignore[reportUnknownMemberType]

    @asynccontextmanager
    async def tap(self, subject: str, take: Callable[[Delivery], str | None]) -> AsyncGenerator[None]:
        """Give each message of a subject to `take` as it is read, and send an empty one to whom it returns.

        It is called synchronously, in order, and holds up whatever else comes over this connection.
        """
        subscription = await self.listen(subject, _ignored)
        number = subscription._id  # pyright: ignore[reportPrivateUsage] - it has no public name
        self._takers[number] = take
        try:
            yield
        finally:
            del self._takers[number]
            if self.is_connected:  # a client that is gone took the subscription with it
                with suppress(errors.Error, OSError):
                    await subscription.unsubscribe()

    async def _process_info(self, info: dict[str, Any], initial_connection: bool = False) -> None:
        # A server that merely offers TLS is taken at its word when we insist on it.
        if self._secure and info.get("tls_available"):
            info["tls_required"] = True
        await super()._process_info(info, initial_connection)

    def _connect_command(self) -> bytes:
        # By now nats-py has encrypted the connection if the server asked for it, and would send credentials either way.
        if self._secure and not self._server_info.get("tls_required") and not self.shown.startswith("wss"):
            raise errors.SecureConnWantedError
        return super()._connect_command()

    async def _process_msg(self, sid: int, subject: bytes, reply: bytes, data: bytes, headers: bytes) -> None:
        # As nats-py does for others, but at once: no queue, no task, and nothing made that nobody looks at. What a large
        # bucket tells is half as dear by that. While a reader does not come along, the socket is not read.
        take = self._takers.get(sid)
        if take is None:
            await super()._process_msg(sid, subject, reply, data, headers)
            return
        try:
            answer = take(Delivery(subject, reply, data, headers or b""))
        except Exception as error:  # noqa: BLE001 - it would end the connection of everybody
            await self.heard(error)
            return
        if answer:
            await self.publish(answer)

    async def _close(self, status: int, do_cbs: bool = True) -> None:
        # Said first: closing can take long when the other side is gone, and requests in flight should fail now.
        if not self.lost.done():
            self.lost.set_result(None)
        await super()._close(status, do_cbs)


async def _ignored(msg: Msg) -> None:
    """Take what came before anybody listened: nothing does."""


async def dial(
    endpoint: Endpoint, server: str, *, name: str, secrets: dict[str, Any], on_error: Callable[[Exception], None]
) -> LinkClient:
    """Connect to one server of an endpoint.

    Raises: errors of nats-py, OSError, ssl.SSLError, TimeoutError: within `CONNECT_S`, whatever the server does.
    """
    client = LinkClient(server, secure=endpoint.tls_required, on_error=on_error)
    try:
        async with asyncio.timeout(CONNECT_S):
            await client.connect(
                servers=[server],
                name=endpoint.name or name,
                error_cb=client.heard,
                allow_reconnect=False,
                max_reconnect_attempts=1,
                reconnect_time_wait=0,
                connect_timeout=2,
                ping_interval=10,
                max_outstanding_pings=2,
                pending_size=PENDING_BYTES,
                inbox_prefix=endpoint.inbox_prefix,
                tls_hostname=_certified(endpoint, server),
                **secrets,
            )
    except BaseException as error:
        if not await client.abort():
            await shut(client)
        if client.causes and isinstance(error, errors.NoServersError | TimeoutError):
            raise _known(client.causes[0]) from error
        if isinstance(error, Exception):
            raise _known(error) from error
        raise
    return client


def _certified(endpoint: Endpoint, server: str) -> str | None:
    """Return the name that a server's certificate has to bear, when it is not the one in its address.

    A cluster names its other servers by IP address; their certificates are for the name we know the cluster by.
    """
    if server in endpoint.servers:
        return None
    return urlsplit(endpoint.servers[0]).hostname


def _known(cause: Exception) -> Exception:
    """Return the cause; one of another library (aiohttp, nkeys) as an error of nats-py."""
    known = isinstance(cause, errors.Error | OSError)
    return cause if known else errors.Error(f"nats: {cause}" if str(cause) else type(cause).__name__)


async def shut(client: LinkClient) -> None:
    """Close a client, flushing what it still has to send, within `CLOSE_S`."""
    if client.is_unborn:
        return
    try:
        async with asyncio.timeout(CLOSE_S):
            await client.close()
    except (OSError, errors.Error):
        pass
    finally:
        await client.abort()


def prepare(endpoint: Endpoint) -> dict[str, Any]:
    """Return what nats-py needs to prove who we are and check who they are. Reads files: run it in a thread.

    Raises: InvalidInput.
    """
    secrets: dict[str, Any] = {"user": endpoint.user, "password": endpoint.password, "token": endpoint.token}
    if endpoint.websocket:
        _need_websocket()
    if endpoint.credentials_file:
        text = _read(endpoint.credentials_file, "NATS_CREDS")
        if "BEGIN NATS USER JWT" not in text or "BEGIN USER NKEY SEED" not in text:
            # nats-py would search such a file for ever.
            raise InvalidInput(f"{endpoint.credentials_file} is no NATS credentials file.", field="NATS_CREDS")
        secrets["user_credentials"] = _nats.RawCredentials(text)
    elif endpoint.nkey_file:
        seed = _read(endpoint.nkey_file, "NATS_NKEY").strip()
        if not _SEED.fullmatch(seed):
            raise InvalidInput(f"{endpoint.nkey_file} (NATS_NKEY) is no nkey seed.", field="NATS_NKEY")
        secrets["nkeys_seed_str"] = seed
    if endpoint.tls_required:
        secrets["tls"] = _tls(endpoint)
    return secrets


def _read(path: str, setting: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} ({setting}) cannot be read: {_why(error)}.", field=setting) from error


def _why(error: Exception) -> str:
    return (isinstance(error, OSError) and error.strerror) or type(error).__name__


def _tls(endpoint: Endpoint) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=endpoint.ca_file)
    except OSError as error:
        raise InvalidInput(
            f"{endpoint.ca_file} (NATS_CA) is no usable CA file: {_why(error)}.", field="NATS_CA"
        ) from error
    if endpoint.cert_file:
        try:
            context.load_cert_chain(endpoint.cert_file, endpoint.key_file)
        except OSError as error:
            text = f"{endpoint.cert_file} (NATS_CERT, with NATS_KEY) is no usable certificate: {_why(error)}."
            raise InvalidInput(text, field="NATS_CERT") from error
    return context


def _need_websocket() -> None:
    """Give nats-py the library that WebSocket addresses need. Raises: InvalidInput when it is not installed."""
    if getattr(_transport, "aiohttp", None) is not None:
        return
    try:
        import aiohttp
        import multidict
    except ImportError as error:
        text = "ws:// and wss:// need one more package: pip install 'pattern-memory[ws]'."
        raise InvalidInput(text, field="url") from error
    _transport.__dict__.update(aiohttp=aiohttp, multidict=multidict)
