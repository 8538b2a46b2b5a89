"""What a client waits for at the start is the SDK (which itself brings a command-line library), and little of ours."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.stories.served import environment, served

HEAVY = {
    "click",
    "nats",
    "aiohttp",
    "numpy",
    "tantivy",
    "subprocess",
    "loomem.engine",
    "loomem.nats",
    "loomem.core.pii",
    "pattern.parts",
}

MODULES = """
import sys
import mcp.server.lowlevel
before = set(sys.modules)
sys.argv = ["pattern-memory"]
import pattern.__main__ as main
import pattern.server.stdio
def show(*_):
    import json, os
    os.write(2, json.dumps(sorted(set(sys.modules) - before)).encode())
    os._exit(0)
pattern.server.stdio.serve = show
main.main()
"""


@pytest.mark.requirement("deliver-9.light", "config-light")
def test_the_path_to_the_first_answer_imports_nothing_heavy(tmp_path: Path) -> None:
    shown = subprocess.run(
        [sys.executable, "-c", MODULES],
        env=environment(tmp_path, {}),
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=True,
    )
    modules = set(json.loads(shown.stderr))
    assert "pattern.server.stdio" in modules
    assert HEAVY & modules == set()
    assert "tomllib" not in modules  # there is no file
    assert shown.stdout == b""


NODE = """
import sys
sys.argv = ["pattern-memory", "node", "run"]
import pattern.__main__ as main
import pattern.node
def show(*_, **__):
    import json, os
    os.write(1, json.dumps(sorted(sys.modules)).encode())
    os._exit(0)
pattern.node.run_node = show
main.main()
"""


@pytest.mark.requirement("deliver-9.light")
def test_the_node_imports_nothing_heavy_before_its_broker_is_there(tmp_path: Path) -> None:
    shown = subprocess.run(
        [sys.executable, "-c", NODE],
        env=environment(tmp_path, {}),
        cwd=tmp_path,
        capture_output=True,
        timeout=60,
        check=True,
    )
    modules = set(json.loads(shown.stdout))
    assert "loomem.node.supervise" in modules
    assert {"mcp", "pydantic", "click", "nats", "loomem.engine", "loomem.workers"} & modules == set()


@pytest.mark.requirement("profile-unknown")
@pytest.mark.parametrize(
    ("arguments", "settings", "says"),
    [
        (["--profile", "nope"], {}, "--profile must be full or core or pattern or loomem, not 'nope'"),
        ([], {"PATTERN_PROFILE": "nope"}, "PATTERN_PROFILE must be full or core or pattern or loomem, not 'nope'"),
        ([], {"PATTERN_REPLICAS": "many"}, "PATTERN_REPLICAS must be"),
    ],
)
def test_a_setting_that_makes_no_sense_ends_it_with_a_reason(
    tmp_path: Path, arguments: list[str], settings: dict[str, str], says: str
) -> None:
    with served(tmp_path, settings, program=("-m", "pattern", *arguments)) as server:
        code, _ = server.left(10)
    assert code == 2
    assert says in server.stderr()
    assert server.lines == []
