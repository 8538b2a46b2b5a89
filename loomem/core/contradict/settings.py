"""How facts are compared when one is stored."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta


class ContradictSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What a new fact is compared with."""

    enabled: bool = True
    """Whether a fact that is stored takes the place of those that it contradicts; else only of those that it names."""
    similarity: Annotated[float, Meta(ge=0.0, le=1.0)] = 0.70
    """How near the meaning of an older fact must be for it to be compared, where no words are shared."""
    candidates: Annotated[int, Meta(ge=1, le=20)] = 5
    """How many older facts of the nearest meaning are compared, and how many the model is asked about."""
