"""Facts on their way in: cleaned, made fit to be kept, given what is known of them, stored.

Deliberately absent: what kind of fact it is and how far it is trusted (`core.facts`), which space a word names (`core.streams`).
"""

from __future__ import annotations

import logging

import msgspec

from identity.errors import CoreProtected, InvalidInput
from loomem.core import limits as check
from loomem.core import plan
from loomem.core.audit.notes import Blocked
from loomem.core.facts import (
    FactSettings,
    adding_to,
    category_of,
    clean_fact,
    clean_fact_content,
    in_place_of,
    known_of,
    may_supersede,
    trust_in,
)
from loomem.core.knowledge import Knowledge
from loomem.core.record import Category
from loomem.core.row import Row
from loomem.core.streams import USER_DEFAULT, Stream, built_in, word_of
from loomem.core.vector import speaker_of
from loomem.fact_results import Judged, Stored
from loomem.judging import Found, Judging
from loomem.results import Notice
from loomem.store.cleaning import Cleaning
from loomem.store.streams import stream_of
from loomem.store.write import Door

log = logging.getLogger(__name__)

ECHO_CHARS = 80
"""How much of a fact is said back."""
SUPERSEDED_LIMIT = 20
"""Memories whose place one takes."""


class RawFact(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of a store as they came."""

    content: object = None
    source: object = None
    subject: object = None
    metadata: object = None
    relations: object = None
    supersedes: object = None
    stream: object = None


async def store(door: Door, raw: RawFact, settings: FactSettings, judging: Judging | None = None) -> Stored:
    """Store a fact, in the place of those that it names, and of those that it is judged to contradict.

    Raises: InvalidInput, AccessDenied (no such stream), CoreProtected, LimitExceeded, Unavailable.
    """
    limits = door.limits
    text = clean_fact_content(raw.content, limits)
    metadata = check.clean_metadata(raw.metadata, limits)
    fact = clean_fact(source=raw.source, subject=raw.subject, relations=raw.relations)
    stream = await stream_of(door, raw.stream, settings.namespaces) or built_in(door.caller, USER_DEFAULT)
    cleaning = Cleaning(door, settings.pii)
    text, metadata = cleaning.content(text, metadata)
    fact = cleaning.fact(fact)
    notices = cleaning.notices()
    now_ms = door.now_ms
    known = known_of(text, fact, now=plan.text_of(now_ms), honoured=settings.honor_caller_trust_source)
    ident = door.ids.memory_id()
    named = await replaceable(door, raw.supersedes, stream)
    replaced, blocked = _guarded(named, known)
    found = Found()
    if judging is not None and speaker_of(metadata) is None:
        found = await judging.judged(text, known, stream.holds, besides={row.id for row in named})
    replaced, blocked = [*replaced, *found.superseded][:SUPERSEDED_LIMIT], [*blocked, *found.blocked][:SUPERSEDED_LIMIT]
    notices += [_blocked(old, ident, known) for old in blocked]
    draft = plan.Draft(
        scope=stream.scope, category=category_of(stream.scope, known.fact_type), content=text, metadata=metadata
    )
    memory = plan.created(draft, door.caller, ident, now_ms, limits)
    known = msgspec.structs.replace(in_place_of(known, [row.memory for row in replaced]), judged=found.judgements)
    memory = msgspec.structs.replace(memory, knowledge=adding_to(known, [row.memory for row in found.extended]))
    kept = [
        Blocked(row.id, trust_in(row.memory.knowledge) or "none", known.trust or "none", "store") for row in blocked
    ]
    written = await door.create(memory, stream=stream.stream, blocked=kept)
    if fact.dropped:
        notices.append(Notice(type="relations", description=f"{fact.dropped} relations beyond the first were dropped"))
    return Stored(
        memory_id=memory.id,
        content=text[:ECHO_CHARS],
        supersedes=[row.id for row in replaced] or None,
        judged=_told(found) or None,
        stream=stream.word,
        scope=str(memory.scope),
        category=str(memory.category),
        fact_type=str(known.fact_type),
        importance=known.importance,
        trust=str(known.trust),
        revision=written.revision,
        position=written.position,
        warnings=notices or None,
    )


async def replaceable(door: Door, raw: object, stream: Stream) -> list[Row]:
    """Return the memories of a stream whose place a new one is to take, by their ids as they came.

    Raises: InvalidInput naming `supersedes` (unknown, elsewhere, deleted, superseded already, or taken from a source),
    CoreProtected, Unavailable.
    """
    if raw is None or raw == "":
        return []
    named = raw if check.is_array(raw) else [raw]
    if len(named) > SUPERSEDED_LIMIT:
        raise InvalidInput(f"supersedes names more than {SUPERSEDED_LIMIT} memories", field="supersedes")
    idents = list(dict.fromkeys(check.clean_id(each, door.limits, field="supersedes") for each in named))
    await door.look_up(idents)
    return [_replaceable(door, ident, stream) for ident in idents]


def _replaceable(door: Door, ident: str, stream: Stream) -> Row:
    records = door.projection.records
    rows = [row for row in records.find(ident) if not row.expired(door.now_ms)]
    here = [row for row in rows if stream.holds(row.place)]
    if not here:
        if rows:
            why = f"belongs to another stream ({word_of(rows[0].place)}); name that one in stream"
        else:
            why = "was deleted" if records.deleted(ident) else "is not known"
        raise _not_replaceable(ident, why)
    row = here[0]
    known = row.memory.knowledge
    if (successor := records.chains.superseded_by(row)) is not None:
        raise _not_replaceable(ident, f"is superseded already, by {successor}; supersede that one")
    if known is not None and known.source_id is not None:
        raise _not_replaceable(ident, f"was taken from the source {known.source_id} and changes with it alone")
    if row.memory.category is Category.CORE:
        raise CoreProtected("A core memory is protected; update-memory changes it", field="supersedes", memoryId=ident)
    return row


def _not_replaceable(ident: str, why: str) -> InvalidInput:
    return InvalidInput(f"supersedes: memory {ident} {why}; nothing was stored", field="supersedes", memoryId=ident)


def _guarded(rows: list[Row], known: Knowledge) -> tuple[list[Row], list[Row]]:
    """Return whose place a memory may take, and whose not because they are trusted further."""
    allowed = [row for row in rows if may_supersede(known.trust, trust_in(row.memory.knowledge))]
    return allowed, [row for row in rows if row not in allowed]


def _told(found: Found) -> list[Judged]:
    return [
        Judged(memory_id=one.memory_id, relation=one.relation, reason=reason, by=one.by)
        for one, reason in zip(found.judgements, found.reasons, strict=True)
    ]


def _blocked(old: Row, ident: str, known: Knowledge) -> Notice:
    """Put on record that a memory may not take another's place, and return what its writer is told."""
    trust = trust_in(old.memory.knowledge)
    log.warning(
        "event=trust_guard_blocked old=%s old_trust=%s new=%s new_trust=%s context=store",
        old.id,
        trust or "none",
        ident,
        known.trust,
    )
    return Notice(
        type="trust_guard_blocked",
        description=f"nothing was superseded: {old.id} {_further(trust)} trusted further than this fact ({known.trust}), so it "
        f"keeps its place and both stand side by side. {_way_out(old, ident)}",
    )


def _further(trust: str | None) -> str:
    return (
        "carries no trust, as all that remember writes, which counts as a1, and so is"
        if trust is None
        else f"({trust}) is"
    )


def _way_out(old: Row, ident: str) -> str:
    if not old.place.mine:
        return f"Only {old.memory.agent_id} may change or delete it."
    return (
        f"If the user confirms that it is outdated, delete it (memory_delete or forget), or delete {ident} and change "
        "the older one with update-memory."
    )
