"""Writes the keys of `pattern.toml` into docs/settings.md from their declarations: `python -m tests.house.settings_page`."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from typing import Any

import msgspec

from pattern.config.schema import SECRETS, VOID, Path, PatternFile, Word, is_table, keys, table
from pattern.config.words import allowed
from tests.house.sources import ROOT

PAGE = ROOT / "docs" / "settings.md"
BEGIN, END = "<!-- written by tests.house.settings_page -->\n", "<!-- end of what is written -->\n"

SAID = {
    "content_bytes": "Bytes of a memory's content.",
    "tags": "Tags of a memory.",
    "tag_chars": "Characters of a tag.",
    "related": "Ids in `relatedTo`.",
    "metadata_bytes": "Bytes of a memory's metadata.",
    "id_chars": "Characters of an id.",
    "summary_bytes": "Bytes of the summary of recall-context.",
    "recall": "Memories of one recall at most.",
    "recall_default": "Memories of one recall when it names no limit.",
    "ttl_recent_s": "Seconds that `recent` and `tasks` live.",
    "ttl_max_s": "Longest life that a call may ask for, in seconds.",
    "tombstone_s": "Seconds for which what was forgotten stays forgotten.",
    "a2": "Of what an agent says on its own word.",
    "claim": "Of a statement.",
    "cue": "Of a hint.",
    "evidence": "Of what a statement was taken from.",
    "stated": "Of what stands as it was said.",
    "derived": "Of what was extracted or merged.",
    "default": "Without `top_k`.",
    "counting_most": "What such a question may ask for.",
    "enabled": "Whether anything is taken out at all.",
    "redact_phones": "Phone numbers.",
    "redact_emails": "E-mail addresses.",
}
"""For keys whose name says it where they are declared."""


def page() -> str:
    """The page as it must be."""
    text = PAGE.read_text(encoding="utf-8")
    head, _, rest = text.partition(BEGIN)
    return head + BEGIN + "\n".join(_written()) + "\n" + END + rest.partition(END)[2]


def _written() -> Iterator[str]:
    yield from _section(PatternFile, ())
    yield "### Not read from a file\n"
    yield "| key | instead |\n|---|---|"
    for path, variable in SECRETS.items():
        yield f"| `{'.'.join(path)}` | `{variable}` |"
    yield "\n### Keys of other servers that mean nothing here\n"
    yield "| key | why |\n|---|---|"
    for path, why in VOID.items():
        yield f"| `{'.'.join(path)}` | {why} |"


def _section(kind: type[msgspec.Struct], path: Path) -> Iterator[str]:
    fields = table(kind)
    own = [name for name, inner in fields.items() if not is_table(inner) and (*path, name) in keys()]
    if own:
        yield f"### `[{'.'.join(path)}]`\n" if path else "### At the top\n"
        yield f"{(kind.__doc__ or '').strip()}\n"
        yield "| key | default | variable | a project's file | what |\n|---|---|---|---|---|"
        said = _docstrings(kind)
        for name in own:
            yield _row((*path, name), said.get(name) or SAID[name])
        yield ""
    for name, inner in fields.items():
        if is_table(inner):
            yield from _section(inner, (*path, name))


def _row(path: Path, said: str) -> str:
    key = keys()[path]
    if path in SECRETS:
        return f"| `{path[-1]}` | | `{key.variable}` | never | {said} |"
    project = {Word.FREE: "", Word.STRICTER: "stricter", Word.MORE: "adds", Word.NONE: "no"}[key.project]
    may_be = allowed(key.type)
    may_be = "" if may_be == "a text" else f" {may_be[0].upper()}{may_be[1:]}."
    return f"| `{path[-1]}` | {_default(key.default)} | `{key.variable}` | {project} | {said}{may_be} |"


def _default(value: Any) -> str:
    return "" if value is None else f"`{msgspec.json.encode(value).decode()}`"


def _docstrings(kind: type[msgspec.Struct]) -> dict[str, str]:
    """Return what stands below each field where it is declared."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    if not isinstance(tree, ast.ClassDef):
        raise TypeError(kind)
    said: dict[str, str] = {}
    for field, below in zip(tree.body, tree.body[1:], strict=False):
        match field, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                said[name] = " ".join(text.split())
            case _:
                pass
    return said


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
