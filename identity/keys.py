"""The key grammar: the only speller of bucket names and keys.

    key = {root}.{owner}.{kind}.{id}          four tokens; a vector has a fifth, its model
    root = agents | core | shared | personal | streams

Tokens that come from outside are escaped, so a key holds only letters, digits, `-`, `_`, `=` and the dots between
tokens; wildcards and permissions of NATS work on it. A key carries ids only, never words of a memory's content.
"""

from __future__ import annotations

import hashlib
import re
from enum import StrEnum

import msgspec

from identity.agent import ProjectId, UserId

TOKEN_LIMIT = 128
"""Bytes of one escaped token; a longer one is replaced by its hash. Four of them stay under the 512 of a key."""

SYSTEM_BUCKET = "loom-memory-system"
GLOBAL_BUCKET = "loom-memory-global"
BUCKET_PREFIX = "loom-memory-"
IDENTITY_PREFIX = "loom-identity-"

_HASHED = "=-"
_PLAIN = re.compile(r"[A-Za-z0-9_-]+\Z")
_BUCKET_PLAIN = re.compile(r"[a-z0-9-]{1,80}\Z")
_IDENTITY_PLAIN = re.compile(r"[A-Za-z0-9_-]{1,80}\Z")


class Root(StrEnum):
    """First token of a key: which rule of visibility governs it."""

    AGENTS = "agents"
    CORE = "core"
    SHARED = "shared"
    PERSONAL = "personal"
    STREAMS = "streams"


class Kind(StrEnum):
    """Third token of a key: what the value is."""

    MEMORY = "m"
    GRAPH = "g"
    JOB = "x"
    FEEDBACK = "f"
    VECTOR = "v"


_ROOTS: dict[str, Root] = {str(root): root for root in Root}
_KINDS: dict[str, Kind] = {str(kind): kind for kind in Kind}


def escape_token(text: str) -> str:
    """Return a key token for any text: itself when plain, else `=XX` for each other byte of its UTF-8.

    Two texts never share a token, save that one over `TOKEN_LIMIT` is known by its SHA-256 alone. A token that begins
    with `=-` is such a hash.
    """
    if not text:
        return "=00"
    if not _PLAIN.match(text):
        text = "".join(
            chr(b) if chr(b).isascii() and (chr(b).isalnum() or chr(b) in "-_") else f"={b:02X}"
            for b in text.encode("utf-8", "surrogatepass")
        )
    if len(text) > TOKEN_LIMIT:
        return _HASHED + hashlib.sha256(text.encode()).hexdigest()
    return text


def stream_of_token(token: str) -> str:
    """Return by what a stream is known of which a key has this token: its id, or the token where that is a hash."""
    ident = unescape_token(token)
    return token if ident is None else ident


def unescape_token(token: str) -> str | None:
    """Return the text of a token, or None when it is known by its hash alone."""
    if token.startswith(_HASHED):
        return None
    if token == "=00":
        return ""
    if "=" not in token:
        return token
    raw = re.sub(rb"=([0-9A-F]{2})", lambda m: bytes([int(m[1], 16)]), token.encode())
    return raw.decode("utf-8", "surrogatepass")


class Space(msgspec.Struct, frozen=True, order=True):
    """Where a memory lives and the unit of visibility: a bucket and a key prefix in it."""

    bucket: str
    root: Root
    owner: str
    """As it is, not escaped."""

    @property
    def token(self) -> str:
        """The owner as the key has it.

        A stream whose id is too long for a key is known by its token alone, which is then its owner here: no id of a
        stream holds a `=`.
        """
        hashed = self.root is Root.STREAMS and self.owner.startswith(_HASHED)
        return self.owner if hashed else escape_token(self.owner)

    @property
    def prefix(self) -> str:
        return f"{self.root}.{self.token}"

    @property
    def filter(self) -> str:
        """Key pattern of everything in this space."""
        return f"{self.prefix}.>"

    def key(self, kind: Kind, id: str) -> str:
        """Return the key of a value of this space."""
        return f"{self.prefix}.{kind}.{escape_token(id)}"


class Key(msgspec.Struct, frozen=True):
    """A key of a memory bucket, taken apart. `owner` and `id` are tokens, still escaped."""

    root: Root
    owner: str
    kind: Kind
    id: str
    model: str | None = None

    @property
    def prefix(self) -> str:
        """Prefix of the space the key lies in."""
        return f"{self.root}.{self.owner}"

    def beside(self, kind: Kind) -> str:
        """Return the key of another kind (not a vector) for the same id in the same space."""
        return f"{self.prefix}.{kind}.{self.id}"

    def vector(self, model: str) -> str:
        """Return the key of this id's vector of a model."""
        return f"{self.beside(Kind.VECTOR)}.{escape_token(model)}"

    @property
    def vectors(self) -> str:
        """Key pattern of this id's vectors, of whatever model."""
        return f"{self.beside(Kind.VECTOR)}.*"


def parse_key(key: str) -> Key | None:
    """Return the parts of a key, or None when it is none of ours (old layouts, foreign writers)."""
    parts = key.split(".")
    if len(parts) not in (4, 5):
        return None
    root, owner, kind, ident = parts[:4]
    known_root, known_kind = _ROOTS.get(root), _KINDS.get(kind)
    if known_root is None or known_kind is None or not owner or not ident:
        return None
    if (len(parts) == 5) != (known_kind is Kind.VECTOR):
        return None
    return Key(known_root, owner, known_kind, ident, parts[4] if len(parts) == 5 else None)


def kind_filter(root: Root, owner: str | None, kind: Kind) -> str:
    """Return the key pattern of the values of one kind, of one owner (a token) or of all under a root."""
    return f"{root}.{'*' if owner is None else owner}.{kind}.>"


def _name(text: str, plain: re.Pattern[str]) -> str:
    """Return a bucket-name part for a text: itself when plain, else normalised with a short hash of the original."""
    if plain.match(text):
        return text
    normal = re.sub(r"[^a-z0-9-]", "-", text.lower())[:64]
    return f"{normal}-{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:10]}"


def project_bucket(project: ProjectId) -> str:
    """Return the bucket of a project's private and team spaces."""
    return f"{BUCKET_PREFIX}project-{_name(project, _BUCKET_PLAIN)}"


def user_bucket(user: UserId) -> str:
    """Return the bucket of a person's personal space and streams."""
    return f"{BUCKET_PREFIX}user-{_name(user, _BUCKET_PLAIN)}"


def identity_bucket(project: ProjectId) -> str:
    """Return the bucket of a project's identities; Warp does not normalise this name, so neither do we where NATS allows it."""
    return f"{IDENTITY_PREFIX}{_name(project, _IDENTITY_PLAIN)}"


def budget_key(day: str) -> str:
    """Return the key, in the system bucket, of what language models were asked on a day."""
    return f"budget.llm.{day}"


def purge_key(bucket: str, key: str) -> str:
    """Return the key, in the system bucket, of a purge that is under way."""
    return f"purge.{hashlib.sha256(f'{bucket} {key}'.encode()).hexdigest()[:32]}"
