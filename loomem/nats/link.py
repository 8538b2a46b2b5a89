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
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from itertools import count
from typing import TYPE_CHECKING, Any, Self

import msgspec

from identity.errors import AccessDenied, InvalidInput, LoomError, Unavailable
from loomem.nats import faults
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


class Message(msgspec.Struct, frozen=True):
    """A message, in words of no library."""

    subject: str
    data: bytes
    reply: str = ""
    headers: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])


Handler = Callable[[Message], Awaitable[None]]


class _Standing(msgspec.Struct):
    """A subscription that is made anew on every connection."""

    subject: str
    queue: str
    handler: Handler
    live: Subscription | None = None


class _Asked(msgspec.Struct, frozen=True):
    subject: str
    """In lower case, as nats-py passes on what the server refuses."""
    answer: asyncio.Future[Msg]


class Companion:
    """One task that runs as long as a context is entered.

    A bare `TaskGroup` in a context manager would wrap every exception of the body in a group; this one wraps only what
    the task itself raised.
    """

    def __init__(self) -> None:
        self._group = asyncio.TaskGroup()
        self._task: asyncio.Task[None] | None = None

    async def start(self, work: Coroutine[Any, Any, None], name: str) -> None:
        await self._group.__aenter__()
        self._task = self._group.create_task(work, name=name)

    async def stop(self, error: BaseException | None) -> None:
        """Cancel the task and wait for its end. Raises: what the task raised, as a group."""
        if self._task is not None:
            self._task.cancel()
        # A cancellation may be the group's own way to end the body, so the group has to see it.
        cancelled = error if isinstance(error, asyncio.CancelledError) else None
        await self._group.__aexit__(type(cancelled) if cancelled else None, cancelled, None)


