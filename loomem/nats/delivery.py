"""What a consumer delivers, read from its bytes: a store is told message by message, and each of its parts costs.

What our own writers send is recognised as a whole; anything else is taken apart header by header, as nats-py does.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import msgspec

from identity.ports import Entry, Marker
from loomem.nats.bucket import OP, held_of

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PUT = re.compile(
    rb"NATS/1\.0\r\nNats-Expected-Last-Subject-Sequence: [0-9]+\r\n"
    + OP.encode()
    + rb": ([!-~]+)\r\n(?:Nats-(?:TTL|Batch-[A-Za-z]+): [!-~]*\r\n)*\r\n\Z"
)
"""The headers of a put of ours that passes no trail on."""
_NAME = re.compile(rb"[^\s\x1c-\x1f\x80-\xff]*\Z")
"""Name of a header: ASCII without spaces."""


class Delivery(msgspec.Struct, frozen=True, gc=False):
    """One message as it came. `head` is the block of headers, empty where there are none."""

    subject: bytes
    reply: bytes
    data: bytes
    head: bytes

    @property
    def is_control(self) -> bool:
        """Whether it is no change: a heartbeat, or the flow control's."""
        return not self.data and self.head[8:9] == b" "

    @property
    def headers(self) -> dict[str, str]:
        """Its headers, with `Status` and `Description` where there is a status."""
        line, _, lines = self.head.partition(b"\r\n")
        headers: dict[str, str] = {}
        if line[8:9] == b" ":
            status, _, description = line[9:].partition(b" ")
            headers = {
                "Status": status.decode("ascii", "replace"),
                "Description": description.decode("utf-8", "replace"),
            }
        return headers | header_lines(lines)

    def place(self) -> tuple[int, int, int, int]:
        """Return its sequence in the stream and in the consumer, when it was stored (ns), and how many are still to come."""
        tokens = self.reply.split(b".")
        # $JS.ACK.[domain.account.]stream.consumer.delivered.stream-seq.consumer-seq.time.pending[.random]
        at = 5 if len(tokens) == 9 else 7
        return int(tokens[at]), int(tokens[at + 1]), int(tokens[at + 2]), int(tokens[at + 3])

    def change(self, key: str, sequence: int, nanoseconds: int) -> Entry | Marker:
        """Return what it says about a key of a bucket."""
        when = _EPOCH + timedelta(microseconds=nanoseconds // 1_000)
        put = _PUT.match(self.head)
        if put is not None:
            return Entry(key=key, value=self.data, revision=sequence, at=when, op=put[1].decode())
        return held_of(key, self.data, self.headers, sequence, when)


def header_lines(raw: bytes) -> dict[str, str]:
    """Return headers as nats-py reads them, without its look at every character of a name."""
    lines = (line.partition(b":") for line in raw.split(b"\r\n"))
    pairs = ((name.strip(), value.strip()) for name, colon, value in lines if colon)
    return {name.decode(): value.decode("utf-8", "replace") for name, value in pairs if _NAME.match(name)}
