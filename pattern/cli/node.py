"""Commands for the background node."""

from __future__ import annotations

import asyncio

import click
import msgspec

from loomem.node import launcher
from pattern import node as this_node
from pattern.cli.memories import as_json
from pattern.cli.session import configured


@click.group()
def node() -> None:
    """The background node: it runs the embedded broker and the workers.

    It starts by itself when it is needed and leaves when it is not; these commands are for looking and for repairs.
    """


@node.command()
def start() -> None:
    """Start it, if it does not run."""
    state = asyncio.run(launcher.start(this_node.node_spec(configured())))
    click.echo(f"The node runs: process {state.pid}, broker {state.url}")


@node.command()
def stop() -> None:
    """Have it finish what it has in hand, and leave."""
    there = asyncio.run(launcher.stop(this_node.node_spec(configured())))
    click.echo("The node has left." if there else "No node runs.")


@node.command()
@as_json
def status(*, as_json: bool) -> None:
    """Say how it is. Exit code 3 when it does not run."""
    known = configured()
    found = asyncio.run(launcher.status(this_node.node_spec(known), source=this_node.source_of(known)))
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(found), indent=2))
    else:
        for name, value in msgspec.to_builtins(found).items():
            if value not in (None, "") and name not in ("workers", "embedding"):
                click.echo(f"{name:12} {value}")
        for worker in found.workers or ():
            click.echo(f"{'worker':12} " + ", ".join(f"{key} {value}" for key, value in worker.items()))
        if found.embedding is not None:
            click.echo(f"{'embedding':12} " + ", ".join(f"{key} {value}" for key, value in found.embedding.items()))
    if not found.running:
        raise SystemExit(3)


@node.command()
@click.option("--lines", default=200, show_default=True, help="How many of the last.")
def logs(lines: int) -> None:
    """Print its log."""
    click.echo(launcher.logs(this_node.node_spec(configured()), lines=lines))
