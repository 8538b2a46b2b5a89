"""The command `pattern-memory`: without arguments an MCP server on stdin and stdout, else the command line.

The server comes first and fast: the client's pipes are taken before anything else is imported, and what serves it
imports neither the command line nor a broker's client. So does the node, for whose broker clients wait.
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

NODE = ["node", "run"]
"""What the launcher starts; not a command for people, and faster than one."""


def main() -> None:
    """Serve, be the node, or run a command."""
    _speak_utf8()
    if sys.argv[1:] == NODE:
        from pattern.app import run_node

        raise SystemExit(run_node())
    serves, profile = _profile(sys.argv[1:])
    if not serves:
        from pattern.cli.main import main as command_line

        command_line()
        return
    if sys.stdin is not None and sys.stdin.isatty():
        sys.stderr.write(HINT)
    # Asked first: who is killed while all is being imported has to be missed, too.
    parent = os.getppid()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda _number, _frame: os._exit(0))
    stdin, stdout = claim()

    from pattern.app import serve_stdio

    serve_stdio(profile, stdin, stdout, parent=parent)


def _speak_utf8() -> None:
    """Start again in Python's UTF-8 mode if the locale is another one.

    Else a folder, whose path says who we are, and the environment would read differently from one locale to the next.
    """
    if sys.getfilesystemencoding() != "utf-8" and sys.executable:
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])


def _profile(arguments: list[str]) -> tuple[bool, str | None]:
    """Return whether to serve (else the arguments are a command), and the profile if one is named."""
    match arguments:
        case []:
            return True, None
        case ["--profile", name] if not name.startswith("-"):
            return True, name
        case [argument] if argument.startswith("--profile="):
            return True, argument.partition("=")[2]
        case _:
            return False, None


if __name__ == "__main__":
    main()
