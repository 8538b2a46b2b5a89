"""Reading: one memory, a page of them, and how the store is. From the views alone, once they have what the caller must see."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from identity.errors import NotFound
from identity.visibility import Scope
from loomem.core.position import Position, format_position
from loomem.core.recall import ALL_SCOPES, Answer, Page, Query, make_cursor, select, summary
from loomem.core.record import Category, to_fields
from loomem.core.row import Row
from loomem.results import CoreCounts, Counts, Fetched, Health, Recalled, ScopeCounts, ViewHealth
from loomem.search import Search
from loomem.store.pages import Pages, Placed, begin_of
from loomem.store.write import Door
from loomem.views.chains import Chains
from loomem.views.projection import Projection

_CORRUPT_SAMPLES = 5
RANKED = 500
"""Rows that a ranked answer looks for, whatever its page; each arm is asked for thrice as many, and the total is of those."""


async def fetch(door: Door, ident: str, at_least: Position | None) -> Fetched:
    """Return one visible memory by its id.

    Raises: InvalidInput (no id, or a position elsewhere), NotFound (unknown, not visible, or expired), Unavailable.
    """
    await until(door.projection, at_least, ALL_SCOPES)
    await door.look_up([ident])
    rows, now_ms = door.rows(ident), door.now_ms
    row = next((row for row in rows if not row.expired(now_ms)), None)
    if row is None:
        raise NotFound("This memory has expired", memoryId=ident)
    return Fetched(
        memory=_shown(row, door.projection.records.chains), position=format_position(door.projection.position)
    )


async def recall(door: Door, query: Query, page: Page, at_least: Position | None) -> Recalled:
    """Return a page of what answers a question.

    Raises: InvalidInput (a position elsewhere), Unavailable.
    """
    projection = door.projection
    # Relations may lead through what the other filters exclude.
    await until(projection, at_least, ALL_SCOPES if query.related_to else query.scopes)
    chains = projection.records.chains
    answer = select(
        query, page, projection.records.shelves(), door.now_ms, None if chains.is_empty else chains.is_superseded
    )
    after = answer.rows[-1].order if answer.more else None
    return _recalled(door, query, answer, _grouped(answer, chains), after)


async def recall_ranked(
    door: Door, search: Search, pages: Pages, query: Query, page: Page, at_least: Position | None
) -> Recalled:
    """Return a page of what a text finds among the rows that pass the other filters, the best first.

    The pages that follow are of the same ranking, and tell the same total, as long as it is kept.
    Raises: InvalidInput (a position elsewhere), Unavailable.
    """
    await until(door.projection, at_least, ALL_SCOPES if query.related_to else query.scopes)
    records = door.projection.records

    passing: list[Answer] = []
    numbers: set[int] = set()

    def filtered() -> Answer:
        if not passing:
            every = Page(limit=sum(len(shelf.rows) for shelf in records.shelves()))
            superseded = None if records.chains.is_empty else records.chains.is_superseded
            passing.append(select(query, every, records.shelves(), door.now_ms, superseded))
            numbers.update(row.number for row in passing[0].rows)
        return passing[0]

    def admitting() -> Callable[[Row], bool]:
        filtered()
        return lambda row: row.number in numbers

    def row_of(placed: Placed) -> Row | None:
        """Return the row as it is now, if it still passes."""
        row = records.row(placed.number)
        if row is None:
            changed = (row for row in filtered().rows if row.id == placed.ident and row.place == placed.place)
            row = next(changed, None)
        return row if row is not None and row.number in numbers else None

    kept = None if page.after is None else pages.find(query, page.after)
    if kept is None:
        ranking = await search.rank(
            query.query,
            lambda place: place.stream is None and place.scope in query.scopes,
            admitting,
            RANKED,
            dated=False,
        )
        kept = pages.keep(query, ranking)
    filtered()
    at, here = 0 if page.after is None else begin_of(page.after), list[tuple[Row, float]]()
    while at < len(kept.rows) and len(here) < page.limit:
        placed = kept.rows[at]
        if (row := row_of(placed)) is not None:
            here.append((row, placed.score))
        at += 1
    answer = Answer(
        rows=[row for row, _ in here],
        total=len(kept.rows),
        expired=filtered().expired,
        distances=filtered().distances,
        more=at < len(kept.rows),
    )
    groups = _grouped(answer, records.chains, {row.number: score for row, score in here})
    recalled = _recalled(door, query, answer, groups, kept.after(at))
    return msgspec.structs.replace(recalled, degraded=kept.degraded or None)


def _recalled(
    door: Door, query: Query, answer: Answer, groups: dict[Scope, list[dict[str, Any]]], after: int | None
) -> Recalled:
    projection = door.projection
    private, personal, team, public = (groups[scope] for scope in Scope)
    return Recalled(
        private=private,
        personal=personal,
        team=team,
        public=public,
        summary=summary(answer.rows, door.limits.summary_bytes),
        counts=Counts(
            private=len(private), personal=len(personal), team=len(team), public=len(public), expired=answer.expired
        ),
        total=answer.total,
        has_more=answer.more,
        cursor=make_cursor(query, after) if answer.more and after is not None else None,
        position=format_position(projection.position_of(query.scopes or ALL_SCOPES)),
        corrupt=len(projection.records.corrupt(query.scopes)) or None,
    )


def health(door: Door) -> Health:
    """Return what the views hold and how they are, without waiting for anything."""
    records, status = door.projection.records, door.projection.status
    core = {scope: _own_live(door, scope)[Category.CORE] for scope in (Scope.PRIVATE, Scope.PERSONAL)}
    samples = list(records.corrupt().items())[:_CORRUPT_SAMPLES]
    return Health(
        scopes={str(scope): _scope_counts(door, scope) for scope in Scope},
        core=CoreCounts(private=core[Scope.PRIVATE], personal=core[Scope.PERSONAL], limit=door.limits.core),
        view=ViewHealth(
            state=str(status.state),
            records=status.records,
            corrupt=status.corrupt,
            corrupt_samples=[{"bucket": at[0], "key": at[1], "reason": why} for at, why in samples],
            position=format_position(status.position),
            error=status.error,
        ),
    )


async def until(
    projection: Projection, at_least: Position | None, scopes: Sequence[Scope], *, field: str = "atLeast"
) -> None:
    """Wait for one's own writes, and for what the caller has heard of from others; errors call the argument `field`."""
    if at_least is not None:
        await projection.wait(at_least, field=field)
    await projection.settle(scopes)


