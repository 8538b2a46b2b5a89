"""Results on a terminal, or as JSON for scripts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
import msgspec

from loomem.results import Notice, Recalled, Result

SCOPE_COLOURS = {"private": "blue", "personal": "magenta", "team": "green", "public": "yellow"}


def result(value: Result, *, as_json: bool, human: Callable[[], None]) -> None:
    """Print a result: as JSON, or for people as `human` does."""
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(value), indent=2))
    else:
        human()


def notices(found: list[Notice] | None) -> None:
    """Print what the writer should know, to stderr."""
    for notice in found or ():
        where = f" in {notice.field}" if notice.field else ""
        click.secho(f"warning: {notice.description}{where}", fg="yellow", err=True)


def recalled(page: Recalled) -> None:
    """Print memories: a heading each, its text, its id."""
    rows = [*page.personal, *page.private, *page.team, *page.public]
    for row in rows:
        memory(row)
    if not rows:
        click.echo("Nothing is remembered here yet." if not page.counts.expired else "Only expired memories are here.")
    elif page.has_more:
        click.secho(f"{len(rows)} of {page.total}; the rest: --cursor {page.cursor}", dim=True)


def memory(row: dict[str, Any]) -> None:
    """Print one memory."""
    scope = str(row["scope"])
    metadata: dict[str, Any] = row.get("metadata") or {}
    tags = "".join(f" #{tag}" for tag in metadata.get("tags", ()))
    heading = click.style(f"{scope}/{row['category']}", fg=SCOPE_COLOURS.get(scope), bold=True)
    click.echo(f"{heading} {click.style(str(row['updatedAt'])[:16].replace('T', ' ') + tags, dim=True)}")
    for line in str(row["content"]).splitlines():
        click.echo(f"  {line}")
    click.secho(f"  {row['id']}\n", dim=True)
