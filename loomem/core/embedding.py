"""The ports of meaning: what turns texts into vectors, and what a server may ask of whatever does.

A vector is bytes: its components as little-endian half floats, and its length is 1, so that a dot product is the cosine.
Everybody who keeps or compares vectors takes this form; only adapters see what a model gives.

An `Embedder` holds a model and lives in the node or a worker. An `Asker` holds none and lives in a server process.
Deliberately absent: any model, any library of numbers.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from enum import StrEnum
from math import isfinite, sqrt
from typing import Protocol

import msgspec

from identity.errors import Corrupt, InvalidInput

Vector = bytes
"""Components as little-endian half floats; of length 1."""


class Model(msgspec.Struct, frozen=True):
    """Which vectors may be compared with each other: those of one model."""

    name: str
    dimensions: int


class Embedded(msgspec.Struct, frozen=True):
    """A query as a vector."""

    model: str
    """Name of the model; only vectors of the same one compare."""
    vector: Vector


class Readiness(StrEnum):
    OFF = "off"
    """There is to be none."""
    LOADING = "loading"
    READY = "ready"
    FAILED = "failed"
    """There is none, though there was to be one: words alone until that is mended."""


class EmbeddingState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """How the model is, as whoever asks it knows."""

    state: Readiness
    model: str | None = None
    reason: str | None = None
    """Why there is none, and what to do; never a text that was embedded."""
    pending: int | None = None
    """Memories without a vector as yet; None when nobody can tell."""


class Refused(InvalidInput):
    """The model does not take this text."""


class Embedder(Protocol):
    """A model at work."""

    @property
    def model(self) -> Model: ...

    async def passages(self, texts: Sequence[str]) -> list[Vector]:
        """Return the vectors of texts that are to be found, in order.

        Raises: Refused (a text the model cannot take; which one is found by asking for fewer), Unavailable (later).
        """
        ...

    async def query(self, text: str) -> Vector:
        """Return the vector of a text that something is to be found by.

        Raises: as `passages`.
        """
        ...


class Asker(Protocol):
    """Embeds queries for a process that has no model."""

    async def query(self, text: str) -> Embedded:
        """Return the query as a vector, cut to what the model is given.

        Raises: Unavailable, at once when nobody is there who could; Refused.
        """
        ...

    async def look(self) -> EmbeddingState:
        """Return how the model is now; asks whoever holds it, boundedly."""
        ...

    def state(self) -> EmbeddingState:
        """Return how the model is, as far as this process has heard."""
        ...


def unit_vector(components: Sequence[float]) -> Vector:
    """Return a vector of length 1. Raises: Corrupt (no direction, or no numbers)."""
    length = sqrt(sum(c * c for c in components))
    if not isfinite(length) or length <= 0.0:
        raise Corrupt("what the model gave is no vector")
    return struct.pack(f"<{len(components)}e", *(c / length for c in components))


def components_of(vector: Vector) -> tuple[float, ...]:
    """Return the components of a vector as numbers; for few vectors (views read many at once)."""
    return struct.unpack(f"<{len(vector) // 2}e", vector)


def cut(text: str, most: int) -> str:
    """Return the beginning of a text, of at most so many characters, ending at a word where one ends nearby."""
    if len(text) <= most:
        return text
    near = max(0, most - _WORD)
    head = text[: most + 1]
    end = max(head.rfind(space, near) for space in " \n\t")
    return text[: end if end > 0 else most]


_WORD = 30
