"""The node: one background process per OS user, machine and `NATS_URL`, which nobody has to think of.

    state       where a node lives (`NodeSpec`, `NodeFiles`), what it says of itself (`NodeState`), version order
    process     what only the kernel can promise: the lock, whether a process is still that process, detaching
    broker      the nats-server child: binary, configuration, port, start, stop, death together with its node
    launcher    find or start the node, ask an older one to leave; start, stop, status and logs for the command line
    supervise   what the node process runs: lock, broker, services, idle exit, drain
    presence    the node asks whether a client is there, clients answer
    embedding   queries become vectors in the node: its side, and the side of the servers that ask

The lock file is the only truth about "is a node there": it is held by the node and by its nats-server (one open file,
inherited), so two servers never run on one store, and a killed node leaves nothing to clean up. `node.json` only tells
where to find the holder. A node whose broker is the user's own (`NATS_URL`) is the same without a nats-server.

Deliberately absent: memories and anything derived from them; the model (handed in); the NATS protocol (presence and status speak it
through `loomem.nats.service`); reading the environment; what the services are (`pattern.app` hands them in). Import
nothing heavy here: the broker must be up before the node has imported its client.
"""

from loomem.node.launcher import (
    NodeStatus,
    embedded_endpoint,
    endpoint_of,
    ensure,
    logs,
    read_state,
    start,
    status,
    stop,
)
from loomem.node.state import NodeFiles, NodeSpec, NodeState, Phase

__all__ = [
    "NodeFiles",
    "NodeSpec",
    "NodeState",
    "NodeStatus",
    "Phase",
    "embedded_endpoint",
    "endpoint_of",
    "ensure",
    "logs",
    "read_state",
    "start",
    "status",
    "stop",
]
