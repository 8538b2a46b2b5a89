"""The stream of what was done: appended to by workers, and read by whoever holds an operator's credentials.

A stream and no bucket, since nothing in it is ever replaced: entries cannot be deleted or purged one by one, and go by age or
when there are too many. One subject per memory, so that the last entry of a memory is found at once, and an entry is appended by
compare-and-set on it: two workers that record one change, or one that does it again after a crash, put it there once.

    loom.audit.of.{bucket}.{root}.{owner}.{id}   what was done to a memory; written by workers
    loom.audit.by.{agent}                        what an agent did that is no change of one memory; written by it

Agents may say what they did, under their own name, and may read nothing here: ids of others' memories are none of their
business (`permissions`).
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from identity.errors import AccessDenied, Conflict, LimitExceeded, NotFound, Unavailable
from identity.keys import escape_token, parse_key
from loomem.core.audit.lines import Line, decode, encode
from loomem.core.audit.settings import AuditSettings
from loomem.nats import faults
from loomem.nats.bucket import AFTER, Ack, persist
from loomem.nats.faults import translated
from loomem.nats.link import Link, Message
from loomem.nats.topology import call

if TYPE_CHECKING:
    from nats.aio.msg import Msg

log = logging.getLogger(__name__)

STREAM = "LOOM_AUDIT"
SUBJECTS = "loom.audit.>"
TRIES = 8
PAGE = 500
PAGE_S = 5.0


def subject_of(bucket: str, key: str) -> str:
    """Return the subject of what was done to a memory, by its key."""
    parsed = parse_key(key)
    assert parsed is not None  # noqa: S101 - only keys of memories are recorded
    return f"loom.audit.of.{bucket}.{parsed.root}.{parsed.owner}.{parsed.id}"


def subject_by(agent: str) -> str:
    """Return the subject of what an agent itself tells."""
    return f"loom.audit.by.{escape_token(agent)}"


def audit_config(settings: AuditSettings, *, replicas: int = 1) -> dict[str, Any]:
    """Return the configuration of the stream, as the server's API wants it. Units: nanoseconds, bytes."""
    return {
        "name": STREAM,
        "description": "Who did what to which memory, and when",
        "subjects": [SUBJECTS],
        "retention": "limits",
        "storage": "file",
        "num_replicas": replicas,
        "max_age": settings.retention_s * 10**9,
        "max_bytes": settings.max_bytes,
        "max_msgs": -1,
        "max_msgs_per_subject": -1,
        "max_msg_size": -1,
        "max_consumers": -1,
        "discard": "old",
        "duplicate_window": 120 * 10**9,
        "deny_delete": True,
        "deny_purge": True,
        "allow_direct": True,
        "compression": "s2",
    }


class Last(msgspec.Struct, frozen=True):
    """The last entry of a memory."""

    sequence: int
    """In the stream; 0 = there is none."""
    revision: int


class Recorded(msgspec.Struct, frozen=True):
    """An entry, and where it stands."""

    sequence: int
    line: Line


class Held(msgspec.Struct, frozen=True):
    """How much is on record."""

    entries: int
    bytes: int
    first_at: str | None


