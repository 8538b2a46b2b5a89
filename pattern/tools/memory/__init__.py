"""The memory_* tools: facts with what is known of them (whose, since when, how far to trust them), found by words and meaning.

A file each, named after its tool without `memory_`; `overview` has the three that tell names and numbers.

Deliberately absent: rules (the engine's, as for the other family; what one family writes, the other finds), roles and
rate limits (they come with a server for many), the tools that need a language model.
"""

from loomem.core.search.settings import SearchSettings
from pattern.server.tool import Tool
from pattern.tools.memory.delete import DELETE
from pattern.tools.memory.feedback import FEEDBACK
from pattern.tools.memory.graph import GRAPH
from pattern.tools.memory.history import HISTORY
from pattern.tools.memory.ingest import INGEST
from pattern.tools.memory.overview import NAMESPACES, STATS, STATUS
from pattern.tools.memory.search import search_tool
from pattern.tools.memory.store import STORE


def tools(search: SearchSettings) -> tuple[Tool, ...]:
    """Return the tools in the order in which they are listed; what they say of limits is what was configured."""
    return (STORE, INGEST, search_tool(search), HISTORY, GRAPH, NAMESPACES, DELETE, FEEDBACK, STATUS, STATS)


TOOLS: tuple[Tool, ...] = tools(SearchSettings())
"""As they are when nothing is configured."""

__all__ = ["TOOLS", "tools"]
