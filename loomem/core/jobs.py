"""What stands beside a memory under kind `x`: how the work on it is, and what went wrong with it. Pure.

One record per memory. It holds the failure of each worker that has one, so that two workers never overwrite each other,
and of a source how the taking of facts from it is. A source without a record is one whose extraction nobody has begun.
Whoever writes a part of it carries the rest over.

    pending   nobody has begun, or the last try failed and another one comes
    running   somebody reads it, or stores what was read
    done      what was read is stored
    failed    given up; why stands beside it
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from identity.errors import Corrupt
from loomem.core.extract import Extracted, SoFar

SCHEMA_VERSION = 1
EXTRACTOR = "extract"
"""Name of the worker that takes facts from sources."""


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


class Step(StrEnum):
    """How far an extraction got."""

    READING = "reading"
    READ = "read"
    """What was read stands in the record, and is being stored; whoever goes on stores that and reads nothing again."""
    DONE = "done"


class Extraction(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """How the taking of facts from a source is."""

    step: Step
    since: str
    """When this step began."""
    by: str | None = None
    """What read it: `offline`, or the name of a model."""
    facts: tuple[Extracted, ...] = ()
    """What was read, until it is stored."""
    so_far: SoFar | None = None
    """While it is read: what whoever goes on need not ask a model again."""
    count: int = 0
    """Facts that were read."""
    dropped: int = 0
    """Candidates that are no facts: too uncertain, said twice, too many."""
    pieces: int = 1
    """Into how many the source was cut for reading."""
    failed_pieces: int = 0
    reason: str | None = None
    """Why the first of these failed, or why no model was asked that was to be."""


class JobRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The value of an `x` key."""

    version: int
    failures: tuple[Failure, ...] = ()
    extraction: Extraction | None = None

    @property
    def is_empty(self) -> bool:
        """Whether it says nothing."""
        return not self.failures and self.extraction is None

    def failure_of(self, worker: str) -> Failure | None:
        """Return what stands against a worker's job."""
        return next((failure for failure in self.failures if failure.worker == worker), None)


NOTHING = JobRecord(version=SCHEMA_VERSION)


class State(StrEnum):
    """How a job is, in one word."""

    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class JobState(msgspec.Struct, frozen=True, kw_only=True):
    """How the extraction of a source is."""

    state: State
    reason: str | None = None
    """What went wrong the last time, also while another try is to come."""
    attempts: int = 0
    """Tries that failed."""
    failed_at: str | None = None
    """When the last of them did."""
    extraction: Extraction | None = None

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come of it."""
        return self.state in (State.DONE, State.FAILED)


def state_of(record: JobRecord | None) -> JobState:
    """Return how the extraction is that a record tells of."""
    record = record or NOTHING
    extraction, failure = record.extraction, record.failure_of(EXTRACTOR)
    if extraction is not None and extraction.step is Step.DONE:
        return JobState(state=State.DONE, extraction=extraction)
    if failure is None:
        return JobState(state=State.PENDING if extraction is None else State.RUNNING, extraction=extraction)
    state = State.PENDING
    if failure.dead:
        state = State.FAILED
    elif extraction is not None and extraction.since > failure.last_failed_at:
        state = State.RUNNING  # tried again
    return JobState(
        state=state,
        reason=failure.last_error,
        attempts=failure.attempts,
        failed_at=failure.last_failed_at,
        extraction=extraction,
    )


def decode(value: bytes) -> JobRecord:
    """Return the record of a stored value. Raises: Corrupt."""
    try:
        record = msgspec.json.decode(value, type=JobRecord)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Corrupt(f"not a job record: {error}") from None
    if record.version != SCHEMA_VERSION:
        raise Corrupt(f"job record of version {record.version}, not {SCHEMA_VERSION}")
    return record


def encode(record: JobRecord) -> bytes:
    """Return the value to store."""
    return msgspec.json.encode(record)
