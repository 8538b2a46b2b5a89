"""Reading a source: with a language model where one is configured, else by our own rules.

Deliberately absent: what is done with what was read (`extract`), the model itself (`loomem.llm`).
"""

from __future__ import annotations

import asyncio
from datetime import date
from typing import Protocol

import msgspec

from identity.errors import LoomError
from loomem.core.extract import Extracted, ExtractSettings, SoFar, read, too_many
from loomem.core.llm import Fault, LlmSettings, ModelFailed, Models, Use
from loomem.core.transcript import segment
from loomem.llm.extract import extract

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


class Notes(Protocol):
    """What is kept while a source is read, for whoever has to go on with it."""

    @property
    def so_far(self) -> SoFar:
        """What an earlier try kept."""
        ...

    async def keep(self, so_far: SoFar) -> None:
        """Keep what there is, and note that it goes on. Raises: Unavailable."""
        ...


class Reader(Protocol):
    """Reads facts in a text."""

    async def read(self, text: str, *, day: date | None, notes: Notes) -> Reading:
        """Return the facts in the whole text of a source; `day` is the one it was said on.

        Raises: Unavailable (later), Hopeless (never), any other LoomError (counts against the job).
        """
        ...


class ReadingFailed(LoomError):
    """A model could not read a source."""

    code = "EXTRACTION_FAILED"


class ModelReader:
    """A language model where one may be asked and its budget lasts, else our own rules."""

    def __init__(self, models: Models, llm: LlmSettings, settings: ExtractSettings) -> None:
        self._models = models
        self._llm = llm
        self._settings = settings
        self._rules = OfflineReader(settings)

    async def read(self, text: str, *, day: date | None, notes: Notes) -> Reading:
        """Return the facts in a text. Raises: ReadingFailed, when a model was asked and gave no answer."""
        if self._models.off(Use.EXTRACT) is not None:
            return await self._rules.read(text, day=day, notes=notes)
        transcript = await asyncio.to_thread(segment, text)
        try:
            found = await extract(
                self._models,
                text,
                transcript,
                conversation_date=day,
                settings=self._settings,
                llm=self._llm,
                so_far=notes.so_far,
                keep=notes.keep,
            )
        except ModelFailed as failed:
            if failed.fault not in (Fault.OFF, Fault.BUDGET):
                raise ReadingFailed(f"{failed.kind}: {failed.message}") from failed
            read = await self._rules.read(text, day=day, notes=notes)
            return msgspec.structs.replace(read, reason=f"the model was not asked: {failed.message}")
        return Reading(
            by=found.model,
            facts=found.facts,
            dropped=sum(found.dropped.values()),
            pieces=found.pieces,
            failed_pieces=len(found.failures),
            reason=f"{found.failures[0].kind}: {found.failures[0].message}"
            if found.failures
            else too_many(found.dropped, self._settings),
        )


class OfflineReader:
    """Our own rules; the same text gives the same facts."""

    def __init__(self, settings: ExtractSettings) -> None:
        self._settings = settings

    async def read(self, text: str, *, day: date | None, notes: Notes) -> Reading:  # noqa: ARG002 - it is quick
        """Return the facts in a text."""
        return await asyncio.to_thread(self._read, text, day)

    def _read(self, text: str, day: date | None) -> Reading:
        found = read(segment(text), conversation_date=day, settings=self._settings)
        return Reading(
            by=OFFLINE,
            facts=found.facts,
            dropped=sum(found.dropped.values()),
            reason=too_many(found.dropped, self._settings),
        )
