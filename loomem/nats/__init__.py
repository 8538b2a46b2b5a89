"""The NATS adapter: the only room that speaks to a broker.

    endpoint   where a broker is, and how to greet it; pure
    link       one connection, held for ever; requests, subscriptions that outlive a reconnect
    answers    requests on one connection, and who waits for what
    client     one connection of nats-py made safe (TLS or nothing, bounded); loads nats-py, so it is imported late
    faults     the one translator of nats-py's errors and the server's error codes
    topology   every kind of bucket as data; opening, making and upgrading buckets
    permissions  what an agent's credentials must allow, derived from the table of visibility
    bucket     reads and single writes, idempotent by operation id and compare-and-set
    batch      several keys of a bucket, changed together
    follow     what a bucket tells: the ordered consumer of our own
    delivery   one message of it, read from its bytes
    streams    the buckets there are, as an operator sees them
    pull       a bucket as a job queue
    audit      the stream of what was done: appended to, read by operators

Deliberately absent: any knowledge of what a memory is, who may see it or which keys there are; blind writes; reading a
whole stream's subjects (keys of others would show, and an agent's credentials do not allow it); a buffer for what could
not be sent. Importing this package or `endpoint` does not load nats-py.
"""
