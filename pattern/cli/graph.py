"""Commands for whom and what memories speak of, and for saying which names are one."""

from __future__ import annotations

import click

from pattern.cli import show
from pattern.cli.facts import in_stream
from pattern.cli.memories import SCOPES, as_json
from pattern.cli.session import with_engine
from pattern.tools.memory.graph import told


@click.group()
def graph() -> None:
    """Persons, projects, technologies and what else memories name, and how they are related."""


@graph.command("show")
@click.argument("entity_", metavar="ENTITY")
@click.option("--depth", type=click.IntRange(1, 3), help="Relations to follow.")
@click.option("--direction", type=click.Choice(["both", "out", "in"]), help="Relations of which direction.")
@click.option("--scope", "scopes", type=SCOPES, multiple=True, help="Where to look; may be repeated.")
@in_stream
@as_json
def entity(
    entity_: str,
    *,
    depth: int | None,
    direction: str | None,
    scopes: tuple[str, ...],
    stream: str | None,
    as_json: bool,
) -> None:
    """Show an entity by any of its names.

    \b
    pattern-memory graph show "Anna Nowak" --depth 2
    """
    found = with_engine(
        lambda engine: engine.graph(
            entity=entity_, depth=depth, direction=direction, scopes=list(scopes) or None, stream=stream
        )
    )
    show.result(found, as_json=as_json, human=lambda: click.echo(told(found)))


@graph.command()
@click.argument("name")
@click.argument("into")
@in_stream
@as_json
def merge(name: str, into: str, *, stream: str | None, as_json: bool) -> None:
    """Say that two names are of one entity, which goes by the second.

    \b
    pattern-memory graph merge Ania "Anna Nowak"
    """
    _rule("merge", name, into, stream, as_json=as_json)


@graph.command()
@click.argument("name")
@click.argument("other")
@in_stream
@as_json
def split(name: str, other: str, *, stream: str | None, as_json: bool) -> None:
    """Say that two names are of two entities, whatever else speaks for one.

    \b
    pattern-memory graph split Anna "Anna Nowak"
    """
    _rule("split", name, other, stream, as_json=as_json)


@graph.command()
@click.argument("name")
@click.argument("other")
@in_stream
@as_json
def undo(name: str, other: str, *, stream: str | None, as_json: bool) -> None:
    """Take back what merge or split said of two names."""
    _rule("none", name, other, stream, as_json=as_json)


_DONE = {
    "merge": "{name} is {into} from now on, in {stream}",
    "split": "{name} and {into} are two from now on, in {stream}",
    "none": "Nothing is said of {name} and {into} any more, in {stream}",
}


def _rule(verdict: str, name: str, into: str, stream: str | None, *, as_json: bool) -> None:
    ruled = with_engine(lambda engine: engine.rule(verdict=verdict, name=name, into=into, stream=stream))
    said = _DONE[verdict].format(name=ruled.name, into=ruled.into, stream=ruled.stream)
    show.result(ruled, as_json=as_json, human=lambda: click.echo(said))
