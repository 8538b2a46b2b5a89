"""Facts from the command line: stored, found, replaced, deleted and brought back."""

from __future__ import annotations

import json

import pytest

from tests.stories.shell import Shell


@pytest.mark.requirement("deliver-9.cli", "search-7.doors")
def test_a_fact_is_stored_found_replaced_deleted_and_restored(shell: Shell) -> None:
    stored = shell.run("store", "Alice prefers VSCode; call 600 700 800", "--subject", "Alice")
    assert stored.returncode == 0, stored
    assert stored.stdout.startswith('Stored: "Alice prefers VSCode; call [PHONE]')
    (old,) = json.loads(shell.run("search", "VSCode", "--json").stdout)["rows"]
    newer = json.loads(shell.run("store", "-", "--supersedes", old["id"], "--json", text="Alice prefers Cursor").stdout)
    found = shell.run("search", "which", "editor", "Alice", "prefers")
    assert "Alice prefers Cursor [UPDATED" in found.stdout
    assert "VSCode" not in found.stdout
    history = shell.run("history", old["id"])
    assert "superseded" in history.stdout
    assert "CURRENT" in history.stdout

    assert shell.run("delete", newer["memoryId"]).stdout.startswith(f"Deleted memory {newer['memoryId']}")
    assert newer["memoryId"] in shell.run("deleted").stdout
    assert shell.run("restore", newer["memoryId"]).returncode == 0
    assert "Cursor" in shell.run("search", "Cursor").stdout
