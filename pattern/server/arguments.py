"""The check every call passes before its tool runs: known arguments have the JSON type that was declared."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from identity.errors import InvalidInput
from pattern.server.tool import Arguments, Json, Shape, Tool

_PYTHON: dict[Json, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
}


def checked(tool: Tool, given: Mapping[str, Any] | None) -> Arguments:
    """Return the arguments a tool knows, without nulls; others are ignored, as clients add some of their own.

    Raises: InvalidInput naming the argument.
    """
    shapes = {**tool.params, **tool.older}
    arguments = dict(tool.missing) | {
        name: _value(name, shapes[name], value)
        for name, value in (given or {}).items()
        if name in shapes and value is not None
    }
    for name in tool.required:
        if name not in arguments:
            raise InvalidInput(f"{name} is required", field=name)
    return arguments


def _value(name: str, shape: Shape, value: Any) -> Any:
    if isinstance(value, str) and shape.type in ("array", "object"):
        value = _parsed(value)
    if isinstance(value, float) and shape.type == "integer" and value.is_integer():
        value = int(value)
    if not isinstance(value, _PYTHON[shape.type]) or (isinstance(value, bool) and shape.type != "boolean"):
        raise InvalidInput(f"{name} must be {_article(shape.type)}, not {_article(_kind(value))}", field=name)
    return value


def _parsed(text: str) -> Any:
    """Return what a JSON text holds: some clients send arrays and objects written out."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _kind(value: object) -> Json:
    for kind in ("boolean", "string", "integer", "number", "array"):
        if isinstance(value, _PYTHON[kind]):
            return kind
    return "object"


def _article(word: str) -> str:
    return f"an {word}" if word[0] in "aio" else f"a {word}"
