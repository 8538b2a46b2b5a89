"""Conversations with questions whose evidence is known, one haystack a line: JSON lines, plain or compressed by xz."""

from __future__ import annotations

import lzma
from pathlib import Path
from typing import Literal

import msgspec

Unit = Literal["turn", "session"]
"""What the evidence is counted in; what is stored are turns either way."""


class Turn(msgspec.Struct, frozen=True):
    id: str
    text: str
    speaker: str = ""
    time: str = ""


class Session(msgspec.Struct, frozen=True):
    id: str
    turns: tuple[Turn, ...]
    date: str = ""


class Question(msgspec.Struct, frozen=True):
    id: str
    text: str
    category: str
    gold_turns: tuple[str, ...] = ()
    gold_sessions: tuple[str, ...] = ()


class Haystack(msgspec.Struct, frozen=True):
    """What one store holds, and what it is asked."""

    id: str
    lang: str
    sessions: tuple[Session, ...]
    questions: tuple[Question, ...]

    @property
    def turns(self) -> list[tuple[Session, Turn]]:
        """The turns that say something, in order."""
        return [(session, turn) for session in self.sessions for turn in session.turns if turn.text]

    def gold(self, question: Question, unit: Unit) -> frozenset[str]:
        """Return the evidence of a question that is in the store; empty when nothing in it answers."""
        if unit == "session":
            return frozenset(question.gold_sessions) & {session.id for session in self.sessions}
        return frozenset(question.gold_turns) & {turn.id for _, turn in self.turns}


def read(file: Path) -> list[Haystack]:
    """Return the haystacks of a file. Raises: msgspec.ValidationError, OSError."""
    data = lzma.decompress(file.read_bytes()) if file.suffix == ".xz" else file.read_bytes()
    return [msgspec.json.decode(line, type=Haystack) for line in data.splitlines() if line.strip()]


def spoken(turn: Turn) -> str:
    """Return a turn as one reads it."""
    return f"{turn.speaker}: {turn.text}"
