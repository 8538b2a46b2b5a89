"""A row as an answer shows it: what was found, when it happened, where it lives and how far to trust it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo

from loomem.core.knowledge import Knowledge, Role, Trust
from loomem.core.row import Row
from loomem.core.search.passage import passage
from loomem.core.search.settings import Weights
from loomem.core.search.weigh import observed_of, role_factor, trust_factor
from loomem.core.streams import word_of
from loomem.core.times import moment_of
from loomem.results import Explained, FoundRow

ROW_TOKENS = 24
"""What the frame of a row costs a reader."""
BYTES_PER_TOKEN = 4
_PLAIN = Knowledge()


def shown(
    row: Row,
    score: float,
    *,
    question: str,
    zone: tzinfo,
    weights: Weights,
    supersedes: list[str],
    superseded_by: str | None,
    same: list[str],
    explained: Explained | None,
    event: str | None = None,
) -> FoundRow:
    """Return a row as an answer shows it, of a conversation what answers the question; days are those of a zone.

    `event` is the day that what stands in it tells, where the memory itself tells none.
    """
    memory = row.memory
    known = memory.knowledge or _PLAIN
    event = known.event_date or event
    content = passage(memory.content, question) if known.role is Role.EVIDENCE else memory.content
    return FoundRow(
        id=memory.id,
        score=round(score, 4),
        content=content,
        length=None if content is memory.content else len(memory.content),
        scope=str(memory.scope),
        stream=word_of(row.place),
        project=memory.project_id,
        category=str(memory.category),
        agent=memory.agent_id,
        mine=row.place.mine,
        recorded=moment_of(row.created).astimezone(zone).date().isoformat(),
        observed=observed_of(memory),
        event=event[:10] if event else None,
        event_unknown=not event and (known.event_unknown or known.contract is not None),
        contract=known.contract,
        created_at=memory.created_at,
        updated_at=memory.updated_at,
        revision=row.revision,
        trust=known.trust or str(Trust.A1),
        weight=round(trust_factor(known, weights) * role_factor(known, weights), 4),
        fact_type=None if known.fact_type is None else str(known.fact_type),
        subject=known.subject,
        topic=known.topic,
        author=known.author or _speaker(row),
        source=known.source or _text(row, "source"),
        source_id=known.source_id,
        confidence=known.confidence,
        valid_from=known.valid_from,
        valid_until=known.valid_until,
        supersedes=supersedes or None,
        superseded_by=superseded_by,
        tags=list(row.tags) or None,
        metadata=memory.metadata,
        same=same or None,
        explained=explained,
    )


def within_budget(rows: Sequence[FoundRow], tokens: int | None) -> list[FoundRow]:
    """Return the first rows whose estimated tokens fit together, at least one; nothing is skipped to fit more."""
    return list(rows) if tokens is None else list(rows[: fitting([cost(row) for row in rows], tokens)])


def cost(row: FoundRow) -> int:
    """Return the estimated tokens of a row."""
    return len(row.content.encode()) // BYTES_PER_TOKEN + 1 + ROW_TOKENS


def fitting(costs: Sequence[int], budget: int) -> int:
    """Return how many of the first costs fit into a budget, at least one."""
    spent = 0
    for count, each in enumerate(costs):
        spent += each
        if spent > budget:
            return max(count, 1)
    return len(costs)


def _speaker(row: Row) -> str | None:
    return _text(row, "speaker")


def _text(row: Row, name: str) -> str | None:
    value = (row.memory.metadata or {}).get(name)
    return value if isinstance(value, str) else None
