"""The months and weekdays by name, for whoever asks of a word whether it is one. Pure.

The tables of the languages have them, and no room beside this one needs its own.
"""

from __future__ import annotations

from loomem.core.dates.english import ENGLISH
from loomem.core.dates.german import GERMAN
from loomem.core.dates.language import Language
from loomem.core.dates.polish import POLISH

MONTH, WEEKDAY = "M", "W"


def in_full(*languages: Language) -> frozenset[str]:
    """Return the names of months and weekdays as they stand in a dictionary, in small letters."""
    tables = [language.words[symbol] for language in languages for symbol in (MONTH, WEEKDAY)]
    return frozenset(forms.split()[0] for table in tables for forms in table.values())


def _numbered(symbol: str, *languages: Language) -> dict[str, int]:
    return {
        form: int(number)
        for language in languages
        for number, forms in language.words[symbol].items()
        for form in forms.split()
        if form not in language.doubtful.split()
    }


ENGLISH_AND_GERMAN = in_full(ENGLISH, GERMAN)
GERMAN_MONTHS = frozenset(form for forms in GERMAN.words[MONTH].values() for form in forms.split())
"""In all forms, with the short ones."""
WEEKDAYS = _numbered(WEEKDAY, ENGLISH, POLISH, GERMAN)
"""In all forms that are nothing else, by the number of the day; Monday is 0."""
