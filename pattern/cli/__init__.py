"""The command line, for people and for scripts.

- `main`      the commands, and how a failure becomes an exit code
- `session`   one caller's engine for the length of a command
- `show`      results on a terminal, or as JSON
- `memories`  remember, recall, get, forget
- `facts`     store, search, history, delete
- `undo`      deleted, restore
- `audit`     who did what to which memory, and when
- `purge`     erasing for good, and what is not one's own; `operate` is its connection
- `files`     export, import
- `migrate`   memories of an older store
- `node`      the background node
- `config`    what the settings are and where they come from; what is wrong with a file
- `doctor`    what is configured, reached and wrong

Deliberately absent: serving MCP (`pattern.__main__` does that without importing any of this) and rules of memories.
"""
