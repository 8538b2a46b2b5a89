"""How conversations are read: settings, as values."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from loomem.core.extract import ExtractSettings


class Extractor(StrEnum):
    """Who reads."""

    AUTO = "auto"
    """A model where there is one, else our own rules."""
    OFFLINE = "offline"
    LLM = "llm"
    """A model, or nobody."""


class ReadSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How conversations are read."""

    extractor: Extractor = Extractor.AUTO
    rules: ExtractSettings = ExtractSettings()
