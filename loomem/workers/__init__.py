"""Background work on the buckets, done by any number of crews on any number of hosts.

    crew      finds the buckets, serves each with every worker, within limits, and drains
    duty      one worker on one bucket: jobs, retries, giving up; the `Worker` protocol
    failures  what went wrong with a job, beside its memory (kind `x`)
    status    how the workers are
    expire    the expiry worker: erase, evict, end interrupted moves
    upkeep    what it removes, as a pure plan
    beside    what is made of a memory and put beside it: looked at in the safe order, written over what was seen
    embed     the embedding worker: one vector for each memory and model, none without its memory
    graph     the graph worker: what each memory names, beside it
    naming    how a model reads that, where it is switched on
    extract   the extraction worker: the facts of each source, once; what a deleted source leaves is hidden
    reading   how a source is read: by a model or by our own rules
    placing   whose place a fact takes that was read
    spaces    views of single spaces, kept a short while
    repair    records of an older contract, brought up to date before a bucket is served
    audit     the audit worker: every change of a memory on record, once
    services  all of it put together, for a node

A job is a memory in a certain state, never a message of its own: the durable consumer on a bucket's stream
(`loomem.nats.pull`) is the queue. So what is stored is queued, and a crash in between cannot exist.

Deliberately absent: any store of its own; leader election (crews share consumers, and what all of them do is made to
happen once by compare-and-set); dreaming, which will be a worker beside these; the model (`loomem.embed`).
"""

from loomem.workers.crew import Crew, CrewLimits
from loomem.workers.duty import Worker
from loomem.workers.expire import ExpireWorker
from loomem.workers.services import open_services
from loomem.workers.status import State, Tally, WorkerStatus

__all__ = ["Crew", "CrewLimits", "ExpireWorker", "State", "Tally", "Worker", "WorkerStatus", "open_services"]
