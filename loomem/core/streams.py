"""Streams: the word by which the knowledge tools name a space, and what each word means for a caller. Pure.

| word                                   | the space                                                     |
|----------------------------------------|---------------------------------------------------------------|
| `__user_default__`                     | the personal space, where facts go when no word is given      |
| `__private__`                          | the caller's private space                                    |
| `__project__`, `__public__`            | team, public: one writes one's own part, and reads everybody's |
| `personal`, `private`, `project`, `public` | the same, unless a configured namespace is called so      |
| alias or id of a configured namespace  | that stream of the user                                       |
| id of a stream that holds something    | that stream of the user                                       |

Every other word is refused in the same sentence, whether or not somebody has such a stream. Sub-agents have no streams.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

import msgspec

from identity.agent import Caller
from identity.errors import AccessDenied, InvalidInput
from identity.keys import Root, Space, escape_token, stream_of_token
from identity.visibility import Scope, space_for, stream_space
from loomem.core.row import Place

USER_DEFAULT = "__user_default__"
BUILT_IN: dict[str, Scope] = {
    USER_DEFAULT: Scope.PERSONAL,
    "__private__": Scope.PRIVATE,
    "__project__": Scope.TEAM,
    "__public__": Scope.PUBLIC,
}
ALIASES = {
    "personal": USER_DEFAULT,
    "private": "__private__",
    "project": "__project__",
    "public": "__public__",
}
"""What the built-in streams are called, unless a configured namespace is called so."""
_WORD_OF = {scope: word for word, scope in BUILT_IN.items()}
_ID = re.compile(r"[A-Za-z0-9_.@-]{1,128}", re.ASCII)
_PRIVATE_ROOTS = frozenset({Root.AGENTS, Root.CORE})


class Stream(msgspec.Struct, frozen=True, kw_only=True):
    """A space as the knowledge tools name it."""

    word: str
    """Its id; never an alias."""
    scope: Scope
    space: Space
    """Where the caller writes."""
    stream: str | None = None
    """What its key calls it, for one that is a stream of its own and not one of the four scopes."""

    def holds(self, place: Place) -> bool:
        """Say whether a place is part of it: of private and personal the caller's own, of team and public everybody's."""
        if place.bucket != self.space.bucket or place.scope is not self.scope:
            return False
        if self.space.root is Root.SHARED:
            return place.root is Root.SHARED
        same_root = place.root is self.space.root or {place.root, self.space.root} <= _PRIVATE_ROOTS
        return same_root and place.owner == self.space.token


def is_stream_id(word: str) -> bool:
    """Say whether a word has the form of a stream's id."""
    return _ID.fullmatch(word) is not None


def built_in(caller: Caller, word: str) -> Stream:
    """Return the stream of one of the built-in words."""
    scope = BUILT_IN[word]
    return Stream(word=word, scope=scope, space=space_for(caller, scope))


def stream_named(
    caller: Caller, word: object, namespaces: Mapping[str, str], existing: Collection[str]
) -> Stream | None:
    """Return the stream that a word names, or None when there is no word.

    `namespaces` are the configured ids by their aliases, `existing` the ids of the caller's streams that hold something.

    Raises: InvalidInput (no such word can be), AccessDenied (the caller has no such stream; whether somebody has is not said).
    """
    if word is None or word == "":
        return None
    if not isinstance(word, str) or not is_stream_id(word):
        shown = word[:64].encode("unicode_escape").decode() if isinstance(word, str) else type(word).__name__
        raise InvalidInput(f"Invalid stream id '{shown}'.", field="stream")
    ident = word if word in BUILT_IN else namespaces.get(word) or ALIASES.get(word, word)
    if ident in BUILT_IN:
        return built_in(caller, ident)
    known = stream_of_token(escape_token(ident))
    if not caller.is_subagent and (ident in namespaces.values() or known in existing):
        return Stream(word=ident, scope=Scope.PERSONAL, space=stream_space(caller, known), stream=known)
    raise AccessDenied(f"Access denied: no membership on stream '{word}'.", stream=word)


def word_of(place: Place) -> str:
    """Return the id of the stream that a place is part of."""
    return place.stream if place.stream is not None else _WORD_OF[place.scope]
