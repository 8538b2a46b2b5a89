"""What the knowledge tools store is cleaned first: no markup, no personal data, and the scan policy's say on secrets.

The rules are `core.hygiene`, `core.pii` and `core.scan`; here they are applied in their order, and what they found is told.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from identity.errors import InvalidInput
from loomem.core import limits as check
from loomem.core.facts import Fact, clean_fact_content
from loomem.core.hygiene import PASSES, Flag, clean, clean_object
from loomem.core.knowledge import Relation
from loomem.core.pii_settings import PiiSettings
from loomem.core.transcript import Transcript, segment
from loomem.results import Notice
from loomem.store.write import Door

log = logging.getLogger(__name__)

_SPEAKERS = frozenset({"human:", "assistant:"})
"""What looks like an instruction anywhere but where it says who speaks in a conversation."""


_MARKUP = Notice(
    type="markup", description="markup was removed or decoded before it was stored; code in backticks is kept as it is"
)


class Cleaning:
    """Cleans the parts of one fact, and adds up what was found in them."""

    def __init__(self, door: Door, pii: PiiSettings) -> None:
        self._door = door
        self._pii = pii
        self._redacted: Counter[str] = Counter()
        self._flags: list[Flag] = []
        self._notices: list[Notice] = []

    def text(self, text: str, *, field: str = "content") -> str:
        """Return a short text. Raises: InvalidInput."""
        cleaned = clean(text, self._pii, field=field)
        self._found(cleaned.redacted, cleaned.flags)
        screened, _, notices = self._door.screen(cleaned.text, None, fact=True)
        self._notices += [msgspec.structs.replace(notice, field=field) for notice in notices]
        return check.clean_text(field, screened or cleaned.text)

    def content(self, text: str, metadata: Mapping[str, Any] | None) -> tuple[str, dict[str, Any] | None]:
        """Return the text of a fact and its metadata. Raises: InvalidInput (also when nothing but markup was in it)."""
        cleaned = clean(text, self._pii)
        self._found(cleaned.redacted, cleaned.flags)
        labels = None
        if cleaned.stripped:
            self._notices.append(_MARKUP)
        if metadata is not None:
            inside = clean_object(metadata, self._pii)
            self._found(inside.redacted, inside.flags)
            labels = check.clean_metadata(inside.value, self._door.limits)
        screened, labels, notices = self._door.screen(cleaned.text, labels, fact=True)
        self._notices += notices
        return clean_fact_content(screened, self._door.limits), labels

    def transcript(self, text: str) -> tuple[str, Transcript]:
        """Return a whole conversation, that is, one that cleaning again would leave as it is, and who says what in it.

        So what is stored is what is read, and what any part of it is cut from.
        Raises: InvalidInput (also when nothing is left, or no end of cleaning it is in sight).
        """
        cleaned = clean(text, self._pii)
        if cleaned.stripped:
            self._notices.append(_MARKUP)
        self._found(cleaned.redacted, ())
        settled = self._settled(cleaned.text.strip())
        taken_apart = segment(settled)
        self._instructions([flag for flag in cleaned.flags if not _only_says_who_speaks(flag, taken_apart)])
        return settled, taken_apart

    def _settled(self, text: str) -> str:
        """Return a clean text without secrets that cleaning leaves as it is. Raises: InvalidInput."""
        most = self._door.limits.transcript_bytes
        for _ in range(PASSES):
            screened, _, notices = self._door.screen(text, None, max_bytes=most)
            settled = (screened or text).strip()
            again = clean(settled, self._pii)
            if again.text.strip() == text:
                self._notices += notices
                return check.clean_transcript(text, self._door.limits)
            if settled != text:
                self._notices += notices
            self._found(again.redacted, ())
            text = again.text.strip()
        raise InvalidInput("content does not settle when it is cleaned; nothing was stored", field="content")

    def _instructions(self, flags: list[Flag]) -> None:
        """Tell the writer of a conversation what in it looks like instructions."""
        self._found({}, flags)
        if flags:
            labels = ", ".join(dict.fromkeys(repr(flag.label) for flag in flags))
            said = f"it holds what looks like instructions to its reader: {labels}"
            self._notices.append(Notice(type="instructions", description=said))

    def is_clean(self, text: str) -> bool:
        """Say whether a text may be stored as it is, as far as markup and personal data go."""
        try:
            return clean(text, self._pii).text == text
        except InvalidInput:
            return False

    def fact(self, fact: Fact) -> Fact:
        """Return what is said of a fact beside its text. Raises: InvalidInput."""
        relations = tuple(
            Relation(
                **{name: self.text(word, field="relations") for name, word in msgspec.structs.asdict(each).items()}
            )
            for each in fact.relations
        )
        return msgspec.structs.replace(
            fact, subject=self.text(fact.subject, field="subject"), source=self.text(fact.source, field="source"),
            relations=relations,
        )  # fmt: skip

    def notices(self) -> list[Notice]:
        """Return what the writer is told, and put in the log what looks like an instruction to readers."""
        if self._flags:
            labels = ",".join(sorted({f"{flag.label}/{flag.where}".replace(" ", "_") for flag in self._flags}))
            log.warning("event=instructions_in_text flags=%s", labels)
        redacted = [
            Notice(type="redacted", description=f"{count} of kind {kind} were taken out before it was stored")
            for kind, count in sorted(self._redacted.items())
        ]
        return [*redacted, *self._notices]

    def _found(self, redacted: Mapping[str, int], flags: Iterable[Flag]) -> None:
        self._redacted.update(redacted)
        self._flags += flags


def _only_says_who_speaks(flag: Flag, transcript: Transcript) -> bool:
    """Say whether a name of a speaker stands nowhere but before what that speaker says."""
    if flag.label not in _SPEAKERS or transcript.unlabelled:
        return False
    return not any(flag.label in said.text.lower() for said in transcript.utterances)