class Link:
    """Connects in the background while entered, and again whenever the connection is lost, for ever."""

    def __init__(self, source: Callable[[], Awaitable[Endpoint]], *, name: str) -> None:
        self._source = source
        self._name = name
        self._client: LinkClient | None = None
        self._js: JetStreamContext | None = None
        self._inbox = ""
        self._tokens = count(1)
        self._asked: dict[str, _Asked] = {}
        self._standing: list[_Standing] = []
        self._callbacks: list[Callable[[], None]] = []
        self._waiting: set[asyncio.Future[None]] = set()
        self._reason: LoomError | None = None
        self._shown: str | None = None
        self._since: datetime | None = None
        self._known: tuple[Endpoint, tuple[str, ...]] | None = None
        """The last good endpoint and what further servers of its cluster we were told of."""
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
            last_error=self._reason.message if client is None and self._reason is not None else None,
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
        _check_size(data, headers, nc.max_payload)
        token = str(next(self._tokens))
        asked = _Asked(subject.lower(), asyncio.get_running_loop().create_future())
        self._asked[token] = asked
        try:
            with faults.translated():
                async with asyncio.timeout(timeout_s):
                    await nc.publish(
                        subject, data, reply=self._inbox + token, headers=dict(headers) if headers else None
                    )
                    answer = await asked.answer
        finally:
            del self._asked[token]
        message = _message(answer)
        if not message.data and message.headers.get("Status") == "503":
            raise faults.NobodyThere(retry_after_s=1.0)
        return message

    async def publish(
        self, subject: str, data: bytes = b"", *, reply: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        """Send without asking for an answer. Raises: InvalidInput (too large), Unavailable (not connected)."""
        nc = self.nc
        _check_size(data, headers, nc.max_payload)
        with faults.translated():
            # A copy of the headers: nats-py keeps and changes what it is given.
            await nc.publish(subject, data, reply=reply, headers=dict(headers) if headers else None)

    @asynccontextmanager
    async def subscribe(self, subject: str, handler: Handler, *, queue: str = "") -> AsyncGenerator[None]:
        """Hand each message of a subject to `handler`, one after another, on this connection and those after it.

        What is sent while there is no connection is not seen. An exception of the handler is logged, no more.
        """
        standing = _Standing(subject, queue, handler)
        self._standing.append(standing)
        try:
            if self._client is not None and self.connected:
                with suppress(Unavailable):
                    await self._resume(self._client, standing)
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
        self._shown = endpoint.shown
        secrets: dict[str, Any] = await asyncio.to_thread(client.prepare, endpoint)
        servers = list(endpoint.servers)
        if self._known is not None and self._known[0] == endpoint:
            servers = list(dict.fromkeys((*servers, *self._known[1])))
        random.shuffle(servers)
        for left, server in zip(range(len(servers) - 1, -1, -1), servers, strict=True):
            try:
                with faults.translated(f"connecting to {server}"):
                    dialled = await client.dial(
                        endpoint, server, name=self._name, secrets=secrets, on_error=self._heard
                    )
            except LoomError:
                if not left:
                    raise
            else:
                self._known = (endpoint, tuple(uri.geturl() for uri in dialled.discovered_servers))
                return dialled
        raise Unavailable

    async def _take(self, client: LinkClient) -> None:
        """Make a new connection the present one: first its inbox and subscriptions, then those who wait for it."""
        with faults.translated("greeting the broker"):
            self._inbox = f"{client.new_inbox()}."
            await client.listen(f"{self._inbox}*", self._answered)
            for standing in list(self._standing):
                await self._resume(client, standing)
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
            self._reason = Unavailable("The connection to the broker (NATS) was lost.")
            log.info("event=disconnected server=%s", client.shown)
        for asked in self._asked.values():
            if not asked.answer.done():
                asked.answer.set_exception(faults.NoAnswer(retry_after_s=1.0))
        from loomem.nats.client import shut

        await shut(client)

    async def _resume(self, client: LinkClient, standing: _Standing) -> None:
        async def pass_on(msg: Msg) -> None:
            await standing.handler(_message(msg))

        with faults.translated():
            standing.live = await client.listen(standing.subject, pass_on, standing.queue)

    async def _answered(self, msg: Msg) -> None:
        asked = self._asked.get(msg.subject[len(self._inbox) :])
        if asked is not None and not asked.answer.done():
            asked.answer.set_result(msg)

    def _heard(self, error: Exception) -> None:
        """Take an asynchronous error of the connection; a refused request learns of it here, at once."""
        denied = _DENIED.search(str(error))
        if denied is None:
            log.log(
                logging.WARNING if self.connected else logging.DEBUG, "event=nats_error kind=%s", type(error).__name__
            )
            return
        log.warning("event=permission_denied what=%s subject=%s", denied[1], denied[2])
        for asked in self._asked.values():
            if denied[1] == "publish" and asked.subject == denied[2] and not asked.answer.done():
                asked.answer.set_exception(
                    AccessDenied("The broker (NATS) refuses this to these credentials.", subject=asked.subject)
                )

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
        why = self._reason.message if self._reason is not None else "It has not answered yet."
        return faults.NotConnected(
            f"The memory broker (NATS){where} is not connected. {why} Check that it runs and NATS_URL points to it; "
            f"{faults.DOCTOR} Connecting goes on by itself.",
            retry_after_s=1.0,
        )


def _load_client() -> Any:
    from loomem.nats import client

    return client


def _check_size(data: bytes, headers: Mapping[str, str] | None, limit: int) -> None:
    """Refuse what the server would answer by closing the connection: nats-py forgets to count the headers.

    Raises: InvalidInput.
    """
    size = len(data) + sum(len(name) + len(value) + 4 for name, value in (headers or {}).items()) + 12
    if size > limit:
        text = f"The value is larger than the broker accepts ({size} of {limit} bytes, max_payload)."
        raise InvalidInput(text, field="content", maximumBytes=limit)


def _message(msg: Msg) -> Message:
    return Message(msg.subject, msg.data, msg.reply, msg.headers or {})
