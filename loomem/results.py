"""What the engine answers. `msgspec.to_builtins` of a result is the JSON that every door hands out; what is None is absent.

Deliberately absent: texts for the model and error replies (the face makes them).
"""

from __future__ import annotations

from typing import Any

import msgspec


class Result(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Base of every answer."""

    def as_json(self) -> dict[str, Any]:
        """Return the answer as plain JSON values."""
        return msgspec.to_builtins(self)


class Notice(Result, frozen=True, kw_only=True):
    """Something the caller should know although the call succeeded."""

    type: str
    description: str
    field: str | None = None
    position: int | None = None
    """Index of the first character it speaks of."""
    sample: str | None = None
    """Masked."""
    index: int | None = None
    """Item of a bulk call."""


class Job(Result, frozen=True, kw_only=True):
    """How the extraction of a source is."""

    state: str
    """`pending`, `running`, `done`, `failed`, or `off` when no facts are to be taken from it."""
    reason: str | None = None
    """What went wrong the last time; of a job that is pending, another try is to come."""
    attempts: int | None = None
    """Tries that failed."""
    extractor: str | None = None
    """What read it: `offline`, or the name of a model."""
    extracted: int | None = None
    """Facts that were read."""
    skipped: int | None = None
    """Candidates that are no facts: too uncertain, said twice, too many."""
    failed_pieces: int | None = None
    """Pieces of the source that could not be read."""
    fact_ids: list[str] | None = None
    """Of the facts that are stored and visible."""


class Remembered(Result, frozen=True, kw_only=True):
    memory_id: str
    expires_at: str | None = None
    scope: str
    category: str
    revision: int
    position: str
    warnings: list[Notice] | None = None


class Updated(Result, frozen=True, kw_only=True):
    memory_id: str
    scope: str
    category: str
    updated_at: str
    expires_at: str | None = None
    revision: int
    position: str
    warnings: list[Notice] | None = None


class Committed(Result, frozen=True, kw_only=True):
    memory_id: str
    previous_category: str
    previous_scope: str
    new_scope: str
    revision: int
    position: str
    warnings: list[Notice] | None = None


class Shared(Result, frozen=True, kw_only=True):
    team_memory_id: str
    original_deleted: bool
    revision: int
    position: str
    warnings: list[Notice] | None = None


class Forgotten(Result, frozen=True, kw_only=True):
    deleted: bool
    """False when somebody else deleted it in the same moment."""
    category: str
    memory_id: str
    position: str | None = None


class Fetched(Result, frozen=True, kw_only=True):
    memory: dict[str, Any]
    """The record with its `revision`."""
    extraction: Job | None = None
    """Of a source: how the taking of facts from it is."""
    position: str


class Counts(Result, frozen=True, kw_only=True):
    """Rows of this page by scope, and expired memories of the fetched scopes (before every other filter)."""

    private: int
    personal: int
    team: int
    public: int
    expired: int


class Recalled(Result, frozen=True, kw_only=True):
    private: list[dict[str, Any]]
    personal: list[dict[str, Any]]
    team: list[dict[str, Any]]
    public: list[dict[str, Any]]
    summary: str
    counts: Counts
    total: int
    """Memories that match, on this page and all others."""
    has_more: bool
    cursor: str | None = None
    """Pass it to get the next page; absent on the last one."""
    position: str
    corrupt: int | None = None
    """Unreadable records of the fetched scopes, when there are any."""
    degraded: list[str] | None = None
    """Of a ranked answer: what was missing, and why."""


class ItemError(Result, frozen=True, kw_only=True):
    """Why one item of a bulk call failed: `index` in remember-bulk, `memory_id` in forget-bulk."""

    index: int | None = None
    memory_id: str | None = None
    error: str
    code: str | None = None


class BulkRemembered(Result, frozen=True, kw_only=True):
    stored: int
    failed: int
    errors: list[ItemError]
    memory_ids: list[str]
    """Of the stored ones, in input order."""
    revisions: list[int]
    """Of the same ones, in the same order."""
    position: str | None = None
    warnings: list[Notice] | None = None


class BulkForgotten(Result, frozen=True, kw_only=True):
    deleted: int
    failed: int
    errors: list[ItemError]
    position: str | None = None


class Cleaned(Result, frozen=True, kw_only=True):
    expired: int
    deleted: int
    errors: list[str]
    position: str | None = None


class Exported(Result, frozen=True, kw_only=True):
    exported: int
    filepath: str
    bytes: int
    warnings: list[Notice] | None = None


class Imported(Result, frozen=True, kw_only=True):
    imported: int
    skipped: int
    errors: list[str]
    position: str | None = None
    warnings: list[Notice] | None = None


class Migrated(Result, frozen=True, kw_only=True):
    """What a migration did, or would do."""

    read: int
    migrated: int
    skipped: dict[str, int]
    """Reason -> records."""
    by_scope: dict[str, int]
    """Of the migrated ones."""
    dry_run: bool
    absent: list[str]
    """Old buckets that do not exist."""
    problems: list[str]
    """Keys and reasons of records that could not be taken, a few; never content."""
    warnings: int
    """Findings of the secret scanner."""


class ScopeCounts(Result, frozen=True, kw_only=True):
    """What one scope holds for this caller."""

    visible: int
    """Memories the caller may read, expired ones apart."""
    own: int
    """Of these, in the caller's own space: what `limit` counts."""
    limit: int
    by_category: dict[str, int]
    """Visible ones."""
    expired: int


class CoreCounts(Result, frozen=True, kw_only=True):
    private: int
    personal: int
    limit: int
    """Each."""


class ViewHealth(Result, frozen=True, kw_only=True):
    state: str
    """`loading`, `ready` or `behind`."""
    records: int
    corrupt: int
    corrupt_samples: list[dict[str, str]]
    """Keys and reasons of a few unreadable records, never content."""
    position: str
    error: str | None = None


class Health(Result, frozen=True, kw_only=True):
    scopes: dict[str, ScopeCounts]
    core: CoreCounts
    view: ViewHealth


class Arm(Result, frozen=True, kw_only=True):
    """What one arm of a search gave to a row."""

    arm: str
    rank: int | None = None
    raw: float
    """As the arm scored it: BM25, or a cosine."""
    normal: float
    weight: float


class Explained(Result, frozen=True, kw_only=True):
    """How a row came to its score."""

    joined: float
    """Of the arms together, before the factors."""
    arms: list[Arm]
    factors: dict[str, float]
    """Multipliers that are not 1, by name."""


class FoundRow(Result, frozen=True, kw_only=True):
    """A memory that a search found, and where it comes from. Dates are days in the zone of the settings."""

    id: str
    score: float
    content: str
    length: int | None = None
    """Characters of the whole, of which `content` is the passage that was meant; None when it is all."""
    scope: str
    stream: str
    """The space it lives in, as the `stream` argument names it."""
    project: str
    category: str
    agent: str
    """Who wrote it."""
    mine: bool
    """Whether the caller may change it."""
    recorded: str
    observed: str | None = None
    """When it was said."""
    event: str | None = None
    """When it happened."""
    event_unknown: bool = False
    contract: int | None = None
    """Version of the rules by which it was taken from a conversation; without one its date is no proof of an event."""
    created_at: str
    updated_at: str
    revision: int
    trust: str
    weight: float
    """What its trust and role multiplied the score by."""
    fact_type: str | None = None
    subject: str | None = None
    topic: str | None = None
    author: str | None = None
    source: str | None = None
    source_id: str | None = None
    confidence: float | None = None
    valid_from: str | None = None
    valid_until: str | None = None
    supersedes: list[str] | None = None
    superseded_by: str | None = None
    tags: list[str] | None = None
    metadata: dict[str, Any] | None = None
    same: list[str] | None = None
    """Ids of memories that say the same and are not shown."""
    explained: Explained | None = None


class Found(Result, frozen=True, kw_only=True):
    """What a search found, the best first."""

    rows: list[FoundRow]
    counting: bool = False
    """The question counts or lists, so it was given more rows."""
    evidence: bool = False
    """Rows are to say who said it, when, and where it was taken from."""
    more: bool = False
    """There was more than fits."""
    degraded: list[str] = []
    """What was missing, and why; empty when nothing was."""
    took_ms: float
    position: str
