"""Laws of moves: the operation id round-trips, and a claim proves no more than its keys do."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from identity.keys import Key, Kind, Root, Space, parse_key
from identity.ports import Reason
from loomem.core.moves import Move, may_finish, parse_move

owners = st.sampled_from(["A", "B", "user", "type:x"])
roots = st.sampled_from(Root)


@st.composite
def keys(draw: st.DrawFn) -> Key:
    key = parse_key(Space("b", draw(roots), draw(owners)).key(Kind.MEMORY, "1"))
    assert key is not None
    return key


@given(roots, st.text(min_size=1), st.text(min_size=1), st.integers(1, 2**63 - 1), st.uuids())
def test_a_move_is_read_back_from_its_operation(root: Root, owner: str, id: str, revision: int, unique: object) -> None:
    key = Space("b", root, owner).key(Kind.MEMORY, id)
    move = Move(bucket="loom-memory-project-x", key=key, revision=revision, id=str(unique))
    assert parse_move(move.op) == move
    assert (move.removal.key, move.removal.expected, move.removal.reason) == (key, revision, Reason.MOVE)


@given(st.none() | st.text() | st.from_regex(r"move [a-z ]*", fullmatch=True))
def test_no_other_operation_is_a_move(op: str | None) -> None:
    move = parse_move(op)
    assert move is None or move.op == op


@given(keys(), keys())
def test_what_others_own_is_taken_by_no_claim(source: Key, target: Key) -> None:
    allowed = may_finish(source, target)
    if source.owner == target.owner:
        assert allowed
    elif source.root is Root.SHARED:
        assert not allowed
    elif source.root in (Root.AGENTS, Root.CORE):
        assert allowed == (target.root is Root.PERSONAL and target.owner == "user")
    else:
        assert allowed


def test_only_the_same_kind_is_a_move() -> None:
    source = Key(Root.AGENTS, "A", Kind.MEMORY, "1")
    assert not may_finish(source, Key(Root.AGENTS, "A", Kind.GRAPH, "1"))
