"""Vectors as they are stored, the text they are made of, and their keys."""

from __future__ import annotations

from math import inf, nan, sqrt
from struct import pack

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from identity.errors import Corrupt
from identity.keys import Kind, Root, Space, parse_key
from loomem.core.embedding import components_of, unit_vector
from loomem.core.record import Memory, from_fields
from loomem.core.vector import HASH_BYTES, Stored, content_hash, decode, encode, text_of

NOT_OF_LENGTH_1 = [(0.0, 0.0), (2.0, 0.0), (inf, 0.0), (nan, 1.0), (65504.0, 65504.0), (0.9, 0.0)]
components = st.lists(st.floats(-1e6, 1e6, allow_subnormal=False), min_size=1, max_size=64).filter(
    lambda values: any(abs(v) > 1e-3 for v in values)
)


def memory(content: str, **metadata: object) -> Memory:
    return from_fields(
        {
            "id": "6f1d4b0e-0000-4000-8000-000000000001",
            "agentId": "a",
            "projectId": "p",
            "scope": "private",
            "category": "longterm",
            "content": content,
            "metadata": metadata,
            "createdAt": "2026-01-01T00:00:00.000Z",
            "updatedAt": "2026-01-01T00:00:00.000Z",
            "version": 1,
        }
    )


@given(components, st.text(max_size=40))
def test_a_vector_comes_back_as_it_was_stored(values: list[float], model: str) -> None:
    model = model.encode("utf-8", "replace").decode()
    stored = Stored.of(model=model, hash=content_hash("text"), values=unit_vector(values))
    assert decode(encode(stored)) == stored
    assert stored.dimensions == len(values)


@given(components)
def test_a_vector_has_length_one(values: list[float]) -> None:
    assert sqrt(sum(c * c for c in components_of(unit_vector(values)))) == pytest.approx(1.0, abs=2e-3)


@pytest.mark.parametrize("values", [[], [0.0, 0.0], [float("nan"), 1.0], [float("inf"), 1.0]])
def test_what_has_no_direction_is_no_vector(values: list[float]) -> None:
    with pytest.raises(Corrupt):
        unit_vector(values)


@given(st.binary(max_size=80))
def test_any_bytes_are_a_vector_or_corrupt(value: bytes) -> None:
    try:
        stored = decode(value)
    except Corrupt:
        return
    assert len(stored.values) == 2 * stored.dimensions


@pytest.mark.parametrize(
    "wrong",
    [
        [2, "m", b"h" * HASH_BYTES, 1, b"\0\0"],
        [1, "m", b"h", 1, b"\0\0"],
        [1, "m", b"h" * HASH_BYTES, 2, b"\0\0"],
        [1, "m", b"h" * HASH_BYTES, 0, b""],
        [1, "m", b"h" * HASH_BYTES, 1, b"\0\0", "more"],
        {"version": 1},
        # Lengths of 0, 2, infinity; no number; and the longest that half floats can be.
        *([1, "m", b"h" * HASH_BYTES, 2, pack("<2e", *values)] for values in NOT_OF_LENGTH_1),
    ],
)
def test_what_cannot_be_is_corrupt(wrong: object) -> None:
    with pytest.raises(Corrupt):
        decode(msgspec.msgpack.encode(wrong))


@given(st.text(), st.text())
def test_texts_are_told_apart_by_their_hash(one: str, other: str) -> None:
    assert (content_hash(one) == content_hash(other)) is (one == other)


@pytest.mark.parametrize(
    ("content", "speaker", "text"),
    [
        ("I moved to Gdańsk", "Anna", "Anna: I moved to Gdańsk"),
        ("Anna: I moved", "Anna", "Anna: I moved"),
        ("Anna moved", "Anna", "Anna: Anna moved"),
        ("I moved", "  ", "I moved"),
        ("I moved", 7, "I moved"),
        ("I moved", None, "I moved"),
    ],
)
def test_the_speaker_is_part_of_the_text(content: str, speaker: object, text: str) -> None:
    assert text_of(memory(content, speaker=speaker)) == text


@given(st.text(min_size=1, max_size=300), st.text(min_size=1, max_size=300))
def test_a_vectors_key_is_one_of_its_memory(ident: str, model: str) -> None:
    space = Space("loom-memory-global", Root.SHARED, "creator")
    of_memory = parse_key(space.key(Kind.MEMORY, ident))
    assert of_memory is not None
    key = of_memory.vector(model)
    parsed = parse_key(key)
    assert parsed is not None
    assert (parsed.kind, parsed.prefix, parsed.id) == (Kind.VECTOR, space.prefix, of_memory.id)
    assert of_memory.vectors == key.rpartition(".")[0] + ".*"
    assert len(key) < 512
