"""Commands about settings: what counts, and what is wrong with a file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click
import msgspec

from pattern.app import sources
from pattern.cli.memories import as_json
from pattern.config.check import Layer, Problem, Weight
from pattern.config.choose import DEFAULT, choose
from pattern.config.files import NAMES, read
from pattern.config.schema import SECRETS, Key, keys
from pattern.settings import chosen

_CREDENTIALS = re.compile(r"(?<=//)[^/\s]*@|(?<![^,\s])[^/,\s]*@")
_SECRET_VARIABLES = ("NATS_USER", "NATS_PASS", "NATS_TOKEN")


class Line(msgspec.Struct, frozen=True, rename="camel"):
    """A key and what counts for it."""

    key: str
    value: Any
    origin: str
    """`default`, a file, or a variable of the environment."""
    variable: str
    """The variable that would beat the files."""


class Shown(msgspec.Struct, frozen=True, rename="camel"):
    files: list[str]
    """Those that were read, the user's first."""
    settings: list[Line]
    problems: list[str]


class Checked(msgspec.Struct, frozen=True, rename="camel"):
    files: list[str]
    problems: list[Problem]


@click.group()
def config() -> None:
    """Settings: what counts and where it comes from; whether a file is right."""


@config.command()
@as_json
def show(*, as_json: bool) -> None:
    """Show every setting, its value and where that comes from; secrets are masked."""
    environment, _, layers, _, warnings = sources()
    choice = chosen(environment, layers)
    lines = [
        Line(key.name, _masked(key, choice.chosen[path].value), choice.chosen[path].origin, key.variable)
        for path, key in keys().items()
    ]
    lines += [Line("", "(secret)", name, name) for name in _SECRET_VARIABLES if name in environment]
    problems = [*map(str, choice.problems), *warnings]
    if as_json:
        _json(Shown([layer.file for layer in layers], lines, problems))
        return
    for layer in layers:
        click.echo(f"# {layer.file}{' (project)' if layer.is_project else ''}")
    width = max(len(line.key or line.variable) for line in lines)
    for line in lines:
        origin = click.style(line.origin, dim=line.origin == DEFAULT, fg=None if line.origin == DEFAULT else "green")
        click.echo(f"{line.key or line.variable:{width}}  {_toml(line.value):24}  {origin}")
    for problem in problems:
        click.secho(f"! {problem}", fg="yellow", err=True)


@config.command()
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--project/--own", default=None, help="As whose file to read it; default: by its name.")
@as_json
def check(file: Path | None, *, project: bool | None, as_json: bool) -> None:
    """Say all that is wrong with FILE, or with the files that count here. Exit code 1 when something must be mended."""
    if file is None:
        layers = sources().layers
    else:
        mine = project if project is not None else file.resolve().parent == Path.cwd() and file.name in NAMES
        layers = [read(file.absolute(), is_project=mine, home=Path.home())]
    errors = [problem for layer in layers for problem in layer.errors]
    # What a project may not weaken shows only beside what it would weaken.
    problems = [p for layer in layers for p in layer.problems] if errors else list(choose(layers, {}).problems)
    if as_json:
        _json(Checked([layer.file for layer in layers], problems))
    else:
        _tell(layers, problems)
    if errors:
        raise SystemExit(1)


def _tell(layers: list[Layer], problems: list[Problem]) -> None:
    for problem in problems:
        error = problem.weight is Weight.ERROR
        click.secho(f"{problem.weight}: {problem}", fg="red" if error else "yellow")
    if not layers:
        click.echo("There is no configuration file here; all is as by default or by the environment.")
    elif not problems:
        click.secho(f"{', '.join(layer.file for layer in layers)}: nothing is wrong.", fg="green")


def _masked(key: Key, value: Any) -> Any:
    if value is None:
        return None
    if key.path in SECRETS:
        return "(secret)"
    return _CREDENTIALS.sub("(secret)@", value) if key.path[-1] == "url" else value


def _toml(value: Any) -> str:
    """Return a value about as TOML writes it."""
    return "" if value is None else msgspec.json.encode(value).decode()


def _json(value: msgspec.Struct) -> None:
    click.echo(msgspec.json.format(msgspec.json.encode(value), indent=2))
