"""Values in words: what a key may be, for the error that says so; and from words, for variables of the environment. Pure."""

from __future__ import annotations

import re
from enum import StrEnum
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import msgspec
from msgspec import Meta

_TRUE, _FALSE = ("true", "1", "yes", "on"), ("false", "0", "no", "off")
_WHOLE = re.compile(r"-?[0-9]{1,15}")
_NUMBER = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?")
SHOWN_CHARS = 40


def allowed(kind: Any) -> str:
    """Return what a value of this type may be."""
    plain, meta = _taken_apart(kind)
    if get_origin(plain) in (tuple, list):
        item = get_args(plain)[0]
        if isinstance(item, type) and issubclass(item, StrEnum):
            return f"a list of {' or '.join(item)}"
        return "a list of tables (as a variable: JSON)" if _is_table(item) else "a list of texts"
    if get_origin(plain) is dict:
        return "a table of texts"
    if isinstance(plain, type) and issubclass(plain, StrEnum):
        return " or ".join(plain)
    if plain is bool:
        return "true or false"
    if plain is int:
        return f"a whole number{_bounds(meta)}"
    if plain is float:
        return f"a number{_bounds(meta)}"
    return "a text that is not empty" if meta is not None and meta.min_length else "a text"


def converted(value: Any, kind: Any) -> Any:
    """Return a value of TOML as this type. Raises: ValueError."""
    plain, _ = _taken_apart(kind)
    if isinstance(value, str) and isinstance(plain, type) and issubclass(plain, StrEnum):
        value = next((word for word in plain if word.casefold() == value.casefold()), value)
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None


def read(text: str, kind: Any) -> Any:
    """Return what a variable of the environment says. Raises: ValueError."""
    plain, _ = _taken_apart(kind)
    value: Any = text
    if plain is bool:
        value = _switch(text)
    elif plain is int:
        value = int(text) if _WHOLE.fullmatch(text) else text
    elif plain is float:
        value = float(text) if _NUMBER.fullmatch(text) else text
    elif get_origin(plain) in (tuple, list) and _is_table(get_args(plain)[0]):
        value = _json(text)
    elif get_origin(plain) in (tuple, list):
        value = [part for part in (part.strip() for part in text.split(",")) if part]
    elif get_origin(plain) is dict:
        value = _pairs(text)
    return converted(value, kind)


def shown(value: object) -> str:
    """Return the beginning of a value that was refused."""
    text = repr(value)
    return text if len(text) <= SHOWN_CHARS + 2 else f"{text[:SHOWN_CHARS]}..."


def _switch(text: str) -> bool | str:
    low = text.casefold()
    return True if low in _TRUE else False if low in _FALSE else text


def _is_table(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _json(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


def _pairs(text: str) -> dict[str, str] | str:
    """Return `alias=id, alias=id` as a table."""
    parts = [part.partition("=") for part in text.split(",") if part.strip()]
    if not all(equals for _, equals, _ in parts):
        return text
    return {name.strip(): value.strip() for name, _, value in parts}


def _taken_apart(kind: Any) -> tuple[Any, Meta | None]:
    """Return a type without None and without what is said about it, and that."""
    meta: Meta | None = None
    while True:
        if get_origin(kind) is Annotated:
            kind, *said = get_args(kind)
            meta = next((word for word in said if isinstance(word, Meta)), meta)
        elif get_origin(kind) in (UnionType, Union):
            kind = next(part for part in get_args(kind) if part is not type(None))
        else:
            return kind, meta


def _bounds(meta: Meta | None) -> str:
    least = None if meta is None else meta.ge
    most = None if meta is None else meta.le
    if least is not None and most is not None:
        return f" from {least} to {most}"
    if least is not None:
        return f" of at least {least}"
    return "" if most is None else f" of at most {most}"
