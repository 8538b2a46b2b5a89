"""Which personal data is taken out: apart from `pii`, whose patterns nobody should wait for who only reads settings."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Locale(StrEnum):
    """Whose national ids are known."""

    PL = "pl"
    DE = "de"
    US = "us"


class PiiSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Which personal data is taken out of what the memory_* tools store."""

    enabled: bool = True
    redact_phones: bool = True
    redact_emails: bool = True
    redact_ids: bool = True
    """National ids of the `locales`: those whose checksum holds, and US social security numbers."""
    redact_cards: bool = True
    """Numbers of payment cards and bank accounts (IBAN) whose checksum holds."""
    locales: tuple[Locale, ...] = tuple(Locale)
    """Whose national ids: pl (PESEL, identity card), de (Steuer-ID, Rentenversicherung), us (SSN)."""
    blocklist: tuple[str, ...] = ()
    """Terms that become `[REDACTED]`: whole words, upper or lower case."""
