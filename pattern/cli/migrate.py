"""The command that copies memories out of an older store."""

from __future__ import annotations

import click

from loomem.engine import Engine
from loomem.nats.endpoint import Endpoint, endpoint_from
from loomem.nats.follow import KvFeed
from loomem.nats.link import Link
from loomem.results import Migrated
from pattern.cli import show
from pattern.cli.memories import as_json
from pattern.cli.session import Bar, configured, with_engine
from pattern.node import Broker

OLD_S = 10.0
"""How long the old broker may take to answer."""


@click.command()
@click.option("--from", "url", metavar="URL", help="The NATS server of the old store; default the one in use.")
@click.option("--project", "projects", multiple=True, help="An id that this project had there; may be repeated.")
@click.option("--agent", "agents", multiple=True, help="An id that this agent had there; may be repeated.")
@click.option("--operator", is_flag=True, help="Leave team and public memories their creators; needs such credentials.")
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@as_json
def migrate(
    url: str | None,
    *,
    projects: tuple[str, ...],
    agents: tuple[str, ...],
    operator: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Copy memories of an older Pattern store into this one. The old store is only read, and running it again is safe.

    \b
    pattern-memory migrate --from nats://localhost:4222 --project default --dry-run
    """
    broker = Broker(configured())

    async def source() -> Endpoint:
        return await broker.endpoint() if url is None else endpoint_from(url)

    with Bar("Migrating") as progress:

        async def work(engine: Engine) -> Migrated:
            async with Link(source, name="pattern-memory migrate") as link:
                await link.ready(OLD_S)
                return await engine.migrate(
                    feed=KvFeed(link),
                    projects=projects,
                    agents=agents,
                    operator=operator,
                    dry_run=dry_run,
                    progress=progress,
                )

        done = with_engine(work)
    show.result(done, as_json=as_json, human=lambda: _print(done))


def _print(done: Migrated) -> None:
    verb = "would be migrated" if done.dry_run else "migrated"
    click.echo(f"{done.migrated} of {done.read} {verb}")
    for name, count in (*done.by_scope.items(), *done.skipped.items()):
        click.echo(f"  {count:6} {name}")
    for name in done.absent:
        click.echo(f"  absent {name}")
    for problem in done.problems:
        click.secho(problem, fg="yellow", err=True)
    if done.warnings:
        click.secho(f"{done.warnings} look like secrets; see --json of recall", fg="yellow", err=True)
