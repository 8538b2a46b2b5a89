"""Recall against the plainest reading of what it promises: filters, order, pages, relations, and the summary."""

from __future__ import annotations

from datetime import UTC
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from identity.errors import InvalidCategory, InvalidInput
from identity.keys import Root
from identity.visibility import Scope
from loomem.core.limits import Limits
from loomem.core.plan import text_of
from loomem.core.recall import (
    Page,
    Query,
    RawQuery,
    Shelf,
    clean_page,
    clean_query,
    cut,
    make_cursor,
    select,
    summary,
)
from loomem.core.record import CATEGORIES, SORT_RANK, Category, Memory
from loomem.core.row import Place, Row, row_of

NOW = 1_000_000
LIMITS = Limits()
PLACES = {
    scope: Place(bucket="b", root=Root.AGENTS, owner="o", scope=scope, fetch=number, mine=True)
    for number, scope in enumerate(Scope)
}
IDS = [f"m{n}" for n in range(12)]
TAGS = ["api", "API", "docs"]


def row(ident: str, revision: int = 1, **fields: Any) -> Row:
    """A row; the fields are those of a record."""
    scope = fields.pop("scope", Scope.PRIVATE)
    memory = Memory(
        id=ident,
        agent_id="a",
        project_id="p",
        scope=scope,
        category=fields.pop("category", Category.RECENT),
        content=fields.pop("content", "x"),
        created_at=text_of(fields.pop("created", NOW)),
        updated_at=text_of(fields.pop("updated", NOW)),
        version=1,
        **fields,
    )
    return row_of(memory, PLACES[scope], revision, {})


@st.composite
def rows(draw: st.DrawFn) -> list[Row]:
    """Rows of distinct ids and revisions, with few distinct values, so that filters and ties bite."""
    found: list[Row] = []
    times = st.integers(NOW - 3, NOW + 3)
    for number, ident in enumerate(draw(st.lists(st.sampled_from(IDS), unique=True))):
        scope = draw(st.sampled_from(Scope))
        metadata: dict[str, Any] = {}
        if draw(st.booleans()):
            metadata["tags"] = draw(st.lists(st.sampled_from(TAGS), max_size=3))
        if draw(st.booleans()):
            metadata["priority"] = draw(st.integers(1, 3))
        if draw(st.booleans()):
            metadata["relatedTo"] = draw(st.lists(st.sampled_from([*IDS, "gone"]), max_size=3))
        expires = draw(st.none() | times)
        found.append(
            row(
                ident,
                number + 1,
                scope=scope,
                category=draw(st.sampled_from(CATEGORIES[scope])),
                content=draw(st.sampled_from(["REST api", "the rest", "Straße", "STRASSE", "a.b", "aXb"])),
                metadata=metadata or None,
                created=draw(times),
                updated=draw(times),
                expires_at=None if expires is None else text_of(expires),
            )
        )
    return found


@st.composite
def queries(draw: st.DrawFn) -> Query:
    bound = st.none() | st.integers(NOW - 3, NOW + 3)
    priority = st.none() | st.integers(1, 3)
    some = st.lists(st.sampled_from(TAGS), max_size=2, unique=True).map(tuple)
    return Query(
        scopes=tuple(draw(st.lists(st.sampled_from(Scope), unique=True))) if draw(st.booleans()) else tuple(Scope),
        categories=tuple(draw(st.lists(st.sampled_from(Category), unique=True, max_size=3))),
        since=draw(bound),
        created_after=draw(bound),
        created_before=draw(bound),
        updated_after=draw(bound),
        updated_before=draw(bound),
        tags=draw(some),
        tags_any=draw(some),
        min_priority=draw(priority),
        max_priority=draw(priority),
        search=draw(st.sampled_from(["", "rest", "strasse", "a.b"])),
        related_to=tuple(draw(st.lists(st.sampled_from(IDS), max_size=2, unique=True))),
        depth=draw(st.integers(1, 3)),
        include_expired=draw(st.booleans()),
    )


def shelved(rows: list[Row]) -> list[Shelf]:
    return [
        Shelf(scope, category, [r for r in rows if r.memory.scope is scope and r.memory.category is category])
        for scope in Scope
        for category in Category
    ]


def naive(query: Query, rows: list[Row]) -> list[Row]:
    """Filter and sort as the specification says it, one row at a time."""

    def passes(row: Row) -> bool:
        memory = row.memory
        tags = (memory.metadata or {}).get("tags", [])
        priority = (memory.metadata or {}).get("priority", 2)
        tests = [
            memory.scope in query.scopes,
            query.include_expired or row.expires >= NOW,
            not query.categories or memory.category in query.categories,
            query.since is None or row.updated > query.since,
            all(tag in tags for tag in query.tags),
            not query.tags_any or any(tag in tags for tag in query.tags_any),
            (query.min_priority or 1) <= priority <= (query.max_priority or 3),
            query.created_after is None or row.created >= query.created_after,
            query.created_before is None or row.created <= query.created_before,
            query.updated_after is None or row.updated >= query.updated_after,
            query.updated_before is None or row.updated <= query.updated_before,
            query.search in memory.content.casefold(),
            not query.related_to or row.id in related(query, rows),
        ]
        return all(tests)

    fetched = sorted(rows, key=lambda row: (row.place.fetch, row.revision))
    return sorted(filter(passes, fetched), key=lambda row: (SORT_RANK[row.memory.category], -row.updated))


