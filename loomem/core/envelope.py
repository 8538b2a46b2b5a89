"""The export file, format version "1.0": how memories are written into one, and how one is read.

Written exactly as the format says (indented by two, no line end at the end, `expiresAt` left out rather than null, unknown
fields of a record after the known ones). Read leniently: a byte-order mark, scopes of older writers, ids that are no
UUIDs and other versions are taken; an item that is wrong is one error, a file that is wrong is one too.

Pure. Deliberately absent: who may write what where (`store.transfer`), files (`store.files`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC
from itertools import islice
from typing import Any, TypeVar, cast

import msgspec

from identity.errors import InvalidInput, LoomError
from loomem.core import knowledge as known_of
from loomem.core.knowledge import Knowledge
from loomem.core.limits import Limits, clean_content, clean_id, clean_metadata, clean_object, clean_place, whole_number
from loomem.core.record import SCHEMA_VERSION, Memory, to_fields
from loomem.core.times import parse_iso

FORMAT_VERSION = "1.0"

_TEXTS = ("version", "exportedAt", "projectId", "agentId")
_REQUIRED = ("id", "agentId", "projectId", "content", "createdAt", "updatedAt")
_KNOWN = frozenset(
    (*_REQUIRED, "scope", "category", "metadata", "expiresAt", "version", "deletedAt", "erased", "knowledge")
)
E = TypeVar("E", bound=LoomError)
_INDENT = b"\n    "


class Envelope(msgspec.Struct, frozen=True, kw_only=True):
    """What a file says of itself, and its items, each still to be read."""

    version: str
    project_id: str
    agent_id: str
    items: Sequence[object]
    """`msgspec.Raw`, read one at a time so that a large file costs little more than its size; or JSON values."""


# --- writing ----------------------------------------------------------------------------------------------------------


def render(
    memories: Sequence[Memory], *, exported_at: str, project_id: str, agent_id: str, chunk: int
) -> Iterator[tuple[bytes, int]]:
    """Yield a file in pieces of at most `chunk` memories, each with the number of memories written by then."""
    said = (FORMAT_VERSION, exported_at, project_id, agent_id)
    head = b"".join(b'  "%s": %s,\n' % (name.encode(), _json(text)) for name, text in zip(_TEXTS, said, strict=True))
    if not memories:
        yield b"{\n" + head + b'  "memories": []\n}', 0
        return
    yield b"{\n" + head + b'  "memories": [', 0
    items, done = iter(memories), 0
    while part := list(islice(items, chunk)):
        lines = [_INDENT + _record(memory) for memory in part]
        yield (b"," if done else b"") + b",".join(lines), done + len(part)
        done += len(part)
    yield b"\n  ]\n}", done


def _record(memory: Memory) -> bytes:
    # A line end inside a string is escaped in JSON, so every one here is indentation.
    return msgspec.json.format(msgspec.json.encode(to_fields(memory)), indent=2).replace(b"\n", _INDENT)


def _json(text: str) -> bytes:
    return msgspec.json.encode(text)


# --- reading ----------------------------------------------------------------------------------------------------------


def parse(data: bytes, *, field: str = "inputPath") -> Envelope:
    """Return the envelope of a file.

    Raises: InvalidInput (no JSON object, or a field of the envelope is missing or of a wrong type), without its content.
    """
    fields = _object(data.removeprefix(b"\xef\xbb\xbf"), field)
    said: dict[str, str] = {}
    for name in _TEXTS:
        value = _value(fields.get(name))
        if not isinstance(value, str):
            raise InvalidInput(
                f"{field} is not an export file: its field '{name}' must be a string, and there must be {', '.join(_TEXTS)} "
                "and memories",
                field=field,
                missing=name,
            )
        said[name] = value
    return Envelope(
        version=said["version"],
        project_id=said["projectId"],
        agent_id=said["agentId"],
        items=_items(fields.get("memories"), field),
    )


def read_item(item: object) -> object:
    """Return the JSON value of an item; one that cannot be decoded (it nests too deep) is None."""
    if not isinstance(item, msgspec.Raw):
        return item
    try:
        return msgspec.json.decode(item)
    except (msgspec.MsgspecError, RecursionError):
        return None


def clean_item(value: object, limits: Limits) -> Memory:
    """Return the memory that an item is, checked like one that is written in any other way.

    Raises: InvalidInput naming the item's id and what is wrong with it.
    """
    if not isinstance(value, dict):
        raise _invalid("unknown", "not an object")
    fields = cast("dict[str, object]", value)
    ident = shown_id(fields)
    _check_structure(fields, ident)
    try:
        return _memory(fields, limits)
    except InvalidInput as error:
        raise named(error, ident) from None


def named(error: E, ident: str) -> E:
    """Return an error that says which memory it speaks of."""
    error.message = f"{ident}: {error.message}"
    error.args = (error.message,)
    error.details["memoryId"] = ident
    return error


def shown_id(value: object) -> str:
    """Return the id of an item as far as it may be shown."""
    ident = cast("dict[str, object]", value).get("id") if isinstance(value, dict) else None
    if not isinstance(ident, str) or not ident.strip():
        return "unknown"
    return "".join(c if c.isprintable() else "?" for c in ident[:80])


def _check_structure(fields: Mapping[str, object], ident: str) -> None:
    for name in _REQUIRED:
        text = fields.get(name)
        if not isinstance(text, str) or not text.strip():
            raise _invalid(ident, f"{name} must be a string that is not empty")
    for name in ("scope", "category"):
        if not isinstance(fields.get(name), str):
            raise _invalid(ident, f"{name} must be a string")
    if whole_number(fields.get("version")) is None:
        raise _invalid(ident, "version must be a number")
    if "expiresAt" in fields and not isinstance(fields["expiresAt"], str):
        raise _invalid(ident, "expiresAt must be a string, or absent")


def _memory(fields: Mapping[str, Any], limits: Limits) -> Memory:
    if (version := whole_number(fields["version"])) != SCHEMA_VERSION:
        raise InvalidInput(f"version {version} of a record is not one this version reads ({SCHEMA_VERSION})")
    scope, category = clean_place(fields["scope"], fields["category"])
    extra = {name: value for name, value in fields.items() if name not in _KNOWN}
    return Memory(
        id=clean_id(fields["id"], limits, field="id"),
        agent_id=clean_id(fields["agentId"], limits, field="agentId"),
        project_id=clean_id(fields["projectId"], limits, field="projectId"),
        scope=scope,
        category=category,
        content=clean_content(fields["content"], limits, fact=fields.get("knowledge") is not None),
        metadata=clean_metadata(fields.get("metadata"), limits),
        created_at=_date("createdAt", fields["createdAt"]),
        updated_at=_date("updatedAt", fields["updatedAt"]),
        expires_at=_date("expiresAt", fields["expiresAt"]) if "expiresAt" in fields else None,
        version=SCHEMA_VERSION,
        knowledge=_knowledge(fields.get("knowledge"), limits),
        extra=clean_object("unknown fields", extra, limits.metadata_bytes) or None,
    )


def _knowledge(value: object, limits: Limits) -> Knowledge | None:
    """Return what a file says is known of a memory."""
    if value is None:
        return None
    fields = clean_object("knowledge", value, limits.metadata_bytes)
    try:
        return known_of.from_fields(fields)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"knowledge is not of the form of the format: {error}", field="knowledge") from None


def _date(field: str, text: str) -> str:
    """Return a time as it stands, once it is known to be one."""
    try:
        parse_iso(text, zone=UTC)
    except (ValueError, OverflowError):
        raise InvalidInput(
            f"{field} must be an ISO-8601 date or time such as 2026-01-31T12:00:00.000Z", field=field
        ) from None
    return text


def _invalid(ident: str, why: str) -> InvalidInput:
    return InvalidInput(f"Invalid memory structure: {ident} ({why})", memoryId=ident)


def _object(data: bytes, field: str) -> dict[str, object]:
    try:
        return msgspec.json.decode(data, type=dict[str, msgspec.Raw])  # type: ignore[return-value]  # invariance
    except msgspec.ValidationError:
        raise InvalidInput(f"{field} is not an export file: it holds no JSON object", field=field) from None
    except (msgspec.DecodeError, RecursionError):
        return _object_slowly(data, field)


def _object_slowly(data: bytes, field: str) -> dict[str, object]:
    """Read what the strict decoder refuses as a whole: lone surrogates, which are the fault of single items."""
    try:
        value: object = json.loads(data)
    except json.JSONDecodeError as error:
        raise InvalidInput(
            f"{field} is not valid JSON: line {error.lineno}, column {error.colno}", field=field
        ) from None
    except (ValueError, RecursionError):
        raise InvalidInput(f"{field} is not valid JSON in UTF-8, or nests too deep", field=field) from None
    if not isinstance(value, dict):
        raise InvalidInput(f"{field} is not an export file: it holds no JSON object", field=field)
    return cast("dict[str, object]", value)


def _value(item: object) -> object:
    return None if item is None else read_item(item)


def _items(memories: object, field: str) -> Sequence[object]:
    try:
        if isinstance(memories, msgspec.Raw):
            return msgspec.json.decode(memories, type=list[msgspec.Raw])
    except msgspec.ValidationError:
        memories = None
    if not isinstance(memories, list):
        raise InvalidInput(f"{field} is not an export file: its field 'memories' must be an array", field=field)
    return cast("list[object]", memories)
