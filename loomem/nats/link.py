"""One connection to the broker, held for ever.

A `Link` opens a new nats-py client for every connection instead of letting one client reconnect. So the address is
asked for again (an embedded broker may be back on another port), what was in flight fails at once instead of lying in
a buffer and being applied later (test_nats_link pins both), and TLS or authentication errors cannot hang.

What outlives a connection is kept here: subscriptions made with `subscribe` and the callbacks of `on_connected`.
"""

from __future__ import annotations

import asyncio
import logging
import random
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Self

import msgspec

from identity.errors import AccessDenied, InvalidInput, LoomError, Unavailable
from loomem.companion import Companion
from loomem.nats import faults
from loomem.nats.answers import Answers, Message, check_size, message_of
from loomem.nats.endpoint import Endpoint

if TYPE_CHECKING:
    from nats.aio.msg import Msg
    from nats.aio.subscription import Subscription
    from nats.js import JetStreamContext

    from loomem.nats.client import LinkClient

log = logging.getLogger(__name__)

PAUSES_S = (0.05, 0.1, 0.2, 0.4, 0.8, 1.5)
"""Between attempts; the last one repeats. Each is varied by a quarter, so that clients do not come in step."""
REQUEST_S = 2.0
LOST = "The connection to the broker (NATS) was lost."

_DENIED = re.compile(r'permissions violation for (publish|subscription) to "([^"]*)')


class LinkState(msgspec.Struct, frozen=True, kw_only=True):
    """How the connection is, for health and logs; nothing in it is secret."""

    connected: bool
    shown_url: str | None
    server_version: str | None
    server_name: str | None
    last_error: str | None
    since: datetime | None
    """When it became connected, or stopped to be; aware, UTC. None = never connected yet."""


Handler = Callable[[Message], Awaitable[None]]


class _Standing(msgspec.Struct):
    """A subscription that is made anew on every connection."""

    subject: str
    queue: str
    handler: Handler
    live: Subscription | None = None


