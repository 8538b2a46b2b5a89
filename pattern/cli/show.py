"""Results on a terminal, or as JSON for scripts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
import msgspec

from loomem.results import Found, Notice, Recalled, Result

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


def found(answer: Found) -> None:
    """Print what a search found: a heading each, its text, its id, and how it came to its score where that was asked for."""
    for row in answer.rows:
        place = row.scope if row.stream.startswith("__") else row.stream
        heading = click.style(f"{place}/{row.category}", fg=SCOPE_COLOURS.get(row.scope), bold=True)
        date = row.event or row.observed or row.recorded
        replaced = f" superseded by {row.superseded_by}" if row.superseded_by else ""
        click.echo(f"{heading} {click.style(f'{date} {row.score:.2f}{replaced}', dim=True)}")
        for line in row.content.splitlines():
            click.echo(f"  {line}")
        if row.explained is not None:
            arms = [f"{arm.arm} {arm.normal:.2f} x {arm.weight:.2f}" for arm in row.explained.arms]
            factors = [f"{name} {value:.2f}" for name, value in row.explained.factors.items()]
            click.secho("  " + ", ".join([*arms, *factors]), dim=True)
        click.secho(f"  {row.id}\n", dim=True)
    if not answer.rows:
        click.echo("Nothing found.")
    for reason in answer.degraded:
        click.secho(f"incomplete: {reason}", fg="yellow", err=True)


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
