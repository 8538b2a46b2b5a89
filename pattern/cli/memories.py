"""Commands that store, read and delete memories."""

from __future__ import annotations

import sys
from typing import Any

import click

from identity.visibility import Scope
from loomem.core.record import Category
from pattern.cli import show
from pattern.cli.purge import forget_anybodys
from pattern.cli.session import with_engine

SCOPES = click.Choice([str(scope) for scope in Scope])
CATEGORIES = click.Choice([str(category) for category in Category])
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON, as the MCP tool answers.")


@click.command()
@click.argument("text", required=False)
@click.option("--scope", type=SCOPES, help="Who can read it; default by category.")
@click.option("--category", type=CATEGORIES, help="What it is; default recent (expires after 24 h).")
@click.option("--tag", "tags", multiple=True, help="May be repeated.")
@click.option("--priority", type=click.IntRange(1, 3), help="1 high, 2 normal, 3 low.")
@click.option("--source", help="Where it comes from.")
@click.option("--ttl", "ttl_s", type=int, metavar="SECONDS", help="Forget it after so many seconds.")
@as_json
def remember(
    text: str | None,
    *,
    scope: str | None,
    category: str | None,
    tags: tuple[str, ...],
    priority: int | None,
    source: str | None,
    ttl_s: int | None,
    as_json: bool,
) -> None:
    """Store a memory. TEXT - or none reads it from standard input.

    \b
    pattern-memory remember "We deploy on Fridays" --category decisions --tag release
    git log -1 --format=%B | pattern-memory remember --category learnings
    """
    if text is None or text == "-":
        text = sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
    labels: dict[str, Any] = {"tags": list(tags) or None, "priority": priority, "source": source}
    metadata = {name: value for name, value in labels.items() if value is not None}
    stored = with_engine(
        lambda engine: engine.remember(
            content=text, scope=scope, category=category, metadata=metadata or None, ttl_seconds=ttl_s
        )
    )

    def human() -> None:
        until = f", until {stored.expires_at}" if stored.expires_at else ""
        click.echo(f"Remembered in {stored.scope}/{stored.category}{until}: {stored.memory_id}")

    show.notices(stored.warnings)
    show.result(stored, as_json=as_json, human=human)


@click.command()
@click.option("--search", help="Text that the content must contain.")
@click.option("--tag", "tags", multiple=True, help="Must have it; may be repeated.")
@click.option(
    "--scope", "scopes", type=SCOPES, multiple=True, help="Where to look; may be repeated; default everywhere."
)
@click.option("--category", "categories", type=CATEGORIES, multiple=True, help="May be repeated; default all.")
@click.option("--since", help="Updated after this date or time (ISO 8601).")
@click.option("--limit", type=int, help="At most so many; default 50, most 200.")
@click.option("--cursor", help="Where the page before ended.")
@as_json
def recall(
    *,
    search: str | None,
    tags: tuple[str, ...],
    scopes: tuple[str, ...],
    categories: tuple[str, ...],
    since: str | None,
    limit: int | None,
    cursor: str | None,
    as_json: bool,
) -> None:
    """Show what the agents of this folder remember.

    \b
    pattern-memory recall --search deploy
    pattern-memory recall --scope team --category decisions --json | jq -r '.team[].content'
    """
    page = with_engine(
        lambda engine: engine.recall(
            search=search,
            tags=list(tags) or None,
            scopes=list(scopes) or None,
            categories=list(categories) or None,
            since=since,
            limit=limit,
            cursor=cursor,
        )
    )
    show.result(page, as_json=as_json, human=lambda: show.recalled(page))


@click.command()
@click.argument("memory_id")
@as_json
def get(memory_id: str, *, as_json: bool) -> None:
    """Show one memory by its id."""
    found = with_engine(lambda engine: engine.get(memory_id=memory_id))
    show.result(found, as_json=as_json, human=lambda: show.memory(found.memory))


@click.command()
@click.argument("memory_ids", nargs=-1, required=True, metavar="MEMORY_ID...")
@click.option("--force", is_flag=True, help="Core memories too.")
@click.option("--operator", is_flag=True, help="Whoever created them; needs an operator's credentials.")
@as_json
def forget(memory_ids: tuple[str, ...], *, force: bool, operator: bool, as_json: bool) -> None:
    """Delete memories of yours, for good.

    With --operator also those of others, in whatever project: with the embedded broker, or with credentials that may write
    everywhere. It is on record (`pattern-memory audit`). `pattern-memory purge` erases what was made of them, too.

    \b
    pattern-memory forget 3f0c2a9e-6a52-4c1d-9d57-0e2b7c6a1f10 --operator
    """
    if operator:
        forget_anybodys(memory_ids, force=force, as_json=as_json)
        return
    if len(memory_ids) == 1:
        gone = with_engine(lambda engine: engine.forget(memory_id=memory_ids[0], force=force))
        show.result(gone, as_json=as_json, human=lambda: click.echo(f"Forgotten: {memory_ids[0]}"))
        return
    several = with_engine(lambda engine: engine.forget_bulk(memory_ids=list(memory_ids), force=force))

    def human() -> None:
        click.echo(f"Forgotten: {several.deleted}")
        for error in several.errors:
            click.secho(f"{error.memory_id}: {error.error}", fg="red", err=True)

    show.result(several, as_json=as_json, human=human)
    if several.failed:
        raise SystemExit(1)
