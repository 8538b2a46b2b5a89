"""Which tests show which requirement, read from the markers in the sources of `tests/`.

Reading sources instead of collecting keeps the answer the same whatever is selected, skipped or installed.
`python -m tests.stories.shown` prints the map.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.stories.requirements import REQUIREMENTS, Requirement

TESTS = Path(__file__).parents[1]


def shown(tests: Path = TESTS) -> dict[str, list[str]]:
    """Test ids (`path::name`, or the path alone for a mark of the whole module) under each requirement id they name.

    Raises: ValueError for a marker whose ids are not written out as strings.
    """
    found: dict[str, list[str]] = {}
    for path in sorted(tests.rglob("test_*.py")):
        where = path.relative_to(tests.parent).as_posix()
        for name, marker in _markers(ast.parse(path.read_text(encoding="utf-8")), where):
            for identifier in _ids(marker, where):
                found.setdefault(identifier, []).append(name)
    return found


def is_shown(requirement: Requirement, by: Mapping[str, list[str]]) -> bool:
    """Whether its own tests show it, or others' tests show all it stands on."""
    if requirement.id in by:
        return True
    return bool(requirement.through) and all(is_shown(REQUIREMENTS[other], by) for other in requirement.through)


def _markers(tree: ast.AST, name: str) -> Iterator[tuple[str, ast.Call]]:
    """Every `pytest.mark.requirement(...)` below, with the innermost test or class it stands on."""
    for node in ast.iter_child_nodes(tree):
        inner = (
            f"{name}::{node.name}" if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) else name
        )
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.requirement":
            yield inner, node
        yield from _markers(node, inner)


def _ids(marker: ast.Call, where: str) -> Iterator[str]:
    for argument in marker.args:
        if not (isinstance(argument, ast.Constant) and isinstance(argument.value, str)):
            raise ValueError(f"{where}:{marker.lineno}: write requirement ids out as strings")
        yield argument.value


def described() -> str:
    """The map as text: each requirement, its sentence, its tests."""
    by = shown()
    lines: list[str] = []
    for requirement in REQUIREMENTS.values():
        lines.append(f"{requirement.id}: {requirement.sentence}")
        lines += (f"    {test}" for test in by.get(requirement.id, []))
        lines += (f"    through {other}" for other in requirement.through)
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(described() + "\n")
