"""The command that says what is configured, reached and wrong."""

from __future__ import annotations

import asyncio

import click

from pattern.cli import show
from pattern.cli.memories import as_json
from pattern.cli.session import configured, with_service
from pattern.service import Service
from pattern.settings import Settings
from pattern.tools.pattern.health import HealthReport

PATIENCE_S = 15.0
_COLOURS = {"healthy": "green", "degraded": "yellow", "unavailable": "red"}


@click.command()
@as_json
def doctor(*, as_json: bool) -> None:
    """Check everything: configuration, broker, identity, node. Exit code 1 when something is wrong."""
    known = configured()
    report = with_service(_examine, known)
    show.result(report, as_json=as_json, human=lambda: _print(report, known))
    if report.status != "healthy":
        raise SystemExit(1)


async def _examine(service: Service) -> HealthReport:
    """Return the first healthy report, or the last one when patience ends: of a server that is not there, the first."""
    report = await service.health()
    try:
        async with asyncio.timeout(PATIENCE_S):
            while report.status == "degraded" and (report.storage.embedded or report.storage.connected):
                await asyncio.sleep(0.3)
                report = await service.health()
    except TimeoutError:
        pass
    return report


def _print(report: HealthReport, known: Settings) -> None:
    storage, session = report.storage, report.session
    click.secho(report.status, fg=_COLOURS[report.status], bold=True)
    _line("broker", storage.url, "embedded" if storage.embedded else "NATS_URL", storage.server_version)
    _line("reached", "yes" if storage.connected else "no", f"{storage.latency_ms} ms" if storage.latency_ms else None)
    _line("agent", session.agent_id, f"sub-agent {session.subagent_type}" if session.is_subagent else None)
    _line("project", session.project_id)
    _line("user", session.user_id)
    for name, counts in (report.scopes or {}).items():
        _line(name, f"{counts.visible} visible", f"{counts.own} of {counts.limit} own")
    if report.node is not None:
        _line("node", "runs" if report.node.running else "does not run", report.node.version)
        _line("meaning", *_embedding(report.node.embedding))
    _line("profile", session.profile)
    _line("settings", *(session.config_files or ["no file: defaults and the environment"]))
    _line("version", session.version)
    for reason in (*known.warnings, *report.reasons):
        click.secho(f"! {reason}", fg="yellow")


def _embedding(state: dict[str, object] | None) -> list[str]:
    """Return how the model is that embeds, in words."""
    if state is None:
        return ["words alone: no model"]
    pending = state.get("pending")
    told = [state.get("model"), state.get("state"), f"{pending} wait" if pending else None, state.get("reason")]
    return [str(word) for word in told if word]


def _line(name: str, *values: str | None) -> None:
    known = [value for value in values if value]
    if known:
        click.echo(f"{name:10} {', '.join(known)}")
