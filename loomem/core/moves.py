"""A move of a memory from one key to another where no atomic batch reaches: create, then remove, told by the operation id.

The target is written with the operation `move {bucket} {key} {revision} {uuid}`: where it came from, and which revision
was copied. Whoever finds that write (the mover itself, or a worker after the mover died) removes the source by
`ended_by`: everybody makes the same change, so it happens once, and not at all when the source was changed meanwhile.

Pure. Deliberately absent: doing it (`loomem/store` and `loomem/workers`).
"""

from __future__ import annotations

import re

import msgspec

from identity.keys import Key, Root
from identity.ports import Change, Put, Reason, Remove
from identity.visibility import PERSONAL_OWNER
from loomem.core.plan import stub_of, takes_a_place
from loomem.core.record import Memory, encode

_MOVE = re.compile(r"move (?P<bucket>[\w-]+) (?P<key>[\w=.-]+) (?P<revision>[1-9][0-9]{0,18}) (?P<id>[\w-]+)", re.ASCII)


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """Where a moved memory came from."""

    bucket: str
    key: str
    revision: int
    id: str
    """Makes the operation unique: a memory may go there and back."""

    @property
    def op(self) -> str:
        """Operation id of the write of the target."""
        return f"move {self.bucket} {self.key} {self.revision} {self.id}"

    @property
    def removal(self) -> Remove:
        """The change that empties the old key."""
        return Remove(key=self.key, expected=self.revision, op=self.op, reason=Reason.MOVE)

    def ended_by(self, source: Memory) -> Change:
        """Return the change that ends the move, the same whoever makes it.

        A source that took another's place leaves a stub, or the other would be back where it was.
        """
        if takes_a_place(source):
            return Put(key=self.key, value=encode(stub_of(source)), expected=self.revision, op=self.op)
        return self.removal


def parse_move(op: str | None) -> Move | None:
    """Return the move an operation id tells of, or None."""
    match = _MOVE.fullmatch(op or "")
    if match is None:
        return None
    return Move(bucket=match["bucket"], key=match["key"], revision=int(match["revision"]), id=match["id"])


def may_finish(source: Key, target: Key) -> bool:
    """Say whether the writer of `target` was allowed to remove `source`, as far as the keys prove it.

    A worker removes with the operator's rights what a mere writer claims to have moved. The broker vouches for the
    target's prefix; so the source must lie under the same owner, or be private and have gone to the personal space
    that root agents alone write, or come from a personal space or stream, which nobody reads who may not change it.
    """
    if source.kind is not target.kind:
        return False
    if source.owner == target.owner:
        return True
    match source.root:
        case Root.AGENTS | Root.CORE:
            return target.root is Root.PERSONAL and target.owner == PERSONAL_OWNER
        case Root.PERSONAL | Root.STREAMS:
            return True
        case Root.SHARED:
            return False