class Link:
    """Connects in the background while entered, and again whenever the connection is lost, for ever."""

    def __init__(self, source: Callable[[], Awaitable[Endpoint]], *, name: str) -> None:
        self._source = source
        self._name = name
        self._client: LinkClient | None = None
        self._js: JetStreamContext | None = None
        self._answers = Answers("")
        self._standing: list[_Standing] = []
        self._callbacks: list[Callable[[], None]] = []
        self._waiting: set[asyncio.Future[None]] = set()
        self._reason: LoomError | None = None
        self._shown: str | None = None
        self._since: datetime | None = None
        self._endpoint: Endpoint | None = None
        self._further: tuple[str, ...] = ()
        """Servers of the endpoint's cluster that it has told us of."""
        self._companion = Companion()

    async def __aenter__(self) -> Self:
        await self._companion.start(self._keep_connected(), "link")
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        await self._companion.stop(error)

    # --- what others ask ---

    @property
    def connected(self) -> bool:
        return self._client is not None and self._client.is_connected

    @property
    def state(self) -> LinkState:
        client = self._client if self.connected else None
        return LinkState(
            connected=client is not None,
            shown_url=client.shown if client is not None else self._shown,
            server_version=client.server_text("version") if client is not None else None,
            server_name=client.server_text("server_name") if client is not None else None,
            last_error=self._trouble if client is None else None,
            since=self._since,
        )

    @property
    def server_version(self) -> tuple[int, int]:
        """Major and minor version of the connected server. Raises: Unavailable."""
        major, minor, *_ = f"{self.nc.server_text('version')}.0".split(".")
        return int(major), int(minor)

    @property
    def offers_jetstream(self) -> bool:
        """Whether the connected server, or its cluster, may have JetStream. Raises: Unavailable."""
        return self.nc.server_text("jetstream") is not None or self.nc.server_text("cluster") is not None

    @property
    def nc(self) -> LinkClient:
        """nats-py's client of the present connection; another one after a reconnect. Raises: Unavailable."""
        if self._client is None or not self._client.is_connected:
            raise self._unavailable()
        return self._client

    @property
    def js(self) -> JetStreamContext:
        """nats-py's JetStream context of the present connection. Raises: Unavailable."""
        nc = self.nc
        if self._js is None:
            self._js = nc.jetstream()  # pyright: ignore[reportUnknownMemberType] - its options have no types
        return self._js

    async def ready(self, timeout_s: float) -> None:
        """Return when connected; at once if so.

        Raises: Unavailable after `timeout_s`, and before that when the last attempt failed for a reason that waiting
        does not cure (a bad URL, refused credentials, an untrusted certificate). Its text says what to do.
        """
        if not self.connected and not self._hopeless:
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout_s):
                    await self._woken()
        if not self.connected:
            raise self._unavailable()

    async def up(self) -> None:
        """Return when connected, however long that takes: for work in the background."""
        while not self.connected:
            await self._woken()

    async def _woken(self) -> None:
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(waiter)
        try:
            await waiter
        finally:
            self._waiting.discard(waiter)

    def on_connected(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` at each (re)connect, and now if connected; return how to stop that. It must not block."""
        self._callbacks.append(callback)
        if self.connected:
            callback()

        def remove() -> None:
            if callback in self._callbacks:
                self._callbacks.remove(callback)

        return remove

    async def request(
        self,
        subject: str,
        data: bytes = b"",
        *,
        headers: Mapping[str, str] | None = None,
        timeout_s: float = REQUEST_S,
    ) -> Message:
        """Return the first answer.

        Raises: AccessDenied (the broker refuses this subject to us), NobodyThere, NoAnswer (timeout, or the connection
        was lost: it may have been carried out), InvalidInput (too large), Unavailable (not connected).
        """
        nc = self.nc
        with self._answers.expect(subject) as (reply, answered), faults.translated():
            async with asyncio.timeout(timeout_s):
                await _send(nc, subject, data, reply, headers)
                answer = await answered
        if not answer.data and answer.headers.get("Status") == "503":
            raise faults.NobodyThere(retry_after_s=1.0)
        return answer

    async def publish(
        self, subject: str, data: bytes = b"", *, reply: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        """Send without asking for an answer. Raises: InvalidInput (too large), Unavailable (not connected)."""
        with faults.translated():
            await _send(self.nc, subject, data, reply, headers)

    def was_refused(self, subject: str) -> bool:
        """Return whether the broker has refused a message to this subject: how a publisher without an answer learns it."""
        return self._answers.was_refused(subject)

    @asynccontextmanager
    async def subscribe(self, subject: str, handler: Handler, *, queue: str = "") -> AsyncGenerator[None]:
        """Hand each message of a subject to `handler`, one after another, on this connection and those after it.

        What is sent while there is no connection is not seen. An exception of the handler is logged, no more.
        """
        standing = _Standing(subject, queue, handler)
        self._standing.append(standing)
        try:
            if self._client is not None and self.connected:
                with suppress(Unavailable), faults.translated():
                    await self._resume(self._client, standing)
                    await self._client.settled()
            yield
        finally:
            self._standing.remove(standing)
            if standing.live is not None and self.connected:
                with suppress(Unavailable), faults.translated():
                    await standing.live.unsubscribe()

    # --- keeping the connection ---

    async def _keep_connected(self) -> None:
        failures = 0
        while True:
            try:
                client = await self._dial()
            except LoomError as error:
                self._failed(error)
                pause = PAUSES_S[min(failures, len(PAUSES_S) - 1)]
                failures += 1
                await asyncio.sleep(pause * random.uniform(0.75, 1.25))
                continue
            try:
                await self._take(client)
                failures = 0
                await asyncio.wait((client.lost,))
            except LoomError as error:
                self._failed(error)
            finally:
                await self._part(client)

    async def _dial(self) -> LinkClient:
        """Return a connected client of the first server that answers. Raises: LoomError."""
        # Loading nats-py takes longer than everything else here; in a thread, the loop can answer its client meanwhile.
        client = await asyncio.to_thread(_load_client)
        with faults.translated("asking where the broker is"):
            endpoint = await self._source()
        if endpoint != self._endpoint:
            self._endpoint, self._further = endpoint, ()
        self._shown = endpoint.shown
        secrets: dict[str, Any] = await asyncio.to_thread(client.prepare, endpoint)
        servers = list(dict.fromkeys((*endpoint.servers, *self._further)))
        random.shuffle(servers)
        failure: LoomError = Unavailable()
        for server in servers:
            try:
                with faults.translated(f"connecting to {server}"):
                    return await client.dial(endpoint, server, name=self._name, secrets=secrets, on_error=self._heard)
            except LoomError as error:
                failure = error
        raise failure

    async def _take(self, client: LinkClient) -> None:
        """Make a new connection the present one: first its inbox and subscriptions, then those who wait for it."""
        self._answers = answers = Answers(client.new_inbox())
        with faults.translated("greeting the broker"):
            await client.listen(answers.subject, answers.arrived)
            for standing in list(self._standing):
                await self._resume(client, standing)
            await client.settled()
        self._client, self._js, self._reason = client, None, None
        self._since = datetime.now(UTC)
        log.info("event=connected server=%s version=%s", client.shown, client.server_text("version"))
        for callback in list(self._callbacks):
            callback()
        self._wake()

    async def _part(self, client: LinkClient) -> None:
        """Let go of a connection: whoever waits for an answer on it hears that none will come."""
        if self._client is client:
            self._client, self._js = None, None
            self._since = datetime.now(UTC)
            self._reason = Unavailable(LOST)
            log.info("event=disconnected server=%s", client.shown)
        self._answers.end()
        self._further = client.told_of
        from loomem.nats.client import shut

        await shut(client)

    async def _resume(self, client: LinkClient, standing: _Standing) -> None:
        async def pass_on(msg: Msg) -> None:
            await standing.handler(message_of(msg))

        with faults.translated():
            standing.live = await client.listen(standing.subject, pass_on, standing.queue)

    def _heard(self, error: Exception) -> None:
        """Take an asynchronous error of the connection; a refused request learns of it here, at once."""
        if (denied := _DENIED.search(str(error))) is None:
            level = logging.WARNING if self.connected else logging.DEBUG
            log.log(level, "event=nats_error kind=%s", type(error).__name__)
            return
        what, subject = denied.groups()
        log.warning("event=permission_denied what=%s subject=%s", what, subject)
        if what == "publish":
            self._answers.refuse_publish(subject)
        else:
            self._answers.refuse_subscription(subject)

    @property
    def _trouble(self) -> str | None:
        """Why there is no connection; nats-py may know of a loss a moment before we do."""
        if self._reason is None:
            return LOST if self._client is not None else None
        return self._reason.message

    @property
    def _hopeless(self) -> bool:
        return isinstance(self._reason, InvalidInput | AccessDenied | faults.Untrusted)

    def _failed(self, error: LoomError) -> None:
        if self._reason is None or self._reason.message != error.message:
            log.warning("event=connect_failed server=%s reason=%r", self._shown, error.message)
        self._reason = error
        if self._hopeless:
            self._wake()

    def _wake(self) -> None:
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)

    def _unavailable(self) -> faults.NotConnected:
        where = f" at {self._shown}" if self._shown else ""
        why = (self._trouble or "It has not answered yet.").removesuffix(faults.DOCTOR).rstrip()
        return faults.NotConnected(
            f"The memory broker (NATS){where} is not connected. {why} Check that it runs and NATS_URL points to it; "
            f"{faults.DOCTOR} Connecting goes on by itself.",
            retry_after_s=1.0,
        )


def _load_client() -> Any:
    from loomem.nats import client

    return client


async def _send(nc: LinkClient, subject: str, data: bytes, reply: str, headers: Mapping[str, str] | None) -> None:
    """Publish. Raises: InvalidInput (too large); errors of nats-py."""
    check_size(data, headers, nc.max_payload)
    with faults.cancellable():
        # A copy of the headers: nats-py keeps and changes what it is given.
        await nc.publish(subject, data, reply=reply, headers=dict(headers) if headers else None)
