"""The audit worker: every change of a memory is put on record once, who made it, what it was, and when.

A job is a change of a memory; its headers say all that is recorded, so content never comes here. What may have been
overwritten before this worker saw it is told by what overwrote it, and recorded first. Recorded is what the record does not
hold yet, by compare-and-set, so a job may come twice, late, or to two crews at once.

What the record cannot take (no room, no leader) is tried again for ever: nothing is wrong with the job, and the change stays
in its bucket. How many wait is told as of any worker. What is older than the record keeps things is left out.

What can be missed: changes of a key of which no worker saw any, and that the server erased by itself since, value and trace
(a life that ended, then seven days); changes of a key beyond those that are passed on (`core.audit.notes`), by a writer of
another make that passes nothing on. Of these the record holds the last.
"""

from __future__ import annotations

import logging
from datetime import timedelta

from identity.errors import AccessDenied
from identity.keys import SYSTEM_BUCKET, Kind
from identity.ports import Bucket, Clock
from loomem.core.audit.lines import lines_of
from loomem.core.audit.settings import AuditSettings
from loomem.nats import faults
from loomem.nats.audit import AuditStream
from loomem.nats.pull import Job, JobQueue
from loomem.workers.duty import told
from loomem.workers.status import Tally

log = logging.getLogger(__name__)


class AuditWorker:
    """One for all buckets of a crew."""

    name = "audit"
    queue = JobQueue(name="audit", filters=(f"*.*.{Kind.MEMORY}.*",), slots=16, max_ack_pending=256, headers_only=True)

    def __init__(self, stream: AuditStream, clock: Clock, settings: AuditSettings) -> None:
        self._stream = stream
        self._clock = clock
        self._settings = settings

    @property
    def able(self) -> bool:
        return True

    async def ready(self) -> None:
        return

    def serves(self, bucket: str) -> bool:
        return bucket != SYSTEM_BUCKET

    async def handle(self, bucket: Bucket, job: Job) -> None:
        """Put a change on record, and those it tells of.

        Raises: Unavailable.
        """
        lines = lines_of(bucket.name, job.change)
        if not lines or job.change.at < self._clock.now() - timedelta(seconds=self._settings.retention_s):
            return
        try:
            await self._stream.append(job.change.key, lines)
        except faults.NobodyThere:
            await self._stream.ensure()
            await self._stream.append(job.change.key, lines)

    async def attend(self, bucket: Bucket, tally: Tally) -> None:
        """Bring the record up to its settings, once. Raises: Unavailable."""
        try:
            await self._stream.ensure()
        except AccessDenied as error:
            log.warning("event=audit_not_ensured bucket=%s error=%r", bucket.name, error.message)
            tally.erred(self._clock.now(), told(error))
