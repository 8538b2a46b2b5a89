"""How long the record of changes is kept, and how much of it."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta


class AuditSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The record of who did what to which memory. Whichever bound is met first, the oldest entries go."""

    retention_days: Annotated[int, Meta(ge=1, le=3_650)] = 90
    """Days after which an entry goes."""
    max_mb: Annotated[int, Meta(ge=1, le=1_000_000)] = 256
    """Megabytes that all entries may take; an entry takes about 400 bytes."""

    @property
    def retention_s(self) -> int:
        return self.retention_days * 86_400

    @property
    def max_bytes(self) -> int:
        return self.max_mb * 1024 * 1024
