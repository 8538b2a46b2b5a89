"""What is recognised by how it is written: identifiers and files of code, and what is no prose at all. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from loomem.core.graph.kinds import EntityType

_MASKED = re.compile(r"(?:https?|ftp|wss?|nats|tls)://\S+|\b[\w.+-]+@[\w-]+\.[\w.-]+|\[(?:PHONE|EMAIL|ID|CARD)\]")
"""Addresses name nothing that should be known by parts of them."""
_TICKED = re.compile(r"`([^`\n]{2,80})`")
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|->|#)[A-Za-z_$][\w$]*)*(?:\(\))?")
_FILE_ENDS = (
    "py|pyi|ts|tsx|js|jsx|mjs|rs|go|java|kt|swift|rb|php|cs|cpp|cc|hpp|c|h|scala|sh|sql|md|rst|txt|toml|yaml|yml|json|jsonl"
    "|xml|html|css|scss|ini|cfg|conf|lock|proto|ipynb|csv|env|log|vue|svelte|tf|gradle"
)
_CODE = re.compile(
    rf"""(?<![\w./@-])(?:
        (?P<path>(?:[\w.-]+/)+[\w-]+(?:\.[\w-]+)*(?:\.(?:{_FILE_ENDS}))?)(?![\w/])
      | (?P<file>Dockerfile|Makefile|[\w-]+(?:\.[\w-]+)*\.(?:{_FILE_ENDS}))(?![\w(])
      | (?P<call>[A-Za-z_]\w*(?:(?:\.|::)[A-Za-z_]\w*)*\(\))
      | (?P<dotted>[a-z_]\w*(?:\.[a-z_]\w*)*\.[a-z]+_\w+)(?![\w(])
      | (?P<snake>_{{0,2}}[a-z][a-z0-9]*(?:_[a-z0-9]+)+)\b
      | (?P<loud>[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)\b
      | (?P<camel>[a-z]{{2,}}[a-z0-9]*(?:[A-ZÄÖÜŁŚŻŹ][a-zäöüßąćęłńóśźż0-9]+)+)\b
      | (?P<humps>(?:[A-Z][a-zäöüß0-9]+){{2,}})\b
    )""",
    re.VERBOSE,
)
_CLASS_ENDS = re.compile(
    r"(?:Service|Dienst|Error|Exception|Handler|Manager|Client|Server|Controller|Factory|Builder|Parser|Store|Repository|Policy"
    r"|Config|Settings|Provider|Adapter|Worker|Queue|Cache|View|Model|Component|Test|Case|Type|Id|Key|Map|List|Set|Request"
    r"|Response|Event|Listener|Interface|Base|Impl|Utils|Engine|Context|State|Token|Loader|Writer|Reader|Job|Task|Node|Api)\Z"
)
_NO_PATH = re.compile(
    r"(?:and/or|[A-Za-z]{1,3}/[A-Za-z]{1,3}|\d+/\d+(?:/\d+)?|(?:he|she|his|her|er|on|yes|no|ja|tak)/\w+)\Z",
    re.IGNORECASE,
)


class Mark(msgspec.Struct, frozen=True):
    """A piece of a text and what it is; without a type, nothing that could be a name."""

    start: int
    end: int
    name: str
    type: EntityType | None


def marks(text: str) -> Iterator[Mark]:
    """Yield what is no prose in a text, in no order; some of it may overlap."""
    for match in _MASKED.finditer(text):
        yield Mark(match.start(), match.end(), "", None)
    for match in _TICKED.finditer(text):
        inside = match.group(1)
        if _IDENTIFIER.fullmatch(inside) and not inside.isdigit():
            yield Mark(match.start(1), match.end(1), _called(inside), EntityType.CODE)
    for match in _CODE.finditer(text):
        written = match.group()
        if match.lastgroup == "path" and not _is_path(written):
            continue
        yield Mark(match.start(), match.end(), _called(written), _kind(match.lastgroup or "", written))


def _kind(form: str, written: str) -> EntityType:
    if form == "humps" and _CLASS_ENDS.search(written) is None:
        return EntityType.TECHNOLOGY  # in prose such a word is a product's name more often than a class
    return EntityType.CODE


def _is_path(written: str) -> bool:
    """Say whether words with a slash between are a path, and not two words of which either may hold."""
    if _NO_PATH.match(written):
        return False
    last = written.rsplit("/", 1)[-1]
    return written.count("/") > 1 or "." in last or "_" in written or written.split("/", 1)[0] in _FOLDERS


_FOLDERS = frozenset(
    (
        "src",
        "lib",
        "bin",
        "docs",
        "tests",
        "test",
        "app",
        "apps",
        "pkg",
        "cmd",
        "packages",
        "scripts",
        "etc",
        "usr",
        "var",
        "tmp",
    )
)


def _called(written: str) -> str:
    return written.removesuffix("()")
