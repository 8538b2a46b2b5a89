"""The language model, seen from a server process and from the settings."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pattern.config.check import checked
from pattern.settings import from_environment

SERVER_ROOMS = "pattern.app, pattern.service, pattern.parts, pattern.health, loomem.engine, loomem.search, pattern.tools.memory, pattern.tools.pattern, pattern.server.stdio"


@pytest.mark.requirement("llm-server")
def test_a_server_process_never_imports_the_sdk() -> None:
    asked = f"import sys, {SERVER_ROOMS}; print([name for name in sys.modules if name.split('.')[0] == 'anthropic'])"
    told = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, timeout=60, check=True)
    assert told.stdout.strip() == "[]"


@pytest.mark.requirement("llm-keys")
def test_the_key_comes_from_the_environment_alone_and_reaches_the_node() -> None:
    cwd = Path("/project")
    named = {"ANTHROPIC_API_KEY": "sk-1", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9/x", "HOME": "/home/ann"}
    known = from_environment(named, cwd)
    assert (known.llm.key, known.llm.url) == ("sk-1", "http://127.0.0.1:9/x")
    assert {name: known.node_environment[name] for name in named} == named
    assert from_environment(named | {"ANTHROPIC_API_KEY": " "}, cwd).llm.key is None
    layer = checked({"llm": {"key": "sk-2", "model": "m", "cost_per_day": 2}}, "/f.toml", is_project=False)
    assert [problem.key for problem in layer.errors] == ["llm.key"]
    assert "ANTHROPIC_API_KEY" in str(layer.errors[0])
    theirs = checked({"llm": {"url": "http://evil", "judge": True}}, "/p.toml", is_project=True)
    assert theirs.values == {}  # a project's file has no say in where texts go


@pytest.mark.requirement("llm-keys")
def test_models_prices_and_limits_are_settings() -> None:
    content = {"llm": {"model": "m", "judge_model": "j", "input_price": 2, "calls_per_day": 7, "judge": True}}
    chosen = from_environment({}, Path("/p"), [checked(content, "/f.toml", is_project=False)]).llm
    assert (chosen.model, chosen.judge_model, chosen.input_price, chosen.calls_per_day, chosen.judge) == (
        "m", "j", 2.0, 7, True,
    )  # fmt: skip
