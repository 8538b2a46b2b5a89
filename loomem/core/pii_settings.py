"""Which personal data is taken out: apart from `pii`, whose patterns nobody should wait for who only reads settings."""

from __future__ import annotations

import msgspec


class PiiSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Which personal data is taken out of what the memory_* tools store."""

    enabled: bool = True
    redact_phones: bool = True
    redact_emails: bool = True
    redact_ids: bool = True
    """National ids whose checksum holds (PESEL)."""
    blocklist: tuple[str, ...] = ()
    """Terms that become `[REDACTED]`: whole words, upper or lower case."""
