"""What of a long question is embedded: how it begins and how it ends. Pure.

The model takes half a millisecond for each letter on a plain machine, and a dialogue is about what was said last. On
dialogues as questions, a third of 360 letters from the beginning and the rest from the end find more than the whole text
(docs/retrieval.md), in half the time. Words are looked up whole: they cost nothing.
"""

from __future__ import annotations

from itertools import accumulate

from loomem.core.search.turns import WIDE, WIDE_FROM, letters

BEGINNING = 120
ENDING = 240
"""Letters; wide characters count as in `turns.letters`."""
CUT_SHORT = 20
"""Letters of a word that are given up, rather than cutting it in two."""


def gist(text: str) -> str:
    """Return a question as it is to be embedded: whole, when it is short."""
    text = text.strip()
    head, tail = text[: BEGINNING + ENDING + 1], text[-(BEGINNING + ENDING + 1) :]
    if len(head) == len(text) and letters(text) <= BEGINNING + ENDING:
        return text
    begins, ends = _taken(head, BEGINNING), _taken(tail[::-1], ENDING)[::-1]
    return f"{begins} {ends}"


def _taken(text: str, most: int) -> str:
    """Return the first letters of a text, in whole words where it has spaces."""
    counts = accumulate(WIDE if letter >= WIDE_FROM else 1 for letter in text)
    taken = text[: sum(count <= most for count in counts)]
    if len(taken) == len(text) or text[len(taken)].isspace():
        return taken.rstrip()
    space = max(taken.rfind(" "), taken.rfind("\n"))
    return taken[:space].rstrip() if space > len(taken) - CUT_SHORT else taken
