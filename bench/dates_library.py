"""Would a library read dates as `loomem.core.dates` does? Right, wrong and guessed answers by language, time, import time.

The libraries are no dependencies; measure them in an environment of their own:

    python -m venv /tmp/dl && /tmp/dl/bin/pip install dateparser parsedatetime python-dateutil ctparse msgspec pytest hypothesis
    PYTHONPATH=. /tmp/dl/bin/python bench/dates_library.py

The cases are those of tests/laws/test_dates.py that are whole texts. A library's answer is right when it is any day of those that
were named, and guessed when it is a day although nobody can know it. Answers are the best that settings gave: days of the past
first, the language given, day before month outside English.
"""

from __future__ import annotations

import importlib
import time
import warnings
from collections import Counter
from collections.abc import Callable
from datetime import date, datetime
from typing import Any

from bench.secrets_library import import_ms
from loomem.core.dates import resolve
from tests.laws.test_dates import LANGUAGES, Case, cases

Reader = Callable[[str, date, str], date | None]
SAID = datetime.min.time()


def ours() -> Reader:
    def read(text: str, anchor: date, _language: str) -> date | None:
        found = resolve(text, anchor)
        return None if found is None else found.first

    return read


def by_dateparser(*, strict: bool) -> Reader:
    library: Any = importlib.import_module("dateparser")

    def read(text: str, anchor: date, language: str) -> date | None:
        settings = {
            "RELATIVE_BASE": datetime.combine(anchor, SAID),
            "PREFER_DATES_FROM": "past",
            "STRICT_PARSING": strict,
            "DATE_ORDER": "MDY" if language == "en" else "DMY",
        }
        found = library.parse(text, languages=[language], settings=settings)
        return None if found is None else found.date()

    return read


def by_parsedatetime() -> Reader:
    library: Any = importlib.import_module("parsedatetime")
    calendars = {
        "en": library.Calendar(),
        "de": library.Calendar(library.Constants("de_DE", usePyICU=False)),
        "pl": library.Calendar(),
    }

    def read(text: str, anchor: date, language: str) -> date | None:
        found, status = calendars[language].parseDT(text, sourceTime=datetime.combine(anchor, SAID))
        return found.date() if status else None

    return read


def by_dateutil() -> Reader:
    library: Any = importlib.import_module("dateutil.parser")

    def read(text: str, anchor: date, language: str) -> date | None:
        base = datetime.combine(anchor, SAID)
        return library.parse(text, default=base, dayfirst=language != "en").date()

    return read


def by_ctparse() -> Reader:
    library: Any = importlib.import_module("ctparse")

    def read(text: str, anchor: date, _language: str) -> date | None:
        found = library.ctparse(text, ts=datetime.combine(anchor, SAID), timeout=2)
        moment = None if found is None or found.resolution is None else found.resolution
        start = getattr(moment, "dt", None) or getattr(getattr(moment, "start", None), "dt", None)
        return None if start is None else start.date()

    return read


def graded(reader: Reader, language: str) -> tuple[Counter[str], float]:
    """Return how many answers were right, wrong, missed and guessed, and milliseconds for each."""
    counts: Counter[str] = Counter()
    began = time.perf_counter()
    asked = [case for case in cases(language) if case.times is None and case.anchor is not None]
    for case in asked:
        counts[_grade(case, reader, language)] += 1
    return counts, (time.perf_counter() - began) * 1e3 / len(asked)


def _grade(case: Case, reader: Reader, language: str) -> str:
    assert case.anchor is not None
    try:
        found = reader(case.text, case.anchor, language)
    except Exception:  # noqa: BLE001  a library may fail in its own ways
        found = None
    [days] = case.days
    if days == "?":
        return "unknown" if found is None else "guessed"
    first, _, last = days.partition("..")
    if found is None:
        return "missed"
    return "right" if date.fromisoformat(first) <= found <= date.fromisoformat(last or first) else "wrong"


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    readers: list[tuple[str, Reader, str]] = [
        ("loomem.core.dates", ours(), "import loomem.core.dates"),
        ("dateparser", by_dateparser(strict=False), "import dateparser"),
        ("  strict", by_dateparser(strict=True), "import dateparser"),
        ("parsedatetime", by_parsedatetime(), "import parsedatetime"),
        ("dateutil", by_dateutil(), "import dateutil.parser"),
        ("ctparse", by_ctparse(), "import ctparse"),
    ]
    print(f"{'':18} language right wrong missed  guessed of unknown  ms each  import ms")
    for name, reader, statement in readers:
        imported = import_ms(statement)
        for language in LANGUAGES:
            counts, each = graded(reader, language)
            unknown = counts["guessed"] + counts["unknown"]
            print(
                f"{name:18} {language:8} {counts['right']:5} {counts['wrong']:5} {counts['missed']:6} "
                f"{counts['guessed']:8} of {unknown:3} {each:13.2f} {imported:10.0f}"
            )


if __name__ == "__main__":
    main()
