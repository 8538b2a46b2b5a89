"""Configuration files: what a project's folder and the user's say about where and in which project to work.

Looked for, nearest first, in the project's folder and up to four parents: `.loominal-config.json`, then
`.mcp-config.json` (Warp's name for it); then `~/.nats-mcp/config.json`. The environment beats them all, and is not
read here. A file that cannot be understood is an error, since going on without it would keep memories in the wrong
project; a key nobody knows is a warning.
"""

from __future__ import annotations

import difflib
import os
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec

from identity.agent import project_id_of
from identity.errors import InvalidInput
from identity.remote import project_remote

NAMES = (".loominal-config.json", ".mcp-config.json")
PARENTS = 4
USER_FILE = Path(".nats-mcp") / "config.json"
SIZE_LIMIT = 1024 * 1024
"""Bytes; a larger file is none of ours."""

_WARP_KEYS = frozenset({"namespace", "channels", "workQueue"})
"""What Warp understands and this service has no use for."""


class ProjectIdFrom(StrEnum):
    """What a project's id is derived from."""

    PATH = "path"
    GIT = "git"
    """The remote of the git work tree: every clone is the same project."""


class Logging(msgspec.Struct, frozen=True):
    level: str | None = None
    format: str | None = None
    """Warp's; ours has one format."""


class FileConfig(msgspec.Struct, frozen=True, kw_only=True):
    """What the files say, the project's before the user's."""

    nats_url: str | None = None
    project_id: str | None = None
    """As configured, or what the git remote is when it is to be derived from that; None = derive it from the path."""
    log_level: str | None = None
    files: tuple[Path, ...] = ()
    """The files that were read."""
    warnings: tuple[str, ...] = ()
    """What was not understood, for the log."""


class _File(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    nats_url: str | None = None
    project_id: str | None = None
    project_id_from: ProjectIdFrom | None = None
    logging: Logging = Logging()


_KNOWN = frozenset({*_WARP_KEYS, *_File.__struct_encode_fields__})


def read_config(project_path: Path, home: Path) -> FileConfig:
    """Return what the configuration files of a project and of its user say.

    Raises: InvalidInput naming the file, and what is wrong in it.
    """
    paths = [path for path in (_project_file(project_path), _user_file(home)) if path is not None]
    warnings: list[str] = []
    files = [_parse(path, warnings) for path in paths]
    return FileConfig(
        nats_url=next((file.nats_url for file in files if file.nats_url), None),
        project_id=_project_id(files, project_path, warnings),
        log_level=next((file.logging.level for file in files if file.logging.level), None),
        files=tuple(paths),
        warnings=tuple(warnings),
    )


def _project_file(project_path: Path) -> Path | None:
    for folder in (project_path, *list(project_path.parents)[:PARENTS]):
        for name in NAMES:
            if os.path.isfile(folder / name):  # unlike Path.is_file, False where we may not look
                return folder / name
    return None


def _user_file(home: Path) -> Path | None:
    return home / USER_FILE if os.path.isfile(home / USER_FILE) else None


def _parse(path: Path, warnings: list[str]) -> _File:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}", field=str(path)) from error
    if len(data) > SIZE_LIMIT:
        raise InvalidInput(f"{path} is larger than {SIZE_LIMIT} bytes", field=str(path))
    try:
        content = msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"), type=dict[str, Any])
        file = msgspec.convert(content, _File)
    except (msgspec.ValidationError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} is not valid: {error}", field=str(path)) from error
    for key in sorted(set(content) - _KNOWN):
        near: list[str] = difflib.get_close_matches(key, _KNOWN, n=1)
        warnings.append(f"{path}: {key!r} is not a setting" + (f"; did you mean {near[0]}?" if near else ""))
    return file


def _project_id(files: list[_File], project_path: Path, warnings: list[str]) -> str | None:
    """Return the project's id by the first file that says anything about it."""
    for file in files:
        if file.project_id:
            return file.project_id
        if file.project_id_from is ProjectIdFrom.GIT:
            remote = project_remote(project_path)
            if remote is None:
                warnings.append(f"projectIdFrom is git, but {project_path} is no git work tree with a remote")
                return None
            return str(project_id_of(remote))
        if file.project_id_from is ProjectIdFrom.PATH:
            return None
    return None
