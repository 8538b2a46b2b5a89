"""Every limit in one place: a `Limits` value from the settings, and the checks all write paths share. Pure."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypeGuard

import msgspec
from msgspec import Meta

from identity.errors import InvalidCategory, InvalidInput
from identity.visibility import Scope
from loomem.core.record import CATEGORIES, DEFAULT_SCOPE, LEGACY_SCOPE, Category

METADATA_DEPTH = 16
"""How deep objects and arrays may nest in metadata."""

SAFE_INTEGER = 2**53 - 1
"""The largest whole number that every JSON reader keeps exactly."""


Count = Annotated[int, Meta(ge=1, le=10**12)]


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits with the defaults of the specification; the settings override them."""

    content_bytes: Count = 32_768
    fact_bytes: Count = 102_400
    """Content of what memory_store stores."""
    transcript_bytes: Count = 2_097_152
    """A conversation that memory_ingest takes in, as it is stored."""
    tags: Count = 10
    tag_chars: Count = 50
    related: Count = 100
    metadata_bytes: Count = 10_240
    id_chars: Count = 128
    core: Count = 100
    """Core memories per owner."""
    recent: Count = 1_000
    """Soft: the oldest beyond it are evicted."""
    tasks: Count = 500
    """Soft: the oldest beyond it are evicted."""
    space: Count = 10_000
    """Memories of one owner in private, team or public."""
    personal: Count = 200_000
    """Memories in one personal space or stream."""
    summary_bytes: Count = 4_096
    recall: Count = 200
    recall_default: Count = 50
    bulk: Count = 1_000
    """Items of one bulk call."""
    ttl_recent_s: Count = 86_400
    ttl_grace_s: Count = 86_400
    """How long after `expiresAt` the server erases a record."""
    ttl_max_s: Count = 10 * 365 * 86_400
    tombstone_s: Count = 30 * 86_400
    retention_s: Count = 30 * 86_400
    """How long what memory_delete deleted can be restored."""
    file_bytes: Count = 256 * 1024 * 1024
    """Size of an import file."""


def clean_text(field: str, text: object, *, max_bytes: int | None = None) -> str:
    """Return a text as it may be stored: NFC, without NUL and lone surrogates.

    Raises: InvalidInput naming the field.
    """
    if not isinstance(text, str):
        raise InvalidInput(f"{field} must be a string, not {kind_of(text)}", field=field)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidInput(f"{field} holds a lone surrogate, which is not valid Unicode text", field=field) from None
    if "\0" in text:
        raise InvalidInput(f"{field} holds a NUL character; remove it", field=field)
    text = unicodedata.normalize("NFC", text)
    if max_bytes is not None and (size := len(text.encode())) > max_bytes:
        raise InvalidInput(
            f"{field} is {size} bytes of UTF-8, more than the allowed {max_bytes}; shorten or split it",
            field=field,
            contentSize=size,
            maxSize=max_bytes,
        )
    return text


def clean_content(text: object, limits: Limits, *, field: str = "content", fact: bool = False) -> str:
    """Return content as it may be stored (not trimmed); that of a fact has a limit of its own.

    Raises: InvalidInput when blank, too large or not plain Unicode text.
    """
    if text is None:
        raise InvalidInput(f"{field} is required", field=field)
    text = clean_text(field, text, max_bytes=limits.fact_bytes if fact else limits.content_bytes)
    if not text.strip():
        raise InvalidInput(f"{field} must not be blank", field=field)
    return text


def clean_transcript(text: object, limits: Limits, *, times: int = 1) -> str:
    """Return a conversation as it may be stored; `times` as large where it is given in a form that takes more room.

    Raises: InvalidInput when blank, too large or not plain Unicode text.
    """
    if text is None:
        raise InvalidInput("content is required: the conversation", field="content")
    most = limits.transcript_bytes * times
    if isinstance(text, str) and (size := len(text.encode("utf-8", "surrogatepass"))) > most:
        raise InvalidInput(
            f"Content too large: {size} bytes (max {most})", field="content", contentSize=size, maxSize=most
        )
    text = clean_text("content", text)
    if not text.strip():
        raise InvalidInput("content must not be blank", field="content")
    return text


