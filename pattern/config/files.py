"""Which files of settings there are, and what they say.

`PATTERN_CONFIG` names one, which then counts alone, as the user's own. Else there may be two: the project's, `.pattern.toml`
or `pattern.toml` in its folder, and below it the user's, `pattern-memory/pattern.toml` in the XDG configuration directory.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from identity.errors import InvalidInput
from pattern.config.check import Layer, Problem, Weight, checked
from pattern.config.schema import FILES

NAMES = (".pattern.toml", "pattern.toml")
USER_FILE = Path("pattern-memory") / "pattern.toml"
SIZE_LIMIT = 1024 * 1024
"""Bytes; a larger file is none of ours."""


def found(environment: Mapping[str, str], project: Path | None, home: Path, cwd: Path) -> list[Layer]:
    """Return what the files say, the user's first; without a `project` its file is not looked for.

    Raises: InvalidInput when a named file is not there, or one cannot be read.
    """
    named = environment.get("PATTERN_CONFIG")
    if named is not None:
        return [read(_absolute(named, cwd, home), is_project=False, home=home)]
    layers: list[Layer] = []
    user = user_file(environment, home)
    if os.path.isfile(user):  # unlike Path.is_file, False where we may not look
        layers.append(read(user, is_project=False, home=home))
    there = [project / name for name in NAMES if os.path.isfile(project / name)] if project is not None else []
    if there and not (layers and os.path.samefile(there[0], user)):
        layer = read(there[0], is_project=True, home=home)
        ignored = tuple(
            Problem(Weight.WARNING, str(path), "", f"is not read, since there is {there[0].name} beside it")
            for path in there[1:]
        )
        layers.append(msgspec.structs.replace(layer, problems=(*layer.problems, *ignored)))
    return layers


def user_file(environment: Mapping[str, str], home: Path) -> Path:
    """Return where the user's own file is, if there is one; by its specification a relative XDG directory is to be ignored."""
    named = environment.get("XDG_CONFIG_HOME", "")
    return (Path(named) if named.startswith("/") else home / ".config") / USER_FILE


def read(path: Path, *, is_project: bool, home: Path) -> Layer:
    """Return what a file says. Raises: InvalidInput when it cannot be read or is no TOML."""
    import tomllib  # not needed where there is no file

    try:
        with path.open("rb") as file:
            data = file.read(SIZE_LIMIT + 1)
        if len(data) > SIZE_LIMIT:
            raise InvalidInput(f"{path} is larger than {SIZE_LIMIT} bytes", field=str(path))
        content: dict[str, Any] = tomllib.loads(data.removeprefix(b"\xef\xbb\xbf").decode())
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}", field=str(path)) from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise InvalidInput(f"{path} is no TOML: {error}", field=str(path)) from None
    layer = checked(content, str(path), is_project=is_project)
    named = {key: value for key, value in layer.values.items() if key in FILES and value is not None}
    absolute = {key: str(_absolute(value, path.parent, home)) for key, value in named.items()}
    return msgspec.structs.replace(layer, values=layer.values | absolute)


def _absolute(name: str, folder: Path, home: Path) -> Path:
    """Return where a file is that is named relative to a folder, or to the user's home."""
    if name == "~" or name.startswith("~/"):
        return (home / name[2:]).resolve()
    return (folder / name).resolve()
