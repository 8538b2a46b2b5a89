"""Vectors of models that are not used any more: counted, and removed when the operator says so.

Nothing removes them by itself: whoever goes back to a former model would have to embed everything again, and several nodes
of one broker may use several models.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

import msgspec

from identity.keys import SYSTEM_BUCKET, Kind, escape_token, parse_key
from loomem.nats.streams import Streams

ALL = f"*.*.{Kind.VECTOR}.*.*"


class Held(msgspec.Struct, frozen=True):
    """The vectors of one model in one bucket."""

    bucket: str
    model: str
    """As keys call it."""
    vectors: int
    until: int
    """The first revision that was not there yet when they were counted."""


async def held(streams: Streams) -> list[Held]:
    """Return how many vectors each bucket has of each model.

    Raises: AccessDenied (these are not an operator's credentials), Unavailable.
    """
    found: list[Held] = []
    for bucket in sorted(await streams.buckets() - {SYSTEM_BUCKET}):
        keys, last = await streams.held(bucket, ALL)
        counts = Counter(key.model for path in keys if (key := parse_key(path)) is not None and key.model is not None)
        found += [Held(bucket, model, count, last + 1) for model, count in sorted(counts.items())]
    return found


def former(found: Collection[Held], used: Collection[str]) -> list[Held]:
    """Return those of models that are not among the used ones, which are named as the settings name them."""
    tokens = {escape_token(model) for model in used}
    return [one for one in found if one.model not in tokens]


async def prune(streams: Streams, found: Collection[Held]) -> int:
    """Remove what was counted, and return how many vectors that were; what was written since then stays.

    Raises: AccessDenied, Unavailable.
    """
    for one in found:
        await streams.purge(one.bucket, f"*.*.{Kind.VECTOR}.*.{one.model}", one.until)
    return sum(one.vectors for one in found)
