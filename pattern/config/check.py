"""What a file says, key by key, and everything that is wrong with it: not only the first. Pure."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, cast

import msgspec

from loomem.core.streams import is_stream_id
from pattern.config.schema import RENAMED, SECRETS, VOID, Path, PatternFile, Word, is_table, keys, table
from pattern.config.words import allowed, converted, shown

_SECRET_IN_URL = re.compile(r"//[^/@\s]*@")


class Weight(StrEnum):
    ERROR = "error"
    """Nothing starts with such a file."""
    WARNING = "warning"
    """The key is left out of account, or understood in another way."""


class Problem(msgspec.Struct, frozen=True):
    """Something wrong in a file."""

    weight: Weight
    file: str
    key: str
    reason: str

    def __str__(self) -> str:
        """As a line for people."""
        return f"{self.file}: {self.key}{': ' if self.weight is Weight.WARNING else ' '}{self.reason}"


class Layer(msgspec.Struct, frozen=True, kw_only=True):
    """What one file says."""

    file: str
    is_project: bool
    """Whether it belongs to a project, hence to whoever owns the repository; else it is the user's own."""
    values: dict[Path, Any]
    problems: tuple[Problem, ...] = ()

    @property
    def errors(self) -> list[Problem]:
        return [problem for problem in self.problems if problem.weight is Weight.ERROR]


def checked(content: Mapping[str, Any], file: str, *, is_project: bool) -> Layer:
    """Return what a file's content says, and what is wrong with it."""
    reading = _Reading(file, is_project)
    reading.table(content, PatternFile, ())
    return Layer(file=file, is_project=is_project, values=reading.values, problems=tuple(reading.problems))


class _Reading:
    def __init__(self, file: str, is_project: bool) -> None:
        self.values: dict[Path, Any] = {}
        self.problems: list[Problem] = []
        self._file = file
        self._is_project = is_project

    def table(self, content: Mapping[str, Any], kind: type[msgspec.Struct] | None, path: Path) -> None:
        """Read a table; one of no kind is none of ours, but may hold keys that have another name here."""
        known = table(kind) if kind is not None else {}
        for name, value in content.items():
            here = (*path, name)
            if here in SECRETS:
                self._refuse(here, f"is not read from files, which get shared; set {SECRETS[here]}")
            elif here in RENAMED:
                self._warn(here, f"is called {'.'.join(RENAMED[here])} here")
                self._value(RENAMED[here], value)
            elif here in VOID:
                self._void(here, value)
            elif is_table(known.get(name)):
                self._inner(here, value, known[name])
            elif here in keys():
                self._value(here, value)
            else:
                self._unknown(here, value)

    def _inner(self, path: Path, value: Any, kind: type[msgspec.Struct]) -> None:
        if isinstance(value, dict):
            self.table(cast("dict[str, Any]", value), kind, path)
        else:
            self._refuse(path, f"must be a table ([{'.'.join(path)}]), not {shown(value)}")

    def _void(self, path: Path, value: Any) -> None:
        """Say once for each table that holds keys that they mean nothing, and why."""
        content = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
        tables = [name for name, inner in content.items() if isinstance(inner, dict)]
        for name in tables:
            self._void((*path, name), content[name])
        if not tables or len(tables) < len(content):
            reason = next(VOID[path[:n]] for n in range(len(path), 0, -1) if path[:n] in VOID)
            self._warn(path, f"means nothing here: {reason}")

    def _unknown(self, path: Path, value: Any) -> None:
        if isinstance(value, dict) and any(_within(path, old) for old in (*RENAMED, *SECRETS, *VOID)):
            self.table(cast("dict[str, Any]", value), None, path)
            return
        near = _nearest(path)
        self._warn(path, f"is not a setting{f'; did you mean {near}?' if near else ''}")

    def _value(self, path: Path, value: Any) -> None:
        key = keys()[path]
        if self._is_project and key.project is Word.NONE:
            self._warn(path, f"is not for a project to say; write it into a file of your own, or set {key.variable}")
            return
        try:
            value = converted(value, key.type)
        except ValueError:
            self._refuse(path, f"must be {allowed(key.type)}, not {shown(value)}")
            return
        for reason in objections(path, value):
            self._refuse(path, reason)
        if path == ("nats", "url") and value is not None and _SECRET_IN_URL.search(value):
            self._refuse(path, "must be without credentials; set NATS_USER and NATS_PASS, or name a credentials_file")
        self.values[path] = value

    def _warn(self, path: Path, reason: str) -> None:
        self.problems.append(Problem(Weight.WARNING, self._file, ".".join(path), reason))

    def _refuse(self, path: Path, reason: str) -> None:
        self.problems.append(Problem(Weight.ERROR, self._file, ".".join(path), reason))


def _within(outer: Path, inner: Path) -> bool:
    return inner[: len(outer)] == outer and inner != outer


def _nearest(path: Path) -> str | None:
    """Return the name of the key that was probably meant: one of that spelling, else of that name elsewhere."""
    names = {key.name: key for key in keys().values()}
    near = difflib.get_close_matches(".".join(path), names, n=1, cutoff=0.8)
    if near:
        return near[0]
    return next((name for name in names if name.rpartition(".")[2] == path[-1]), None)


def objections(path: Path, value: Any) -> Iterator[str]:
    """Tell what is wrong with a value that its type cannot say."""
    match path:
        case ("timezone",) if not _is_zone(value):
            yield f"must be a time zone such as Europe/Warsaw, not {shown(value)}"
        case ("namespaces",):
            for word in (part for pair in value.items() for part in pair):
                if not is_stream_id(word):
                    yield f"must be of letters, digits, _ and - (at most 64), not {shown(word)}"
        case _:
            return


def _is_zone(name: str) -> bool:
    from zoneinfo import ZoneInfo

    try:
        ZoneInfo(name)
    except (ValueError, OSError, LookupError):  # not a key, a directory, not installed
        return False
    return True
