"""Headers of messages are read as nats-py reads them, only faster."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from nats.aio.client import Client

from loomem.nats.client import LinkClient

ours, theirs = LinkClient._parse_header_lines, Client._parse_header_lines  # pyright: ignore[reportPrivateUsage, reportUnknownMemberType, reportUnknownVariableType]
lines = st.lists(
    st.binary(max_size=12)
    | st.sampled_from(
        [b"Pattern-Op: x", b"\x01: c", b"a\x1cb: c", b"\x1f: c", b"\xff: c", b"a b: c", b": v", b"\xc3\xbc: y"]
    ),
    max_size=5,
)


@given(lines)
def test_headers_are_read_as_by_the_library(some: list[bytes]) -> None:
    raw = b"\r\n".join(some)
    assert ours(raw) == theirs(raw)
