"""One bucket: reads by subject, and single writes that happen once however often they are tried.

A write carries an operation id and a compare-and-set. Silence means "unknown": the key is read back, and an operation
id that stands there answers the question. The server's own deduplication cannot (a repeated message with both a message
id and an expected sequence is refused, not recognised; pinned by test_nats_bucket).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TypeVar

import msgspec

from identity.errors import AccessDenied, Conflict, InvalidInput, LimitExceeded, Unavailable
from identity.ports import Change, Entry, Marker, Put, Reason, Remove, Trail
from loomem.core.audit.notes import is_recorded, past_over, past_text
from loomem.nats import faults
from loomem.nats.link import Link

T = TypeVar("T")

OP = "Pattern-Op"
REASON = "Pattern-Reason"
TRAIL = "Pattern-Trail"
"""`{operation}@{revision}; ...`, newest first."""
DID = "Pattern-Did"
PAST = "Pattern-Past"
"""For the record of changes; `loomem.core.audit.notes` says what they hold."""
AFTER = "Nats-Expected-Last-Subject-Sequence"
KEY_BYTES = 512
"""A key of about 4 000 bytes makes the server close the connection; ours stay far below."""
MARKER_LIFE_S = 7 * 86_400
"""How long a marker stays. Whoever was away longer must read everything again (`follow`)."""

LIFE_MAX_S = 9_000_000_000
"""A longer life (285 years) is one without an end: the server counts it in nanoseconds, and refuses what does not fit."""

PATIENCE_S = 15.0
"""How long an operation is tried again while the broker fails over; the caller's own deadline comes first."""
UNREACHABLE_S = 1.5
"""How long an operation that was not sent yet waits for a connection."""
PAUSE_S = 0.05
PAUSE_MAX_S = 1.0
LAG_S = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4)
"""Pauses for a replica that lags behind a revision that is known to be there."""
LOOKS = 8
"""Contradictions in a row (a write refused for a sequence that the read-back shows as the expected one: a replica that
lags) before pausing longer."""

_KEY = re.compile(r"[-/_=A-Za-z0-9]+(\.[-/_=A-Za-z0-9]+)*\Z")
_REASONS = frozenset(Reason)


def stream_of(bucket: str) -> str:
    """Return the name of a bucket's stream."""
    return f"KV_{bucket}"


async def persist(link: Link, attempt: Callable[[], Awaitable[T]]) -> T:
    """Return what `attempt` returns, trying again while the broker is silent.

    A caller that has sent nothing yet hears soon that there is no connection; one that has, gets the time of a fail-over.

    Raises: what `attempt` raises, and Unavailable.
    """
    loop = asyncio.get_running_loop()
    end = loop.time() + PATIENCE_S
    wait_s, pause_s = UNREACHABLE_S, PAUSE_S
    while True:
        await link.ready(wait_s)
        try:
            return await attempt()
        except faults.Silence as silence:
            left_s = end - loop.time() - pause_s
            if left_s <= 0:
                raise
            if isinstance(silence, faults.NoAnswer):
                wait_s = left_s
        await asyncio.sleep(pause_s)
        pause_s = min(2 * pause_s, PAUSE_MAX_S)


def check_key(key: str) -> None:
    """Raises: InvalidInput for what NATS cannot hold as a key."""
    if len(key) > KEY_BYTES or not _KEY.match(key):
        raise InvalidInput("Not a key that a bucket can hold.", field="key")


def held_of(key: str, value: bytes, headers: Mapping[str, str], revision: int, at: datetime) -> Entry | Marker:
    """Return what a message of a bucket's stream says about its key."""
    if not headers:
        return Entry(key=key, value=value, revision=revision, at=at)
    placed = headers.get("Nats-Marker-Reason")
    did, past = headers.get(DID, ""), headers.get(PAST, "")
    if placed is None and headers.get("KV-Operation") not in ("DEL", "PURGE"):
        trail = _trail(headers.get(TRAIL, ""))
        first = not past and headers.get(AFTER) == "0"
        op = headers.get(OP)
        return Entry(
            key=key, value=value, revision=revision, at=at, op=op, trail=trail, did=did, past=past, first=first
        )
    # A marker that the server places has no operation at all, which nats-py takes for a value (pinned by test_nats_bucket).
    said = headers.get(REASON, "")
    known = said if said in _REASONS else "expire" if placed == "MaxAge" else "other"
    return Marker(key=key, revision=revision, at=at, reason=Reason(known), op=headers.get(OP), did=did, past=past)


