"""Text as it is stored: no markup, no personal data of those kinds that settings name, the same whoever cleans it again. Pure.

`sanitise` removes HTML tags and decodes what was escaped, again and again until nothing changes, so that what is stored
is what is read, and what any part is cut from. Only well-formed tags of HTML count: `a < b > c`, `Vec<T>`, `<path>` and
whatever stands in backticks stay. `clean` does that, then takes out personal data (`core.pii`), in texts and whole
objects. Attempts to give a reader instructions are found and told, never blocked: memories may well be about them.

Everything is linear in the length of the text: no pattern reads past the next `<`, none backtracks.

Deliberately absent: the log (whoever stores writes it), secrets (`core.scan`), other limits of a text (`core.limits`).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, cast

import msgspec

from identity.errors import InvalidInput
from loomem.core.frames import has_marker
from loomem.core.pii import redact
from loomem.core.pii_settings import PiiSettings

PASSES = 4
"""Changing passes before a text counts as an attempt to get through."""


class Where(StrEnum):
    """In which form of a text something was found."""

    RAW = "raw"
    STRIPPED = "stripped"
    BOTH = "both"


class Flag(msgspec.Struct, frozen=True):
    """Something in a text that looks like an instruction to whoever reads it."""

    label: str
    where: Where


class Sanitised(msgspec.Struct, frozen=True, kw_only=True):
    text: str
    passes: int
    """How many passes changed it."""
    flags: tuple[Flag, ...] = ()


class Cleaned(msgspec.Struct, frozen=True, kw_only=True):
    """A text that may be stored, and what cleaning it took."""

    text: str
    stripped: bool
    """Whether markup was removed or decoded."""
    flags: tuple[Flag, ...] = ()
    redacted: Mapping[str, int] = {}
    """How many of each kind, never what they were."""


class CleanedObject(msgspec.Struct, frozen=True, kw_only=True):
    """An object whose texts and keys may be stored."""

    value: dict[str, Any]
    stripped: bool
    flags: tuple[Flag, ...] = ()
    redacted: Mapping[str, int] = {}


_PLAIN = """
a abbr acronym article aside b bdi bdo big blink blockquote br center cite dd del details dfn dialog dir div dl dt em
figcaption figure font footer form frameset h1 h2 h3 h4 h5 h6 head hgroup hr html i iframe ins kbd legend li main mark
marquee meter nav noframes noscript ol optgroup p picture pre progress q rp rt ruby s samp script search small span
strike strong style sub sup svg table tbody td textarea tfoot th thead tr tt u ul wbr
"""
_ALSO_WORDS = """
address applet area audio base body button canvas caption code col colgroup data datalist embed fieldset frame header
img input label link map math menu meta object option output param section select slot source summary template time
title track var video
"""
"""Names that people also write as placeholders (`cp <source> <target>`): alone and without attributes they stay."""

_PARTING = """
article aside blockquote br center dd details div dl dt figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr
li main nav ol p pre section table tbody td tfoot th thead title tr ul
"""
"""Names of tags that part words: of these something is left where nothing else does."""

_NAMES = frozenset(_PLAIN.split())
_BLOCKS = frozenset(_PARTING.split())
_WORDS = frozenset(_ALSO_WORDS.split())

_VALUELESS = """allowfullscreen|async|autofocus|autoplay|checked|controls|default|defer|disabled|download|hidden|inert
|ismap|loop|multiple|muted|nomodule|noshade|novalidate|nowrap|open|readonly|required|reversed|selected"""
_ATTRIBUTE = (
    rf"""\s++(?:[A-Za-z_:@][\w:.@-]*+\s*+=\s*+(?:"[^"<]*+"|'[^'<]*+'|[^\s"'=<>`]++)|(?i:{_VALUELESS})(?![\w:.@=-]))"""
)
"""A name without a value is one only if HTML knows it so: `if a <b and c> d` is no tag."""

_TAG = re.compile(
    rf"""<(?:(?P<close>/)?(?P<name>[A-Za-z][A-Za-z0-9]*+)(?P<attributes>(?:{_ATTRIBUTE})*+)\s*+(?P<empty>/)?>
    |!--[^<]*?-->|!(?i:doctype)\s[^<>]*+>)""",
    re.VERBOSE,
)
_CLOSING = re.compile(r"</([A-Za-z][A-Za-z0-9]*+)\s*+>")
_TICKS = re.compile(r"`+")
_BLANK_LINE = re.compile(r"\n[^\S\n]*+\n")

