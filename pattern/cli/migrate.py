"""The command that copies memories out of a store of the older layout."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import click

from identity.errors import Unavailable
from loomem.engine import Engine
from loomem.nats.endpoint import Endpoint, endpoint_from
from loomem.nats.follow import KvFeed
from loomem.nats.link import Link
from loomem.results import Migrated
from pattern.cli import show
from pattern.cli.memories import as_json
from pattern.cli.session import Bar, configured, with_engine
from pattern.node import own_endpoint
from pattern.settings import Nats

OLD_READY_S = 3.0
_PROBLEMS_SHOWN = 20


@click.command()
@click.option("--from", "url", required=True, metavar="URL", help="NATS server of the older store.")
@click.option("--project", "projects", multiple=True, help="Its id in the older store, when it had another one there.")
@click.option("--agent", "agents", multiple=True, help="Your agent's id there, when it had another one.")
@click.option("--operator", is_flag=True, help="Leave team and public memories of others theirs.")
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@as_json
def migrate(
    url: str, *, projects: tuple[str, ...], agents: tuple[str, ...], operator: bool, dry_run: bool, as_json: bool
) -> None:
    """Copy the memories of an older Pattern (up to 0.4) into this store. The older store is only read.

    What is here already, or was forgotten here, stays as it is, so it can be run again. Run it in the folder of the
    project. Pattern called a project "default" unless it was told an id; --project and --agent may be repeated.

    Credentials for the older store stand in the URL. Without any, those of NATS_URL are used if it is the same server.
    --operator needs credentials that may write everywhere, as an operator's.

    \b
    pattern-memory migrate --from nats://localhost:4222 --project default --dry-run
    """
    known = configured()
    old = old_endpoint(url, known.nats)

    async def work(engine: Engine) -> Migrated:
        async with _opened(old) as link:
            return await engine.migrate(
                feed=KvFeed(link),
                projects=projects,
                agents=agents,
                operator=operator,
                dry_run=dry_run,
                progress=progress,
            )

    with Bar("Migrating") as progress:
        done = with_engine(work, known)
    show.result(done, as_json=as_json, human=lambda: _print(done))


def old_endpoint(url: str, nats: Nats) -> Endpoint:
    """Return how to reach the older store; our own credentials go to no other server than our own.

    Raises: InvalidInput.
    """
    secure = url.strip().lower().startswith(("tls:", "wss:"))
    old = endpoint_from(url, ca_file=nats.ca_file if secure else None)
    if nats.url is None or old.user is not None or old.token is not None:
        return old
    own = own_endpoint(nats)
    return own if set(own.servers) == set(old.servers) else old


@asynccontextmanager
async def _opened(old: Endpoint) -> AsyncGenerator[Link]:
    """Connect to the older store. Raises: Unavailable."""

    async def source() -> Endpoint:
        return old

    async with Link(source, name="pattern-memory migrate") as link:
        try:
            await link.ready(OLD_READY_S)
        except Unavailable as error:
            raise Unavailable(f"The older store at {old.shown}: {error.message}", **error.details) from None
        yield link


def _print(done: Migrated) -> None:
    scopes = ", ".join(f"{scope} {count}" for scope, count in done.by_scope.items())
    verb = "would be migrated" if done.dry_run else "migrated"
    click.echo(f"{done.read} records read, {done.migrated} {verb}{f' ({scopes})' if scopes else ''}")
    for reason, count in done.skipped.items():
        click.echo(f"  {count} left: {reason}")
    for name in done.absent:
        click.echo(f"  no bucket {name} there")
    if not done.read:
        click.secho("Nothing was found: name the ids it had there with --project and --agent.", fg="yellow", err=True)
    if done.warnings:
        click.secho(f"warning: {done.warnings} of their texts look like secrets", fg="yellow", err=True)
    for problem in done.problems[:_PROBLEMS_SHOWN]:
        click.secho(problem, fg="yellow", err=True)
    if len(done.problems) > _PROBLEMS_SHOWN:
        click.secho(f"and {len(done.problems) - _PROBLEMS_SHOWN} more; --json tells them", fg="yellow", err=True)
