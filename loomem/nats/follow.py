"""What a bucket tells: first what every key holds now, then each change, in order and once.

The ordered consumer is ours. nats-py's, without a name, is created on a subject that permissions per key prefix have to
deny (pinned by test_nats_reach); with one, it is refused after its first reset, because the name is taken. Ours has
a name per generation; a generation ends at a gap, at silence or with the connection, and the next one goes on after the
last sequence that was told. Only when it was away for longer than markers live, or the stream is another one, does it
start over, and says so (`Reset`).

It asks for nothing but a consumer with one filter, created on the subject that names stream, consumer and filter, so
permissions per key prefix can allow it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
import uuid
from collections.abc import Callable
from functools import partial
from typing import Any, Self

import msgspec

from identity.errors import AccessDenied, LoomError, Unavailable
from identity.ports import Bookmark, CaughtUp, Entry, Event, Marker, Reset, Witness
from loomem.companion import Companion
from loomem.nats import faults
from loomem.nats.bucket import MARKER_LIFE_S, read, stream_of
from loomem.nats.delivery import Delivery
from loomem.nats.link import Link
from loomem.nats.topology import call

log = logging.getLogger(__name__)

HEARTBEAT_S = 5.0
SILENCE_S = 12.0
"""Two heartbeats missed."""
ABANDONED_S = 60.0
"""The server drops a consumer that nobody listens to after so long."""
PAUSE_S = 0.05
PAUSE_MAX_S = 2.0
STALL_S = 1.0
"""`sync` has the consumer made anew when nothing arrives for so long although there is something, and gives up after
`STALLS` times."""
STALLS = 10
LOOKS = 3


class KvFeed:
    """Follows buckets over a link. The port is `identity.ports.Feed`."""

    def __init__(self, link: Link, *, marker_life_s: float = MARKER_LIFE_S) -> None:
        self._link = link
        self._marker_life_s = marker_life_s

    def follow(
        self, bucket: str, filter: str, on_event: Callable[[Event], None], *, since: Bookmark | None = None
    ) -> KvFollowing:
        """Call `on_event` (in order, on the event loop, never concurrently) until the context is left.

        `CaughtUp` is told after each (re)opening, so after a reconnect too; only one that follows a `Reset` means that
        what was not told again is gone. An exception of `on_event` ends the feed and reaches whoever holds the context.
        """
        return KvFollowing(self._link, bucket, filter, on_event, self._marker_life_s, since)


class _Generation:
    """One consumer's life."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.told = 0
        """Sequence of the consumer's last message."""
        self.caught_up = False
        self.failure: Exception | None = None
        """What `on_event` raised."""
        self.over: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """Done with the reason why it ended."""

    def end(self, reason: str) -> None:
        if not self.over.done():
            self.over.set_result(reason)


