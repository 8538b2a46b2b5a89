"""What in a text could be taken for the beginning or end of a frame, in which text is shown to a model. Pure.

A marker is found however it is disguised: with other brackets, in other cases, with unseen characters between, or of letters
that Unicode makes plain ones of. Deliberately absent: the frames themselves (`loomem.llm.prompts`).
"""

from __future__ import annotations

import re
import unicodedata

_MARKER = re.compile(r"([\[<])(\W{0,8}?)(c\W{0,3}h\W{0,3}u\W{0,3}n\W{0,3}k)", re.IGNORECASE)
"""What might be read as the beginning or end of a frame."""
_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
"""Characters that nobody sees: they hide markers, and mean nothing to a reader."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_LOOKALIKES = str.maketrans("［］【】〔〕⁅⁆❲❳⟦⟧", "[][][][][][]")


def has_marker(text: str) -> bool:
    """Say whether a text holds what could be taken for the beginning or end of a frame."""
    if text.isascii():  # most long ones are, and then there is little to see through
        return _MARKER.search(_CONTROL.sub(" ", text)) is not None
    return _MARKER.search(_seen(text)) is not None


def inert(text: str) -> str:
    """Return a text without anything that could be taken for the end or the beginning of a frame."""
    return _MARKER.sub(r"\1\2 data-\3", _seen(text))


def _seen(text: str) -> str:
    """Return a text without what nobody sees, and with its markers in plain letters."""
    seen = _CONTROL.sub(" ", _UNSEEN.sub("", text)).translate(_LOOKALIKES)
    folded = unicodedata.normalize("NFKC", seen)
    if len(_MARKER.findall(folded)) > len(_MARKER.findall(seen)):
        return folded  # a marker of fullwidth or styled letters
    return seen
