"""Commands for what was deleted and may come back, and for ratings."""

from __future__ import annotations

import click

from pattern.cli import show
from pattern.cli.memories import as_json
from pattern.cli.session import with_engine


@click.command()
@as_json
def deleted(*, as_json: bool) -> None:
    """List memories that were deleted and can be restored."""
    found = with_engine(lambda engine: engine.deleted())

    def human() -> None:
        for memory in found.memories:
            click.echo(
                f"{memory.memory_id}  {memory.stream}  deleted {memory.deleted_at}, until {memory.restorable_until}"
            )
            click.echo(f"  {memory.content}")
        if not found.memories:
            click.echo("Nothing can be restored.")

    show.result(found, as_json=as_json, human=human)


@click.command()
@click.argument("memory_id")
@as_json
def restore(memory_id: str, *, as_json: bool) -> None:
    """Bring back a memory that was deleted with memory_delete.

    \b
    pattern-memory deleted
    pattern-memory restore 3f0c2a9e-6a52-4c1d-9d57-0e2b7c6a1f10
    """
    back = with_engine(lambda engine: engine.restore(memory_id=memory_id))

    def human() -> None:
        also = f", and {back.derived} that were taken from it" if back.derived else ""
        click.echo(f"Restored in {back.stream}: {back.memory_id}{also}")

    show.result(back, as_json=as_json, human=human)
