"""Personal data in sentences of three languages is found, and what only looks like it stays.

The samples are sentences of our own; `bench/pii_library.py` grades a library with the same ones.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from loomem.core.national import CARD, IBAN, ID
from loomem.core.pii import EMAIL, PHONE, redact
from loomem.core.pii_settings import PiiSettings

DATA = Path(__file__).parents[1] / "data"
LANGUAGES = ("en", "pl", "de")
WORDS = {"P": PHONE, "E": EMAIL, "I": ID, "C": CARD, "B": IBAN}
MARK = re.compile(r"([PEICB])\[([^\]]*)\]")

marked = [
    line
    for language in LANGUAGES
    for line in (DATA / f"pii_{language}.txt").read_text(encoding="utf-8").splitlines()
    if not line.startswith("# Marked")
]
positive = [line for line in marked if MARK.search(line)]
negative = [line for line in marked if not MARK.search(line)]


def test_there_are_samples_enough_to_mean_something() -> None:
    assert sum(len(MARK.findall(line)) for line in positive) >= 100
    assert len(negative) >= 150


@pytest.mark.requirement("search-7.forms")
@pytest.mark.parametrize("line", positive)
def test_what_is_personal_goes_and_all_else_stays(line: str) -> None:
    text = MARK.sub(lambda m: m[2], line)
    assert redact(text, PiiSettings()).text == MARK.sub(lambda m: WORDS[m[1]], line)


@pytest.mark.requirement("search-7.forms")
@pytest.mark.parametrize("line", negative)
def test_what_only_looks_personal_stays(line: str) -> None:
    assert redact(line, PiiSettings()).text == line