def _trail(text: str) -> Trail:
    """Return the trail that a header holds; what cannot be read of it is left out, since anybody may have written it."""
    steps = (step.rpartition("@") for step in text.split("; ") if step)
    return tuple((op, int(revision)) for op, _, revision in steps if revision.isascii() and revision.isdigit())


async def read(link: Link, bucket: str, key: str, *, direct: bool) -> Entry | Marker | None:
    """Return what a key holds, asked once.

    By subject, because that is the form which permissions per key prefix can allow.

    Raises: AccessDenied, NoAnswer, NobodyThere (no such bucket, or it cannot be read directly), Unavailable.
    """
    subject = f"$KV.{bucket}.{key}"
    if not direct:
        return await _read_by_leader(link, bucket, key, subject)
    answer = await link.request(f"$JS.API.DIRECT.GET.{stream_of(bucket)}.{subject}")
    headers = answer.headers
    if (status := headers.get("Status")) is not None:
        if status == "404":
            return None
        raise faults.server_fault(code=int(status), err_code=0, description=headers.get("Description", ""))
    at = datetime.fromisoformat(headers["Nats-Time-Stamp"])
    return held_of(key, answer.data, headers, int(headers["Nats-Sequence"]), at)


class _Stored(msgspec.Struct):
    seq: int
    time: datetime
    data: bytes = b""
    hdrs: bytes = b""


class _Fault(msgspec.Struct):
    code: int = 0
    err_code: int = 0
    description: str = ""

    def raised(self) -> Exception:
        return faults.server_fault(code=self.code, err_code=self.err_code, description=self.description)


class _Found(msgspec.Struct):
    message: _Stored | None = None
    error: _Fault | None = None


class Ack(msgspec.Struct):
    """The reply to a write."""

    seq: int = 0
    error: _Fault | None = None


async def _read_by_leader(link: Link, bucket: str, key: str, subject: str) -> Entry | Marker | None:
    """Read a key of a bucket that others configured without direct reads."""
    body = msgspec.json.encode({"last_by_subj": subject})
    answer = await link.request(f"$JS.API.STREAM.MSG.GET.{stream_of(bucket)}", body)
    found = msgspec.json.decode(answer.data, type=_Found)
    if found.error is not None:
        if found.error.err_code == faults.MESSAGE_NOT_FOUND:
            return None
        raise found.error.raised()
    assert found.message is not None  # noqa: S101 - the reply has one or the other
    stored = found.message
    lines = (line.partition(":") for line in stored.hdrs.decode("utf-8", "replace").split("\r\n")[1:])
    headers = {name.strip(): value.strip() for name, _, value in lines if name}
    return held_of(key, stored.data, headers, stored.seq, stored.time.astimezone(UTC))


def headers_of(change: Change, base: int, *, ttl: bool, past: str = "") -> dict[str, str]:
    """Return the headers that make a message this change, on top of the sequence `base`; `past` is passed on."""
    headers = {AFTER: str(base), OP: change.op}
    headers |= {name: text for name, text in ((DID, change.did), (PAST, past)) if text}
    if isinstance(change, Put) and change.trail:
        headers[TRAIL] = "; ".join(f"{op}@{revision}" for op, revision in change.trail)
    if isinstance(change, Remove):
        headers |= {"KV-Operation": "PURGE", "Nats-Rollup": "sub", REASON: change.reason}
    if ttl:
        life = change.ttl_s if isinstance(change, Put) else change.ttl_s or MARKER_LIFE_S
        if life is not None and life <= LIFE_MAX_S:
            # An edit has to say it again, or the value stays for ever (pinned by test_nats_bucket).
            headers["Nats-TTL"] = f"{life}s"
    return headers


