"""The port of the audit: who did what to which memory, without a word of what it says."""

from __future__ import annotations

from typing import Protocol


class Audit(Protocol):
    """Keeps what happened."""

    def record(self, event: str, **details: str | int | None) -> None:
        """Keep that something happened: ids, tiers and numbers, never content. Does not wait and does not fail."""
        ...
