"""Would a library find phone numbers as `loomem.core.pii` does? Recall, false alarms, import time, time per 10 KB.

The library is no dependency; measure it in an environment of its own:

    python -m venv /tmp/pn && /tmp/pn/bin/pip install phonenumbers msgspec pytest
    PYTHONPATH=. /tmp/pn/bin/python bench/pii_library.py

The samples are those of tests/laws/test_pii_samples.py: sentences in English, Polish and German.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from typing import Any

from bench.secrets_library import import_ms
from loomem.core.pii import redact
from loomem.core.pii_settings import PiiSettings
from tests.laws.test_pii_samples import MARK, negative, positive

REGIONS = ("PL", "US", "DE", "GB")
PHONES = PiiSettings(redact_emails=False, redact_ids=False)
PROSE = (
    "The team keeps its memories in NATS JetStream; Anna is at 600 700 800 after five, order 512345678 is closed. "
    "See https://example.org/docs: it returns 1234 items at 10:30 on 2026-01-02, version 1.22.333.\n"
)


def of_library(text: str) -> int:
    """Return how many different numbers the library finds, whichever of the regions they may be of."""
    library: Any = importlib.import_module("phonenumbers")
    spans = {(match.start, match.end) for region in REGIONS for match in library.PhoneNumberMatcher(text, region)}
    return len({start for start, _ in spans})


def of_ours(text: str) -> int:
    """Return how many numbers ours finds."""
    return redact(text, PHONES).counts.get("phone", 0)


def graded(finds: Callable[[str], int]) -> tuple[int, int, int, int]:
    """Return numbers found of those there are, and clean sentences with an alarm of those there are."""
    wanted = found = 0
    for line in positive:
        there = sum(1 for kind, _ in MARK.findall(line) if kind == "P")
        wanted += there
        found += min(there, finds(MARK.sub(lambda m: m[2], line)))
    return found, wanted, sum(1 for line in negative if finds(line)), len(negative)


def milliseconds(finds: Callable[[str], int]) -> float:
    """Return the time for 10 KB of prose, the best of five."""
    text = (PROSE * 60)[:10_000]

    def once() -> float:
        began = time.perf_counter()
        finds(text)
        return (time.perf_counter() - began) * 1e3

    return min(once() for _ in range(5))


def main() -> None:
    """Print the table."""
    for name, finds, statement in (
        ("phonenumbers", of_library, "import phonenumbers"),
        ("loomem.core.pii", of_ours, "import loomem.core.pii"),
    ):
        found, wanted, alarms, clean = graded(finds)
        print(
            f"{name:16} finds {found} of {wanted}, alarms on {alarms} of {clean} clean sentences, "
            f"imports in {import_ms(statement):.0f} ms, reads 10 KB in {milliseconds(finds):.1f} ms"
        )


if __name__ == "__main__":
    main()
