"""The command that shows who did what to which memory, and when."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import UTC, datetime, timedelta, tzinfo

import click
import msgspec

from identity.errors import InvalidInput, NotFound
from loomem.core.audit.lines import Shown, shown
from loomem.core.audit.notes import Action
from loomem.core.times import date_argument, moment_of
from loomem.nats.audit import AuditStream
from pattern.cli.operate import Operator, with_operator

LOOK_S = 5.0
"""While following, how long after the last news the record is looked at all the same."""
_UNITS = {"m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


class Wanted(msgspec.Struct, frozen=True):
    """What is asked for."""

    since: datetime | None
    ids: frozenset[str]
    agents: frozenset[str]
    actions: frozenset[str]

    def wants(self, one: Shown) -> bool:
        if self.ids and one.id not in self.ids and one.by not in self.ids:
            return False
        if self.agents and not any((one.agent or "").startswith(agent) for agent in self.agents):
            return False
        return not self.actions or one.action in self.actions


@click.command()
@click.option("--since", metavar="WHEN", help="From a date or time on (ISO 8601), or the last 30m, 12h, 7d, 2w.")
@click.option(
    "--id", "ids", multiple=True, metavar="ID", help="Of this memory, also as what was superseded; may be repeated."
)
@click.option("--agent", "agents", multiple=True, metavar="ID", help="Done by this agent; its beginning is enough.")
@click.option(
    "--action",
    "actions",
    multiple=True,
    type=click.Choice([str(action) for action in Action]),
    help="Only this; may be repeated.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@click.option("--follow", "-f", is_flag=True, help="Go on with what happens from now on, until interrupted.")
def audit(
    *,
    since: str | None,
    ids: tuple[str, ...],
    agents: tuple[str, ...],
    actions: tuple[str, ...],
    as_json: bool,
    follow: bool,
) -> None:
    """Show who did what to which memory, and when; never what it says.

    Every change of a memory is on record, whoever makes it, and so are exports; reading is not. Entries are kept for
    audit.retention_days (90). It needs an operator's credentials: those of the embedded broker are.

    \b
    pattern-memory audit --since 2d
    pattern-memory audit --id 3f0c2a9e-6a52-4c1d-9d57-0e2b7c6a1f10
    pattern-memory audit --action purged --action trust_guard_blocked --json | jq .
    pattern-memory audit --follow

    \b
    Exit codes: 0 shown, also when nothing is; 1 not with these credentials; 2 wrong usage; 3 the broker cannot be reached.
    """

    async def work(operator: Operator) -> None:
        wanted = Wanted(
            _since(since, operator.settings.timezone), frozenset(ids), frozenset(agents), frozenset(actions)
        )
        stream = AuditStream(operator.link, operator.settings.audit)
        count, last = await _show(stream, wanted, 0, as_json=as_json)
        if follow:
            await _follow(stream, wanted, last, as_json=as_json)
        elif not count:
            click.secho(await _nothing(stream), dim=True, err=True)

    with suppress(KeyboardInterrupt):
        with_operator(work)


async def _show(stream: AuditStream, wanted: Wanted, after: int, *, as_json: bool) -> tuple[int, int]:
    """Print what is on record after an entry; return how much that was, and the last entry."""
    count = 0
    async for entry in stream.read(since=wanted.since, after=after):
        after = entry.sequence
        for one in shown(entry.line):
            if wanted.wants(one):
                count += 1
                click.echo(msgspec.json.encode(one).decode() if as_json else _line(one))
    return count, after


async def _follow(stream: AuditStream, wanted: Wanted, last: int, *, as_json: bool) -> None:
    async with stream.news() as heard:
        while True:
            heard.clear()
            _, last = await _show(stream, wanted, last, as_json=as_json)
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_S):
                    await heard.wait()


async def _nothing(stream: AuditStream) -> str:
    try:
        held = await stream.held()
    except NotFound:
        return "Nothing is on record yet: a node or worker records what happens while it runs."
    since = f", the first of {held.first_at[:19]}" if held.first_at else ""
    return f"Nothing of that is on record ({held.entries} entries{since})."


def _line(one: Shown) -> str:
    at = (one.at or "time not known")[:19].replace("T", " ")
    who = one.agent[:12] if one.agent else "unnamed"  # a worker, or whoever did not say
    where = f"{one.space}/{(one.owner or '')[:12]}" if one.space else ""
    more = f" by {one.by}" if one.by else ""
    if one.trust is not None:
        more += f" ({one.by_trust} may not replace {one.trust}; {one.context})"
    for name, value in (one.details or {}).items():
        more += f" {name}={value}"
    late = " (recorded late)" if one.late else ""
    return f"{at}  {one.action:<12} {one.id or '-':<36}  {who:<12}  {where}{more}{late}"


def _since(text: str | None, zone: tzinfo) -> datetime | None:
    """Return the moment that a text names. Raises: InvalidInput."""
    if text is None:
        return None
    number, unit = text[:-1], text[-1:].lower()
    if number.isascii() and number.isdigit() and unit in _UNITS:
        with suppress(OverflowError):
            return datetime.now(UTC) - timedelta(seconds=int(number) * _UNITS[unit])
        raise InvalidInput("--since: that is too long ago", field="since")
    return moment_of(date_argument("since", text, zone))
