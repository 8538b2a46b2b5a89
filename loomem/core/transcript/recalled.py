"""What a conversation holds because a memory was asked: blocks that a program put in, rows of a search, answers of our tools. Pure.

It was known before the conversation, so nobody said it there. Taken for said, a memory would come back as its own proof, with
a new date, each time that a session is read.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator

OWN_TOOLS = frozenset(
    {
        "recall-context", "get-memory", "remember", "remember-task", "remember-learning", "core-memory", "remember-bulk",
        "export-memories", "import-memories", "commit-insight", "share-learning", "forget", "forget-bulk", "update-memory",
        "cleanup",
    }
)  # fmt: skip
"""Tools that answer with what is kept; besides them all whose names begin as `OWN_PREFIXES` say."""
OWN_PREFIXES = ("memory_", "pattern_")
ROW_CHARS = 40_000
"""Before its end, where a row is looked for that stands on more than one line."""

_OPENS = re.compile(
    r"<(system-reminder|recalled|memory|memories|context|(?:recalled|relevant|retrieved)[-_](?:memory|memories|context|facts))(?![\w-])[^<>]*>",
    re.IGNORECASE,
)
_PARAGRAPH = re.compile(r"\n[ \t]*\n")
_BEGINS = re.compile(r"^\W{0,12}\d{1,4}\. \[(?:event:|observed:|recorded:|trust:|\d{4}-\d\d-\d\d)", re.MULTILINE)
_ENDS = re.compile(r"\(score: ?-?\d{1,4}(?:[.,]\d{1,6})?\)\s{0,80}\(id: ?[^()\s]{1,200}\)")
_ROUND = re.compile(
    r"^\W{0,12}(?:Found \d{1,6} relevant memories:|No relevant memories found\.|This question counts or lists: go through the rows one"
    r"|Where rows disagree, the latest date holds)[^\n]*",
    re.MULTILINE,
)
"""What stands above and below the rows."""


def is_own_tool(name: str) -> bool:
    """Say whether a tool answers with what is kept, whatever a client puts before its name (`mcp__server__memory_search`)."""
    bare = re.split(r"__|[./:]", name.strip())[-1]
    return bare in OWN_TOOLS or bare.startswith(OWN_PREFIXES)


def recalled(text: str) -> Iterator[tuple[int, int]]:
    """Yield where in an utterance, in order and apart, there is what was recalled."""
    last = 0
    for start, end in sorted([*_blocks(text), *_rows(text), *(match.span() for match in _ROUND.finditer(text))]):
        if end > last:
            yield max(start, last), end
            last = end


def blanked(text: str) -> str:
    """Return an utterance with blanks for what was recalled; each other character stands where it stood."""
    return _replaced(text, blanks)


def without_recalled(text: str) -> str:
    """Return an utterance without what was recalled."""
    return _replaced(text, lambda _: "")


def blanks(text: str) -> str:
    """Return as many blanks, with the ends of lines where they were."""
    return re.sub(r"[^\n]", " ", text)


def _replaced(text: str, by: Callable[[str], str]) -> str:
    parts: list[str] = []
    last = 0
    for start, end in recalled(text):
        parts += [text[last:start], by(text[start:end])]
        last = end
    return "".join([*parts, text[last:]])


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Yield the blocks between tags; one that is left open ends with its paragraph."""
    folded, last = text.lower(), 0
    closed: dict[str, int] = {}
    for opened in _OPENS.finditer(text):
        if opened.start() < last:
            continue
        close = f"</{opened[1].lower()}>"
        if 0 <= closed.get(close, 0) < opened.end():  # looked for once, however many are opened
            closed[close] = folded.find(close, opened.end())
        if (at := closed[close]) >= 0:
            last = at + len(close)
        else:
            paragraph = _PARAGRAPH.search(text, opened.end())
            last = len(text) if paragraph is None else paragraph.start()
        yield opened.start(), last


def _rows(text: str) -> Iterator[tuple[int, int]]:
    """Yield the rows of a search, from their number or the begin of their line to their id."""
    if "(id:" not in text:
        return
    begins = [match.start() for match in _BEGINS.finditer(text)]
    last = 0
    for ends in _ENDS.finditer(text):
        start = text.rfind("\n", last, ends.start()) + 1 or last
        near = bisect_right(begins, ends.start()) - 1
        if near >= 0 and begins[near] >= max(last, ends.start() - ROW_CHARS):
            start = min(start, begins[near])  # broken into lines by whatever it was copied from
        last = ends.end()
        yield start, last