_TRIGGERS = ("<", "&amp;", "&lt;", "&gt;", "&quot;")
_ENTITIES = (("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&#39;", "'"), ("&nbsp;", " "))

_INSTRUCTIONS = (
    "ignore previous instructions",
    "ignore all previous",
    "disregard above",
    "forget everything",
    "you are now",
    "act as if",
    "pretend you are",
    "new instructions:",
    "system:",
    "<<sys>>",
    "[system]",
    "</s>",
    "<|im_end|>",
    "<|endoftext|>",
    "human:",
    "assistant:",
    "[inst]",
    "[/inst]",
)
_UNSEEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff]")
_UNSEEN_FREE = 5
"""So many unseen characters are nothing to speak of."""


def sanitise(text: str, *, field: str = "content") -> Sanitised:
    """Return a text without markup; sanitising it again changes nothing.

    Raises: InvalidInput naming the field, when it still changes after four passes.
    """
    clean, passes = text, 0
    while (changed := _pass(clean)) != clean:
        if passes == PASSES:
            raise InvalidInput(
                f"{field} holds markup that is escaped more than {PASSES} times over; store it unescaped", field=field
            )
        clean, passes = changed, passes + 1
    return Sanitised(text=clean, passes=passes, flags=_flags(text, clean))


def clean(text: str, pii: PiiSettings, *, field: str = "content", label: str = "") -> Cleaned:
    """Return a text as it may be stored; cleaning it again changes nothing. `label` is the key it stands under, if any.

    Raises: InvalidInput naming the field.
    """
    sanitised = sanitise(text, field=field)
    redacted = redact(sanitised.text, pii, label=label)
    # What a redaction lays bare (a blocked term between two backticks) may be markup again; seldom, so asked afterwards.
    for _ in range(PASSES):
        settled = _pass(redacted.text)
        if settled == redacted.text:
            break
        again = redact(sanitise(settled, field=field).text, pii, label=label)
        redacted = msgspec.structs.replace(again, counts=dict(Counter(redacted.counts) + Counter(again.counts)))
    return Cleaned(
        text=redacted.text, stripped=sanitised.passes > 0, flags=sanitised.flags, redacted=dict(redacted.counts)
    )


def clean_object(value: Mapping[str, Any], pii: PiiSettings, *, field: str = "metadata") -> CleanedObject:
    """Return an object of JSON with all its texts and keys cleaned; keys that become one are told apart by a number.

    Raises: InvalidInput naming the field.
    """
    walk = _Walk(pii)
    return CleanedObject(
        value=walk.object(value, field),
        stripped=walk.stripped,
        flags=tuple(dict.fromkeys(walk.flags)),
        redacted=dict(walk.redacted),
    )


class _Walk:
    """Cleans what is inside of an object, and adds up what that took."""

    def __init__(self, pii: PiiSettings) -> None:
        self._pii = pii
        self.stripped = False
        self.flags: list[Flag] = []
        self.redacted: Counter[str] = Counter()

    def object(self, value: Mapping[str, Any], field: str) -> dict[str, Any]:
        cleaned: dict[str, Any] = {}
        for key, item in value.items():
            name, number = self.text(key, field), 2
            free = name
            while free in cleaned:
                free, number = f"{name} ({number})", number + 1
            cleaned[free] = self.value(item, f"{field}.{name[:40]}", name)
        return cleaned

    def value(self, value: Any, field: str, label: str) -> Any:
        if isinstance(value, str):
            return self.text(value, field, label)
        if isinstance(value, Mapping):
            return self.object(cast("Mapping[str, Any]", value), field)
        if isinstance(value, list | tuple):
            items = cast("list[Any]", value)
            return [self.value(item, f"{field}[{i}]", label) for i, item in enumerate(items)]
        return value

    def text(self, text: str, field: str, label: str = "") -> str:
        cleaned = clean(text, self._pii, field=field, label=label)
        self.stripped = self.stripped or cleaned.stripped
        self.flags += cleaned.flags
        self.redacted.update(cleaned.redacted)
        return cleaned.text


