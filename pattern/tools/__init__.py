"""The tool families: a few lines each, from checked arguments to one call of the engine.

- `pattern`  remember, recall-context and their kin
- `memory`   the memory_* tools

Deliberately absent: rules (the engine's), the protocol (`pattern.server`'s), who is calling (never an argument).
"""
