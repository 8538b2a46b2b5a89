"""The composition root: reads the environment, and puts a process together from settings and parts.

    serve_stdio   one MCP session on stdin and stdout
    run_node      the background node
    settings      what the environment and the machine say

Light on purpose: what answers `tools/list` imports this module first, and so does the node, for whose broker clients wait.
Hence the SDK, which takes longer to import than all else together, is imported where a session is served.
"""

from __future__ import annotations

import asyncio
import io
import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

import msgspec

from identity.config import read_config
from identity.errors import InvalidInput, LoomError
from identity.ports import Clock
from pattern.config.check import Layer
from pattern.config.files import found
from pattern.config.schema import keys
from pattern.profiles import SERVER_NAMES, Profile, instructions, profile_of, tools
from pattern.server.lifetime import leave, on_signals, watch_parent
from pattern.settings import Settings, from_environment
from pattern.version import VERSION

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

    from pattern.server.tool import Backend

log = logging.getLogger(__name__)

EXIT_FAILED = 1
EXIT_USAGE = 2
LEVEL = "INFO"
"""What is logged when nobody asks for more or less."""


class Sources(NamedTuple):
    """What is known before anything is decided."""

    environment: dict[str, str]
    """What is set, and below it what the project's and the user's JSON files say."""
    cwd: Path
    layers: list[Layer]
    """What `pattern.toml` says: the user's, then the project's."""
    files: tuple[str, ...]
    """The JSON files that were read."""
    warnings: tuple[str, ...]


def sources(*, project: bool = True) -> Sources:
    """Return what the environment and the configuration files say; without `project`, the user's alone.

    Raises: InvalidInput.
    """
    home, cwd = Path.home(), Path.cwd()
    environment = {"HOME": str(home), **{name: value for name, value in os.environ.items() if value.strip()}}
    folder = (cwd / environment.get("MCP_PROJECT_PATH", "")).resolve()
    layers = found(environment, folder if project else None, home, cwd)
    config = read_config(folder, home)
    files = {"NATS_URL": config.nats_url, "LOOMINAL_PROJECT_ID": config.project_id, "LOG_LEVEL": config.log_level}
    said = {keys()[path].variable for layer in layers for path in layer.values}
    environment = {name: value for name, value in files.items() if value is not None and name not in said} | environment
    return Sources(environment, cwd, layers, tuple(map(str, config.files)), config.warnings)


def settings(*, project: bool = True) -> Settings:
    """Return what the environment says, and where it is silent, the configuration files; see `sources`.

    Raises: InvalidInput.
    """
    environment, cwd, layers, files, warnings = sources(project=project)
    if Path(__file__).resolve().parent.parent == cwd:
        # Run from a checkout: a node has another working directory, and must be told where the packages are.
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, (str(cwd), environment.get("PYTHONPATH"))))
    known = from_environment(environment, cwd, layers)
    return msgspec.structs.replace(known, files=(*known.files, *files), warnings=(*known.warnings, *warnings))


def serve_stdio(profile: str | None, stdin: BinaryIO, stdout: BinaryIO, *, parent: int) -> None:
    """Serve one MCP session, and end the process with it; `parent` is the process that started this one.

    A `profile` named here beats the settings' own.
    """
    ends: list[Callable[[], None]] = []

    def end() -> None:
        for stop in ends:
            stop()

    watch_parent(parent, end)
    known = _checked(profile)
    start_logging(known)
    server = server_of(known)
    from pattern.server.stdio import serve

    on_signals(end)
    asyncio.run(serve(server, stdin, stdout, ends.append))
    leave(0)


def server_of(known: Settings, *, clock: Clock | None = None) -> Server[Backend]:
    """Return the MCP server of these settings, for any transport; each run of it brings up a service of its own."""
    from pattern.server.handlers import build
    from pattern.service import running

    return build(
        tools(known.profile, known.search),
        lambda: running(known, clock=clock),
        name=SERVER_NAMES[known.profile],
        version=VERSION,
        instructions=instructions(known.profile),
        brief=known.profile is Profile.CORE,
    )


def run_node() -> int:
    """Be the background node until nobody needs it; return the exit code."""
    from pattern import node

    try:
        known = settings(project=False)
        start_logging(known)
        return node.run(known)
    except LoomError as error:
        # The log of the node, where whoever started it looks for the reason.
        sys.stderr.write(f"pattern-memory: {error.message}\n")
        return EXIT_FAILED


def start_logging(known: Settings, *, default: str | None = None) -> None:
    """Log to stderr: our own events at the level asked for; libraries' warnings alone, since they may quote content."""
    # UTF-8 whatever the locale, and a character that cannot be written is no reason to fail.
    stderr = io.TextIOWrapper(io.FileIO(2, "w", closefd=False), "utf-8", "backslashreplace", line_buffering=True)
    logging.basicConfig(
        stream=stderr, level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s %(message)s", force=True
    )
    for package in ("identity", "loomem", "pattern"):
        logging.getLogger(package).setLevel(known.log_level or default or LEVEL)
    for warning in known.warnings:
        log.warning("event=unknown_setting reason=%r", warning)


def _checked(profile: str | None) -> Settings:
    try:
        named = None if profile is None else profile_of(profile, said_by="--profile")
        known = settings()
        return known if named is None else msgspec.structs.replace(known, profile=named)
    except InvalidInput as error:
        sys.stderr.write(f"pattern-memory: {error.message}\n")
        leave(EXIT_USAGE)
        raise
