"""The face: an MCP server, a command line, and what puts a process together.

    __main__   the command: serve, or run a command of the line
    app        the composition root: reads the environment
    settings   the environment as one value
    profiles   which tools a session offers, and what it says of them
    service    the engine of one caller, there when a door asks for it
    parts      what a service is made of
    node       the background node that goes with the settings
    health     the report of how everything is
    wire       the client's pipes, taken before anything can write to them
    clock      time and chance of the machine
    server     MCP: schemas, arguments, replies, errors
    tools      the tools, each a few lines
    cli        the command line
    testing    a pytest plugin: real servers, isolated buckets, agents

Deliberately absent: rules of memory and of visibility. A tool or a command says what was asked and shows what came of it.
"""
