"""The master's side of one link to a slave."""

import logging
from collections.abc import Callable
from math import floor
from typing import NamedTuple

from sandbox.kernel.clock import Clock, TimerHandle
from sandbox.remoting.channel import ByteChannel
from sandbox.store.commit_log import CommitLog
from sandbox.store.config import MessageStoreConfig
from sandbox.store.ha_wire import TRANSFER_BYTES, OffsetDecoder, encode_block

log = logging.getLogger(__name__)

WINDOW_BYTES = 128 * 1024  # sent and not acknowledged; RocketMQ's socket buffers, 64 KiB at each end, hold as much
LOOK_EVERY_S = 0.1  # how often an idle link checks for new bytes, unless a put waits for it
BEHIND_BYTES = TRANSFER_BYTES  # a slave that is behind by more than a block for BEHIND_S is reported
BEHIND_S = 1.0
_JUST_AFTER_S = 0.001  # RocketMQ checks whether more than this many milliseconds have passed


class SlaveLink(NamedTuple):
    """A link as a plain value for snapshots.

    `acked`: the slave's end of log, None before its first report.  `state`: connected, behind.
    """

    slave_id: int
    remote: str  # ip:port it connected from
    acked: int | None
    behind_bytes: int
    state: str


class HALink:
    """A link to one slave: it sends the log from the requested offset, block by block, and receives reports.

    RocketMQ: `HAConnection` (spec broker-behaviour 12).  `acknowledged(offset)` is called for every report,
    `changed(link, state)` when the link becomes connected (first request) or behind, `gone(link)` at its end.
    """

    def __init__(
        self,
        channel: ByteChannel,
        commit_log: CommitLog,
        config: MessageStoreConfig,
        clock: Clock,
        *,
        slave_id: int,
        acknowledged: Callable[[int], None],
        changed: Callable[["HALink", str], None],
        gone: Callable[["HALink"], None],
    ) -> None:
        self.channel = channel
        self.slave_id = slave_id
        self.acked: int | None = None
        self.state: str | None = None  # until the slave's request
        self._log = commit_log
        self._clock = clock
        self._heartbeat_s = config.ha_heartbeat_ms / 1000
        self._silence_s = config.ha_housekeeping_ms / 1000
        self._acknowledged = acknowledged
        self._changed = changed
        self._gone = gone
        self._decoder = OffsetDecoder()
        self._begin = 0  # first offset sent on this link
        self._stalled = False  # the window is full
        self._next: int | None = None  # next offset to send; None before the slave's request
        self._timers: dict[str, TimerHandle] = {}
        self._open = True
        self._last_read_s = self._last_write_s = self._idle_s = clock.monotonic()
        self._after("silence", self._silence_s + _JUST_AFTER_S, self._look_for_silence)

    @property
    def behind_bytes(self) -> int:
        """The number of bytes that the slave has not acknowledged, without those it will never get."""
        return max(0, self._log.max_offset - max(self.acked or 0, self._begin))

    def row(self) -> SlaveLink:
        return SlaveLink(self.slave_id, self.channel.remote, self.acked, self.behind_bytes, self.state or "connected")

    def heard(self, data: bytes) -> None:
        """Process bytes from the slave; the last complete offset among them counts."""
        self._last_read_s = self._clock.monotonic()
        offset = self._decoder.feed(data)
        if offset is None:
            return
        self.acked = offset
        first = self._next is None
        if first:
            self._begin = self._next = offset or self._start_of_last_file()
            self.state = "connected"
            self._changed(self, "connected")
            self._beat_after(self._last_write_s - self._last_read_s)
        elif offset > self._log.max_offset:
            log.warning("slave %s has %d, but the log ends at %d", self.channel.remote, offset, self._log.max_offset)
            self.close()
            return
        self._acknowledged(offset)
        self._judge()
        if first or self._stalled:
            self.transfer()

    def wrote(self) -> None:
        """Schedule a check for the grown log at the next regular instant of an idle link."""
        if self._next is None or "look" in self._timers:
            return
        passed = floor((self._clock.monotonic() - self._idle_s) / LOOK_EVERY_S + 1e-6)
        self._after("look", self._idle_s + (passed + 1) * LOOK_EVERY_S - self._clock.monotonic(), self.transfer)

    def transfer(self) -> None:
        """Send the bytes that the slave does not have yet, as far as the window allows."""
        if self._next is None or not self._open:
            return
        if self._clock.monotonic() - self._last_write_s > self._heartbeat_s:
            self._send(self._next, b"")
        self._stalled = False
        while data := self._stretch(self._next):
            if self._next - max(self.acked or 0, self._begin) >= WINDOW_BYTES:
                self._stalled = True
                break
            self._send(self._next, data)
            self._next += len(data)
        self._idle_s = self._clock.monotonic()
        self._judge()

    def close(self) -> None:
        """End the link; `gone` is called once."""
        if not self._open:
            return
        self._open = False
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self.channel.close()
        self._gone(self)

    def _start_of_last_file(self) -> int:
        """Return the start of the last log file, from which a new slave copies."""
        end = self._log.max_offset
        return end - end % self._log.files.file_bytes

    def _stretch(self, offset: int) -> bytes:
        """Return the next bytes, within one file; empty at the end of the log."""
        file = self._log.files.find(offset)
        if file is None or offset >= file.end:
            return b""
        at = offset - file.base
        return bytes(self._log.files.pool.view(file)[at : min(file.wrote, at + TRANSFER_BYTES)])

    def _send(self, offset: int, data: bytes) -> None:
        self.channel.send(encode_block(offset, data))
        self._last_write_s = self._clock.monotonic()
        self._beat_after(0.0)

    def _beat_after(self, seconds: float) -> None:
        """Schedule a heartbeat in case nothing else is sent in the interval."""
        self._after("heartbeat", self._heartbeat_s + seconds + _JUST_AFTER_S, self.transfer)

    def _look_for_silence(self) -> None:
        silent_s = self._clock.monotonic() - self._last_read_s
        if silent_s > self._silence_s:
            log.info("nothing came from slave %s for %.0f s", self.channel.remote, silent_s)
            self.close()
        else:
            self._after("silence", self._silence_s - silent_s + _JUST_AFTER_S, self._look_for_silence)

    def _judge(self) -> None:
        """Update the state: behind if more than a block is missing for a second, connected again below half a block."""
        behind = self.behind_bytes
        if self.state == "connected" and behind > BEHIND_BYTES:
            if "behind" not in self._timers:
                self._after("behind", BEHIND_S, self._still_behind)
        elif self.state == "behind" and behind <= BEHIND_BYTES // 2:
            self.state = "connected"
            self._changed(self, "connected")

    def _still_behind(self) -> None:
        if self.state == "connected" and self.behind_bytes > BEHIND_BYTES:
            self.state = "behind"
            self._changed(self, "behind")

    def _after(self, name: str, seconds: float, then: Callable[[], None]) -> None:
        """Start the timer of this name; it replaces the earlier one."""
        old = self._timers.pop(name, None)
        if old is not None:
            old.cancel()

        def run() -> None:
            self._timers.pop(name, None)
            then()

        self._timers[name] = self._clock.call_later(max(0.0, seconds), run)
