"""What a stretch of memory looks like in numbers: how many of what kind, from when, how far trusted. Never a word of content. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

import msgspec

from loomem.core.embedding import Readiness
from loomem.core.knowledge import FactType, Knowledge, Trust
from loomem.core.row import Row

DAY_MS = 86_400_000
PERIODS = {"24h": DAY_MS, "7d": 7 * DAY_MS, "30d": 30 * DAY_MS}
UNCLASSIFIED = "unclassified"
UNATTRIBUTED = "unattributed"
_NOTHING = Knowledge()


class Standing(msgspec.Struct, frozen=True):
    """A row, and how it stands."""

    row: Row
    superseded: bool
    embedded: bool


class Meaning(msgspec.Struct, frozen=True):
    """How the model is that gives meaning to rows."""

    state: Readiness
    embedded: Callable[[Row], bool]
    """Says whether a row has a vector of it."""
    trouble: str | None
    """What is not as it should be, in words."""


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """Numbers of one stream, or of all that one caller may see. Times in milliseconds since 1970; None = there is none."""

    live: int
    """Neither deleted nor expired nor superseded; the other numbers are of these."""
    superseded: int
    level0: int
    level1: int
    oldest_ms: int | None
    newest_ms: int | None
    embedded: int
    fact_types: dict[str, int]
    attribution: dict[str, int]
    trust: dict[str, int]
    """Adds up to `live`."""
    stored: dict[str, int]
    """Written within the last day, week and month; what is dated in the future is not."""
    scanned: int

    @property
    def pending(self) -> int:
        """Those without a vector as yet."""
        return self.live - self.embedded


def figures(rows: Iterable[Standing], now_ms: int) -> Figures:
    """Return the numbers of some rows, expired ones apart."""
    live: list[Standing] = []
    superseded = scanned = 0
    for standing in rows:
        scanned += 1
        if standing.row.expired(now_ms):
            continue
        if standing.superseded:
            superseded += 1
        else:
            live.append(standing)
    known = [standing.row.memory.knowledge or _NOTHING for standing in live]
    dated = [standing.row.created for standing in live if standing.row.created <= now_ms]
    kinds = Counter(UNCLASSIFIED if each.fact_type is None else str(each.fact_type) for each in known)
    authors = Counter(_author(each.author) for each in known)
    trust = Counter(_trust(each.trust) for each in known)
    level1 = sum(each.level > 0 for each in known)
    return Figures(
        live=len(live),
        superseded=superseded,
        level0=len(live) - level1,
        level1=level1,
        oldest_ms=min(dated, default=None),
        newest_ms=max(dated, default=None),
        embedded=sum(standing.embedded for standing in live),
        fact_types={name: kinds[name] for name in (*map(str, FactType), UNCLASSIFIED)},
        attribution={name: authors[name] for name in ("user", "assistant", UNATTRIBUTED)},
        trust={str(name): trust[name] for name in Trust},
        stored={name: sum(now_ms - at <= period for at in dated) for name, period in PERIODS.items()},
        scanned=scanned,
    )


def embeddings(found: Figures, meaning: Meaning | None) -> str:
    """Return in words how far the vectors are, and what they lack."""
    if meaning is None:
        return "ready (no memories yet)" if found.live == 0 else "off (found by words alone)"
    said = _failed(found) if meaning.state is Readiness.FAILED else _ready(found)
    return f"{said}; {meaning.trouble}" if meaning.trouble is not None else said


def _failed(found: Figures) -> str:
    return f"failed (found by words alone, {found.embedded}/{found.live} indexed)"


def _ready(found: Figures) -> str:
    if found.live == 0:
        return "ready (no memories yet)"
    if found.pending == 0:
        return f"ready ({found.embedded}/{found.live} indexed)"
    share = 100 * found.embedded // found.live
    return f"warming up ({found.embedded}/{found.live} indexed, {found.pending} pending, {share}%)"


def _author(author: str | None) -> str:
    word = (author or "").strip().lower()
    return word if word in ("user", "assistant") else UNATTRIBUTED


def _trust(trust: str | None) -> Trust:
    """Return the bucket of a trust: none counts as `a1`, an unknown word as `b`."""
    if trust is None:
        return Trust.A1
    return Trust(trust) if trust in tuple(Trust) else Trust.B
