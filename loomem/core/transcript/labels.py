"""Lines that begin with who speaks: read one by one; which of them count is decided over the whole text (`segment`). Pure.

A label is read from the first characters of a line alone, so that long lines cost nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from itertools import islice

import msgspec

from loomem.core.transcript.names import is_name, is_nick, is_no_speaker, parted
from loomem.core.transcript.stamps import Stamp, stamp_at
from loomem.core.transcript.values import SpeakerRole

HEAD_CHARS = 160
"""Of a line, how far a label may reach."""
LINES_LIMIT = 20_000
"""Of a text, how many lines that look like it are read for labels."""
_HEADER_CHARS = 120
"""Of a line that is nothing but a name and a time."""


class Kind(StrEnum):
    """Where what was said stands."""

    INLINE = "inline"
    """Behind the label."""
    ALONE = "alone"
    """On the lines below."""
    BARE = "bare"
    """On the lines below, and nothing marks the label as one: `ChatGPT`, as copied from a page."""
    EVENT = "event"
    """A line with a time that nobody said: `Anna joined`."""


class Label(msgspec.Struct, frozen=True, kw_only=True):
    """A line that may begin an utterance. Indices are characters of the text."""

    start: int
    """Of the line."""
    said: int
    """Of what was said."""
    name: str
    role: SpeakerRole | None
    kind: Kind
    indent: int
    stamp: Stamp | None = None
    framed: bool = False
    """Whether the time stands in brackets, or the name in `<...>`."""
    likely: bool
    """Whether the name has the form of one, or names a role."""
    never: bool
    """Whether the name is a word that begins other lines."""
    opened: bool = False
    """Whether the line begins with a bracket around the time."""
    bullet: bool = False
    marked: bool = False
    """Whether it is a heading, or bold."""


_CANDIDATE = re.compile(
    r"^(?=[ \t\u200e\u200f\u202a\u202c\ufeff]{0,40}[\w\[(<*#@•-])(?=.{0,158}[:：>\t\d*_#]|.{1,30}$).+", re.MULTILINE
)
"""Lines that begin as a label may, and have what some label has; a cheap look, as most lines have not."""
_LEAD = re.compile(
    r"[\u200e\u200f\u202a\u202c\ufeff]*(?P<indent>[ \t]*)[\u200e\u200f\u202a]*(?P<bullet>[-*•]\s+(?=\S))?(?P<heading>#{1,6}\s+)?"
)
_BETWEEN = re.compile(r"[ \t\u202f\u00a0]*(?:[-–—|:•][ \t]+)?[ \t]*[\u200e\u200f\u202a~]*[ \t\u202f\u00a0]*")
_NICK = re.compile(r"<\s?([@+%~&]?[^<>\s][^<>\n]{0,40})>[ \t]?")
_CHATML = re.compile(r"<\|im_start\|>\s*([a-z]+)[ \t]*(?:\n|$)")
_BOLD = re.compile(r"(?P<mark>\*\*|__|\*)(?P<name>[^*_\n:：]{1,60}?)\s?(?P<colon>[:：])?(?P=mark)[ \t]*")
_COLON = re.compile(r"[ \t\u00a0\u202f]?([:：])[ \t]*")
_PLAIN = re.compile(
    r"(?P<name>[^:：\n\t<>\[\](){}=\"“”;/\\|]{1,60}?)(?P<aside>\s?[(\[（][^()\[\]\n:：]{1,40}[)\]）])?[ \t\u00a0\u202f]?(?P<colon>[:：])"
)
_WHEN = "today|yesterday|heute|gestern|dziś|wczoraj|mon|tue|wed|thu|fri|sat|sun"
_BESIDE = tuple(
    re.compile(rf"(?P<name>[^:：\n\t<>\[\](){{}}=\"“”;/\\|]{{1,60}}?){gap}(?=\d|{_WHEN})", re.IGNORECASE)
    for gap in (
        r"(?P<gap>,?[ \t\u00a0\u202f]{1,4})(?P<open>[\[(])",
        r"(?P<gap>[ \t\u00a0\u202f]{1,4}[-–—•][ \t]{1,3}|,?[ \t\u00a0\u202f]{1,4})(?P<open>)",
    )
)
_PHONE = re.compile(r"(?P<name>\[PHONE\]|\+?\d[\d \u00a0()-]{6,20}\d)(?P<aside>)(?P<colon>:)")
_ZOOM = re.compile(r"from\s+(.{1,60}?)\s+to\s+.{1,60}$", re.IGNORECASE)
_MODES = "@+%~&"
"""What channels put before the names of those with a say."""
_HAPPENS = re.compile(r"-!-|\*{1,3}[ \t]|-->|<--|[→←]|==")
"""What stands before what nobody said: somebody came, or left."""
_ENDS_OPEN = re.compile(r"[\])]")


def labels(text: str) -> Iterator[Label]:
    """Tell the lines of a text that may begin an utterance, in order; of a text without end, those of its beginning."""
    for match in islice(_CANDIDATE.finditer(text), LINES_LIMIT):
        if (found := _label(text, *match.span())) is not None:
            yield found


def label_of(line: str) -> Label | None:
    """Return what the first line of a text may say of who speaks."""
    end = line.find("\n")
    return _label(line, 0, len(line) if end < 0 else end)


def _label(text: str, start: int, end: int) -> Label | None:
    head = text[start : min(end, start + HEAD_CHARS)]
    lead = _LEAD.match(head)
    if lead is None or lead.end() >= len(head.rstrip()):
        return None
    whole = end - start <= HEAD_CHARS
    found = (
        _chatml(head) or _stamped(head, lead.end()) or _marked(head, lead.end(), heading=lead["heading"] is not None)
    )
    found = found or _named(head, lead.end()) or _beside(head, lead.end()) or _bare(head, lead.end())
    if found is None or (found.kind is not Kind.INLINE and not whole):
        return None
    return msgspec.structs.replace(
        found,
        start=start,
        said=start + found.said,
        indent=len(lead["indent"]),
        bullet=lead["bullet"] is not None,
        marked=found.marked or lead["heading"] is not None,
    )


def _made(
    name: str, said: int, head: str, *, stamp: Stamp | None = None, framed: bool = False, marked: bool = False
) -> Label | None:
    spoken, role = parted(name)
    if not spoken:
        return None
    return Label(
        start=0,
        said=said,
        name=spoken,
        role=role,
        kind=Kind.INLINE if head[said:].strip() else Kind.ALONE,
        indent=0,
        stamp=stamp,
        framed=framed,
        likely=role is not None or is_name(spoken),
        never=role is None and is_no_speaker(spoken),
        marked=marked,
    )


def _chatml(head: str) -> Label | None:
    match = _CHATML.match(head)
    return None if match is None else _made(match[1], len(head), head, marked=True)


def _stamped(head: str, at: int) -> Label | None:
    """Return the label of a line that begins with a time."""
    opened = head[at] in "[("
    stamp = stamp_at(head, at + opened)
    if stamp is None:
        return None
    after = stamp.end
    if opened:
        closed = _ENDS_OPEN.match(head, after)
        if closed is None:
            return None
        after = closed.end()
    tabs = head[after:].split("\t")
    if head[after : after + 1] == "\t" and len(tabs) > 2 and is_nick(tabs[1].strip()):
        return _made(tabs[1].strip(), after + len(tabs[1]) + 2, head, stamp=stamp, framed=True)
    after = _BETWEEN.match(head, after).end()  # pyright: ignore[reportOptionalMemberAccess]: matches the empty text
    if (nick := _NICK.match(head, after)) is not None:
        return _made(nick[1].lstrip(_MODES), nick.end(), head, stamp=stamp, framed=True)
    if _HAPPENS.match(head, after) is not None:
        return _event(after, stamp, opened=opened)
    named = _marked(head, after, heading=False) or _named(head, after, nicks=True)
    if named is not None:
        return msgspec.structs.replace(named, stamp=stamp, framed=opened, opened=opened)
    if not stamp.dated or not head[after:].strip() or "H" not in stamp.parts:
        return None
    return _event(after, stamp, opened=opened)


def _event(said: int, stamp: Stamp, *, opened: bool) -> Label:
    return Label(
        start=0,
        said=said,
        name="",
        role=None,
        kind=Kind.EVENT,
        indent=0,
        stamp=stamp,
        opened=opened,
        likely=False,
        never=False,
    )


def _marked(head: str, at: int, *, heading: bool) -> Label | None:
    """Return the label of a line that is a heading, or begins in bold or with `<nick>`."""
    if (nick := _NICK.match(head, at)) is not None and is_nick(nick[1].strip()):
        return _made(nick[1].lstrip(_MODES), nick.end(), head, framed=True)
    bold = _BOLD.match(head, at)
    if bold is None:
        if not heading:
            return None
        name, after = head[at:].strip().rstrip("#:： "), len(head)
        return _made(name, after, head, marked=True) if 0 < len(name) <= 60 and ":" not in name else None
    after = bold.end()
    colon = None if bold["colon"] else _COLON.match(head, after)
    stamp = None
    if colon is None and not bold["colon"]:
        stamp, after = _trailing(head, after)
        colon = _COLON.match(head, after)
    if colon is not None:
        after = colon.end()
    elif not bold["colon"] and head[after:].strip():
        return None
    return _made(bold["name"], after, head, stamp=stamp, marked=True)


def _trailing(head: str, at: int) -> tuple[Stamp | None, int]:
    """Return the time in brackets that stands behind a name, and where what follows begins."""
    opened = re.compile(r"[ \t]*[-–—,]?[ \t]*([\[(]?)").match(head, at)
    if opened is None:
        return None, at
    stamp = stamp_at(head, opened.end())
    if stamp is None:
        return None, at
    closed = _ENDS_OPEN.match(head, stamp.end) if opened[1] else None
    return stamp, stamp.end if closed is None else closed.end()


def _named(head: str, at: int, *, nicks: bool = False) -> Label | None:
    """Return the label of a line that begins with a name and a colon."""
    match = (_PHONE.match(head, at) if nicks else None) or _PLAIN.match(head, at)
    if match is None:
        return None
    name, after = match["name"].strip() + (match["aside"] or ""), match.end()
    follows = head[after : after + 1]
    if match["colon"] == ":" and follows and not follows.isspace() and not name[-1:] > "\u2e80":
        _, role = parted(name)
        if role is None or follows in "/:=\\":
            return None
    if nicks and (zoom := _ZOOM.match(name)) is not None:
        name = zoom[1]
    spaces = _COLON.match(head, match.start("colon"))
    found = _made(name, after if spaces is None else spaces.end(), head)
    if found is None or found.likely or found.never or is_nick(name):
        return found
    if match.re is _PHONE:
        return msgspec.structs.replace(found, likely=True)
    spelled = found.name[:1].isalpha() and len(found.name.split()) <= 4
    return found if nicks and spelled else None


def _beside(head: str, at: int) -> Label | None:
    """Return the label of a line that begins with a name and a time: alone on the line, or before a colon."""
    match = next((match for pattern in _BESIDE if (match := pattern.match(head, at)) is not None), None)
    if match is None:
        return None
    stamp = stamp_at(head, match.end())
    if stamp is None or "H" not in stamp.parts:
        return None
    after = stamp.end
    if match["open"]:
        closed = _ENDS_OPEN.match(head, after)
        if closed is None:
            return None
        after = closed.end()
    colon = _COLON.match(head, after)
    if colon is None and (head[after:].strip() or len(head) > _HEADER_CHARS):
        return None
    found = _made(
        match["name"],
        after if colon is None else colon.end(),
        head,
        stamp=stamp,
        framed=bool(match["open"]) or match["gap"].strip() != "",
    )
    return found if found is not None and (found.likely or is_nick(found.name)) else None


def _bare(head: str, at: int) -> Label | None:
    """Return the label of a line that is the name of a role and nothing else."""
    name = head[at:].strip()
    if len(name) > 30 or not name[:1].isalpha():
        return None
    found = _made(name, len(head), head)
    return None if found is None or found.role is None else msgspec.structs.replace(found, kind=Kind.BARE)