def check(change: Change) -> None:
    """Raises: InvalidInput."""
    check_key(change.key)
    if change.ttl_s is not None and change.ttl_s < 1:
        raise InvalidInput("A lifetime is at least one second.", field="ttl_s")


def _revision(held: Entry | Marker | None) -> int:
    return held.revision if held is not None else 0


class Pending:
    """A write on its way: what is known about it so far."""

    def __init__(self, change: Change) -> None:
        self.change = change
        self.base = change.expected
        """The sequence that the next attempt expects at the key."""
        self.look = False
        """An attempt was made: look at the key before the next one."""
        self.unknown = False
        """An attempt ended in silence."""
        self.past = change.past
        """What is passed on of what the key held, for the record of changes."""
        self._lags = 0

    @property
    def reads_past(self) -> bool:
        """Whether the key is to be read first, because what it holds may not be on record yet."""
        return self.change.expected > 0 and not self.look and is_recorded(self.change.key)

    def saw(self, held: Entry | Marker | None) -> None:
        """Take in what the key holds: what is written over it passes that on."""
        if held is not None and held.revision == self.base and is_recorded(self.change.key):
            self.past = past_text(past_over(held))

    @property
    def pause_s(self) -> float:
        """How long to wait before the next attempt, for the sake of a replica that lags."""
        return LAG_S[self._lags - 1] if self._lags else 0.0

    def found(self, held: Entry | Marker | None) -> int | None:
        """Return the revision of the change, if what the key holds shows that it has happened."""
        if held is not None and held.op == self.change.op:
            return held.revision
        return dict(held.trail).get(self.change.op) if isinstance(held, Entry) else None

    def _leads_from_base(self, held: Entry | Marker | None) -> bool:
        """Return whether all is known that stood here since the base: then what is not among it has not happened."""
        return isinstance(held, Entry) and self.base in dict(held.trail).values()

    def settle(self, held: Entry | Marker | None) -> int | None:
        """Return the revision of the change if it has happened, None if it has to be sent (again).

        Raises: Conflict; Unavailable when it may have happened and been overwritten since.
        """
        change = self.change
        if (revision := self.found(held)) is not None:
            return revision
        now = _revision(held)
        if now == self.base:
            self.saw(held)
            return None
        if now < self.base and self._lags < len(LAG_S):
            # Older than what is expected: a replica that lags. Sending (again) is safe, and asks the one that decides.
            self._lags += 1
            return None
        if self.unknown and not self._leads_from_base(held):
            raise Unavailable(
                "The broker did not answer, and the key was changed by somebody else meanwhile: whether this change "
                "happened before is not known. Read it again.",
                key=change.key,
            )
        if change.expected == 0 and not isinstance(held, Entry):
            self.base = now
            self.saw(held)
            return None
        value = held.value if isinstance(held, Entry) else None
        raise Conflict(key=change.key, expected=change.expected, actual=now, value=value)