def clean_id(text: object, limits: Limits, *, field: str = "memoryId") -> str:
    """Return a memory id: printable, without spaces and without the wildcards of NATS.

    Raises: InvalidInput naming the field.
    """
    text = clean_text(field, text)
    if not text.strip():
        raise InvalidInput(f"{field} is required: the id of a memory", field=field)
    if len(text) > limits.id_chars or any(c.isspace() or not c.isprintable() or c in "*>" for c in text):
        raise InvalidInput(
            f"{field} must be a memory id (a UUID), at most {limits.id_chars} printable characters without spaces",
            field=field,
        )
    return text


def shown_id(text: object, limits: Limits) -> str:
    """Return what may be shown of what was given as an id and is none."""
    if not isinstance(text, str):
        return kind_of(text)
    return text[: limits.id_chars].encode("utf-8", "replace").decode()


_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\Z")


def is_uuid(text: str) -> bool:
    """Say whether an id has the form of those this service gives."""
    return _UUID.match(text) is not None


def clean_metadata(metadata: object, limits: Limits) -> dict[str, Any] | None:
    """Return metadata as it may be stored; unknown keys are kept.

    Raises: InvalidInput naming `metadata.…` and what is allowed.
    """
    if metadata is None:
        return None
    clean = clean_object("metadata", metadata, limits.metadata_bytes)
    if "tags" in clean:
        clean["tags"] = clean_tags(clean["tags"], limits, field="metadata.tags")
    if "priority" in clean:
        clean["priority"] = clean_priority(clean["priority"], field="metadata.priority")
    if "relatedTo" in clean:
        clean["relatedTo"] = _clean_related(clean["relatedTo"], limits)
    if "source" in clean and not isinstance(clean["source"], str):
        raise InvalidInput("metadata.source must be a string", field="metadata.source")
    return clean


def clean_object(field: str, value: object, max_bytes: int) -> dict[str, Any]:
    """Return a JSON object as it may be stored; every text in it is checked, keys included.

    Raises: InvalidInput naming the field.
    """
    if not is_object(value):
        raise InvalidInput(f"{field} must be an object, not {kind_of(value)}", field=field)
    clean = {
        clean_text(field, key): _clean_value(f"{field}.{key}", item, METADATA_DEPTH) for key, item in value.items()
    }
    if (size := len(msgspec.json.encode(clean))) > max_bytes:
        raise InvalidInput(f"{field} is {size} bytes of JSON, more than the allowed {max_bytes}", field=field)
    return clean


def clean_tags(tags: object, limits: Limits, *, field: str = "tags") -> list[str]:
    """Return tags. Raises: InvalidInput."""
    if not is_array(tags) or not _all_strings(tags):
        raise InvalidInput(f"{field} must be an array of strings", field=field)
    if len(tags) > limits.tags:
        raise InvalidInput(f"{field} holds {len(tags)} tags, more than the allowed {limits.tags}", field=field)
    for tag in tags:
        if len(tag) > limits.tag_chars:
            raise InvalidInput(
                f"{field}: a tag has {len(tag)} characters, more than the allowed {limits.tag_chars}", field=field
            )
    return [clean_text(field, tag) for tag in tags]


def _clean_related(related: object, limits: Limits) -> list[str]:
    if not is_array(related) or not _all_strings(related) or not all(related):
        raise InvalidInput("metadata.relatedTo must be an array of memory ids", field="metadata.relatedTo")
    if len(related) > limits.related:
        raise InvalidInput(f"metadata.relatedTo holds more than {limits.related} ids", field="metadata.relatedTo")
    return list(related)


def clean_priority(value: object, *, field: str) -> int:
    """Return a priority. Raises: InvalidInput."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value not in (1, 2, 3):
        raise InvalidInput(f"{field} must be 1 (high), 2 or 3 (low)", field=field)
    return int(value)


def clean_flag(field: str, value: object, *, default: bool) -> bool:
    """Return a boolean argument. Raises: InvalidInput."""
    if value is None:
        return default
    if not isinstance(value, bool):
        raise InvalidInput(f"{field} must be true or false, not {kind_of(value)}", field=field)
    return value


def clean_integer(field: str, value: object, *, low: int, high: int) -> int:
    """Return a whole number within bounds. Raises: InvalidInput."""
    whole = whole_number(value)
    if whole is None or not low <= whole <= high:
        shown = kind_of(value) if whole is None else whole if abs(whole) < 10**20 else "one of more than 20 digits"
        raise InvalidInput(f"{field} must be a whole number from {low} to {high}, not {shown}", field=field)
    return whole


def whole_number(value: object) -> int | None:
    """Return the whole number a JSON value is (`5` and `5.0`), or None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    return value


