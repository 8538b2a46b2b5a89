"""What the engine answers about facts: stored, superseded, deleted, rated, counted. As `loomem.results`, of which it is a part."""

from __future__ import annotations

import msgspec

from loomem.results import Job, Notice, Result


class Judged(Result, frozen=True, kw_only=True):
    """What a fact was found to mean for an older memory."""

    memory_id: str
    relation: str
    """`updates` or `extends`."""
    reason: str
    by: str
    """`rules`, or the name of the model."""


class Stored(Result, frozen=True, kw_only=True):
    """A fact that was stored."""

    memory_id: str
    content: str
    """Its first characters, as they were stored."""
    supersedes: list[str] | None = None
    """Whose place it takes."""
    judged: list[Judged] | None = None
    """What it was found to contradict or to add to, unasked."""
    stream: str
    scope: str
    category: str
    fact_type: str
    importance: float
    trust: str
    revision: int
    position: str
    warnings: list[Notice] | None = None


class Fact(Result, frozen=True, kw_only=True):
    """A fact that was read in a conversation."""

    memory_id: str
    content: str
    fact_type: str
    topic: str | None = None
    subject: str | None = None
    author: str | None = None
    event: str | None = None
    """When it happened, if that is known."""
    supersedes: list[str] | None = None


class FragmentCounts(Result, frozen=True, kw_only=True):
    """What became of the utterances of a conversation."""

    stored: int
    failed: int = 0
    """Writes that failed."""
    skipped: int = 0
    """Those that may not be stored as they are."""
    reason: str | None = None
    """Why there are none at all."""


class Ingested(Result, frozen=True, kw_only=True):
    """A conversation that was stored. What else became of it, `extraction` and `fragments` say."""

    source_id: str
    stream: str
    scope: str
    bytes: int
    """Of what was stored."""
    parts: int = 1
    """Records that hold it."""
    conversation_date: str | None = None
    extraction: Job
    facts: list[Fact] | None = None
    """Those that are stored by now."""
    fragments: FragmentCounts | None = None
    """None when no fragments are made."""
    revision: int
    position: str
    warnings: list[Notice] | None = None


class Deleted(Result, frozen=True, kw_only=True):
    """A memory that is hidden, and may be restored for a while."""

    memory_id: str
    stream: str
    restorable_until: str
    source_id: str | None = None
    """What it was taken from; that is kept."""
    derived: int = 0
    """How many were deleted with it because they were taken from it."""
    failed_steps: list[str] | None = None
    """What of it did not succeed and is done when the call is repeated."""
    position: str | None = None


class Restored(Result, frozen=True, kw_only=True):
    memory_id: str
    stream: str
    derived: int = 0
    """How many came back with it."""
    revision: int
    position: str


class DeletedMemory(Result, frozen=True, kw_only=True):
    memory_id: str
    stream: str
    category: str
    content: str
    """Its beginning."""
    deleted_at: str
    restorable_until: str


class DeletedMemories(Result, frozen=True, kw_only=True):
    memories: list[DeletedMemory]


class Rejected(Result, frozen=True, kw_only=True):
    """A rating that was not taken."""

    chunk_id: str = msgspec.field(name="chunk_id")
    reason: str


class Rated(Result, frozen=True, kw_only=True):
    """What became of a rating; the sums are of all that this rater said of the memory."""

    ok: bool
    accepted: int
    rejected: list[Rejected]
    ratings: int | None = None
    alpha: float | None = None
    beta: float | None = None
    harmful: int | None = None
    position: str | None = None


class Namespace(Result, frozen=True, kw_only=True):
    alias: str
    stream_id: str = msgspec.field(name="stream_id")
    type: str
    """`user_private`, `project` or `organization_shared`."""
    access: str
    """`owner`: all of it is yours to change; `write`: your own part is."""
    default: bool = False


class Namespaces(Result, frozen=True, kw_only=True):
    namespaces: dict[str, str]
    """Ids by alias."""
    details: list[Namespace]


class MemoryStatus(Result, frozen=True, kw_only=True):
    status: str
    stream: str
    memories: int
    embedded: int
    pending: int
    embeddings: str
    associator: str = "disabled"
    undecodable: int
    llm: str | None = None
    """What a language model is asked for, and what of today's budget is taken."""
    failed_extractions: int | None = None
    """Within the last hour, as `empty_extractions`."""
    empty_extractions: int | None = None
    """Conversations in which nothing was found."""
    source_id: str | None = None
    """The source that was asked after."""
    extraction: Job | None = None
    """How the taking of facts from it is."""


Numbers = dict[str, int | float | str | bool | None]


class MemoryStats(Result, frozen=True, kw_only=True):
    """Aggregates, never content. Null is what is not known here."""

    stream: str
    health: Numbers
    retrieval: Numbers
    consolidation: Numbers
    fact_types: dict[str, int]
    attribution: dict[str, int]
    trust: dict[str, int]
    activity: Numbers
    extraction: Numbers
    meta: Numbers


class Version(Result, frozen=True, kw_only=True):
    """One version of a fact."""

    version: int
    memory_id: str
    content: str
    date: str
    """From when on it holds."""
    current: bool
    superseded_by: str | None = None
    supersedes: list[str] | None = None
    reason: str | None = None
    """Why it took their place, where that was not said but found."""
    trust: str | None = None
    source_id: str | None = None
    stream: str
    scope: str
    agent_id: str
    created_at: str


class History(Result, frozen=True, kw_only=True):
    memory_id: str
    versions: list[Version]
    """Oldest first; at most as many as were asked for, the newest."""
    total: int
    extraction: Job | None = None
    """Of a source: how the taking of facts from it is."""