class KvFollowing:
    """A feed of one bucket under one filter. The port is `identity.ports.Following`."""

    def __init__(
        self,
        link: Link,
        bucket: str,
        filter: str,
        on_event: Callable[[Event], None],
        marker_life_s: float,
        since: Bookmark | None = None,
    ) -> None:
        self._link = link
        self._bucket = bucket
        self._filter = filter
        self._on_event = on_event
        self._marker_life_s = marker_life_s
        self._prefix = len(f"$KV.{bucket}.")
        self._anchor: Entry | Marker | None = None
        """The last change told: by it the stream is recognised."""
        self._since = since
        """Where another feed stopped, until it is known whether this one may go on there."""
        self._cursor = since.revision if since is not None else 0
        """Sequence of the last change told; 0 = nothing yet."""
        self._told = 0
        """How many messages arrived in all generations."""
        self._contact = since.heard if since is not None else time.time()
        """When the broker was last heard. Wall clock: a machine that slept was away too."""
        self._generation: _Generation | None = None
        self._progress: list[asyncio.Future[None]] = []
        self._opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._companion = Companion()

    async def __aenter__(self) -> Self:
        await self._companion.start(self._keep_following(), f"follow {self._bucket} {self._filter}")
        try:
            await asyncio.shield(self._opened)
        except BaseException as error:
            await self._companion.stop(error)
            raise
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        await self._companion.stop(error)

    @property
    def bookmark(self) -> Bookmark | None:
        if self._anchor is None:
            return self._since and msgspec.structs.replace(self._since, heard=self._contact)
        witness = Witness(self._anchor.key, self._anchor.revision, self._anchor.at)
        return Bookmark(revision=self._cursor, heard=self._contact, witnesses=(witness,))

    async def sync(self) -> None:
        """Return when everything the bucket held under the filter at the time of this call has been told.

        Raises: Unavailable (no connection, or nothing arrives any more).
        """
        last = None
        for _ in range(STALLS):
            await self._link.ready(STALL_S)
            generation, begun = self._generation, self._told
            if generation is None:
                await self._progress_within(STALL_S)
                continue
            try:
                waiting = (await self._probe(deliver_policy="by_start_sequence", opt_start_seq=self._cursor + 1))[
                    "num_pending"
                ]
                if waiting == 0:
                    return
                if last is None:
                    last = (await self._probe(deliver_policy="new"))["delivered"]["stream_seq"]
            except faults.Silence:
                continue
            while generation is self._generation and self._cursor < last and self._told < begun + waiting:
                if not await self._progress_within(STALL_S):
                    generation.end("stalled")
                    break
            if self._cursor >= last:
                return
        raise Unavailable("The broker (NATS) has stopped telling what the bucket holds.", retry_after_s=1.0)

    async def _probe(self, **start: object) -> dict[str, Any]:
        """Return what a new consumer of these keys would have before it; it is dropped at once.

        The information of the running consumer lags behind acknowledged writes (pinned by test_nats_follow), and that of
        the stream is not for an agent.
        """
        name = uuid.uuid4().hex
        reply = await call(self._link, *self._consumer(name, {"inactive_threshold": 10**9, **start}))
        await self._link.publish(f"$JS.API.CONSUMER.DELETE.{stream_of(self._bucket)}.{name}")
        return reply

    async def _progress_within(self, timeout_s: float) -> bool:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._progress.append(future)
        try:
            async with asyncio.timeout(timeout_s):
                await future
        except TimeoutError:
            return False
        return True

    def _moved(self) -> None:
        for future in self._progress:
            if not future.done():
                future.set_result(None)
        self._progress.clear()

    # --- one generation after another ---

    async def _keep_following(self) -> None:
        pause_s = PAUSE_S
        while True:
            await self._link.up()
            begun = time.monotonic()
            try:
                reason = await self._live()
            except AccessDenied as denied:
                if not self._opened.done():
                    self._opened.set_exception(denied)
                    return
                reason = "denied"
            except LoomError as error:
                reason = error.message
            self._generation = None
            log.info("event=feed_interrupted bucket=%s filter=%s reason=%r", self._bucket, self._filter, reason)
            pause_s = PAUSE_S if time.monotonic() - begun > PAUSE_MAX_S else min(2 * pause_s, PAUSE_MAX_S)
            await asyncio.sleep(pause_s)

    async def _live(self) -> str:
        """Live one generation and return why it ended. Raises: LoomError; what `on_event` raised."""
        await self._decide_where_to_start()
        client = self._link.nc
        generation = _Generation(uuid.uuid4().hex)
        inbox = client.new_inbox()

        async with contextlib.AsyncExitStack() as stack:
            with faults.translated():
                await stack.enter_async_context(client.tap(inbox, partial(self._take, generation)))
            await self._outlive(generation, inbox)
        if generation.failure is not None:
            raise generation.failure
        return generation.over.result() if generation.over.done() else "connection lost"

    async def _outlive(self, generation: _Generation, inbox: str) -> None:
        """Have the consumer made that tells a generation, and return when that is over."""
        client = self._link.nc
        try:
            info = await call(self._link, *self._consumer(generation.name, self._delivery(inbox)))
            self._contact = time.time()
            self._generation = generation
            if not self._opened.done():
                self._opened.set_result(None)
            if info["num_pending"] == 0:
                self._told_all(generation)
            self._moved()
            await self._wait_for_end(generation, client.lost)
        finally:
            # A client that is gone took the subscription with it, and the server drops the consumer by itself.
            if client.is_connected:
                with contextlib.suppress(LoomError), faults.translated():
                    await client.publish(f"$JS.API.CONSUMER.DELETE.{stream_of(self._bucket)}.{generation.name}")

    async def _wait_for_end(self, generation: _Generation, lost: asyncio.Future[None]) -> None:
        while not (generation.over.done() or lost.done()):
            await asyncio.wait((generation.over, lost), timeout=HEARTBEAT_S, return_when=asyncio.FIRST_COMPLETED)
            if time.time() - self._contact > SILENCE_S:
                generation.end("silence")

    async def _decide_where_to_start(self) -> None:
        """Start over, and say so, when going on after the cursor would miss something."""
        if self._cursor:
            if time.time() - self._contact > self._marker_life_s:
                self._start_over("away for longer than markers live")
            elif not await self._is_same_stream():
                self._start_over("the stream is another one")

    def _start_over(self, reason: str) -> None:
        log.warning("event=feed_reset bucket=%s filter=%s reason=%r", self._bucket, self._filter, reason)
        self._cursor, self._anchor, self._since = 0, None, None
        self._on_event(Reset(self._bucket, self._filter))

    async def _is_same_stream(self) -> bool:
        """Return whether the key of the last change told still bears it, or something newer.

        A stream that was deleted and made again counts its sequences from one; going on after the cursor would wait for
        ever. Its creation date cannot be asked for with an agent's permissions.
        """
        anchor = self._anchor
        if anchor is None:
            return await self._is_witnessed()
        for _ in range(LOOKS):
            try:
                held = await read(self._link, self._bucket, anchor.key, direct=True)
            except (faults.NobodyThere, AccessDenied):
                # No direct reads here. Whether there is a stream at all is seen when the consumer is made.
                return True
            if held is not None and held.revision >= anchor.revision:
                return held.revision > anchor.revision or held.at == anchor.at
            # In a cluster it may be a replica that lags.
            await asyncio.sleep(PAUSE_S)
        return False

    async def _is_witnessed(self) -> bool:
        """Return whether one of the changes that another feed was told still stands as it was.

        A later change of the same key proves nothing here: years may lie between, and another store.
        """
        for witness in self._since.witnesses if self._since is not None else ():
            with contextlib.suppress(faults.NobodyThere, AccessDenied):
                held = await read(self._link, self._bucket, witness.key, direct=True)
                if held is not None and (held.revision, held.at) == (witness.revision, witness.at):
                    return True
        return False

    def _consumer(self, name: str, more: dict[str, object]) -> tuple[str, dict[str, Any]]:
        """Return subject and body of the request that makes a consumer of these keys. Units: nanoseconds."""
        stream, subject = stream_of(self._bucket), f"$KV.{self._bucket}.{self._filter}"
        config = {
            "name": name,
            "filter_subject": subject,
            "ack_policy": "none",
            "replay_policy": "instant",
            "num_replicas": 1,
            "mem_storage": True,
            **more,
        }
        return f"CONSUMER.CREATE.{stream}.{name}.{subject}", {"stream_name": stream, "config": config}

    def _delivery(self, inbox: str) -> dict[str, object]:
        """Return how the consumer delivers, and from where on. Units: nanoseconds."""
        delivery: dict[str, object] = {
            "deliver_subject": inbox,
            "max_deliver": 1,
            # Without flow control the server cuts off a reader that falls behind, at about 20 000 records.
            "flow_control": True,
            "idle_heartbeat": int(HEARTBEAT_S * 10**9),
            "inactive_threshold": int(ABANDONED_S * 10**9),
        }
        if self._cursor:
            return delivery | {"deliver_policy": "by_start_sequence", "opt_start_seq": self._cursor + 1}
        return delivery | {"deliver_policy": "last_per_subject"}

    # --- what arrives ---

    def _take(self, generation: _Generation, delivery: Delivery) -> str | None:
        """Take one message and return where an answer to it goes, if it wants one.

        Synchronous, so nothing comes between a change and its cursor.
        """
        if generation.over.done():
            return None
        self._contact = time.time()
        if delivery.is_control:
            return self._take_control(generation, delivery, delivery.headers)
        self._take_change(generation, delivery)
        return None

    def _take_change(self, generation: _Generation, delivery: Delivery) -> None:
        sequence, number, nanoseconds, pending = delivery.place()
        if number != generation.told + 1:
            generation.end("gap")
            return
        if sequence > self._cursor:
            held = delivery.change(delivery.subject[self._prefix :].decode(), sequence, nanoseconds)
            if not self._tell(generation, held):
                return
            # After the change was taken, never before: a feed that fails here tells it again.
            self._cursor = sequence
            self._anchor = held
        generation.told = number
        self._told += 1
        if pending == 0:
            self._told_all(generation)
        if self._progress:
            self._moved()

    def _take_control(self, generation: _Generation, delivery: Delivery, headers: dict[str, str]) -> str | None:
        """Return where flow control wants its answer; see in a heartbeat what never arrived."""
        if headers["Status"] != "100":
            generation.end(headers["Description"] or headers["Status"])
            return None
        stalled = headers.get("Nats-Consumer-Stalled")
        last = headers.get("Nats-Last-Consumer")
        if last is not None and int(last) > generation.told:
            generation.end("gap")
        elif last is not None and stalled is None:
            # Heartbeats come when there is nothing to send: what was pending and vanished will not come any more.
            self._told_all(generation)
        return delivery.reply.decode() or stalled

    def _told_all(self, generation: _Generation) -> None:
        if not generation.caught_up:
            generation.caught_up = True
            self._tell(generation, CaughtUp(self._bucket, self._filter))

    def _tell(self, generation: _Generation, event: Event) -> bool:
        try:
            self._on_event(event)
        except Exception as failure:  # noqa: BLE001 - nats-py would log it and go on; it has to end the feed
            generation.failure = failure
            generation.end("on_event failed")
            return False
        return True
