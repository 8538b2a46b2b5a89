"""Writes docs/tools.md from the declarations of the tools: `python -m tests.house.tools_page`."""

from __future__ import annotations

from collections.abc import Iterator

from pattern.server.tool import Shape, Tool
from pattern.tools.memory import TOOLS as MEMORY_TOOLS
from pattern.tools.pattern import TOOLS
from tests.house.sources import ROOT

PAGE = ROOT / "docs" / "tools.md"

HEAD = """\
# Tools

What the server tells its clients, in the order of `tools/list`. Results are structured; the text beside them says the same. Errors carry
`{code, message, details}`. This page is written by `python -m tests.house.tools_page`.
"""


def page() -> str:
    """The page as it must be."""
    return "\n".join([HEAD, *(line for tool in (*TOOLS, *MEMORY_TOOLS) for line in _section(tool))])


def _section(tool: Tool) -> Iterator[str]:
    traits = [name for name in ("read_only", "destructive", "idempotent") if getattr(tool, name)]
    yield f"## `{tool.name}`\n"
    yield f"{tool.about}{' (' + ', '.join(trait.replace('_', '-') for trait in traits) + ')' if traits else ''}\n"
    if tool.params:
        yield "| argument | type | default | |\n|---|---|---|---|"
        yield from (_row(name, shape, required=name in tool.required) for name, shape in tool.params.items())
        yield ""
    if tool.older:
        yield f"Older spellings that are understood: {', '.join(f'`{name}`' for name in tool.older)}.\n"


def _row(name: str, shape: Shape, *, required: bool) -> str:
    default = "**required**" if required else "" if shape.default is None else f"`{shape.default!s}`"
    return f"| `{name}` | {_type(shape)} | {default} | {_about(shape)} |"


def _type(shape: Shape) -> str:
    return f"{shape.type} of {_type(shape.items)}" if shape.items else shape.type


def _about(shape: Shape) -> str:
    inner = shape.items or shape
    allowed = f"One of {', '.join(f'`{word}`' for word in inner.enum)}." if inner.enum else ""
    fields = f"Fields: {', '.join(f'`{field}`' for field in inner.fields)}." if inner.fields else ""
    bounds = f"{shape.minimum} to {shape.maximum}." if shape.minimum is not None and shape.maximum is not None else ""
    return " ".join(filter(None, (shape.about, allowed, fields, bounds)))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
