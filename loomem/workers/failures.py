"""Failure records: what went wrong with a job, beside the memory it is about (kind `x`), for everybody to see.

One record per memory holds the failure of each worker that has one, so two workers never overwrite each other. It is
written at every failure, and removed when the job succeeds or its memory is gone: what stands is wrong now. A failure is
about one revision; a changed memory starts afresh. It says which error, never what the memory holds.

A bucket's records are followed, so that a success costs no question to the broker; the crew's own writes are applied at
once.
"""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

import msgspec

from identity.errors import Conflict, Corrupt
from identity.keys import Key, Kind, parse_key
from identity.ports import Bucket, Clock, Entry, Event, Marker, Put, Reason, Remove, Reset
from loomem.core.times import iso

FILTER = f"*.*.{Kind.JOB}.*"
SCHEMA_VERSION = 1
TRIES = 3
"""Of a write that another crew was quicker with."""
ERROR_CHARS = 300


class Failure(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What one worker could not do, so far."""

    worker: str
    revision: int
    """Of the memory."""
    attempts: int
    """Failures that count against the job."""
    waits: int = 0
    """Times it was put off because something it needs was not available."""
    last_error: str
    first_failed_at: str
    last_failed_at: str
    dead: bool = False
    """Given up; a change of the memory is a new job."""


class FailureRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The value of an `x` key."""

    version: int
    failures: tuple[Failure, ...]


def decode(value: bytes) -> FailureRecord:
    """Return the record of a stored value. Raises: Corrupt."""
    try:
        record = msgspec.json.decode(value, type=FailureRecord)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Corrupt(f"not a failure record: {error}") from None
    if record.version != SCHEMA_VERSION:
        raise Corrupt(f"failure record of version {record.version}, not {SCHEMA_VERSION}")
    return record


def merged(record: FailureRecord, worker: str, failure: Failure | None) -> FailureRecord:
    """Return the record with this worker's failure replaced, or taken out."""
    others = tuple(f for f in record.failures if f.worker != worker)
    return FailureRecord(version=SCHEMA_VERSION, failures=(*others, failure) if failure else others)


def failed_again(known: Failure | None, *, worker: str, revision: int, error: str, now: str, counts: bool) -> Failure:
    """Return the failure after one more; `counts` = against the job (else it was put off)."""
    if known is None or known.revision != revision:
        known = Failure(
            worker=worker, revision=revision, attempts=0, last_error="", first_failed_at=now, last_failed_at=now
        )
    return msgspec.structs.replace(
        known,
        attempts=known.attempts + counts,
        waits=known.waits + (not counts),
        last_error=error[:ERROR_CHARS],
        last_failed_at=now,
    )


class _Held(msgspec.Struct, frozen=True):
    revision: int
    record: FailureRecord


_NOTHING = FailureRecord(version=SCHEMA_VERSION, failures=())


class Failures:
    """The failure records of one bucket: a view, and the only writer of them."""

    def __init__(self, bucket: Bucket, clock: Clock) -> None:
        self._bucket = bucket
        self._clock = clock
        self._held: dict[str, _Held] = {}

    def apply(self, event: Event) -> None:
        """Take in what the feed tells under `FILTER`."""
        match event:
            case Entry():
                self._hold(event)
            case Marker():
                self._drop(event.key, event.revision)
            case Reset():
                self._held.clear()
            case _:
                pass

    def dead(self, worker: str) -> int:
        """Return how many jobs of a worker are given up."""
        return sum(f.dead for held in self._held.values() for f in held.record.failures if f.worker == worker)

    def of(self, worker: str, key: Key) -> Failure | None:
        """Return what stands against a worker's job, as far as the view knows."""
        held = self._held.get(key.beside(Kind.JOB))
        return next((f for f in held.record.failures if f.worker == worker), None) if held else None

    async def record(
        self, worker: str, job: Entry | Marker, error: str, *, counts: bool = True, attempts: int | None = None
    ) -> Failure | None:
        """Write down one more failure of a job and return it; dead when it counts and `attempts` is reached.

        None when the key is none of ours, so that there is no place for a record.

        Raises: Unavailable, LimitExceeded, Conflict (three others were quicker).
        """
        key = parse_key(job.key)
        if key is None:
            return None
        now = iso(self._clock.now())

        def change(record: FailureRecord) -> FailureRecord:
            known = next((f for f in record.failures if f.worker == worker), None)
            failure = failed_again(known, worker=worker, revision=job.revision, error=error, now=now, counts=counts)
            if attempts is not None and failure.attempts >= attempts:
                failure = msgspec.structs.replace(failure, dead=True)
            return merged(record, worker, failure)

        await self._change(key.beside(Kind.JOB), change)
        return self.of(worker, key)

    async def clear(self, worker: str, key: Key, *, everybody: bool = False) -> None:
        """Take out what stands against a worker's job (`everybody`: the memory is gone, so all of it).

        Raises: Unavailable, Conflict (three others were quicker).
        """
        path = key.beside(Kind.JOB)
        if path in self._held and (everybody or self.of(worker, key) is not None):
            await self._change(path, lambda record: _NOTHING if everybody else merged(record, worker, None))

    async def _change(self, path: str, change: Callable[[FailureRecord], FailureRecord]) -> None:
        for attempt in range(1, TRIES + 1):
            held = self._held.get(path)
            after = change(held.record if held else _NOTHING)
            try:
                await self._write(path, held.revision if held else 0, after)
            except Conflict:
                if attempt == TRIES:
                    raise
                await self._look(path)
            else:
                return

    async def _write(self, path: str, expected: int, record: FailureRecord) -> None:
        op = f"failure {uuid4()}"
        if record.failures:
            revision = await self._bucket.write(
                Put(key=path, value=msgspec.json.encode(record), expected=expected, op=op)
            )
            self._held[path] = _Held(revision, record)
        elif expected:
            revision = await self._bucket.write(Remove(key=path, expected=expected, op=op, reason=Reason.OTHER))
            self._drop(path, revision)

    async def _look(self, path: str) -> None:
        now = await self._bucket.get(path)
        if isinstance(now, Entry):
            self._hold(now)
        else:
            self._held.pop(path, None)

    def _hold(self, entry: Entry) -> None:
        held = self._held.get(entry.key)
        if held is not None and held.revision >= entry.revision:
            return
        try:
            record = decode(entry.value)
        except Corrupt:
            record = _NOTHING  # worth nothing to anybody; the next failure or success replaces it
        self._held[entry.key] = _Held(entry.revision, record)

    def _drop(self, path: str, revision: int) -> None:
        held = self._held.get(path)
        if held is not None and held.revision < revision:
            del self._held[path]
