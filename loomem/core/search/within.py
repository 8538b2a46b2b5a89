"""Rows of one conversation of which one holds the other, shown once: a fact, and the conversation, in an utterance. Pure.

A fact whose words stand in an utterance that was found as well says nothing beside it but when that happened; so the utterance
is shown, with that day. One that was put in other words, or tells of another day than the facts before it, stays a row of its
own: in doubt both are shown. A conversation (or the part of one that a record holds) all of which is in its fragments needs
no row beside the best of them: each of its utterances was ranked by itself.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

import msgspec

from loomem.core.knowledge import Knowledge, Role
from loomem.core.record import Memory
from loomem.core.row import Place, Row
from loomem.core.search.collapse import said_in
from loomem.core.sources import is_source

LABEL_BYTES = 160
"""Of a line that says who speaks, and perhaps when; a longer one says something."""
_LINES = re.compile(rb"[^\r\n]*\S[^\r\n]*")
_PLAIN = Knowledge()


class Held(msgspec.Struct, frozen=True):
    """A row that is shown, and what it holds, by their places in the ranking."""

    shown: int
    facts: tuple[int, ...] = ()
    wholes: tuple[int, ...] = ()
    """Conversations, and parts of them."""
    event: str | None = None
    """The day that the facts in it tell."""
    like: int | None = None
    """The utterance in which a fact stands that is shown for another day than the facts before it."""

    @property
    def within(self) -> tuple[int, ...]:
        """All that it holds."""
        return (*self.facts, *self.wholes)


class _Stretch(msgspec.Struct, frozen=True):
    """Where in which conversation a row stands, in bytes."""

    home: tuple[Place, str]
    start: int
    end: int

    def holds(self, other: _Stretch) -> bool:
        return self.start <= other.start and other.end <= self.end


def held_once(ranked: Sequence[Row], told: Collection[str]) -> list[Held]:
    """Return rows in their order, each that another one holds with that one.

    `told` are the ids of conversations, and parts of them, all of which is in fragments.
    """
    stretches = [_stretch(row) for row in ranked]
    said: dict[tuple[Place, str], list[tuple[int, _Stretch]]] = {}
    for at, stretch in enumerate(stretches):
        if stretch is not None and is_fragment(ranked[at].memory):
            said.setdefault(stretch.home, []).append((at, stretch))
    facts: dict[int, list[int]] = {}
    wholes: dict[int, list[int]] = {}
    events: dict[int, str] = {}
    held: set[int] = set()
    like: dict[int, int] = {}
    for at, stretch in enumerate(stretches):
        memory = ranked[at].memory
        if stretch is None or is_fragment(memory):
            continue
        utterances = said.get(stretch.home, ())
        if is_whole(memory):
            kept, holders = wholes, (other for other, span in utterances if memory.id in told and stretch.holds(span))
        else:
            kept, holders = facts, _holders(stretch, memory, utterances, ranked)
        holder = next(iter(holders), None)
        if holder is not None and kept is facts and _tells_another_day(memory, events.get(holder)):
            like[at] = holder
        elif holder is not None:
            held.add(at)
            kept.setdefault(holder, []).append(at)
            if kept is facts and (day := (memory.knowledge or _PLAIN).event_date) is not None:
                events[holder] = day
    return [
        Held(at, tuple(facts.get(at, ())), tuple(wholes.get(at, ())), events.get(at), like.get(at))
        for at in range(len(ranked))
        if at not in held
    ]


def holding(some: Sequence[Row], others: Sequence[Row]) -> list[int]:
    """Return which of some other rows are utterances in which any of some rows was read, by their places among the others."""
    read: dict[tuple[Place, str], list[_Stretch]] = {}
    for row in some:
        if not is_fragment(row.memory) and not is_whole(row.memory) and (stretch := _stretch(row)) is not None:
            read.setdefault(stretch.home, []).append(stretch)
    return [at for at, row in enumerate(others) if is_fragment(row.memory) and _holds_any(row, read)]


def is_fragment(memory: Memory) -> bool:
    """Say whether a memory is an utterance of a conversation."""
    known = memory.knowledge or _PLAIN
    return (
        known.role is Role.EVIDENCE and known.source_id is not None and known.byte_start is not None and not known.part
    )


def is_whole(memory: Memory) -> bool:
    """Say whether a memory is a conversation, or the part of one that a record holds."""
    return is_source(memory) or (memory.knowledge or _PLAIN).part > 0


def is_told(whole: Memory, fragments: Sequence[Memory]) -> bool:
    """Say whether all of a conversation, or of a part of one, is in fragments, but for the lines that say who speaks."""
    raw = whole.content.encode()
    begin = (whole.knowledge or _PLAIN).byte_start or 0
    at = begin
    for start, end in sorted(span for one in fragments if (span := _bytes(one)) is not None):
        if end <= at or start >= begin + len(raw):
            continue
        if not _is_label(raw[at - begin : max(at, start) - begin]):
            return False
        at = end
    return at > begin and not raw[at - begin :].strip()


def _stretch(row: Row) -> _Stretch | None:
    known = row.memory.knowledge
    if known is None:
        return None
    if is_source(row.memory):
        return _Stretch((row.place, row.id), 0, len(row.memory.content.encode()))
    span = _bytes(row.memory)
    return None if known.source_id is None or span is None else _Stretch((row.place, known.source_id), *span)


def _holds_any(row: Row, read: Mapping[tuple[Place, str], Sequence[_Stretch]]) -> bool:
    span = _stretch(row)
    return span is not None and any(span.holds(stretch) for stretch in read.get(span.home, ()))


def _holders(
    stretch: _Stretch,
    fact: Memory,
    utterances: Sequence[tuple[int, _Stretch]],
    ranked: Sequence[Row],
) -> Iterator[int]:
    """Yield the utterances in which a fact stands."""
    for at, span in utterances:
        if span.holds(stretch) and _says(ranked[at].memory, fact):
            yield at


def _bytes(memory: Memory) -> tuple[int, int] | None:
    known = memory.knowledge or _PLAIN
    return None if known.byte_start is None or known.byte_end is None else (known.byte_start, known.byte_end)


def _tells_another_day(fact: Memory, event: str | None) -> bool:
    day = (fact.knowledge or _PLAIN).event_date
    return event is not None and day is not None and day != event


def _says(utterance: Memory, fact: Memory) -> bool:
    """Say whether the words of a fact stand in an utterance as they are."""
    speaker = (utterance.metadata or {}).get("speaker")
    text = fact.content.removeprefix(f"{speaker}: ") if isinstance(speaker, str) else fact.content
    words, said = said_in(text), said_in(utterance.content)
    return any(said[at : at + len(words)] == words for at in range(len(said) - len(words) + 1))


def _is_label(between: bytes) -> bool:
    lines = _LINES.findall(between)
    return not lines or (len(lines) == 1 and len(lines[0]) <= LABEL_BYTES)