def related(query: Query, rows: list[Row]) -> dict[str, int]:
    """Return distances by widening the circle of live memories one step at a time."""
    shown = [r for r in rows if query.include_expired or r.expires >= NOW]
    live = {r.id for r in shown}
    links = {frozenset((r.id, other)) for r in shown for other in r.memory.related_to}
    circle = dict.fromkeys(query.related_to, 0)
    for step in range(1, query.depth + 1):
        edge = {other for link in links for other in link if link & circle.keys() and other in live}
        circle |= {ident: step for ident in edge if ident not in circle}
    return {ident: step for ident, step in circle.items() if step}


@given(rows(), queries())
def test_a_recall_finds_what_the_plainest_filter_finds(found: list[Row], query: Query) -> None:
    answer = select(query, Page(limit=200), shelved(found), NOW)
    expected = naive(query, found)
    assert [row.id for row in answer.rows] == [row.id for row in expected]
    assert answer.total == len(expected)
    assert not answer.more
    assert answer.expired == sum(row.memory.scope in query.scopes and row.expires < NOW for row in found)
    if query.related_to:
        distances = related(query, found)
        assert all(answer.distances[row.id] == distances[row.id] for row in answer.rows)


@given(rows(), queries(), st.integers(1, 4))
def test_pages_make_the_whole(found: list[Row], query: Query, limit: int) -> None:
    whole = select(query, Page(limit=200), shelved(found), NOW).rows
    paged: list[Row] = []
    cursor: str | None = None
    for _ in range(len(whole) + 1):
        page = clean_page(limit, cursor, query, LIMITS)
        answer = select(query, page, shelved(found), NOW)
        paged += answer.rows
        assert answer.total == len(whole)
        if not answer.more:
            break
        assert len(answer.rows) == limit
        cursor = make_cursor(query, answer.rows[-1].order)
    assert paged == whole


@given(rows(), st.integers(1, 4), st.data())
def test_what_others_do_between_pages_shifts_nothing(found: list[Row], limit: int, data: st.DataObject) -> None:
    query = Query(scopes=tuple(Scope), include_expired=True)
    first = select(query, Page(limit=limit), shelved(found), NOW)
    if not first.more:
        return
    gone = data.draw(st.sets(st.sampled_from([row.id for row in found])))
    later = [row for row in found if row.id not in gone] + [
        row("new", 99, updated=NOW + 10, category=Category.CORE)  # before everything
    ]
    page = clean_page(200, make_cursor(query, first.rows[-1].order), query, LIMITS)
    rest = select(query, page, shelved(later), NOW).rows
    expected = [row for row in naive(query, found) if row not in first.rows and row.id not in gone]
    assert rest == expected


def test_a_cursor_is_of_its_question() -> None:
    query = Query(scopes=tuple(Scope))
    cursor = make_cursor(query, row("m0").order)
    with pytest.raises(InvalidInput, match="another question"):
        clean_page(None, cursor, Query(scopes=tuple(Scope), search="x"), LIMITS)
    for bad in ("", "x", cursor[:-1] + "z", 5, cursor + "0" * 50):
        with pytest.raises(InvalidInput):
            clean_page(None, bad, query, LIMITS)


@pytest.mark.parametrize(
    ("limit", "size"), [(None, 50), (10, 10), (500, 200), (0, 1), (-5, 1), (2.9, 2), (float("inf"), 200)]
)
def test_limits_are_clamped(limit: object, size: int) -> None:
    assert clean_page(limit, None, Query(scopes=()), LIMITS).limit == size


@pytest.mark.parametrize("limit", ["ten", True, float("nan"), []])
def test_a_limit_is_a_number(limit: object) -> None:
    with pytest.raises(InvalidInput):
        clean_page(limit, None, Query(scopes=()), LIMITS)


@pytest.mark.parametrize(
    ("scopes", "found"),
    [
        (None, tuple(Scope)),
        ([], ()),
        (["team"], (Scope.TEAM,)),
        ("shared", (Scope.TEAM,)),
        ("both", tuple(Scope)),
        (["public", "private"], (Scope.PRIVATE, Scope.PUBLIC)),
        (["user"], (Scope.PERSONAL,)),
        (["team", "both"], tuple(Scope)),
    ],
)
def test_scopes_of_all_ages_are_understood(scopes: object, found: tuple[Scope, ...]) -> None:
    assert clean_query(RawQuery(scopes=scopes), LIMITS, UTC).scopes == found


