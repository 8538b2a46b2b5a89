"""Failures: what went wrong with a job, in the record beside the memory it is about (`core.jobs`), for everybody to see.

A failure is written every time, and removed when the job succeeds or its memory is gone: what stands is wrong now. It is
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
from loomem.core.jobs import NOTHING, Failure, JobRecord, decode, encode
from loomem.core.times import iso

FILTER = f"*.*.{Kind.JOB}.*"
TRIES = 3
"""Of a write that another crew was quicker with."""
ERROR_CHARS = 300


def merged(record: JobRecord, worker: str, failure: Failure | None) -> JobRecord:
    """Return the record with this worker's failure replaced, or taken out."""
    others = tuple(f for f in record.failures if f.worker != worker)
    return msgspec.structs.replace(record, failures=(*others, failure) if failure else others)


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
    record: JobRecord


class Failures:
    """The failures in one bucket: a view, and the only writer of them."""

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
        return held.record.failure_of(worker) if held else None

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

        def change(record: JobRecord) -> JobRecord:
            known = record.failure_of(worker)
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
            await self._change(path, lambda record: NOTHING if everybody else merged(record, worker, None))

    async def _change(self, path: str, change: Callable[[JobRecord], JobRecord]) -> None:
        for attempt in range(1, TRIES + 1):
            held = self._held.get(path)
            after = change(held.record if held else NOTHING)
            try:
                await self._write(path, held.revision if held else 0, after)
            except Conflict:
                if attempt == TRIES:
                    raise
                await self._look(path)
            else:
                return

    async def _write(self, path: str, expected: int, record: JobRecord) -> None:
        op = f"failure {uuid4()}"
        if not record.is_empty:
            revision = await self._bucket.write(Put(key=path, value=encode(record), expected=expected, op=op))
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
            record = NOTHING  # worth nothing to anybody; the next failure or success replaces it
        self._held[entry.key] = _Held(entry.revision, record)

    def _drop(self, path: str, revision: int) -> None:
        held = self._held.get(path)
        if held is not None and held.revision < revision:
            del self._held[path]
