"""Headers of messages are read as nats-py reads them, only faster."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nats.aio.client import Client

from identity.ports import Entry
from loomem.nats.bucket import held_of
from loomem.nats.delivery import Delivery, header_lines

theirs = Client._parse_header_lines  # pyright: ignore[reportPrivateUsage, reportUnknownMemberType, reportUnknownVariableType]
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
    assert header_lines(raw) == theirs(raw)


@pytest.mark.parametrize(
    "lines",
    [
        b"Pattern-Op: x",
        b"Nats-Expected-Last-Subject-Sequence: 7\r\nPattern-Op: x",
        b"Nats-Expected-Last-Subject-Sequence: 7\r\nPattern-Op: x\r\nNats-TTL: 60s",
        b"Nats-Expected-Last-Subject-Sequence: 7\r\nPattern-Op: x\r\nNats-Batch-Id: a\r\nNats-Batch-Sequence: 1",
        b"Nats-Expected-Last-Subject-Sequence: 7\r\nPattern-Op: x\r\nPattern-Trail: y@6",
        b"Nats-Expected-Last-Subject-Sequence: 7\r\nPattern-Op: x\r\nKV-Operation: PURGE\r\nPattern-Reason: forget",
        b"Nats-Expected-Last-Subject-Sequence: 7\r\nPattern-Op: x\r\nNats-Marker-Reason: MaxAge",
        b"Nats-Expected-Last-Subject-Sequence: 7\r\nPattern-Op: x\r\nPattern-Op: y",
    ],
)
def test_a_change_is_the_same_whether_its_headers_are_known_as_a_whole_or_taken_apart(lines: bytes) -> None:
    at = datetime(2026, 1, 1, 12, 0, 0, 5, tzinfo=UTC)
    delivery = Delivery(b"$KV.b.k", b"", b"value", b"NATS/1.0\r\n" + lines + b"\r\n\r\n")
    expected = held_of("k", b"value", header_lines(lines), 9, at)
    assert delivery.change("k", 9, 1_767_268_800_000_005_999) == expected
    assert not delivery.is_control


def test_a_message_without_headers_is_a_value() -> None:
    at = datetime(1970, 1, 1, tzinfo=UTC)
    assert Delivery(b"$KV.b.k", b"", b"", b"").change("k", 9, 0) == Entry(key="k", value=b"", revision=9, at=at)


def test_a_status_is_read_with_what_stands_beside_it() -> None:
    head = b"NATS/1.0 100 Idle Heartbeat\r\nNats-Last-Consumer: 7\r\n\r\n"
    delivery = Delivery(b"_INBOX.x", b"", b"", head)
    assert delivery.is_control
    assert delivery.headers == {"Status": "100", "Description": "Idle Heartbeat", "Nats-Last-Consumer": "7"}
    bare = Delivery(b"_INBOX.x", b"", b"", b"NATS/1.0 409\r\n\r\n").headers
    assert bare == {"Status": "409", "Description": ""}
