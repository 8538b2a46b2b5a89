"""A module of more than 600 lines or a function of more than 70 has more than one reason to change."""

from __future__ import annotations

import ast

from tests.house.sources import PACKAGES, modules

MODULE_LINES_LIMIT = 600
FUNCTION_LINES_LIMIT = 70
TESTS_FACTOR = 2


def test_no_module_is_too_long() -> None:
    ours = {m.path: len(m.text.splitlines()) for m in modules(*PACKAGES, "bench")}
    tests = {m.path: len(m.text.splitlines()) / TESTS_FACTOR for m in modules("tests")}
    assert {path: lines for path, lines in (ours | tests).items() if lines > MODULE_LINES_LIMIT} == {}


def test_no_function_is_too_long() -> None:
    long = {
        f"{m.path}::{node.name}": lines
        for m in modules(*PACKAGES, "bench", "tests")
        for node in ast.walk(m.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (lines := (node.end_lineno or 0) - node.lineno + 1) > FUNCTION_LINES_LIMIT
    }
    assert long == {}
