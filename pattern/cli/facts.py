"""Commands that store facts, find what is known by words and meaning, and show and change what became of a fact."""

from __future__ import annotations

import sys

import click
import msgspec

from loomem.results import Result
from pattern.cli import show
from pattern.cli.memories import SCOPES, as_json
from pattern.cli.session import configured, with_engine
from pattern.server.tool import Tool
from pattern.tools.memory.delete import DELETE
from pattern.tools.memory.history import HISTORY
from pattern.tools.memory.search import told
from pattern.tools.memory.store import STORE

PATIENCE_MS = 20_000
"""How long a search may wait for the index, which a command has to build first."""
in_stream = click.option(
    "--stream", help="Id or alias of a stream; default: everywhere, and to store your personal memory."
)


@click.command()
@click.argument("query", nargs=-1, required=True)
@click.option("--top", "top_k", type=int, help="How many rows.")
@click.option("--since", "time_filter", help='Only what happened since: a date, or words such as "last week".')
@click.option("--scope", "scopes", type=SCOPES, multiple=True, help="Where to look; may be repeated.")
@click.option("--all-versions", is_flag=True, help="What was superseded, too.")
@click.option("--explain", is_flag=True, help="How each row came to its score (with --json).")
@in_stream
@as_json
def search(
    query: tuple[str, ...],
    *,
    top_k: int | None,
    time_filter: str | None,
    scopes: tuple[str, ...],
    all_versions: bool,
    explain: bool,
    stream: str | None,
    as_json: bool,
) -> None:
    """Find what is known, by words and by meaning.

    \b
    pattern-memory search which editor does Alice like
    pattern-memory search '"exact phrase" -without begin*' --since "last week"
    """
    known = configured()
    patient = msgspec.structs.replace(known.search, deadline_ms=max(known.search.deadline_ms, PATIENCE_MS))
    found = with_engine(
        lambda engine: engine.search(
            query=" ".join(query),
            top_k=top_k,
            time_filter=time_filter,
            scopes=list(scopes) or None,
            include_superseded=all_versions,
            explain=explain,
            stream=stream,
        ),
        msgspec.structs.replace(known, search=patient),
    )
    show.result(found, as_json=as_json, human=lambda: click.echo(told(found)))


@click.command()
@click.argument("text", required=False)
@click.option("--subject", help="Whom or what it is about; default: the user.")
@click.option("--source", help="Where it comes from; it decides how far it is trusted.")
@click.option("--supersedes", help="Id of the fact that this one replaces.")
@in_stream
@as_json
def store(
    text: str | None,
    *,
    subject: str | None,
    source: str | None,
    supersedes: str | None,
    stream: str | None,
    as_json: bool,
) -> None:
    """Store one fact for good. TEXT - or none reads it from standard input.

    \b
    pattern-memory store "Alice prefers Cursor over VSCode" --subject Alice
    """
    if text is None or text == "-":
        text = sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
    stored = with_engine(
        lambda engine: engine.store(content=text, subject=subject, source=source, supersedes=supersedes, stream=stream)
    )
    _say(STORE, stored, as_json=as_json)


@click.command()
@click.argument("memory_id")
@click.option("--limit", type=int, help="At most so many versions, the newest.")
@in_stream
@as_json
def history(memory_id: str, *, limit: int | None, stream: str | None, as_json: bool) -> None:
    """Show the versions of a fact, from the id of any of them."""
    versions = with_engine(lambda engine: engine.history(chunk_id=memory_id, limit=limit, stream=stream))
    _say(HISTORY, versions, as_json=as_json)


@click.command()
@click.argument("memory_id")
@in_stream
@as_json
def delete(memory_id: str, *, stream: str | None, as_json: bool) -> None:
    """Hide a memory at once; `restore` brings it back for a while, `forget` erases instead."""
    deleted = with_engine(lambda engine: engine.delete(chunk_id=memory_id, stream=stream))
    _say(DELETE, deleted, as_json=as_json)


def _say(tool: Tool, result: Result, *, as_json: bool) -> None:
    """Print a result in the words of the tool that gives it, or as JSON."""
    says = tool.says
    if says is None:
        raise TypeError(f"{tool.name} has no words")
    show.result(result, as_json=as_json, human=lambda: click.echo(says(result)))
