"""The streams of one caller: which it has, and which one a word names. From the views."""

from __future__ import annotations

from collections.abc import Mapping

from identity.visibility import Scope
from loomem.core.streams import Stream, stream_named
from loomem.store.write import Door


async def stream_of(door: Door, word: object, namespaces: Mapping[str, str]) -> Stream | None:
    """Return the stream that a word names, or None when there is no word.

    Raises: InvalidInput, AccessDenied (no stream of the caller's), Unavailable.
    """
    if word is None or word == "":
        return None
    return stream_named(door.caller, word, namespaces, await existing(door))


async def existing(door: Door) -> list[str]:
    """Return the ids of the caller's streams that hold something. Raises: Unavailable."""
    if door.caller.is_subagent:
        return []
    await door.projection.settle((Scope.PERSONAL,))
    return [place.stream for place in door.projection.records.streams() if place.stream is not None]
