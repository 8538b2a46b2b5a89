"""A ruling: somebody's explicit word that two names are one entity, or are not. A record of its own in the bucket (kind `n`).

Its id is made of the two names, so there is one ruling on each pair, and a later one replaces it.
"""

from __future__ import annotations

import hashlib
from enum import StrEnum

import msgspec

from identity.errors import Corrupt
from loomem.core.graph.names import is_name, key_of

SCHEMA_VERSION = 1


class Verdict(StrEnum):
    MERGE = "merge"
    """The names are of one entity, which goes by the second."""
    SPLIT = "split"
    """They are of two, whatever else speaks for one."""


class Ruling(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What was decided of two names."""

    version: int = SCHEMA_VERSION
    verdict: Verdict
    name: str
    into: str
    agent_id: str
    at: str


def ruling_id(name: str, into: str) -> str:
    """Return the id of the ruling on two names, whichever is said first."""
    pair = "\n".join(sorted((key_of(name), key_of(into))))
    return hashlib.sha256(pair.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def encode(ruling: Ruling) -> bytes:
    """Return the value to store."""
    return msgspec.json.encode(ruling)


def decode(value: bytes) -> Ruling:
    """Return the ruling of a stored value. Raises: Corrupt."""
    try:
        ruling = msgspec.json.decode(value, type=Ruling)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Corrupt(f"not a ruling on names: {error}") from None
    if ruling.version != SCHEMA_VERSION:
        raise Corrupt(f"ruling on names of version {ruling.version}, not {SCHEMA_VERSION}")
    if not is_name(ruling.name) or not is_name(ruling.into) or key_of(ruling.name) == key_of(ruling.into):
        raise Corrupt("a ruling on names that are none, or one")
    return ruling
