"""The history of a fact: its versions, oldest first, from whichever of them one knows. From the views alone."""

from __future__ import annotations

from loomem.core.knowledge import Knowledge
from loomem.core.limits import whole_number
from loomem.core.plan import text_of
from loomem.core.row import Row
from loomem.core.streams import Stream, word_of
from loomem.core.times import stored_millis
from loomem.fact_results import History, Version
from loomem.store.deletion import elsewhere
from loomem.store.write import Door
from loomem.views.chains import Member, since

LIMIT_DEFAULT = 20
LIMIT = 50


def clean_limit(value: object) -> int:
    """Return how many versions are shown; what is asked for is clamped."""
    asked = whole_number(value)
    return LIMIT_DEFAULT if asked is None else max(1, min(asked, LIMIT))


async def history(door: Door, ident: str, limit: int, stream: Stream | None) -> History:
    """Return the versions of what an id is a version of, the newest `limit` of them; none when nothing visible has the id.

    Deleted and expired versions are left out, and the others are still there.

    Raises: AccessDenied (it is in another stream), Unavailable.
    """
    await door.look_up([ident])
    records = door.projection.records
    rows = records.find(ident) or records.deleted(ident) or records.stubs(ident)
    here = [row for row in rows if stream is None or stream.holds(row.place)]
    if rows and not here:
        raise elsewhere(ident)
    versions = _versions(door, here[0]) if here else []
    return History(memory_id=ident, versions=versions[-limit:], total=len(versions))


def _versions(door: Door, row: Row) -> list[Version]:
    chains, now_ms = door.projection.records.chains, door.now_ms
    return [
        _version(member, chains.successor(member), chains.replaced_by(member.place, member.memory))
        for member in chains.chain(row.place, row.id)
        if member.visible and not _expired(member, now_ms)
    ]


def _expired(member: Member, now_ms: int) -> bool:
    expires = stored_millis(member.memory.expires_at)
    return expires is not None and expires < now_ms


def _version(member: Member, successor: str | None, replaced: list[str]) -> Version:
    memory = member.memory
    known = memory.knowledge
    return Version(
        version=member.version,
        memory_id=memory.id,
        content=memory.content,
        date=text_of(since(memory))[:10],
        current=successor is None,
        superseded_by=successor,
        supersedes=replaced or None,
        reason=None if known is None else _reason(known),
        trust=None if known is None else known.trust,
        source_id=None if known is None else known.source_id,
        stream=word_of(member.place),
        scope=str(memory.scope),
        agent_id=memory.agent_id,
        created_at=memory.created_at,
    )


def _reason(known: Knowledge) -> str | None:
    """Return why a memory took the place of others, as far as somebody judged that."""
    why = [f"{one.reason or one.relation} (judged by {one.by})" for one in known.judged if one.relation == "updates"]
    return "; ".join(dict.fromkeys(why)) or None
