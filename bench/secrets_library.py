"""Would a secret-detection library do what `loomem.core.scan` does? Recall, false alarms, import time, time per 10 KB.

The library is no dependency; measure it in an environment of its own:

    python -m venv /tmp/ds && /tmp/ds/bin/pip install detect-secrets msgspec hypothesis pytest
    PYTHONPATH=. /tmp/ds/bin/python bench/secrets_library.py

Source of the samples: tests/laws/test_scan.py.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from loomem.core.scan import scan
from tests.laws.test_scan import CLEAN, POSITIVE

PROSE = (
    "The team keeps its memories in NATS JetStream; rotation of the API key and of passwords is handled elsewhere. "
    "See https://example.org/docs for the token function: it returns 1234 items at 10:30 on 2026-01-02, order 55-66.\n"
)


def library_scan(*, entropy: bool) -> Callable[[str], bool]:
    """Return a function that says whether detect-secrets finds anything in a text, read as a file: its main use."""
    settings: Any = importlib.import_module("detect_secrets.settings")
    scanner: Any = importlib.import_module("detect_secrets.core.scan")
    with settings.default_settings() as defaults:
        plugins = [{"name": n, **v} for n, v in defaults.plugins.items() if entropy or "Entropy" not in n]
    path = Path(tempfile.mkdtemp()) / "memory.txt"

    def finds(text: str) -> bool:
        path.write_text(text, encoding="utf-8")
        with settings.transient_settings({"plugins_used": plugins}):
            return any(True for _ in scanner.scan_file(str(path)))

    return finds


def import_ms(statement: str) -> float:
    """Return the time a fresh interpreter needs for a statement, beyond an empty one; the best of five."""

    def best(code: str) -> float:
        times: list[float] = []
        for _ in range(5):
            began = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            times.append(time.perf_counter() - began)
        return min(times) * 1e3

    return best(statement) - best("pass")


def scan_ms(finds: Callable[[str], bool]) -> float:
    text = (PROSE * 100)[:10_240]
    times: list[float] = []
    for _ in range(5):
        began = time.perf_counter()
        finds(text)
        times.append(time.perf_counter() - began)
    return min(times) * 1e3


def main() -> None:
    library = "from detect_secrets.core import scan; from detect_secrets.settings import default_settings"
    rows: list[tuple[str, Callable[[str], bool], str]] = [
        ("loomem.core.scan", lambda text: bool(scan(text)), "import loomem.core.scan"),
        ("detect-secrets", library_scan(entropy=True), library),
        ("  without entropy", library_scan(entropy=False), library),
    ]
    total = sum(len(texts) for texts in POSITIVE.values())
    print(
        f"{'':18} {'found of ' + str(total):>14} {'alarms of ' + str(len(CLEAN)):>14} {'import ms':>10} {'10 KB ms':>9}"
    )
    for name, finds, statement in rows:
        found = sum(finds(text) for texts in POSITIVE.values() for text in texts)
        alarms = sum(finds(text) for text in CLEAN)
        print(f"{name:18} {found:14} {alarms:14} {import_ms(statement):10.0f} {scan_ms(finds):9.2f}")
    for name, finds, _ in rows:
        missed = {kind: sum(not finds(t) for t in texts) for kind, texts in POSITIVE.items()}
        print(f"{name} misses:", ", ".join(f"{kind} {n}" for kind, n in missed.items() if n) or "nothing")


if __name__ == "__main__":
    main()
