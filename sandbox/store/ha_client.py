"""The slave's side of replication: a connection that copies its master's log."""

import logging
from typing import Protocol

from sandbox.kernel.clock import Clock, TimerHandle
from sandbox.kernel.errors import ProtocolViolation
from sandbox.remoting.channel import ByteChannel, Connector
from sandbox.store.config import MessageStoreConfig
from sandbox.store.ha_inbox import Inbox
from sandbox.store.ha_wire import Block, BlockDecoder, encode_offset

log = logging.getLogger(__name__)

TRY_EVERY_S = 5.0  # without an address, or when nothing listens there
_JUST_AFTER_S = 0.001  # RocketMQ checks whether more than this many milliseconds have passed


class Replica(Protocol):
    """The interface of a slave's store."""

    config: MessageStoreConfig

    @property
    def max_physical_offset(self) -> int: ...
    def append_replica(self, physical_offset: int, data: bytes) -> bool: ...
    def dispatch(self) -> None: ...


class HAClient:
    """A slave's replication client: it requests the master's log, writes it, and reports its end.

    The first report comes 5 s after the connection, as RocketMQ's.  Further ones follow after every block with data
    and after every 5 s without one.  A broken link is opened again at once, or after 5 s if nothing listens.
    RocketMQ: `HAService.HAClient` (spec broker-behaviour 12).
    """

    def __init__(self, store: Replica, *, clock: Clock, connector: Connector) -> None:
        self._store = store
        self._clock = clock
        self._connector = connector
        self._report_s = store.config.ha_heartbeat_ms / 1000
        self._housekeeping_s = store.config.ha_housekeeping_ms / 1000
        self._channel: ByteChannel | None = None
        self._decoder = BlockDecoder()
        self._opening = False
        self._running = False
        self._reported = 0
        self._last_write_s = 0.0
        self._try_timer: TimerHandle | None = None
        self._report_timer: TimerHandle | None = None
        self.inbox = Inbox()
        self.master_address: str | None = None  # the master's HA address, as reported by name servers

    @property
    def connected(self) -> bool:
        return self._channel is not None and self._channel.is_open

    def start(self) -> None:
        self._running = True
        self._try()

    def stop(self) -> None:
        self._running = False
        self.inbox.forget()
        if self._try_timer is not None:
            self._try_timer.cancel()
        self._leave()

    def update_master_address(self, address: str) -> None:
        """Set the address for the next connection; an open link stays."""
        self.master_address = address

    def _try(self) -> None:
        """Connect to the master, or try again later."""
        if not self._running or self._opening or self._channel is not None:
            return
        if self.master_address is None:
            self._try_later()
            return
        self._opening = True
        self._connector.open_bytes(
            self.master_address, self._heard, self._lost, lambda channel: self.inbox.take(lambda: self._opened(channel))
        )

    def _try_later(self) -> None:
        self._try_timer = self._clock.call_later(TRY_EVERY_S, self._try)

    def _opened(self, channel: ByteChannel | None) -> None:
        self._opening = False
        if channel is None:
            self._try_later()
        elif not self._running:
            channel.close()
        else:
            self._channel = channel
            self._decoder = BlockDecoder()
            self._reported = self._store.max_physical_offset
            self._last_write_s = self._clock.monotonic()
            self._report_in(self._report_s)

    def _heard(self, pieces: list[bytes], channel: ByteChannel) -> None:
        self.inbox.take(lambda: self._take(b"".join(pieces), channel))

    def _lost(self, channel: ByteChannel) -> None:
        self.inbox.take(lambda: self._again(channel))

    def _take(self, data: bytes, channel: ByteChannel) -> None:
        if channel is not self._channel:
            return
        try:
            blocks = self._decoder.feed(data)
        except ProtocolViolation as error:
            log.warning("leaving the master: %s", error)
            self._again(channel)
            return
        for block in blocks:
            if not self._append(block):
                self._again(channel)
                break
            if self._store.max_physical_offset > self._reported:
                self._reported = self._store.max_physical_offset
                self._report()
        self._store.dispatch()

    def _append(self, block: Block) -> bool:
        """Write a block that continues the log.

        Return False if it does not.  An empty log begins at the master's offset.
        """
        end = self._store.max_physical_offset
        if end not in (0, block.physical_offset):
            log.warning("the master sends %d, but the log ends at %d", block.physical_offset, end)
            return False
        if not block.data and not block.physical_offset:
            return True  # both are empty
        return self._store.append_replica(block.physical_offset, block.data)

    def _report(self) -> None:
        assert self._channel is not None
        self._channel.send(encode_offset(self._reported))
        self._last_write_s = self._clock.monotonic()
        self._report_in(self._report_s)

    def _report_in(self, seconds: float) -> None:
        if self._report_timer is not None:
            self._report_timer.cancel()
        self._report_timer = self._clock.call_later(seconds + _JUST_AFTER_S, self._tick)

    def _tick(self) -> None:
        """Report the log's end after 5 s without a report; close the link if this process hung in the meantime."""
        self._report_timer = None
        silent_s = self._clock.monotonic() - self._last_write_s
        if self._channel is None:
            return
        if silent_s > self._housekeeping_s:
            log.info("nothing was said to the master for %.0f s", silent_s)
            self._again(self._channel)
        else:
            self._report()

    def _again(self, channel: ByteChannel) -> None:
        """End this link and open the next one at once."""
        if channel is self._channel:
            self._leave()
            self._try()

    def _leave(self) -> None:
        if self._report_timer is not None:
            self._report_timer.cancel()
            self._report_timer = None
        channel, self._channel = self._channel, None
        if channel is not None:
            channel.close()
