"""Time and chance, as the machine has them; everything else takes them as arguments."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime


class SystemClock:
    """The present, as the machine tells it."""

    def now(self) -> datetime:
        return datetime.now(UTC)


class RandomIds:
    """Ids that nobody can guess."""

    def memory_id(self) -> str:
        return str(uuid.uuid4())

    def op_id(self) -> str:
        return uuid.uuid4().hex