class KvBucket:
    """A bucket behind a link. The port is `identity.ports.Bucket`."""

    def __init__(
        self,
        link: Link,
        name: str,
        *,
        direct: bool = True,
        plain: bool = False,
        remake: Callable[[], Awaitable[object]] | None = None,
    ) -> None:
        self._link = link
        self._name = name
        self._direct = direct
        self._plain = plain
        self._remake = remake
        self._ttl = not plain
        """Whether the stream takes TTLs, as far as known; older servers ignore them."""
        self._atomic = not plain

    @property
    def name(self) -> str:
        return self._name

    @property
    def link(self) -> Link:
        return self._link

    @property
    def ttl(self) -> bool:
        """Whether values of this bucket can expire at the server, as far as known."""
        if self._ttl and self._link.connected:
            return self._link.server_version >= (2, 11)
        return self._ttl

    @property
    def atomic(self) -> bool:
        """Whether several keys of this bucket can change together, as far as known."""
        if self._atomic and self._link.connected:
            return self._link.server_version >= (2, 12)
        return self._atomic

    def lacks(self, *, ttl: bool = False, atomic: bool = False) -> None:
        """Remember what the server said that this stream cannot do."""
        self._ttl = self._ttl and not ttl
        self._atomic = self._atomic and not atomic

    async def get(self, key: str, *, at_least: int = 0) -> Entry | Marker | None:
        """Return what the key holds now, the marker that stands there, or None when it never held anything.

        A replica may answer, and it may lag; see the port for `at_least`.

        Raises: InvalidInput, AccessDenied, Unavailable.
        """
        check_key(key)
        for pause_s in LAG_S:
            held = await persist(self._link, lambda: self.look_at(key))
            if _revision(held) >= at_least:
                return held
            await asyncio.sleep(pause_s)
        return await persist(self._link, lambda: self.look_at(key))

    async def write(self, change: Change) -> int:
        """Apply one change and return its revision, once acknowledged. See the port for what it promises and raises."""
        check(change)
        pending = Pending(change)
        return await persist(self._link, lambda: self._attempt(pending))

    async def write_all(self, changes: Sequence[Change]) -> list[int]:
        """Apply all changes or none of them and return their revisions in order. See the port."""
        # Batches are the rarer way, and know buckets; buckets need not know them until then.
        from loomem.nats.batch import write_all

        return await write_all(self, changes)

    async def look_at(self, key: str) -> Entry | Marker | None:
        """Read a key, asked once. Raises: as `read`."""
        return await read(self._link, self._name, key, direct=self._direct)

    async def _attempt(self, pending: Pending) -> int:
        """Send one write until it is refused, acknowledged or met by silence."""
        if pending.reads_past:
            pending.saw(await self.look_at(pending.change.key))
        for _ in range(LOOKS):
            if pending.look:
                revision = pending.settle(await self.look_at(pending.change.key))
                if revision is not None:
                    return revision
                await asyncio.sleep(pending.pause_s)
            pending.look = True
            try:
                return await self._publish(pending.change, pending.base, pending.past)
            except Conflict:
                continue
            except LimitExceeded as full:
                # There is no room for a marker either: the value goes first.
                if not isinstance(pending.change, Remove) or not pending.base:
                    raise
                await self._give_way(pending.change.key, pending.base, full)
                pending.base, pending.look = 0, False
            except faults.NoAnswer:
                pending.unknown = True
                raise
            except faults.NobodyThere:
                await self.remake()
                raise
        raise faults.Busy("The broker's replicas disagree about a key right now.", retry_after_s=1.0)

    async def _publish(self, change: Change, base: int, past: str) -> int:
        subject = f"$KV.{self._name}.{change.key}"
        value = change.value if isinstance(change, Put) else b""
        answer = await self._link.request(subject, value, headers=headers_of(change, base, ttl=self._ttl, past=past))
        ack = msgspec.json.decode(answer.data, type=Ack)
        if ack.error is None:
            return ack.seq
        if ack.error.err_code == faults.TTL_DISABLED and self._ttl:
            # A stream of an older version: the expiry worker erases instead.
            self.lacks(ttl=True)
            return await self._publish(change, base, past)
        raise ack.error.raised()

    async def _give_way(self, key: str, revision: int, full: LimitExceeded) -> None:
        """Erase what a key holds up to a revision, without a marker: what came after that stays, and refuses the marker.

        Raises: LimitExceeded (these credentials may not), NoAnswer, Unavailable.
        """
        body = msgspec.json.encode({"filter": f"$KV.{self._name}.{key}", "seq": revision + 1})
        try:
            answer = await self._link.request(f"$JS.API.STREAM.PURGE.{stream_of(self._name)}", body)
        except AccessDenied:
            raise LimitExceeded(
                f"{full.message} Not even a deletion fits, so that its operator has to raise them."
            ) from None
        if (error := msgspec.json.decode(answer.data, type=Ack).error) is not None:
            raise error.raised()

    async def remake(self) -> None:
        """Nobody takes writes: if the whole store was replaced, the bucket has to be made again."""
        if self._remake is not None:
            await self._remake()
