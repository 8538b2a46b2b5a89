"""The memory_* tools: facts with what is known of them (whose, since when, how far to trust them), found by words and meaning.

A file each, named after its tool without `memory_`.

Deliberately absent: rules (the engine's, as for the other family; what one family writes, the other finds), roles and
rate limits (they come with a server for many), the tools that need a language model.
"""

from pattern.server.tool import Tool
from pattern.tools.memory.store import STORE

TOOLS: tuple[Tool, ...] = (STORE,)

__all__ = ["TOOLS"]
