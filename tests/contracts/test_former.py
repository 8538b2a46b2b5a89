"""Vectors of former models: counted, and removed without touching anything else."""

from __future__ import annotations

import pytest

from loomem.core.vector import Stored, content_hash, encode
from loomem.nats.streams import Streams
from loomem.nats.topology import KvBuckets
from loomem.workers.former import Held, former, held, prune
from pattern.testing.accounts import NatsAccount
from tests.contracts.embed_kit import BUCKET, keep
from tests.contracts.nats_kit import put
from tests.contracts.workers_kit import held as held_by
from tests.contracts.workers_kit import linked

OLD, NEW = "old/model", "new-model"


def vector(number: int, model: str, content: str = "x") -> tuple[str, bytes]:
    value = encode(Stored.of(model=model, hash=content_hash(content), values=b"\0\x3c"))
    return f"agents.A.v.memory-{number}.{model.replace('/', '=2F')}", value


@pytest.mark.requirement("vectors-prune")
async def test_vectors_of_former_models_are_counted_and_removed_alone(nats_account: NatsAccount) -> None:
    async with linked(nats_account.url) as link:
        bucket, streams = await KvBuckets(link).open(BUCKET), Streams(link)
        for number in (1, 2, 3):
            await keep(bucket, "x", number=number)
            await bucket.write(put(*vector(number, OLD)))
        await bucket.write(put(*vector(1, NEW)))
        found = await held(streams)
        assert [(one.bucket, one.vectors) for one in found] == [(BUCKET, 1), (BUCKET, 3)]
        assert former(found, [OLD, NEW]) == []
        old = former(found, [NEW])
        assert [one.vectors for one in old] == [3]
        await keep(bucket, "later", number=4)
        await bucket.write(put(*vector(4, OLD)))
        assert await prune(streams, old) == 3
        left = await held_by(link, BUCKET)
        assert {key for key in left if ".v." in key} == {vector(4, OLD)[0], vector(1, NEW)[0]}
        assert sum(".m." in key for key in left) == 4
        assert isinstance((await held(streams))[0], Held)
