"""What is known about a memory beyond its text: what kind of fact it is, about whom, from where, when it held, how far to trust it.

One optional object of a record (`knowledge`), absent for plain memories, so that those cost nothing. The words are those of
the knowledge tools. Unknown fields survive a round trip (`extra`). Pure values; which of them rank how is `core.search`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec


class FactType(StrEnum):
    """What a fact is."""

    PREFERENCE = "preference_or_decision"
    PROJECT_STATE = "project_state"
    FACT = "fact"
    EVENT = "event"
    EXPERIENCE = "experience"


class Role(StrEnum):
    """What a memory is for: a statement, what it was taken from, or a hint."""

    CLAIM = "claim"
    EVIDENCE = "evidence"
    CUE = "cue"


class Trust(StrEnum):
    """How far a memory's source is trusted; one without is as good as `a1`."""

    A1 = "a1"
    A2 = "a2"
    B = "b"


class Relation(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A relation that a memory declares."""

    subject: str
    relation: str
    object: str
    subject_type: str = "Concept"
    object_type: str = "Concept"


BY_RULES = "rules"


class Judgement(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What was found about an older memory when this one was stored."""

    memory_id: str
    relation: str
    """`updates`: this one took its place; `extends`: this one adds to it."""
    reason: str | None = None
    """In words of this memory alone."""
    by: str = BY_RULES
    """`rules`, or the name of the model."""


class Knowledge(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """What is known about a memory. Dates are `YYYY-MM-DD`, moments as records hold them; absent = not known."""

    fact_type: FactType | None = None
    topic: str | None = None
    subject: str | None = None
    """Whom or what the fact is about."""
    role: Role = Role.CLAIM
    level: int = 0
    """0 as it was said, 1 extracted or consolidated."""
    importance: float = 1.0
    static: bool = False
    """Whether it is expected to stay true."""
    confidence: float | None = None
    trust: str | None = None
    """One of `Trust`, None as good as `a1`; any other text ranks as `b` and below it."""
    source: str | None = None
    """Who stored it, in the words of the one who did."""
    author: str | None = None
    """Who said it."""
    valid_from: str | None = None
    valid_until: str | None = None
    event_date: str | None = None
    event_context: str | None = None
    """The words the event date was read from."""
    event_unknown: bool = False
    """Whether it is known that nobody knows when it happened (new contract); else absence says nothing."""
    conversation_date: str | None = None
    source_id: str | None = None
    """The record that this one was taken from."""
    source_ids: tuple[str, ...] = ()
    """Those that this one merges."""
    byte_start: int | None = None
    byte_end: int | None = None
    contract: int | None = None
    """Version of the rules by which a conversation was taken in (`core.sources`)."""
    extract: bool = False
    """Whether facts are to be taken from it: such a source is a job, whose state stands beside it."""
    parts: int = 1
    """Of a source: over how many records it is split, itself included."""
    part: int = 0
    """Of a part of a source that is not its first: which."""
    fragments: int = 0
    """Of a source: how many were planned."""
    supersedes: tuple[str, ...] = ()
    """Ids of the records whose place this one takes. Supersession stands here and nowhere else."""
    judged: tuple[Judgement, ...] = ()
    """What it was found to mean for older ones."""
    root_id: str | None = None
    """The first record of its chain."""
    chain_version: int = 1
    relations: tuple[Relation, ...] = ()
    extra: dict[str, Any] | None = msgspec.field(default=None, name="(extra)")
    """Fields this version does not know, written back as they came."""


KNOWN = tuple(f.encode_name for f in msgspec.structs.fields(Knowledge) if f.name != "extra")


def fields_of(knowledge: Knowledge) -> dict[str, Any]:
    """Return the stored form as a plain dict."""
    fields: dict[str, Any] = msgspec.to_builtins(msgspec.structs.replace(knowledge, extra=None))
    return {**fields, **knowledge.extra} if knowledge.extra else fields


def from_fields(fields: dict[str, Any]) -> Knowledge:
    """Return what plain fields say. Raises: msgspec.ValidationError."""
    known = {name: value for name, value in fields.items() if name in KNOWN}
    unknown = {name: value for name, value in fields.items() if name not in known}
    knowledge = msgspec.convert(known, Knowledge)
    return msgspec.structs.replace(knowledge, extra=unknown) if unknown else knowledge
