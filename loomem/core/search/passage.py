"""The passage of a long text that answers a question: where most of its words stand together. Pure.

A conversation as it was taken in is found as a whole, and a reader wants the lines that were meant. Deliberately absent:
ranking by passages; where the passage stands (whoever wants all reads the memory by its id).
"""

from __future__ import annotations

import re

from loomem.core.analyse.characters import fold

PASSAGE_CHARS = 1_200
LONG_CHARS = 2_000
"""What is shorter is shown as it is."""
_STEM = 5
"""Letters by which two forms of a word are taken for one."""
_WORD = re.compile(r"\w+")
_WORDS_MAX = 64
GAP = "…"


def passage(text: str, question: str, *, chars: int = PASSAGE_CHARS) -> str:
    """Return the lines of a text in which most of a question's words stand, about so many characters of them."""
    if len(text) <= LONG_CHARS:
        return text
    wanted = {_stem(word) for word in _WORD.findall(question)[:_WORDS_MAX] if len(word) > 1}
    found = ((match.start(), _stem(match[0])) for match in _WORD.finditer(text))
    hits = [(at, stem) for at, stem in found if stem in wanted]
    start = _begin(text, _densest(hits, chars // 2), chars)
    end = min(len(text), start + chars)
    if end < len(text):
        line = max(text.rfind("\n", start + chars // 2, end), text.rfind(" ", start + chars // 2, end))
        end = line if line > 0 else end
    return f"{GAP if start else ''}{text[start:end].strip()}{GAP if end < len(text) else ''}"


def _stem(word: str) -> str:
    return fold(word.casefold())[:_STEM]


def _densest(hits: list[tuple[int, str]], chars: int) -> int:
    """Return where the stretch begins that holds most different words; the first of equals."""
    best, begin, low = 0, 0, 0
    held: dict[str, int] = {}
    for at, word in hits:
        held[word] = held.get(word, 0) + 1
        while at - hits[low][0] > chars:
            first = hits[low][1]
            held[first] -= 1
            if not held[first]:
                del held[first]
            low += 1
        if len(held) > best:
            best, begin = len(held), hits[low][0]
    return begin


def _begin(text: str, at: int, chars: int) -> int:
    """Return the beginning of the line that a place is in, unless that is far."""
    at = min(at, len(text))
    line = text.rfind("\n", max(0, at - chars // 4), at)
    return line + 1 if line >= 0 else max(0, at - 40) if at > chars // 4 else 0