@pytest.mark.parametrize(
    ("raw", "error", "field"),
    [
        (RawQuery(scopes=["banana"]), InvalidInput, "scopes"),
        (RawQuery(scopes=5), InvalidInput, "scopes"),
        (RawQuery(categories=["banana"]), InvalidCategory, "categories"),
        (RawQuery(categories={}), InvalidInput, "categories"),
        (RawQuery(since="yesterday"), InvalidInput, "since"),
        (RawQuery(created_after=5), InvalidInput, "createdAfter"),
        (RawQuery(updated_before="2026-13-01"), InvalidInput, "updatedBefore"),
        (RawQuery(tags="api"), InvalidInput, "tags"),
        (RawQuery(tags=[1]), InvalidInput, "tags"),
        (RawQuery(tags_any=["a"] * 101), InvalidInput, "tagsAny"),
        (RawQuery(min_priority=0), InvalidInput, "minPriority"),
        (RawQuery(max_priority="3"), InvalidInput, "maxPriority"),
        (RawQuery(search=1), InvalidInput, "search"),
        (RawQuery(search="\ud800"), InvalidInput, "search"),
        (RawQuery(related_to=[""]), InvalidInput, "relatedTo"),
        (RawQuery(related_to=["a"] * 21), InvalidInput, "relatedTo"),
        (RawQuery(depth=6), InvalidInput, "depth"),
        (RawQuery(include_expired="yes"), InvalidInput, "includeExpired"),
    ],
)
def test_bad_questions_name_the_field(raw: RawQuery, error: type[InvalidInput], field: str) -> None:
    with pytest.raises(error) as caught:
        clean_query(raw, LIMITS, UTC)
    assert caught.value.details["field"] == field


# --- the summary ------------------------------------------------------------------------------------------------------


def reference_summary(rows: list[Row]) -> str:
    """The algorithm of the specification, word for word; right wherever the cut splits no visible character."""
    text, used = "", 0
    for row in rows:
        header = f"## {row.memory.category}\n"
        entry = f"{header}{row.memory.content}\n\n"
        size = len(entry.encode())
        if used + size <= 4096:
            text += entry
            used += size
            continue
        left, head = 4096 - used, len(header.encode())
        if left > head + 20:
            units = f"{row.memory.content}\n\n".encode("utf-16-le")[: 2 * (left - head - 4)]
            kept = units.decode("utf-16-le", "ignore")
            while len(kept.encode()) > left - head - 4:
                kept = kept[:-1]
            text += f"{header}{kept}...\n"
        break
    return text.strip()


plain = st.text(alphabet="ab \nß語日", min_size=1, max_size=40)
sized: st.SearchStrategy[str] = st.tuples(plain, st.integers(1, 120)).map(lambda pair: pair[0] * pair[1])


@given(st.lists(st.tuples(st.sampled_from(Category), sized), max_size=12))
def test_the_summary_is_that_of_the_specification(items: list[tuple[Category, str]]) -> None:
    found = [row(f"m{n}", category=category, content=text) for n, (category, text) in enumerate(items)]
    assert summary(found, 4096) == reference_summary(found)


@given(st.lists(st.text(min_size=1, max_size=3000), max_size=5), st.integers(0, 4096))
def test_a_summary_is_valid_and_no_longer_than_allowed(texts: list[str], limit: int) -> None:
    clean = [text.encode(errors="ignore").decode() for text in texts]
    found = summary([row(f"m{n}", content=text) for n, text in enumerate(clean)], limit)
    assert len(found.encode()) <= limit


@pytest.mark.parametrize(
    "visible",
    ["😀", "👨‍👩‍👧‍👦", "e\u0301", "🇵🇱", "👍🏽", "❤️", "\r\n", "नि"],
    ids=lambda text: text.encode("unicode_escape").decode()[:20],
)
def test_a_cut_splits_no_visible_character(visible: str) -> None:
    size = len(visible.encode())
    for limit in range(6 * size):
        assert cut(visible * 6, limit) == visible * (limit // size)


def test_a_summary_of_emoji_is_whole() -> None:
    text = summary([row("m0", category=Category.TASKS, content="😀" * 2000)], 4096)
    assert text.startswith("## tasks\n😀")
    assert text.endswith("😀...")
    assert 4080 < len(text.encode()) <= 4096


def test_a_cut_gives_up_on_endless_clusters() -> None:
    assert len(cut("a" + "\u0301" * 400, 301).encode()) == 301
    assert cut("\u0301" * 10, 5) == ""


def test_one_category_needs_no_list() -> None:
    assert clean_query(RawQuery(categories="core"), LIMITS, UTC).categories == (Category.CORE,)
