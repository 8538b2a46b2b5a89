"""Sentences that tell when the one thing they are about takes place, as `The deploy runs on Fridays` does. Pure.

Of such a thing there is one time, whatever it is called. Deliberately absent: people, who do a thing on many days; the past,
whose events all stay; and several things at once.
"""

from __future__ import annotations

import re
from functools import lru_cache

from loomem.core.analyse.characters import fold, lower
from loomem.core.contradict import words

_OF = r"(?:\s+[\w'’/-]+){1,5}?"
_PATTERNS = (
    # Known by an article or whose it is.
    rf"(?:the|our|my|this){_OF}\s+(?:runs|is|happens|occurs|starts|begins|ends|opens|closes|falls|ships|deploys|releases"
    r"|goes\s+(?:out|live)|takes\s+place|is\s+(?:scheduled|planned|set)(?:\s+for)?)(?:\s+(?:now|always|on|at|every|each))*",
    rf"(?:der|die|das|dieser|diese|dieses|unser\w{{0,2}}|mein\w{{0,2}}){_OF}\s+(?:läuft|ist|findet|startet|beginnt|endet|erfolgt|öffnet"
    r"|schließt|fällt)(?:\s+(?:jetzt|nun|immer|jeden|jede|am|um|auf|alle))*",
    # By its name alone; whoever `is at 9:00` or `runs on Mondays` may be somebody.
    r"(?!(?:it|that|this|there|he|she|today|tomorrow|yesterday)\b)[\w-]+(?:\s+[\w-]+){0,2}?\s+(?:happens|occurs|takes\s+place)"
    r"(?:\s+(?:now|always|on|at|every|each))*",
    r"[\w-]+(?:\s+[\w-]+){0,2}?\s+(?:findet|erfolgt)(?:\s+(?:jetzt|nun|immer|jeden|jede|am|um|alle))*",
    r"[\w-]+(?:\s+[\w-]+){0,3}?\s+(?:odbywa\s+się|uruchamia\s+się|startuje|wypada)(?:\s+(?:teraz|zawsze|co|każd\w+|we?|o))*",
    r"(?:dzień|dniem)\s+[\w-]+(?:\s+[\w-]+)?\s+(?:to|jest)(?:\s+teraz)?",
    # What a team does at its time.
    r"(?:we|our\s+team|the\s+team)\s+(?:now\s+|always\s+)*(?:deploy|release|ship|publish)s?(?:\s+[\w-]+){0,3}?(?:\s+(?:now|on|at|every|each))+",
    r"wir\s+(?:deployen|releasen|veröffentlichen)(?:\s+[\w-]+){0,3}?(?:\s+(?:jetzt|nun|immer|jeden|am|um))*",
    r"(?:wdrażamy|publikujemy|wydajemy|deployujemy)(?:\s+[\w-]+){0,3}?(?:\s+(?:teraz|zawsze|co|każd\w+|we?|o))+",
)
_TOLD = tuple(re.compile(pattern + r"\s+(?P<v>[\w:.-]+)", re.IGNORECASE) for pattern in _PATTERNS)
_BESIDES = re.compile(
    r"\b(?:also|too|both|and|or|except|additionally|another|sometimes|usually|mostly|often|every\s+(?:other|second)|alternate|as\s+well"
    r"|też|także|również|dodatkowo|oraz|lub|albo|czasem|czasami|zwykle|co\s+drug\w+|kolejn\w+"
    r"|auch|ebenfalls|zusätzlich|und|oder|außer|manchmal|meistens|jeden\s+zweiten|weiter\w*)\b|(?<=\s)i(?=\s)",
    re.IGNORECASE,
)


@lru_cache(maxsize=512)
def tells_its_time(text: str) -> bool:
    """Say whether a sentence gives the one time at which the one thing it is about takes place."""
    if _BESIDES.search(text):
        return False
    return any((told := pattern.match(text)) is not None and _is_time(told["v"]) for pattern in _TOLD)


def _is_time(word: str) -> bool:
    small = fold(lower(word.rstrip(".")))
    return small in words.WEEKDAYS or small in words.MONTHS or small[:1].isdigit()
