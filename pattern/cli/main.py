"""The commands, and how a failure becomes an exit code. Text is UTF-8 whatever the locale says."""

from __future__ import annotations

import io
import os
import sys

import click

from identity.errors import InvalidInput, LoomError, NotFound, Unavailable
from pattern.cli.audit import audit
from pattern.cli.config import config
from pattern.cli.conversations import ingest
from pattern.cli.doctor import doctor
from pattern.cli.facts import delete, history, search, store
from pattern.cli.files import export, import_
from pattern.cli.graph import graph
from pattern.cli.memories import forget, get, recall, remember
from pattern.cli.migrate import migrate
from pattern.cli.node import node
from pattern.cli.purge import purge
from pattern.cli.undo import deleted, restore
from pattern.cli.vectors import vectors
from pattern.version import VERSION

FAILED, USAGE, UNREACHABLE, ABSENT = 1, 2, 3, 4

HELP = """Memory for AI agents, shared between sessions, projects and people.

Without a command this is an MCP server on standard input and output, for an MCP client to start:

\b
  claude mcp add memory -- pattern-memory
  pattern-memory --profile core           ten tools, for clients that count tokens; also: pattern, loomem, full

On the command line you are the agent of the folder you are in, and see what it sees:

\b
  pattern-memory remember "Staging needs the VPN" --scope team --category learnings
  pattern-memory search how do we reach staging
  pattern-memory ingest conversation.txt --date 2026-01-31
  pattern-memory export backup.json
  pattern-memory doctor

Where the memory lives, and everything else, is set by pattern.toml and by environment variables: NATS_URL for a NATS server
of your own (default: an embedded one), PATTERN_HOME, LOOMINAL_PROJECT_ID and others. `pattern-memory config show` says what
counts, docs/settings.md lists them.

\b
Exit codes:
  0  done
  1  it failed, or doctor found something wrong
  2  wrong usage, argument or setting
  3  the broker or the node cannot be reached
  4  no such memory
"""


@click.group(help=HELP, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(VERSION, "-v", "--version", prog_name="pattern-memory")
def commands() -> None:
    """All commands."""


COMMANDS = (
    *(remember, recall, get, forget),
    *(store, ingest, search, history, delete),
    *(deleted, restore, graph),
    *(audit, purge),
    *(export, import_, migrate),
    *(config, doctor, node, vectors),
)
for command in COMMANDS:
    commands.add_command(command)


def main() -> None:
    """Run the command line, and leave with its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    arguments = [os.fsencode(argument).decode("utf-8", "surrogateescape") for argument in sys.argv[1:]]
    try:
        commands(arguments, prog_name="pattern-memory")
    except LoomError as error:
        sys.exit(_tell(error))
    except TimeoutError:
        sys.exit(_tell(Unavailable("The memory did not become ready in time; `pattern-memory doctor` says more.")))


def _tell(error: LoomError) -> int:
    """Print what went wrong, to stderr; return the exit code."""
    click.secho(f"Error: {error.message}", fg="red", err=True)
    match error:
        case InvalidInput():
            return USAGE
        case Unavailable():
            return UNREACHABLE
        case NotFound():
            return ABSENT
        case _:
            return FAILED
