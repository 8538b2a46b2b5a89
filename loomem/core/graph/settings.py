"""What the settings say of the graph."""

from __future__ import annotations

import msgspec


class GraphSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Whom and what memories name."""

    recognise: bool = True
    """Whether the node reads what memories name, by rules; else only declared relations are known."""
    dictionary: str | None = None
    """A file of names, `entities.toml`; none is needed."""
