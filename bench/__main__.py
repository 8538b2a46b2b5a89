"""Run benchmarks, print their table, keep their JSON."""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from bench import dates, embed, knowledge, processes, reads, retrieval, search, text, vectors, writes
from bench.report import ROOT, Effort, Row, environment, table, to_json

Benchmark = Callable[[Effort], Awaitable[list[Row]]]

BENCHMARKS: dict[str, Benchmark] = {
    "write": writes.write,
    "bulk": writes.bulk,
    "recall": reads.recall,
    "visible": reads.visible,
    "start": processes.start,
    "views": processes.views,
    "dates": dates.dates,
    "text": text.text,
    "search": search.search,
    "embed": embed.embed,
    "retrieval": retrieval.retrieval,
    "knowledge": knowledge.knowledge,
    "beside": knowledge.beside,
    "vectors": vectors.vectors_,
}
SIZES = (1_000, 10_000, 100_000)
QUICK = 0.1


async def measure(names: Sequence[str], effort: Effort) -> list[Row]:
    """Run the named benchmarks one after another: they share the machine's few cores with their servers."""
    rows: list[Row] = []
    for name in names:
        began = time.perf_counter()
        found = await BENCHMARKS[name](effort)
        print(f"{name} took {time.perf_counter() - began:.0f} s\n{table(found)}\n", flush=True)
        rows += found
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *BENCHMARKS], default=[], help="which; all when none is named")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="memories stored, where it matters")
    parser.add_argument("--quick", action="store_true", help="a tenth of the rounds: to see that it works")
    parser.add_argument("--json", type=Path, help="file for the figures; by default one in bench/results/")
    parser.add_argument("--strict", action="store_true", help="a missed budget is exit code 1")
    parser.add_argument(
        "--data", type=Path, nargs="+", default=[], help="for retrieval and beside: haystacks, JSON lines or .xz"
    )
    parser.add_argument("--unit", choices=["turn", "session"], default="turn", help="for retrieval: what evidence is")
    parser.add_argument("--arms", action="store_true", help="for retrieval: ask words alone and meaning alone, too")
    arguments = parser.parse_args()
    header = environment()
    print("  ".join(f"{name} {value}" for name, value in header.items()), end="\n\n", flush=True)
    sizes = tuple(int(size) for size in arguments.sizes.split(","))
    effort = Effort(sizes, QUICK if arguments.quick else 1.0, tuple(arguments.data), arguments.unit, arguments.arms)
    rows = asyncio.run(measure(arguments.names or list(BENCHMARKS), effort))
    file = arguments.json or ROOT / "bench" / "results" / f"{time.strftime('%Y-%m-%dT%H-%M-%S')}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(to_json(rows, header))
    print(table(rows), f"\nfigures in {file}", sep="\n")
    missed = [row for row in rows if row.verdict == "MISSED"]
    raise SystemExit(bool(missed) if arguments.strict else 0)


if __name__ == "__main__":
    main()
