"""The view of dates: which rows tell of something that happened, or was said, on a day."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loomem.core.row import Row
from loomem.core.search.weigh import DAY_MS, Span, dates_of

SPAN_DAYS_LIMIT = 400
"""Days of one span that are looked at: a year, and some."""


class Dates:
    """The days of the visible rows that tell one."""

    def __init__(self) -> None:
        self._by_day: dict[int, dict[int, None]] = {}

    def put(self, row: Row) -> None:
        """Take a row, if it tells a day."""
        for date in dates_of(row.memory):
            self._by_day.setdefault(date // DAY_MS, {})[row.number] = None

    def drop(self, row: Row) -> None:
        """Let go of a row."""
        for date in dates_of(row.memory):
            rows = self._by_day.get(date // DAY_MS, {})
            rows.pop(row.number, None)
            if not rows:
                self._by_day.pop(date // DAY_MS, None)

    def within(self, spans: Sequence[Span]) -> Iterator[int]:
        """Yield the rows of some spans, the latest day first; one that tells several days may come again."""
        for span in spans:
            last = (span.end - 1) // DAY_MS
            first = max(-(-span.start // DAY_MS), last - SPAN_DAYS_LIMIT)
            for day in range(last, first - 1, -1):
                yield from self._by_day.get(day, ())
