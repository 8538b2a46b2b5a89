"""The MCP server: from declared tools to answered calls, whatever carries them.

- `tool`       what a tool is: its words, arguments, result and the engine call behind it; the one declaration
- `schema`     that declaration as the flat JSON Schemas that `tools/list` tells
- `arguments`  that declaration as the check that every call passes
- `reply`      a result as structured content and as text
- `errors`     the only place where the error tree becomes an answer
- `handlers`   the SDK's server around these
- `stdio`      the wire of a client that started us: lines of JSON on stdin and stdout
- `lifetime`   when this process ends: stdin's end, a signal, the parent's death

Deliberately absent: rules of memories (the engine checks every value, for all doors alike), the environment, NATS.
"""
