"""Names that a question speaks of, found among those that are known. Pure.

A question names an entity where its words, side by side, are a known name: the longest first. A short word, or one that is a first
name and a word of the language, counts only with a capital.
"""

from __future__ import annotations

from collections.abc import Callable

from loomem.core.graph.names import key_of
from loomem.core.graph.tokens import tokens_of

WORDS_LIMIT = 5
"""Of one name."""
NAMES_LIMIT = 8
"""Names of one question that are looked at."""
TEXT_LIMIT = 1_000
"""Letters of a question that are read."""
_SHORT = 3
_WORDS = frozenset(
    [
        "will",
        "mark",
        "grace",
        "rose",
        "frank",
        "art",
        "bill",
        "hope",
        "faith",
        "joy",
        "may",
        "april",
        "june",
        "august",
        "jack",
        "pat",
        "rich",
        "sunny",
        "angel",
        "dean",
        "guy",
        "ray",
        "sky",
        "go",
        "rust",
        "swift",
        "react",
        "spring",
        "express",
        "cursor",
        "team",
        "project",
        "user",
        "apple",
        "target",
        "make",
        "word",
    ]
)


def named(text: str, knows: Callable[[str], bool]) -> list[str]:
    """Return the keys of the known names that a text speaks of, in its order."""
    text = text[:TEXT_LIMIT]
    tokens = [token for token in tokens_of(text) if token.is_word]
    found: dict[str, None] = {}
    at = 0
    while at < len(tokens) and len(found) < NAMES_LIMIT:
        for end in range(min(at + WORDS_LIMIT, len(tokens)), at, -1):
            written = text[tokens[at].start : tokens[end - 1].end]
            key = key_of(written)
            if key and knows(key) and not (end == at + 1 and len(tokens) > 1 and _is_plain(written, key)):
                found[key] = None
                at = end
                break
        else:
            at += 1
    return list(found)


def _is_plain(written: str, key: str) -> bool:
    """Say whether a word alone is more likely a word than a name."""
    return written.islower() and (len(key) <= _SHORT or key in _WORDS)
