"""Which candidates become facts, whoever proposed them: one set of rules for models and for our own. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from heapq import nlargest

from loomem.core.extract.values import Accepted, Candidate, Extracted, ExtractSettings
from loomem.core.knowledge import FactType

UNCERTAIN = "uncertain"
BLANK = "blank"
TWICE = "twice"
TOO_MANY = "too many"
_SPEAKERS = ("user", "assistant")
_KEY_CHARS = 60
"""A longer key is no key."""
_YEARS = range(1900, 2101)


def accept(
    candidates: Iterable[Candidate], settings: ExtractSettings, *, attributable: bool, before: Sequence[Extracted] = ()
) -> Accepted:
    """Return the facts among some candidates, the most certain ones when there are too many, in the order they came.

    `attributable` says whether the conversation tells whose words are whose; else nothing is attributed. `before`: the facts
    of the same conversation that were accepted already; the answer is with them, and some of them may have to go.
    """
    dropped: Counter[str] = Counter()
    kept = list(before)
    seen = {_folded(fact.content) for fact in before}
    for candidate in candidates:
        folded = _folded(candidate.content)
        if why := _refused(candidate, folded, seen, settings):
            dropped[why] += 1
            continue
        seen.add(folded)
        kept.append(_fact(candidate, settings, attributable=attributable))
    best = nlargest(settings.facts_limit, enumerate(kept), key=lambda one: (one[1].confidence, -one[0]))
    if len(kept) > len(best):
        dropped[TOO_MANY] = len(kept) - len(best)
    facts = tuple(kept[at] for at in sorted(at for at, _ in best))
    return Accepted(facts=facts, dropped=dict(dropped))


def too_many(dropped: Mapping[str, int], settings: ExtractSettings) -> str | None:
    """Return what to say when a conversation has more facts than are kept, or None."""
    left = dropped.get(TOO_MANY, 0)
    if not left:
        return None
    return f"The {settings.facts_limit} most certain facts are kept, {left} more are left out (extraction.facts_limit)"


def typed(key: str, settings: ExtractSettings) -> tuple[FactType, str | None]:
    """Return what a key stands for: a built-in type, or a fact with a topic, in the settings' spelling where they name it."""
    name = key.strip()
    try:
        return FactType(name.lower()), None
    except ValueError:
        known = {topic.key.casefold(): topic.key for topic in settings.topics}
        return FactType.FACT, known.get(name.casefold(), name[:_KEY_CHARS].strip() or None)


def _folded(content: str) -> str:
    return " ".join(content.split()).casefold()


def _refused(candidate: Candidate, folded: str, seen: set[str], settings: ExtractSettings) -> str:
    if not folded:
        return BLANK
    if not candidate.confidence >= settings.confidence_floor:  # NaN is not certain either
        return UNCERTAIN
    return TWICE if folded in seen else ""


def _fact(candidate: Candidate, settings: ExtractSettings, *, attributable: bool) -> Extracted:
    kind, topic = typed(candidate.key, settings)
    by = (candidate.attributed_to or "").strip().lower()
    return Extracted(
        content=candidate.content.strip(),
        fact_type=kind,
        topic=topic,
        subject=_named(candidate.subject),
        event_date=_day(candidate.event_date),
        event_context=_named(candidate.event_context),
        attributed_to=by if attributable and by in _SPEAKERS else None,
        confidence=min(1.0, candidate.confidence) if math.isfinite(candidate.confidence) else 1.0,
        byte_start=candidate.byte_start,
        byte_end=candidate.byte_end,
    )


def _named(text: str | None) -> str | None:
    return (text or "").strip() or None


def _day(text: str | None) -> date | None:
    """Return a stated day; what is none, or lies in no year that people speak of, is unknown."""
    try:
        day = date.fromisoformat((text or "").strip())
    except ValueError:
        return None
    return day if day.year in _YEARS else None
