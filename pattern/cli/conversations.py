"""The command that takes a conversation in."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import msgspec

from identity.errors import InvalidInput
from loomem.fact_results import Ingested
from pattern.cli import show
from pattern.cli.facts import in_stream
from pattern.cli.memories import as_json
from pattern.cli.session import Bar, configured, with_engine
from pattern.tools.memory.ingest import told

PATIENCE_S = 120.0
"""How long a command waits for the facts; they come whether or not it does."""


@click.command()
@click.argument("file")
@click.option("--date", "conversation_date", help='The day it took place: "yesterday" in it counts from there.')
@click.option("--no-wait", is_flag=True, help="Do not wait for its facts.")
@in_stream
@as_json
def ingest(file: str, *, conversation_date: str | None, no_wait: bool, stream: str | None, as_json: bool) -> None:
    """Store the conversation in FILE (- for standard input), and the facts that are read in it.

    \b
    pattern-memory ingest standup.md --date 2026-01-31
    pattern-memory ingest ~/.claude/projects/-home-me-work/0b6f….jsonl

    Plain text with a speaker at the start of a line (`Anna: ...`), JSON messages of OpenAI and Anthropic, .jsonl of Claude Code.
    """
    text = _read(file)
    known = configured()
    patient = msgspec.structs.replace(known.facts, wait_s=max(known.facts.wait_s, PATIENCE_S))
    with Bar("Taking it in") as progress:
        taken: Ingested = with_engine(
            lambda engine: engine.ingest(
                content=text,
                conversation_date=conversation_date,
                stream=stream,
                wait=not no_wait,
                progress=progress,
            ),
            msgspec.structs.replace(known, facts=patient),
        )
    show.result(taken, as_json=as_json, human=lambda: click.echo(told(taken)))


def _read(file: str) -> str:
    """Return what stands in a file. Raises: InvalidInput."""
    name = "standard input" if file == "-" else file
    try:
        raw = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        return raw.decode()
    except OSError as error:
        raise InvalidInput(f"{name} cannot be read: {error.strerror}", field="file") from None
    except UnicodeDecodeError:
        raise InvalidInput(f"{name} is not UTF-8 text", field="file") from None