def _grouped(
    answer: Answer, chains: Chains, scores: Mapping[int, float] | None = None
) -> dict[Scope, list[dict[str, Any]]]:
    groups: dict[Scope, list[dict[str, Any]]] = {scope: [] for scope in Scope}
    for row in answer.rows:
        shown = _shown(row, chains)
        if (distance := answer.distances.get(row.id)) is not None:
            shown["distance"] = distance
        if scores is not None:
            shown["score"] = round(scores[row.number], 4)
        groups[row.memory.scope].append(shown)
    return groups


def _shown(row: Row, chains: Chains) -> dict[str, Any]:
    shown = {**to_fields(row.memory), "revision": row.revision}
    if (successor := chains.superseded_by(row)) is not None:
        shown["supersededBy"] = successor
    return shown


def _scope_counts(door: Door, scope: Scope) -> ScopeCounts:
    now_ms = door.now_ms
    by_category: Counter[Category] = Counter()
    held = 0
    for shelf in door.projection.records.shelves():
        if shelf.scope is scope:
            by_category[shelf.category] += _live(shelf.rows, now_ms)
            held += len(shelf.rows)
    return ScopeCounts(
        visible=by_category.total(),
        own=_own_live(door, scope).total(),
        limit=door.quotas.limit(scope, core=False),
        by_category={str(category): count for category, count in by_category.items()},
        expired=held - by_category.total(),
    )


def _own_live(door: Door, scope: Scope) -> Counter[Category]:
    now_ms = door.now_ms
    counts: Counter[Category] = Counter()
    for shelf in door.projection.records.own(scope):
        counts[shelf.category] += _live(shelf.rows, now_ms)
    return counts


def _live(rows: Iterable[Row], now_ms: int) -> int:
    return sum(not row.expired(now_ms) for row in rows)
