"""A ruling: somebody's explicit word that two names are one entity, or are not. A record of its own in the bucket.

It is of kind `g`, as contributions are, under an id that is no memory's: made of the two names, so that there is one ruling on each
pair, and a later one replaces it.
"""

from __future__ import annotations

import hashlib
from enum import StrEnum

import msgspec

from identity.errors import Corrupt
from identity.keys import escape_token
from loomem.core.graph.names import is_name, key_of

SCHEMA_VERSION = 1
_MARK = "~"


_TOKEN = escape_token(_MARK)


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
    return _MARK + hashlib.sha256(pair.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def is_ruling(token: str) -> bool:
    """Say whether a key's token is the id of a ruling."""
    return token.startswith(_TOKEN)


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
