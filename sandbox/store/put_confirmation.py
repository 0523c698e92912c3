"""The confirmation of a put once it is as safe as configured."""

from collections.abc import Callable

from sandbox.store.config import SYNC_FLUSH, SYNC_MASTER
from sandbox.store.flush import FlushService
from sandbox.store.ha_service import HAService
from sandbox.store.results import PutMessageStatus

Done = Callable[[PutMessageStatus], None]
"""Called with PUT_OK, FLUSH_DISK_TIMEOUT, FLUSH_SLAVE_TIMEOUT or SLAVE_NOT_AVAILABLE; the message is stored in any
case.
"""


class PutSafety:
    """The wait of a put for the disk and for a slave together; if both fail, the slave's status counts.

    RocketMQ: the two futures of `CommitLog.asyncPutMessage`.
    """

    def __init__(self, flush_mode: str, role: str, flush: FlushService, ha: HAService) -> None:
        self._sync_flush = flush_mode == SYNC_FLUSH
        self._flush = flush
        self._ha = ha
        self.waits = self._sync_flush or role == SYNC_MASTER  # else every put is answered at once

    def when_safe(self, physical_end: int, done: Done) -> None:
        """Call `done` with the status once the log is safe up to `physical_end`, at a timeout, or without a slave."""
        on_disk: list[PutMessageStatus] = []
        at_slave: list[PutMessageStatus] = []

        def both() -> None:
            if on_disk and at_slave:
                done(on_disk[0] if at_slave[0] is PutMessageStatus.PUT_OK else at_slave[0])

        def flushed(in_time: bool) -> None:
            on_disk.append(PutMessageStatus.PUT_OK if in_time else PutMessageStatus.FLUSH_DISK_TIMEOUT)
            both()

        def replicated(status: PutMessageStatus) -> None:
            at_slave.append(status)
            both()

        self._ha.when_replicated(physical_end, replicated)
        if self._sync_flush:
            self._flush.when_flushed(physical_end, flushed)
        else:
            flushed(True)
