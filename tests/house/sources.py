"""The project's own sources, read once, for the tests that guard its shape."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import msgspec

ROOT = Path(__file__).parents[2]
PACKAGES = ("identity", "loomem", "pattern")


class Module(msgspec.Struct, frozen=True):
    """One Python file: where it lies below the root, its text, its tree."""

    path: str
    text: str
    tree: ast.Module

    def mentions(self, *names: str) -> bool:
        """Whether one of these dotted names stands in the code."""
        return any(
            isinstance(node, ast.Name | ast.Attribute) and ast.unparse(node) in names for node in ast.walk(self.tree)
        )


@cache
def modules(*folders: str) -> tuple[Module, ...]:
    """Every module below these folders."""
    paths = sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    texts = ((path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")) for path in paths)
    return tuple(Module(path, text, ast.parse(text)) for path, text in texts)
