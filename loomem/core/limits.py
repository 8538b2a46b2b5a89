"""Every limit in one place: a `Limits` value from the settings, and the checks all write paths share. Pure."""

from __future__ import annotations

import unicodedata
from typing import Any

import msgspec

from identity.errors import InvalidCategory, InvalidInput
from identity.visibility import Scope
from loomem.core.record import CATEGORIES, DEFAULT_SCOPE, LEGACY_SCOPE, Category


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits with the defaults of the specification; the settings override them."""

    content_bytes: int = 32_768
    tags: int = 10
    tag_chars: int = 50
    related: int = 100
    metadata_bytes: int = 10_240
    id_chars: int = 128
    core: int = 100
    """Core memories per owner."""
    recent: int = 1_000
    """Soft: the oldest beyond it are evicted."""
    tasks: int = 500
    """Soft: the oldest beyond it are evicted."""
    space: int = 10_000
    """Memories of one owner in private, team or public."""
    personal: int = 200_000
    """Memories in one personal space or stream."""
    summary_bytes: int = 4_096
    recall: int = 200
    recall_default: int = 50
    bulk: int = 1_000
    """Items of one bulk call."""
    ttl_recent_s: int = 86_400
    ttl_grace_s: int = 86_400
    """How long after `expiresAt` the server erases a record."""
    ttl_max_s: int = 10 * 365 * 86_400
    tombstone_s: int = 30 * 86_400
    file_bytes: int = 256 * 1024 * 1024
    """Size of an import file."""


def clean_text(field: str, text: object, *, max_bytes: int | None = None) -> str:
    """Return a text as it may be stored: NFC, without NUL and lone surrogates.

    Raises: InvalidInput naming the field.
    """
    if not isinstance(text, str):
        raise InvalidInput(f"{field} must be a string, not {_kind(text)}", field=field)
    if any(0xD800 <= ord(c) <= 0xDFFF for c in text):
        raise InvalidInput(f"{field} holds a lone surrogate, which is not valid Unicode text", field=field)
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


def clean_content(text: object, limits: Limits, *, field: str = "content") -> str:
    """Return content as it may be stored (not trimmed).

    Raises: InvalidInput when blank, too large or not plain Unicode text.
    """
    if text is None:
        raise InvalidInput(f"{field} is required", field=field)
    text = clean_text(field, text, max_bytes=limits.content_bytes)
    if not text.strip():
        raise InvalidInput(f"{field} must not be blank", field=field)
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


def clean_metadata(metadata: object, limits: Limits) -> dict[str, Any] | None:
    """Return metadata as it may be stored; unknown keys are kept.

    Raises: InvalidInput naming `metadata.…` and what is allowed.
    """
    if metadata is None:
        return None
    if not isinstance(metadata, dict):
        raise InvalidInput(f"metadata must be an object, not {_kind(metadata)}", field="metadata")
    clean: dict[str, Any] = _clean_value("metadata", metadata)
    if "tags" in clean:
        clean["tags"] = clean_tags(clean["tags"], limits, field="metadata.tags")
    if "priority" in clean:
        clean_priority(clean["priority"], field="metadata.priority")
    if "relatedTo" in clean:
        related = clean["relatedTo"]
        if not isinstance(related, list) or not all(isinstance(x, str) and x for x in related):
            raise InvalidInput("metadata.relatedTo must be an array of memory ids", field="metadata.relatedTo")
        if len(related) > limits.related:
            raise InvalidInput(f"metadata.relatedTo holds more than {limits.related} ids", field="metadata.relatedTo")
    if "source" in clean and not isinstance(clean["source"], str):
        raise InvalidInput("metadata.source must be a string", field="metadata.source")
    size = len(msgspec.json.encode(clean))
    if size > limits.metadata_bytes:
        raise InvalidInput(
            f"metadata is {size} bytes of JSON, more than the allowed {limits.metadata_bytes}", field="metadata"
        )
    return clean


def clean_tags(tags: object, limits: Limits, *, field: str = "tags") -> list[str]:
    """Return tags. Raises: InvalidInput."""
    if not isinstance(tags, list) or not all(isinstance(t, str) for t in tags):
        raise InvalidInput(f"{field} must be an array of strings", field=field)
    if len(tags) > limits.tags:
        raise InvalidInput(f"{field} holds {len(tags)} tags, more than the allowed {limits.tags}", field=field)
    for tag in tags:
        if len(tag) > limits.tag_chars:
            raise InvalidInput(
                f"{field}: a tag has {len(tag)} characters, more than the allowed {limits.tag_chars}", field=field
            )
    return tags


def clean_priority(value: object, *, field: str) -> int:
    """Return a priority. Raises: InvalidInput."""
    if isinstance(value, bool) or value not in (1, 2, 3):
        raise InvalidInput(f"{field} must be 1 (high), 2 or 3 (low)", field=field)
    return int(value)  # type: ignore[call-overload]


def clean_place(scope: object, category: object) -> tuple[Scope, Category]:
    """Return scope and category with their defaults: category `recent`, scope by category.

    Raises: InvalidInput for an unknown scope, InvalidCategory for an unknown category or a pair that does not go together.
    """
    kind = Category.RECENT
    wanted: Scope | None = None
    if scope is not None:
        wanted = clean_scope(scope)
    if category is not None:
        if not isinstance(category, str) or category not in set(Category):
            allowed = CATEGORIES[wanted] if wanted else tuple(Category)
            raise InvalidCategory(
                f"category {_show(category)} does not exist; {f'{wanted} holds' if wanted else 'allowed are'} {', '.join(allowed)}",
                field="category",
                allowed=list(allowed),
            )
        kind = Category(category)
    elif wanted in (Scope.TEAM, Scope.PUBLIC):
        allowed = CATEGORIES[wanted]
        raise InvalidCategory(
            f"category 'recent' (the default) is not allowed in scope '{wanted}'; allowed are {', '.join(allowed)}",
            field="category",
            allowed=list(allowed),
        )
    place = wanted or DEFAULT_SCOPE[kind]
    if kind not in CATEGORIES[place]:
        allowed = CATEGORIES[place]
        raise InvalidCategory(
            f"category '{kind}' is not allowed in scope '{place}'; allowed are {', '.join(allowed)}",
            field="category",
            allowed=list(allowed),
        )
    return place, kind


def clean_scope(scope: object, *, field: str = "scope") -> Scope:
    """Return a scope; the values of older writers are translated. Raises: InvalidInput."""
    if isinstance(scope, str):
        if scope in LEGACY_SCOPE:
            return LEGACY_SCOPE[scope]
        if scope in set(Scope):
            return Scope(scope)
    raise InvalidInput(
        f"{field} must be one of {', '.join(Scope)}, not {_show(scope)}", field=field, allowed=[str(s) for s in Scope]
    )


def _clean_value(field: str, value: Any) -> Any:
    """Check every text inside a JSON value, keys included."""
    match value:
        case str():
            return clean_text(field, value)
        case dict():
            return {
                clean_text(field, k): _clean_value(f"{field}.{k}" if isinstance(k, str) else field, v)
                for k, v in value.items()
            }
        case list():
            return [_clean_value(field, v) for v in value]
        case None | bool() | int():
            return value
        case float() if value == value and abs(value) != float("inf"):
            return value
        case _:
            raise InvalidInput(f"{field} must hold JSON values only, not {_kind(value)}", field=field)


def _kind(value: object) -> str:
    return {
        type(None): "null",
        bool: "boolean",
        int: "number",
        float: "number",
        str: "string",
        list: "array",
        dict: "object",
    }.get(type(value), type(value).__name__)


def _show(value: object) -> str:
    return repr(value[:40]) if isinstance(value, str) else _kind(value)
