"""A memory's vector, as its bucket holds it (kind `v`), and the text it is made of.

    value = msgpack [version, model, hash of the text, dimensions, components as little-endian half floats]

The words index and the embedder take the same text (`text_of`), so both find a memory by the same things. The hash says
which text a vector was made of: a vector with another hash is an older text's, or a newer one's, and no vector of this
memory.

Deliberately absent: keys (`identity.keys`), models, arithmetic.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from math import hypot

import msgspec

from identity.errors import Corrupt
from loomem.core.embedding import Vector, components_of
from loomem.core.record import Memory

SCHEMA_VERSION = 1
HASH_BYTES = 16
LARGEST = 8_192
"""Dimensions of a vector anybody would store."""
LENGTH_ERROR = 0.01
"""How far a vector's length may be from 1; half floats err a tenth of that."""


class Stored(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """One memory's vector of one model."""

    version: int
    model: str
    hash: bytes
    """`content_hash` of the text it was made of."""
    dimensions: int
    values: Vector

    @classmethod
    def of(cls, *, model: str, hash: bytes, values: Vector) -> Stored:
        return cls(SCHEMA_VERSION, model, hash, len(values) // 2, values)


def encode(stored: Stored) -> bytes:
    """Return the value to store."""
    return msgspec.msgpack.encode(stored)


def decode(value: bytes) -> Stored:
    """Return the vector of a stored value.

    Raises: Corrupt, saying what is wrong with it.
    """
    stored = read(value)
    # Whoever may write may write any bytes. Of a longer vector, or of no numbers, every cosine would be beyond those of all others.
    if not abs(hypot(*components_of(stored.values)) - 1.0) <= LENGTH_ERROR:
        raise Corrupt("not a vector: its length is not 1")
    return stored


def read(value: bytes) -> Stored:
    """Return the vector of a stored value whose length somebody is yet to look at: many at once cost a tenth of it.

    Raises: Corrupt.
    """
    try:
        stored = _decoder.decode(value)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Corrupt(f"not a vector: {error}") from None
    if stored.version != SCHEMA_VERSION:
        raise Corrupt(f"vector of version {stored.version}, not {SCHEMA_VERSION}")
    if len(stored.hash) != HASH_BYTES or not 0 < stored.dimensions <= LARGEST:
        raise Corrupt("not a vector: its hash or its number of dimensions cannot be")
    if len(stored.values) != 2 * stored.dimensions:
        raise Corrupt(f"vector of {len(stored.values)} bytes for {stored.dimensions} dimensions")
    return stored


_decoder = msgspec.msgpack.Decoder(Stored)


def text_of(memory: Memory) -> str:
    """Return the text a memory is found by: its content, with who said it where the metadata tells and the content does not."""
    speaker = speaker_of(memory.metadata)
    if speaker is None:
        return memory.content
    named = f"{speaker}: "
    return memory.content if memory.content.startswith(named.rstrip()) else named + memory.content


def speaker_of(metadata: Mapping[str, object] | None) -> str | None:
    """Return who said it, where the metadata of a memory tells: then it is an utterance, which stays true whatever is said later."""
    speaker = (metadata or {}).get("speaker")
    return (speaker.strip() or None) if isinstance(speaker, str) else None


def content_hash(text: str) -> bytes:
    """Return by which a text is told from another, the whole of it whatever part of it a model is given."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:HASH_BYTES]
