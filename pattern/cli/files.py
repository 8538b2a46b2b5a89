"""Commands that write and read files."""

from __future__ import annotations

import click

from loomem.results import Exported, Imported
from pattern.cli import show
from pattern.cli.memories import CATEGORIES, SCOPES, as_json
from pattern.cli.session import Bar, with_engine


@click.command()
@click.argument("path", required=False)
@click.option("--scope", type=SCOPES, help="Default all.")
@click.option("--category", type=CATEGORIES, help="Default all.")
@click.option("--since", help="Updated after this date or time (ISO 8601).")
@click.option("--expired", is_flag=True, help="Also expired ones that are not erased yet.")
@as_json
def export(
    path: str | None, *, scope: str | None, category: str | None, since: str | None, expired: bool, as_json: bool
) -> None:
    """Write memories to the JSON file PATH, below the current folder.

    PATTERN_FILES_DIR allows another folder than the current one.
    """
    with Bar("Exporting") as progress:
        done: Exported = with_engine(
            lambda engine: engine.export(
                output_path=path,
                scope=scope,
                category=category,
                since=since,
                include_expired=expired,
                progress=progress,
            )
        )
    show.notices(done.warnings)
    show.result(
        done,
        as_json=as_json,
        human=lambda: click.echo(f"{done.exported} memories, {done.bytes} bytes: {done.filepath}"),
    )


@click.command("import")
@click.argument("path")
@click.option("--overwrite", is_flag=True, help="Replace what exists, bring back what was forgotten.")
@click.option("--strict", is_flag=True, help="Stop at the first that cannot be imported.")
@click.option("--take-ownership", is_flag=True, help="Import memories of other agents and projects as yours.")
@as_json
def import_(path: str, *, overwrite: bool, strict: bool, take_ownership: bool, as_json: bool) -> None:
    """Read memories from the file PATH that `export` wrote."""
    with Bar("Importing") as progress:
        done: Imported = with_engine(
            lambda engine: engine.import_(
                input_path=path,
                overwrite_existing=overwrite,
                skip_invalid=not strict,
                take_ownership=take_ownership,
                progress=progress,
            )
        )

    def human() -> None:
        click.echo(f"{done.imported} imported, {done.skipped} skipped")
        for error in done.errors:
            click.secho(error, fg="yellow", err=True)

    show.notices(done.warnings)
    show.result(done, as_json=as_json, human=human)
