"""The commands for the vectors of models: how many there are, and those of former models removed."""

from __future__ import annotations

import click

from identity.errors import InvalidInput
from loomem.embed.opening import model_name
from loomem.nats.streams import Streams
from loomem.results import Result
from loomem.workers.former import Held, former, held
from loomem.workers.former import prune as prune_found
from pattern.cli import show
from pattern.cli.memories import as_json
from pattern.cli.session import configured, with_service
from pattern.service import Service
from pattern.settings import Settings


class Listed(Result, frozen=True, kw_only=True):
    """What there is."""

    vectors: list[Held]


class Pruned(Result, frozen=True, kw_only=True, omit_defaults=False):
    """What was removed, or would be."""

    dry_run: bool
    kept_models: list[str]
    vectors: int
    former: list[Held]


@click.group()
def vectors() -> None:
    """Vectors of the models that ever embedded here. Needs an operator's credentials on a server of your own."""


@vectors.command("list")
@as_json
def list_(*, as_json: bool) -> None:
    """Say how many vectors there are of which model."""
    known = configured()
    found = with_service(_held, known)
    show.result(Listed(vectors=found), as_json=as_json, human=lambda: _table(found, known))


@vectors.command()
@click.option("--keep", multiple=True, metavar="MODEL", help="Another model that is used, by another node.")
@click.option("--yes", is_flag=True, help="Remove them. Without it, only say which.")
@as_json
def prune(*, keep: tuple[str, ...], yes: bool, as_json: bool) -> None:
    """Remove the vectors of former models: of all but the one in the settings and those of --keep.

    Without --yes nothing is removed. Servers that run let go of them when they start next.
    """
    known = configured()
    used = [*keep, *([name] if (name := model_name(known.embed)) is not None else [])]
    if not used:
        raise InvalidInput("No model is set (PATTERN_EMBEDDER=none): name those to keep with --keep.", field="--keep")

    async def work(service: Service) -> Pruned:
        streams = await _streams(service)
        found = former(await held(streams), used)
        count = await prune_found(streams, found) if yes else sum(one.vectors for one in found)
        return Pruned(dry_run=not yes, kept_models=used, vectors=count, former=found)

    done = with_service(work, known)
    show.result(done, as_json=as_json, human=lambda: _print(done))


async def _streams(service: Service) -> Streams:
    return Streams(await service.link())


async def _held(service: Service) -> list[Held]:
    return await held(await _streams(service))


def _table(found: list[Held], known: Settings) -> None:
    old = former(found, [name] if (name := model_name(known.embed)) is not None else [])
    for one in found:
        click.echo(f"{one.vectors:8} of {one.model} in {one.bucket}{' (former)' if one in old else ''}")
    if not found:
        click.echo("No vectors.")


def _print(done: Pruned) -> None:
    for one in done.former:
        click.echo(f"{one.vectors:8} of {one.model} in {one.bucket}")
    click.echo(
        f"{done.vectors} vectors of former models {'would be removed: --yes does' if done.dry_run else 'removed'}"
    )