class AuditStream:
    """The record, behind a link."""

    def __init__(self, link: Link, settings: AuditSettings | None = None, *, replicas: int = 1) -> None:
        self._link = link
        self._settings = settings or AuditSettings()
        self._replicas = replicas

    async def ensure(self) -> None:
        """Make the stream, or bring it up to the settings.

        Raises: AccessDenied (not with these credentials), Unavailable.
        """
        wanted = audit_config(self._settings, replicas=self._replicas)
        with suppress(faults.NameInUse):
            await call(self._link, f"STREAM.CREATE.{STREAM}", wanted)
            return
        config = (await call(self._link, f"STREAM.INFO.{STREAM}"))["config"]
        changed = {name: wanted[name] for name in ("max_age", "max_bytes") if config.get(name) != wanted[name]}
        if changed:
            await call(self._link, f"STREAM.UPDATE.{STREAM}", config | changed)
            log.info("event=audit_resized days=%d mb=%d", self._settings.retention_days, self._settings.max_mb)

    # --- writing ---

    async def append(self, key: str, lines: Sequence[Line]) -> int:
        """Put on record what is not yet of these changes of one memory, oldest first; return how many that were.

        Raises: Unavailable (also when the store is full: the changes stay where they are until there is room).
        """
        if not lines:
            return 0
        subject = subject_of(lines[-1].bucket, key)
        # Most memories are written once: then nothing is there, and nothing has to be asked.
        last = Last(0, 0) if len(lines) == 1 and lines[0].action in _FIRSTS else await self._last(subject)
        added = 0
        for _ in range(TRIES):
            fresh = [line for line in lines if line.revision > last.revision]
            try:
                for line in fresh:
                    sequence = await self._publish(subject, encode(line), {AFTER: str(last.sequence)})
                    last = Last(sequence, line.revision)
                    added += 1
            except Conflict:
                last = await self._last(subject)
            else:
                return added
        raise faults.Busy("Others record changes of the same memory.", retry_after_s=1.0)

    async def tell(self, line: Line) -> None:
        """Put on record what an agent did, under its own name; `line.op` makes it one entry however often it is sent.

        The stream is made when it is absent, by credentials that may.

        Raises: AccessDenied, Unavailable.
        """
        headers = {"Nats-Msg-Id": line.op} if line.op else {}

        async def attempt() -> None:
            try:
                await self._publish(subject_by(line.agent), encode(line), headers)
            except faults.NobodyThere:
                await self.ensure()
                raise

        await persist(self._link, attempt)

    async def _publish(self, subject: str, data: bytes, headers: dict[str, str]) -> int:
        answer = await self._link.request(subject, data, headers=headers)
        ack = msgspec.json.decode(answer.data, type=Ack)
        if ack.error is None:
            return ack.seq
        error = ack.error.raised()
        raise Unavailable(error.message) if isinstance(error, LimitExceeded) else error

    async def _last(self, subject: str) -> Last:
        answer = await self._link.request(f"$JS.API.DIRECT.GET.{STREAM}.{subject}")
        if (status := answer.headers.get("Status")) is not None:
            if status == "404":
                return Last(0, 0)
            raise faults.server_fault(code=int(status), err_code=0, description=answer.headers.get("Description", ""))
        line = decode(answer.data)
        return Last(int(answer.headers["Nats-Sequence"]), line.revision if line is not None else 0)

    # --- reading ---

    async def held(self) -> Held:
        """Return how much is on record. Raises: NotFound (nothing ever was), AccessDenied, Unavailable."""
        state = (await call(self._link, f"STREAM.INFO.{STREAM}"))["state"]
        first = state["first_ts"] if state["messages"] else None
        return Held(state["messages"], state["bytes"], first)

    async def read(self, *, since: datetime | None = None, after: int = 0) -> AsyncGenerator[Recorded, None]:
        """Yield what is on record, oldest first: what was recorded since a moment, or after an entry; what is unreadable is not.

        Raises: AccessDenied (these credentials may not), Unavailable.
        """
        try:
            await self.held()
        except NotFound:
            return
        except AccessDenied:
            raise AccessDenied(
                "These credentials may not read the record of changes: an operator's may, and those of the embedded broker."
            ) from None
        start: dict[str, object] = {"seq": after + 1}
        if since is not None and not after:
            start = {"start_time": since.isoformat()}
        while page := await self._page(start):
            for msg in page:
                if (line := decode(msg.data)) is not None:
                    yield Recorded(_sequence(msg), line)
            start = {"seq": _sequence(page[-1]) + 1}

    @asynccontextmanager
    async def news(self) -> AsyncGenerator[asyncio.Event, None]:
        """Give an event that is set whenever something may have been put on record since it was cleared."""
        heard = asyncio.Event()

        async def tell(_: Message) -> None:
            heard.set()

        async with self._link.subscribe(SUBJECTS, tell):
            remove = self._link.on_connected(heard.set)
            try:
                yield heard
            finally:
                remove()

    async def _page(self, start: dict[str, object]) -> list[Msg]:
        try:
            return await persist(self._link, lambda: self._ask(start))
        except NotFound:
            return []

    async def _ask(self, start: dict[str, object]) -> list[Msg]:
        """Return the next entries, at most `PAGE`."""
        nc = self._link.nc
        page: list[Msg] = []
        over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        async def on_message(msg: Msg) -> None:
            status = (msg.headers or {}).get("Status")
            if status is None:
                page.append(msg)
            elif not over.done():
                if status in ("204", "404"):
                    over.set_result(None)
                else:
                    text = (msg.headers or {}).get("Description", "")
                    over.set_exception(faults.server_fault(code=int(status), err_code=0, description=text))

        inbox = nc.new_inbox()
        ask = json.dumps({**start, "batch": PAGE, "next_by_subj": SUBJECTS}).encode()
        with translated("reading the record of changes"):
            subscription = await nc.subscribe(inbox, cb=on_message)  # pyright: ignore[reportUnknownMemberType]
        try:
            await self._link.publish(f"$JS.API.DIRECT.GET.{STREAM}", ask, reply=inbox)
            async with asyncio.timeout(PAGE_S):
                await over
        except TimeoutError:
            raise faults.NoAnswer("The broker (NATS) does not answer.", retry_after_s=1.0) from None
        finally:
            if nc.is_connected:
                with suppress(Unavailable), translated():
                    await subscription.unsubscribe()
        return page


_FIRSTS = frozenset({"stored", "ingested", "imported", "migrated", "shared"})


def _sequence(msg: Msg) -> int:
    return int((msg.headers or {})["Nats-Sequence"])
