"""The pattern tools: what is told to clients, in the order in which they are listed.

- `words`     arguments that several tools share
- `remember`  tools that write memories
- `recall`    tools that read them
- `change`    tools that move, edit and delete them
- `transfer`  tools that write and read files
- `health`    how the service is
"""

from pattern.server.tool import Tool
from pattern.tools.pattern.change import CLEANUP, COMMIT, FORGET, FORGET_BULK, SHARE, UPDATE
from pattern.tools.pattern.health import HEALTH
from pattern.tools.pattern.recall import GET, RECALL
from pattern.tools.pattern.remember import CORE, LEARNING, REMEMBER, REMEMBER_BULK, TASK
from pattern.tools.pattern.transfer import EXPORT, IMPORT

TOOLS: tuple[Tool, ...] = (
    HEALTH,
    REMEMBER,
    TASK,
    LEARNING,
    COMMIT,
    CORE,
    FORGET,
    RECALL,
    SHARE,
    CLEANUP,
    EXPORT,
    IMPORT,
    REMEMBER_BULK,
    FORGET_BULK,
    GET,
    UPDATE,
)

__all__ = ["TOOLS"]
