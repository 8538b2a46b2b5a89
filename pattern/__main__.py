"""The command `pattern-memory`: without arguments an MCP server on stdin and stdout, else the command line.

The server comes first and fast: the client's pipes are taken before anything else is imported, and what serves it
imports neither the command line nor a broker's client.
"""

from __future__ import annotations

import os
import signal
import sys

from pattern.wire import claim

HINT = """\
pattern-memory is an MCP server: an MCP client starts it and speaks JSON with it here. For example

    claude mcp add memory -- pattern-memory

`pattern-memory --help` shows what it does on the command line. Waiting for a client (Ctrl-D ends)...
"""


def main() -> None:
    """Serve, or run a command."""
    profile = _profile(sys.argv[1:])
    if profile is None:
        from pattern.cli.main import main as command_line

        command_line()
        return
    if sys.stdin is not None and sys.stdin.isatty():
        sys.stderr.write(HINT)
    signal.signal(signal.SIGTERM, lambda _number, _frame: os._exit(0))
    stdin, stdout = claim()

    from pattern.app import serve_stdio

    serve_stdio(profile, stdin, stdout)


def _profile(arguments: list[str]) -> str | None:
    """Return the profile to serve, or None when the arguments are a command."""
    match arguments:
        case []:
            return "full"
        case ["--profile", name] if not name.startswith("-"):
            return name
        case [argument] if argument.startswith("--profile="):
            return argument.partition("=")[2]
        case _:
            return None


if __name__ == "__main__":
    main()
