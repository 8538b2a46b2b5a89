"""The value of each key and where it comes from: the environment, the project's file, the user's file, the default. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from identity.errors import InvalidInput
from loomem.core.scan import ScanPolicy
from pattern.config.check import Layer, Problem, Weight, objections
from pattern.config.schema import Key, Path, PatternFile, Word, is_table, keys, table
from pattern.config.words import allowed, read, shown

DEFAULT = "default"
_ORDER = [ScanPolicy.OFF, ScanPolicy.WARN, ScanPolicy.REDACT, ScanPolicy.BLOCK]

T = TypeVar("T", bound=msgspec.Struct)


class Chosen(msgspec.Struct, frozen=True):
    """What counts for a key."""

    value: Any
    origin: str
    """A file, a variable of the environment, or `default`."""


class Choice(msgspec.Struct, frozen=True):
    """What counts for every key, and what was left out of account."""

    chosen: dict[Path, Chosen]
    problems: tuple[Problem, ...]

    def file(self) -> PatternFile:
        """Return the values as the whole file would say them."""
        return _built(PatternFile, (), self.chosen)


def choose(layers: Sequence[Layer], environment: Mapping[str, str]) -> Choice:
    """Return what counts, for layers of which the later beat the earlier, and an environment that beats them all.

    Raises: InvalidInput naming the variable and what it may be.
    """
    chosen = {path: Chosen(key.default, DEFAULT) for path, key in keys().items()}
    problems: list[Problem] = []
    for layer in layers:
        problems += layer.problems
        for path, said in layer.values.items():
            key, before = keys()[path], chosen[path]
            value, reason = _of_project(key, said, before.value) if layer.is_project else (said, None)
            if reason:
                problems.append(Problem(Weight.WARNING, layer.file, key.name, reason))
            if value == said or value != before.value:
                chosen[path] = Chosen(value, layer.file)
    for path, key in keys().items():
        if key.variable in environment:
            chosen[path] = Chosen(_of_variable(key, environment[key.variable]), key.variable)
    return Choice(chosen, tuple(problems))


def _of_variable(key: Key, text: str) -> Any:
    try:
        value = read(text, key.type)
    except ValueError:
        raise InvalidInput(
            f"{key.variable} must be {allowed(key.type)}, not {shown(text)}", field=key.variable
        ) from None
    for reason in objections(key.path, value):
        raise InvalidInput(f"{key.variable} {reason}", field=key.variable)
    return value


def _of_project(key: Key, said: Any, before: Any) -> tuple[Any, str | None]:
    """Return what counts when a project says something, and why that is not all it said."""
    if key.project is Word.STRICTER:
        return _stricter(key, said, before)
    if key.project is Word.MORE:
        kept = {alias for alias in said if alias in before and before[alias] != said[alias]}
        reason = f"keeps your own {', '.join(sorted(kept))}: a project may only add" if kept else None
        return said | before, reason
    return said, None


def _stricter(key: Key, said: Any, before: Any) -> tuple[Any, str | None]:
    if isinstance(said, ScanPolicy):
        weaker = _ORDER.index(said) < _ORDER.index(before)
    elif isinstance(said, bool):
        weaker = before and not said
    else:
        return tuple(dict.fromkeys((*before, *said))), None
    if not weaker:
        return said, None
    return (
        before,
        f"stays {_word(before)}: a project may only make it stricter; {key.variable} or your own file may say so",
    )


def _word(value: Any) -> str:
    return str(value).lower()


def _built(kind: type[T], path: Path, chosen: Mapping[Path, Chosen]) -> T:
    values: dict[str, Any] = {}
    for name, inner in table(kind).items():
        here = (*path, name)
        if is_table(inner):
            values[name] = _built(inner, here, chosen)
        elif here in chosen:
            values[name] = chosen[here].value
    return kind(**values)
