"""Recall: what a caller may ask for, which rows answer it, in which order, and the summary of them. Pure."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import tzinfo
from operator import attrgetter

import msgspec

from identity.errors import InvalidInput
from identity.visibility import Scope
from loomem.core import limits as check
from loomem.core.limits import Limits
from loomem.core.record import Category
from loomem.core.row import Row, fold
from loomem.core.sources import was_stated
from loomem.core.times import date_argument

ALL_SCOPES = tuple(Scope)
_EVERYTHING = frozenset({"both", "all"})
"""Older spellings of "every scope"."""
DEPTH_LIMIT = 5
"""How many links a relation may be away."""
RELATED_LIMIT = 20
"""From how many memories a relation may start."""


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """A checked question. Times in milliseconds since 1970; None or empty = no filter, save `scopes`: empty = nothing."""

    scopes: tuple[Scope, ...]
    categories: tuple[Category, ...] = ()
    since: int | None = None
    """Updated strictly after; the four other bounds are inclusive."""
    created_after: int | None = None
    created_before: int | None = None
    updated_after: int | None = None
    updated_before: int | None = None
    tags: tuple[str, ...] = ()
    """All of them."""
    tags_any: tuple[str, ...] = ()
    """At least one of them."""
    min_priority: int | None = None
    max_priority: int | None = None
    search: str = ""
    """Case-folded."""
    query: str = ""
    """What to rank by, and to find by its words and its meaning; empty = in the order of importance and age."""
    related_to: tuple[str, ...] = ()
    depth: int = 1
    include_expired: bool = False
    include_superseded: bool = False
    include_extracted: bool = False


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """Which part of the answer is wanted."""

    limit: int
    after: int | None = None
    """Order of the last row of the page before; of a ranked answer, how many rows the pages before had."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The rows of one page, and what is known of all the others."""

    rows: list[Row]
    total: int
    expired: int
    distances: Mapping[str, int]
    """By id, for a question about relations."""
    more: bool


class Shelf(msgspec.Struct, frozen=True):
    """The rows of one place and category."""

    scope: Scope
    category: Category
    rows: Collection[Row]


# --- what may be asked ------------------------------------------------------------------------------------------------


