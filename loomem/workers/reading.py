"""Reading a source: with a language model where one is configured, else by our own rules.

Deliberately absent: what is done with what was read (`extract`), the model itself (`loomem.llm`).
"""

from __future__ import annotations

import asyncio
from datetime import date
from typing import Protocol

import msgspec

from loomem.core.extract import Extracted, ExtractSettings, offline
from loomem.core.transcript import segment

OFFLINE = "offline"


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """What was read in a source."""

    by: str
    """`offline`, or the name of a model."""
    facts: tuple[Extracted, ...]
    dropped: int = 0
    pieces: int = 1
    failed_pieces: int = 0
    reason: str | None = None


class Reader(Protocol):
    """Reads facts in a text."""

    async def read(self, text: str, *, day: date | None) -> Reading:
        """Return the facts in the whole text of a source; `day` is the one it was said on.

        Raises: Unavailable (later), Hopeless (never), any other LoomError (counts against the job).
        """
        ...


class OfflineReader:
    """Our own rules; the same text gives the same facts."""

    def __init__(self, settings: ExtractSettings) -> None:
        self._settings = settings

    async def read(self, text: str, *, day: date | None) -> Reading:
        """Return the facts in a text."""
        return await asyncio.to_thread(self._read, text, day)

    def _read(self, text: str, day: date | None) -> Reading:
        found = offline(segment(text), conversation_date=day, settings=self._settings)
        return Reading(by=OFFLINE, facts=tuple(found))
