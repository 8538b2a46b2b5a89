"""Test against a real broker: what `pip install pattern-memory[testing]` gives.

- `server`: start, kill and restart a real nats-server (`NatsServer`, `ServerOptions`), or three as a cluster.
- `certificates`: a certificate authority, a server's and a client's certificate for TLS tests.
- `accounts`: fresh isolated NATS accounts on one server (`NatsAccount`), so that every test has buckets of its own.
- `agents`: MCP clients of the whole service, in this process or as the real command (`Agents`, `Agent`); to be imported
  from there, since it brings the service along.
- `guarded`: a broker that keeps agents apart by users and permissions (`GuardedBroker`).
- `determinism`: a clock that stands still (`ManualClock`) and ids that count (`SequentialIds`).
- `plugin`: the pytest fixtures made of these; `installed` loads it where its extra is there.

Deliberately absent: any double of the broker or of the engine. A real server starts at once; there is nothing to fake.
"""

from pattern.testing.accounts import AccountPool, NatsAccount
from pattern.testing.certificates import Certificates, make_certificates
from pattern.testing.determinism import ManualClock, SequentialIds
from pattern.testing.server import NatsCluster, NatsServer, ServerOptions, server_binary

__all__ = [
    "AccountPool",
    "Certificates",
    "ManualClock",
    "NatsAccount",
    "NatsCluster",
    "NatsServer",
    "SequentialIds",
    "ServerOptions",
    "make_certificates",
    "server_binary",
]