class RawQuery(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of a recall as they came."""

    scopes: object = None
    categories: object = None
    since: object = None
    created_after: object = None
    created_before: object = None
    updated_after: object = None
    updated_before: object = None
    tags: object = None
    tags_any: object = None
    min_priority: object = None
    max_priority: object = None
    search: object = None
    query: object = None
    related_to: object = None
    depth: object = None
    include_expired: object = None
    include_superseded: object = None
    include_extracted: object = None


def clean_query(raw: RawQuery, limits: Limits, zone: tzinfo) -> Query:
    """Return the question that raw arguments ask; naive dates are read in `zone`.

    Raises: InvalidInput naming the field and what is allowed.
    """

    def date(field: str, value: object) -> int | None:
        return None if value is None else date_argument(field, value, zone)

    def priority(field: str, value: object) -> int | None:
        return None if value is None else check.clean_priority(value, field=field)

    return Query(
        scopes=clean_scopes(raw.scopes),
        categories=_clean_categories(raw.categories),
        since=date("since", raw.since),
        created_after=date("createdAfter", raw.created_after),
        created_before=date("createdBefore", raw.created_before),
        updated_after=date("updatedAfter", raw.updated_after),
        updated_before=date("updatedBefore", raw.updated_before),
        tags=_clean_tags("tags", raw.tags),
        tags_any=_clean_tags("tagsAny", raw.tags_any),
        min_priority=priority("minPriority", raw.min_priority),
        max_priority=priority("maxPriority", raw.max_priority),
        search="" if raw.search is None else fold(check.clean_text("search", raw.search)),
        query="" if raw.query is None else clean_query_text(raw.query).strip(),
        related_to=_clean_related(raw.related_to, limits),
        depth=1 if raw.depth is None else check.clean_integer("depth", raw.depth, low=1, high=DEPTH_LIMIT),
        include_expired=check.clean_flag("includeExpired", raw.include_expired, default=False),
        include_superseded=check.clean_flag("includeSuperseded", raw.include_superseded, default=False),
        include_extracted=check.clean_flag("includeExtracted", raw.include_extracted, default=False),
    )


def clean_query_text(text: object) -> str:
    """Return what is asked, whatever it is, as text that can be compared: it is not stored, so nothing in it is an error.

    Raises: InvalidInput (no text at all).
    """
    if not isinstance(text, str):
        raise InvalidInput(f"query must be a string, not {check.kind_of(text)}", field="query")
    return text.encode("utf-8", "replace").decode().replace("\0", " ")


def clean_page(limit: object, cursor: object, query: Query, limits: Limits) -> Page:
    """Return which page is wanted; `limit` is clamped, a cursor must be of the same question.

    Raises: InvalidInput.
    """
    size = limits.recall_default
    if limit is not None:
        if isinstance(limit, bool) or not isinstance(limit, int | float) or limit != limit:
            raise InvalidInput(f"limit must be a number from 1 to {limits.recall}", field="limit")
        size = int(max(1, min(limit, limits.recall)))
    return Page(limit=size, after=None if cursor is None else _parse_cursor(cursor, query))


def clean_scopes(value: object) -> tuple[Scope, ...]:
    """Return the scopes asked for; all when none are. Raises: InvalidInput."""
    if value is None:
        return ALL_SCOPES
    if isinstance(value, str):
        return ALL_SCOPES if value in _EVERYTHING else (check.clean_scope(value, field="scopes"),)
    if not check.is_array(value):
        raise InvalidInput(f"scopes must be an array of scopes ({', '.join(Scope)})", field="scopes")
    if any(isinstance(item, str) and item in _EVERYTHING for item in value):
        return ALL_SCOPES
    asked = {check.clean_scope(item, field="scopes") for item in value}
    return tuple(scope for scope in Scope if scope in asked)


def _clean_categories(value: object) -> tuple[Category, ...]:
    if value is None:
        return ()
    if isinstance(value, str):
        return (check.clean_category(value, field="categories"),)
    if not check.is_array(value):
        raise InvalidInput("categories must be an array of categories", field="categories")
    asked = {check.clean_category(item, field="categories") for item in value}
    return tuple(category for category in Category if category in asked)


def _clean_tags(field: str, value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if not check.is_array(value) or len(value) > 100:
        raise InvalidInput(f"{field} must be an array of at most 100 strings", field=field)
    return tuple(dict.fromkeys(check.clean_text(field, tag) for tag in value))


def _clean_related(value: object, limits: Limits) -> tuple[str, ...]:
    if value is None:
        return ()
    ids = value if check.is_array(value) else (value,)
    if len(ids) > RELATED_LIMIT:
        raise InvalidInput(f"relatedTo takes at most {RELATED_LIMIT} ids", field="relatedTo")
    return tuple(dict.fromkeys(check.clean_id(each, limits, field="relatedTo") for each in ids))


# --- cursors ----------------------------------------------------------------------------------------------------------

_CURSOR = re.compile(r"([0-9a-f]{8})-([0-9a-f]{1,40})\Z")


def make_cursor(query: Query, after: int) -> str:
    """Return the opaque text that continues this question after a row.

    It names the row's place in the order, not a count, so what others write meanwhile shifts nothing. A ranked answer has
    no other order than its own: there it is a count.
    """
    return f"{_digest(query)}-{after:x}"


def _parse_cursor(cursor: object, query: Query) -> int:
    match = _CURSOR.match(cursor) if isinstance(cursor, str) else None
    if match is None:
        raise InvalidInput("cursor must be the cursor of the page before, unchanged", field="cursor")
    if match[1] != _digest(query):
        raise InvalidInput("cursor belongs to another question; repeat the same filters with it", field="cursor")
    return int(match[2], 16)


def _digest(query: Query) -> str:
    return hashlib.sha256(msgspec.json.encode(query)).hexdigest()[:8]


# --- which rows answer ------------------------------------------------------------------------------------------------


def select(
    query: Query,
    page: Page,
    shelves: Iterable[Shelf],
    now_ms: int,
    is_superseded: Callable[[Row], bool] | None = None,
) -> Answer:
    """Return the page of rows that answer a question, best first.

    `shelves` is everything the caller may see: relations may lead through what the other filters exclude.
    `is_superseded` tells whose place another has taken; None when that is true of none.
    """
    shelves = list(shelves)
    expired = 0
    rows: list[Row] = []
    for shelf in shelves:
        if shelf.scope not in query.scopes:
            continue
        live = [row for row in shelf.rows if row.expires >= now_ms]
        expired += len(shelf.rows) - len(live)
        if not query.categories or shelf.category in query.categories:
            rows += shelf.rows if query.include_expired else live
    if not query.include_extracted:
        rows = [row for row in rows if row.memory.knowledge is None or was_stated(row.memory)]
    if is_superseded is not None and not query.include_superseded:
        rows = [row for row in rows if not is_superseded(row)]
    rows = _within_times(query, _by_labels(query, rows))
    distances: dict[str, int] = {}
    if query.related_to:
        distances = _distances(query, shelves, now_ms)
        rows = [row for row in rows if row.memory.id in distances]
    if query.search:
        needle = query.search
        rows = [row for row in rows if needle in (row.folded or fold(row.memory.content))]
    rows.sort(key=_order)
    total = len(rows)
    if page.after is not None:
        after = page.after
        rows = [row for row in rows if row.order > after]
    return Answer(
        rows=rows[: page.limit], total=total, expired=expired, distances=distances, more=len(rows) > page.limit
    )


_order = attrgetter("order")


def _by_labels(query: Query, rows: list[Row]) -> list[Row]:
    for tag in query.tags:
        rows = [row for row in rows if tag in row.tags]
    if query.tags_any:
        wanted = frozenset(query.tags_any)
        rows = [row for row in rows if row.tags and not wanted.isdisjoint(row.tags)]
    if query.min_priority is not None or query.max_priority is not None:
        low, high = query.min_priority or 1, query.max_priority or 3
        rows = [row for row in rows if low <= row.priority <= high]
    return rows


def _within_times(query: Query, rows: list[Row]) -> list[Row]:
    if (since := query.since) is not None:
        rows = [row for row in rows if row.updated > since]
    if (low := query.created_after) is not None:
        rows = [row for row in rows if row.created >= low]
    if (high := query.created_before) is not None:
        rows = [row for row in rows if row.created <= high]
    if (low := query.updated_after) is not None:
        rows = [row for row in rows if row.updated >= low]
    if (high := query.updated_before) is not None:
        rows = [row for row in rows if row.updated <= high]
    return rows


def _distances(query: Query, shelves: Sequence[Shelf], now_ms: int) -> dict[str, int]:
    """Return how many links each memory is away from where the question starts (1 to `depth`), both directions.

    A way leads through these memories alone: an id that several of them name, but that is hidden or gone, joins nothing.
    """
    seen: set[str] = set()
    links: dict[str, set[str]] = {}
    for shelf in shelves:
        for row in shelf.rows:
            if row.expires >= now_ms or query.include_expired:
                seen.add(row.memory.id)
                for other in row.related:
                    links.setdefault(row.memory.id, set()).add(other)
                    links.setdefault(other, set()).add(row.memory.id)
    found = dict.fromkeys(query.related_to, 0)
    queue = deque(query.related_to)
    while queue:
        here = queue.popleft()
        if found[here] == query.depth:
            continue
        for other in links.get(here, ()):
            if other in seen and other not in found:
                found[other] = found[here] + 1
                queue.append(other)
    return {each: distance for each, distance in found.items() if distance}


# --- the summary ------------------------------------------------------------------------------------------------------

_ELLIPSIS = "...\n"
_WORTH_CUTTING = 20
"""An entry is cut rather than left out only when more than so many bytes of it fit."""


def summary(rows: Iterable[Row], max_bytes: int) -> str:
    """Return headings and contents in order, as many as fit into `max_bytes` of UTF-8; the first that does not is cut."""
    parts: list[str] = []
    left = max_bytes
    for row in rows:
        header, body = f"## {row.memory.category}\n", f"{row.memory.content}\n\n"
        size = len(header.encode()) + len(body.encode())
        if size <= left:
            parts += (header, body)
            left -= size
            continue
        room = left - len(header.encode())
        if room > _WORTH_CUTTING:
            parts += (header, cut(body, room - len(_ELLIPSIS)), _ELLIPSIS)
        break
    return "".join(parts).strip()


def cut(text: str, max_bytes: int) -> str:
    """Return the longest beginning of a text within `max_bytes` of UTF-8 that splits no visible character."""
    raw = text.encode()
    if len(raw) <= max_bytes:
        return text
    head = raw[: max(max_bytes, 0)].decode(errors="ignore")
    at = len(head)
    # A cluster longer than this is decoration; cutting inside it harms nobody.
    for _ in range(64):
        if at == 0 or not _joined(text, at):
            return text[:at]
        at -= 1
    return head


def _joined(text: str, at: int) -> bool:
    """Say whether the characters before and after an index belong to one visible character."""
    before, after = text[at - 1], text[at]
    if after in "\u200d\ufe0f" or before == "\u200d" or (before, after) == ("\r", "\n"):
        return True
    if unicodedata.category(after) in ("Mn", "Me", "Mc") or "\U0001f3fb" <= after <= "\U0001f3ff":
        return True
    if _is_flag_half(before) and _is_flag_half(after):
        run = at
        while run > 0 and _is_flag_half(text[run - 1]):
            run -= 1
        return (at - run) % 2 == 1
    return False


def _is_flag_half(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"