def clean_ttl(value: object, limits: Limits) -> int | None:
    """Return the asked-for life of a memory in seconds. Raises: InvalidInput."""
    return None if value is None else clean_integer("ttlSeconds", value, low=1, high=limits.ttl_max_s)


def clean_place(scope: object, category: object) -> tuple[Scope, Category]:
    """Return scope and category with their defaults: category `recent`, scope by category.

    Raises: InvalidInput for an unknown scope, InvalidCategory for an unknown category or a pair that does not go together.
    """
    place = None if scope is None else clean_scope(scope)
    kind = Category.RECENT if category is None else clean_category(category, place)
    if place is None:
        place = DEFAULT_SCOPE[kind]
    allowed = CATEGORIES[place]
    if kind not in allowed:
        default = " (the default)" if category is None else ""
        raise InvalidCategory(
            f"category '{kind}'{default} is not allowed in scope '{place}'; allowed are {', '.join(allowed)}",
            field="category",
            allowed=list(map(str, allowed)),
        )
    return place, kind


def clean_category(category: object, scope: Scope | None = None, *, field: str = "category") -> Category:
    """Return a category that exists; `scope` only chooses which ones an error names. Raises: InvalidCategory."""
    if isinstance(category, str) and category in _CATEGORIES:
        return Category(category)
    allowed = CATEGORIES[scope] if scope else tuple(Category)
    raise InvalidCategory(
        f"{field} {_show(category)} does not exist; {f'{scope} holds' if scope else 'allowed are'} {', '.join(allowed)}",
        field=field,
        allowed=list(map(str, allowed)),
    )


def clean_scope(scope: object, *, field: str = "scope") -> Scope:
    """Return a scope; the values of older writers are translated. Raises: InvalidInput."""
    if isinstance(scope, str):
        if scope in LEGACY_SCOPE:
            return LEGACY_SCOPE[scope]
        if scope in _SCOPES:
            return Scope(scope)
    raise InvalidInput(
        f"{field} must be one of {', '.join(Scope)}, not {_show(scope)}", field=field, allowed=[str(s) for s in Scope]
    )


def is_object(value: object) -> TypeGuard[Mapping[object, object]]:
    """Say whether a JSON value is an object."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[Sequence[object]]:
    """Say whether a JSON value is an array."""
    return isinstance(value, list | tuple)


def _all_strings(values: Sequence[object]) -> TypeGuard[Sequence[str]]:
    return all(isinstance(value, str) for value in values)


def _clean_value(field: str, value: object, depth: int) -> Any:
    """Check every text inside a JSON value, keys included."""
    if depth == 0:
        raise InvalidInput(f"{field} nests deeper than {METADATA_DEPTH} levels", field=field)
    if isinstance(value, str):
        return clean_text(field, value)
    if is_object(value):
        return {clean_text(field, k): _clean_value(f"{field}.{k}", v, depth - 1) for k, v in value.items()}
    if is_array(value):
        return [_clean_value(field, v, depth - 1) for v in value]
    if value is None or isinstance(value, bool) or _is_exact_number(value):
        return value
    raise InvalidInput(
        f"{field} must hold JSON values only (numbers up to 2^53 - 1), not {kind_of(value)}", field=field
    )


def _is_exact_number(value: object) -> bool:
    match value:
        case int():
            return abs(value) <= SAFE_INTEGER
        case float():
            return math.isfinite(value)
        case _:
            return False


_KINDS: dict[type, str] = {
    type(None): "null",
    bool: "boolean",
    int: "number",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}
_CATEGORIES = frozenset(Category)
_SCOPES = frozenset(Scope)


def kind_of(value: object) -> str:
    """Return the JSON name of a value's type, for messages."""
    return _KINDS.get(type(value), type(value).__name__)


def _show(value: object) -> str:
    return repr(value[:40]) if isinstance(value, str) else kind_of(value)
