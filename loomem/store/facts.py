"""Facts on their way in: cleaned, made fit to be kept, given what is known of them, stored.

Deliberately absent: what kind of fact it is and how far it is trusted (`core.facts`), which space a word names (`core.streams`).
"""

from __future__ import annotations

import msgspec

from loomem.core import limits as check
from loomem.core import plan
from loomem.core.facts import FactSettings, category_of, clean_fact, clean_fact_content, known_of
from loomem.core.knowledge import Knowledge
from loomem.core.streams import USER_DEFAULT, built_in
from loomem.results import Notice, Stored
from loomem.store.streams import stream_of
from loomem.store.write import Door

ECHO_CHARS = 80
"""How much of a fact is said back."""


class RawFact(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of a store as they came."""

    content: object = None
    source: object = None
    subject: object = None
    metadata: object = None
    relations: object = None
    supersedes: object = None
    stream: object = None


async def store(door: Door, raw: RawFact, settings: FactSettings) -> Stored:
    """Store a fact.

    Raises: InvalidInput, AccessDenied (no such stream), LimitExceeded, Unavailable.
    """
    limits = door.limits
    text = clean_fact_content(raw.content, limits)
    metadata = check.clean_metadata(raw.metadata, limits)
    fact = clean_fact(source=raw.source, subject=raw.subject, relations=raw.relations)
    stream = await stream_of(door, raw.stream, settings.namespaces) or built_in(door.caller, USER_DEFAULT)
    screened, metadata, notices = door.screen(text, metadata, max_bytes=limits.fact_bytes)
    text = screened or text
    now_ms = door.now_ms
    known = known_of(text, fact, now=plan.text_of(now_ms), honoured=settings.honor_caller_trust_source)
    draft = plan.Draft(
        scope=stream.scope, category=category_of(stream.scope, known.fact_type), content=text, metadata=metadata
    )
    memory = plan.created(draft, door.caller, door.ids.memory_id(), now_ms, limits)
    memory = msgspec.structs.replace(memory, knowledge=known)
    written = await door.create(memory, stream=stream.stream)
    if fact.dropped:
        notices.append(Notice(type="relations", description=f"{fact.dropped} relations beyond the first were dropped"))
    return Stored(
        memory_id=memory.id,
        content=text[:ECHO_CHARS],
        stream=stream.word,
        scope=str(memory.scope),
        category=str(memory.category),
        fact_type=str(known.fact_type),
        importance=known.importance,
        trust=_trust(known),
        revision=written.revision,
        position=written.position,
        warnings=notices or None,
    )


def _trust(known: Knowledge) -> str:
    return known.trust or "a1"