def _pass(text: str) -> str:
    """Return a text after one pass: without tags, decoded once; as it was when there is nothing of either."""
    if not any(trigger in text for trigger in _TRIGGERS):
        return text
    pieces = list(_pieces(text))
    closed = {
        name.lower() for piece, is_code in pieces if not is_code for name in _CLOSING.findall(piece) if name.isascii()
    }
    changed = "".join(piece if is_code else _stripped(piece, closed) for piece, is_code in pieces)
    return text if changed == text else changed.strip()


def _stripped(piece: str, closed: set[str]) -> str:
    """Return a piece of text without tags and decoded once."""
    holes = [m for m in _TAG.finditer(piece) if _is_tag(piece, m, closed)]
    kept = [
        piece[start:end]
        for start, end in zip([0, *(m.end() for m in holes)], [*(m.start() for m in holes), len(piece)], strict=True)
    ]
    for entity, character in _ENTITIES:
        kept = [text.replace(entity, character) for text in kept]
    return (
        kept[0] if not holes else _joined(kept, [m["name"] is not None and m["name"].lower() in _BLOCKS for m in holes])
    )


def _joined(kept: list[str], breaks: list[bool]) -> str:
    """Return the texts between holes as one.

    Where a hole leaves three blanks or more, two are enough; where it leaves none and was a break, there is one.
    """
    body: list[str] = []
    gap = ""
    for i, text in enumerate(kept):
        core = text.strip()
        if i and breaks[i - 1] and not gap and not text[:1].isspace():
            gap = " "
        lead = text[: len(text) - len(text.lstrip())]
        if not core:
            gap += text
            continue
        body.append(_squeezed(gap + lead) if i else gap + lead)
        body.append(core)
        gap = text[len(lead) + len(core) :]
    return "".join([*body, _squeezed(gap)])


def _squeezed(gap: str) -> str:
    return gap if len(gap) < 3 else "  "


def _is_tag(piece: str, match: re.Match[str], closed: set[str]) -> bool:
    """Say whether what looks like a tag is one of HTML, and no type parameter, placeholder or component."""
    name = match["name"]
    if name is None:
        return True  # a comment, a doctype
    low = name.lower()
    if name not in (low, name.upper()) or (low not in _NAMES and low not in _WORDS):
        return False
    if match["close"]:
        return not match["attributes"]
    if match["attributes"] or match["empty"] or low in closed:
        return True
    if low in _WORDS:
        return False
    before = piece[match.start() - 1 : match.start()]
    return len(name) > 1 or name == "p" or not (name.isupper() or before.isalnum() or before in (":", "_"))


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Tell the pieces of a text in order, and whether each is code, that is, stands in backticks as in Markdown."""
    done = 0
    for start, end in _code(text):
        if start > done:
            yield text[done:start], False
        yield text[start:end], True
        done = end
    if done < len(text) or not text:
        yield text[done:], False


def _code(text: str) -> Iterator[tuple[int, int]]:
    """Tell where code is: between two runs of as many backticks; one of less than three ends with its paragraph."""
    runs = [m.span() for m in _TICKS.finditer(text)]
    if len(runs) < 2:
        return
    blank = [m.start() for m in _BLANK_LINE.finditer(text)]
    same: dict[int, list[int]] = {}
    for index, (start, end) in enumerate(runs):
        same.setdefault(end - start, []).append(index)
    index = 0
    while index < len(runs):
        start, end = runs[index]
        peers = same[end - start]
        later = bisect_left(peers, index) + 1
        if later < len(peers) and _may_span(end, runs[peers[later]][0], blank, ticks=end - start):
            index = peers[later]
            yield start, runs[index][1]
        index += 1


def _may_span(start: int, end: int, blank: list[int], *, ticks: int) -> bool:
    if ticks >= 3:
        return True
    first = bisect_left(blank, start)
    return first == len(blank) or blank[first] >= end


def _flags(raw: str, stripped: str) -> tuple[Flag, ...]:
    before = _suspicions(raw)
    after = before if stripped == raw else _suspicions(stripped)
    return tuple(
        Flag(
            label,
            Where.BOTH if label in before and label in after else Where.RAW if label in before else Where.STRIPPED,
        )
        for label in dict.fromkeys((*before, *after))
    )


def _suspicions(text: str) -> list[str]:
    low = text.lower()
    found = [words for words in _INSTRUCTIONS if words in low]
    if has_marker(text):
        found.append("frame marker")
    if len(_UNSEEN.findall(text)) > _UNSEEN_FREE:
        found.append("unseen characters")
    return found
