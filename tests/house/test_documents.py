"""What the documents say about the code is so."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import pytest

from pattern.config.schema import keys
from pattern.version import VERSION
from tests.house import settings_page
from tests.house.sources import ROOT, modules
from tests.house.tools_page import PAGE, page

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])


def _names(requirements: list[str]) -> set[str]:
    return {re.split(r"[\[<>=~! ;]", requirement)[0] for requirement in requirements}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document: Any) -> None:
    text = document.read_text(encoding="utf-8")
    targets = [target for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text) if not target.startswith("http")]
    assert [target for target in targets if not (document.parent / target).exists()] == []


def test_the_changelog_begins_with_this_version() -> None:
    released = re.findall(r"^## \[(\d[^\]]*)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert released[0] == VERSION


def test_every_dependency_says_why() -> None:
    project = PROJECT["project"]
    wanted = _names(project["dependencies"]) | _names(PROJECT["dependency-groups"]["dev"])
    wanted |= _names([name for extra in project["optional-dependencies"].values() for name in extra])
    explained = set(
        re.findall(r"^\| `([^`]+)`", (ROOT / "docs/dependencies.md").read_text(encoding="utf-8"), re.MULTILINE)
    )
    assert explained == wanted


def test_the_lock_names_no_registry() -> None:
    lock = (ROOT / "requirements-dev.lock").read_text(encoding="utf-8")
    assert re.findall(r"https?://|file://|--(?:extra-)?index-url|--find-links", lock) == []
    locked = set(re.findall(r"^([a-z0-9-]+)==", lock, re.MULTILINE))
    assert _names(PROJECT["dependency-groups"]["dev"]) | _names(PROJECT["project"]["dependencies"]) <= locked


def test_every_variable_of_the_environment_is_documented() -> None:
    code = " ".join(m.text for m in modules("pattern") if not m.path.startswith("pattern/testing/"))
    read = set(re.findall(r"\"((?:NATS|PATTERN|LOOMINAL|MCP)_[A-Z_]*[A-Z])\"", code))
    told = " ".join(document.read_text(encoding="utf-8") for document in DOCUMENTS)
    assert sorted(name for name in read if name not in told) == []


def test_the_page_of_the_tools_is_what_clients_are_told() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()


def test_the_page_of_the_settings_has_each_key_as_it_is_declared() -> None:
    assert settings_page.PAGE.read_text(encoding="utf-8") == settings_page.page()


def test_each_key_has_a_variable_of_its_own() -> None:
    variables = [key.variable for key in keys().values()]
    assert len(set(variables)) == len(variables)
