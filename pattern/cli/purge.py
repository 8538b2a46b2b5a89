"""Commands that erase past all views: physically, and what is not one's own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import click
import msgspec

from identity.errors import AccessDenied, InvalidInput
from identity.keys import escape_token, stream_of_token
from identity.visibility import stream_space
from loomem.core.receipt import Receipt
from loomem.core.streams import ALIASES, BUILT_IN, built_in, is_stream_id
from loomem.nats.audit import AuditStream
from loomem.nats.follow import KvFeed
from loomem.nats.streams import Streams
from loomem.purge import Found, Purge, check_selection
from loomem.views.warm import scrub
from pattern.cli.operate import Operator, with_operator
from pattern.clock import SystemClock

T = TypeVar("T")


@click.command()
@click.argument("memory_ids", nargs=-1, metavar="[MEMORY_ID]...")
@click.option("--deleted", is_flag=True, help="All that was deleted and could still be restored.")
@click.option("--stream", metavar="NAME", help="Everything in a stream: its id or alias, or __private__ and its kin.")
@click.option("--operator", is_flag=True, help="Whoever created them, in whatever project.")
@click.option("--yes", is_flag=True, help="Do it; without this it is only said what would go.")
@click.option("--json", "as_json", is_flag=True, help="Print the receipt as JSON.")
def purge(
    memory_ids: tuple[str, ...], *, deleted: bool, stream: str | None, operator: bool, yes: bool, as_json: bool
) -> None:
    """Erase memories physically, with all that was made of them, and print a receipt.

    Of a memory go its record, vectors, ratings, graph contributions, job states and the copies of views on this machine; with a
    source goes what was taken from it. It cannot be undone. What was cut short is ended by the next purge. Without --yes
    nothing is erased. It needs an operator's credentials: those of the embedded broker are. docs/purging.md says what a
    server does with the bytes, and what purging does not reach (exports, backups).

    \b
    pattern-memory purge 3f0c2a9e-6a52-4c1d-9d57-0e2b7c6a1f10
    pattern-memory purge 3f0c2a9e-6a52-4c1d-9d57-0e2b7c6a1f10 --yes --json > receipt.json
    pattern-memory purge --deleted --yes
    pattern-memory purge --stream work --yes

    \b
    Exit codes: 0 done, or said what would go; 1 something could not be verified, or not with these credentials;
    2 wrong usage; 3 the broker cannot be reached; 4 nothing was found.
    """
    check_selection(memory_ids, deleted=deleted, stream=stream)

    async def work(who: Operator) -> Receipt:
        purging = _purge(who, everybody=operator)
        found, absent = await _selected(purging, who, memory_ids, deleted=deleted, stream=stream)
        if not yes:
            return await purging.preview(found, absent)
        # First, so that what is erased is on record: the record's place is made, should it be absent.
        await AuditStream(who.link, who.settings.audit, replicas=who.settings.replicas).ensure()
        receipt = await purging.run(found, absent)
        keys = [f"{row.space}.m.{escape_token(row.id)}" for row in receipt.purged]
        rows = await asyncio.to_thread(scrub, who.settings.home / "views", keys)
        return msgspec.structs.replace(receipt, warm_copies=rows)

    receipt = with_operator(lambda who: _allowed(work, who))
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(receipt), indent=2).decode())
    else:
        _print(receipt)
    if not receipt.purged and receipt.not_found:
        raise SystemExit(4)
    if yes and not receipt.verified:
        raise SystemExit(1)


def forget_anybodys(memory_ids: tuple[str, ...], *, force: bool, as_json: bool) -> None:
    """Forget memories whoever made them, and print which."""

    async def work(who: Operator) -> list[Found]:
        gone: list[Found] = []
        for ident in memory_ids:
            gone += await _purge(who, everybody=True).forget(ident, force=force)
        return gone

    gone = with_operator(lambda who: _allowed(work, who))
    rows = [{"memoryId": one.id, "bucket": one.bucket, "space": one.key.prefix} for one in gone]
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode({"deleted": rows}), indent=2).decode())
        return
    for row in rows:
        click.echo(f"Forgotten: {row['memoryId']} in {row['bucket']} {row['space']}")


async def _allowed(work: Callable[[Operator], Awaitable[T]], who: Operator) -> T:
    try:
        return await work(who)
    except AccessDenied as error:
        raise AccessDenied(f"{error.message} This needs an operator's credentials.", **error.details) from None


def _purge(who: Operator, *, everybody: bool) -> Purge:
    return Purge(
        caller=who.caller,
        buckets=who.buckets,
        feed=KvFeed(who.link),
        streams=Streams(who.link),
        limits=who.settings.limits,
        clock=SystemClock(),
        everybody=everybody,
    )


async def _selected(
    purging: Purge, who: Operator, idents: tuple[str, ...], *, deleted: bool, stream: str | None
) -> tuple[list[Found], list[str]]:
    if deleted:
        return await purging.deleted(), []
    if stream is None:
        return await purging.by_ids(idents)
    space = _space(who, stream)
    found = await purging.in_space(*space)
    if not found:
        raise InvalidInput(f"Nothing lies in the stream {stream!r}", field="stream")
    return found, []


def _space(who: Operator, word: str) -> tuple[str, str]:
    """Return bucket and prefix of a stream. Raises: InvalidInput."""
    if not is_stream_id(word):
        raise InvalidInput(f"Invalid stream id {word[:64]!r}", field="stream")
    ident = word if word in BUILT_IN else who.settings.facts.namespaces.get(word) or ALIASES.get(word, word)
    if ident in BUILT_IN:
        space = built_in(who.caller, ident).space
    else:
        space = stream_space(who.caller, stream_of_token(escape_token(ident)))
    return space.bucket, space.prefix


def _print(receipt: Receipt) -> None:
    verb = "Would be purged" if receipt.dry_run else "Purged"
    for row in receipt.purged:
        kinds = ", ".join(f"{count} {name}" for name, count in row.keys.items())
        click.echo(f"{verb}: {row.id}  {row.stream}  {row.space}  ({kinds or 'nothing of its own'})")
        if row.revisions:
            click.echo(
                f"  sequence numbers {', '.join(map(str, row.revisions))}: {_how(row.verified, row.overwritten)}"
            )
        if row.taken_from:
            click.echo(f"  taken from {row.taken_from}")
        if row.stub:
            click.echo("  a stub without content keeps what it replaced from coming back")
    for ident in receipt.not_found:
        click.secho(f"Not found, or nothing of it is left: {ident}", fg="yellow", err=True)
    if receipt.dry_run:
        click.secho(f"{len(receipt.purged)} memories; nothing was erased. --yes erases them for good.", bold=True)
        return
    click.echo(
        f"{len(receipt.purged)} memories purged at {receipt.at}; {receipt.warm_copies} rows of local copies erased."
    )
    if receipt.resumed:
        click.echo(f"{receipt.resumed} of them had been begun by an earlier purge.")


def _how(verified: bool, overwritten: bool) -> str:
    gone = "not in the stream any more (scanned)" if verified else "NOT VERIFIED: purge again"
    return f"{gone}, bytes {'overwritten' if overwritten else 'left to the server to reuse'}"
