"""Journal of a sandbox with its files: written every 200 ms, read back for clients that were away longer."""

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sandbox.cluster.config import HostConfig
from sandbox.cluster.environment import Environment
from sandbox.cluster.journal_backwards import for_browser
from sandbox.control.limits import SandboxLimits
from sandbox.control.readings import Entries
from sandbox.journal import event_filter, segments
from sandbox.journal.events import FLOW, ActionTaken, Entry, JournalTrimmed, Keyframe, OffsetsReset
from sandbox.journal.journal import Journal, Overrun
from sandbox.journal.schema import to_row
from sandbox.kernel import json_bytes
from sandbox.kernel.clock import Clock, TimerHandle

log = logging.getLogger(__name__)

DIRECTORY = "journal"
GROWTH_PER_KEYFRAME = 8  # a keyframe is written when the journal has grown by this many times the last keyframe
MAX_ROWS = 10_000


class JournalFiles:
    """Journal with its segment writer, and the timers that flush and write keyframes.

    Timers run on the machine's clock: flushing continues while the sandbox's clock is stopped.
    """

    def __init__(
        self,
        directory: Path,
        clock: Clock,
        environment: Environment,
        config: HostConfig,
        limits: SandboxLimits,
        *,
        crashed: bool,
    ) -> None:
        path = directory / DIRECTORY
        self._wall = environment.wall
        self._config = config
        self._draw: Callable[[], Mapping[str, Any]] = dict
        self._flush_timer: TimerHandle | None = None
        self._keyframe_timer: TimerHandle | None = None
        self._writer = segments.SegmentWriter(path, limit_bytes=limits.journal_bytes)
        self._trouble = False
        self._listeners: tuple[Callable[[Entry], None], ...] = ()
        self.refused: Callable[[OSError], None] = lambda error: None  # called once when the disk refuses
        self._keyframe_seq = -1
        self._keyframe_bytes = 0
        self._grown_bytes = 0
        self.journal = Journal(
            clock,
            first_seq=segments.next_seq(path, crashed=crashed),
            flow_per_s=limits.flow_events_per_s,
            pace=environment.wall.monotonic,
        )
        self.journal.keep_in(self._keep)

    def on_fact(self, *listeners: Callable[[Entry], None]) -> None:
        """Register listeners that are called with every fact as it is written.

        Flow events would arrive only while the journal's valve is open.
        """
        self._listeners += listeners

    def start(self, draw: Callable[[], Mapping[str, object]]) -> None:
        """Write the first keyframe, and check every ten seconds for the next.

        `draw` returns the snapshot of a keyframe.
        """
        self._draw = draw
        self.keyframe()
        self._keyframe_timer = self._wall.call_later(self._config.keyframe_s, self._look)

    def keyframe(self) -> None:
        self.journal.settle()
        before = self._writer.total_bytes
        drawn = dict(self._draw())
        self._keyframe_seq = self.journal.write(Keyframe(drawn))
        named = _bytes_of(drawn.get("sandbox", {}), "slug", "name")
        self._keyframe_bytes = max(1, self._writer.total_bytes - before - named)
        self._grown_bytes = 0

    def show(self) -> None:
        """Pass the written entries to the operating system for a reader; no timer changes."""
        try:
            self._writer.flush()
        except OSError as error:
            self._complain(error)

    def flush(self) -> None:
        """Pass the written entries to the operating system.  On a full disk retry later; no entry is dropped."""
        self._flush_timer = None
        try:
            self._writer.flush()
            self._trouble = False
        except OSError as error:
            self._complain(error)
            self._flush_timer = self._wall.call_later(self._config.journal_write_s, self.flush)
        if self._writer.trimmed_to is not None:
            first, self._writer.trimmed_to = self._writer.trimmed_to, None
            self.journal.write(JournalTrimmed(first))

    @property
    def is_refused(self) -> bool:
        """True if the last write was refused."""
        return self._trouble

    def close(self) -> None:
        self._stop_timers()
        self.journal.settle()
        self.journal.keep_in(None)
        try:
            self._writer.close()
        except OSError as error:
            self._complain(error)
            self._writer.abandon()

    def abandon(self) -> None:
        """Close as after a crash: entries that were not flushed are lost."""
        self._stop_timers()
        self.journal.keep_in(None)
        self._writer.abandon()

    def _keep(self, entry: Entry) -> None:
        before = self._writer.total_bytes
        try:
            self._writer.append(entry)
        except OSError as error:
            self._complain(error)
        if type(entry.event) not in FLOW:
            for listener in self._listeners:
                listener(entry)
        named = _bytes_of(entry.event._asdict(), "by") if type(entry.event) in (ActionTaken, OffsetsReset) else 0
        self._grown_bytes += max(0, self._writer.total_bytes - before - named)
        if self._flush_timer is None:
            self._flush_timer = self._wall.call_later(self._config.journal_write_s, self.flush)

    def _look(self) -> None:
        changed = self.journal.next_seq > self._keyframe_seq + 1
        if changed and self._grown_bytes >= GROWTH_PER_KEYFRAME * self._keyframe_bytes:
            self.keyframe()
        self._keyframe_timer = self._wall.call_later(self._config.keyframe_s, self._look)

    def _stop_timers(self) -> None:
        for timer in (self._flush_timer, self._keyframe_timer):
            if timer is not None:
                timer.cancel()
        self._flush_timer = self._keyframe_timer = None

    def _complain(self, error: OSError) -> None:
        if not self._trouble:
            self._trouble = True
            log.error("writing the journal failed: %s", error)
            self.refused(error)


def last_time_ms(directory: Path) -> int:
    """Return the sandbox time of the newest entry on disk in ms, 0 if there is none."""
    path = directory / DIRECTORY
    last_seq = segments.mend_tail(path)
    rows = segments.rows_since(path, last_seq) if last_seq is not None else iter(())
    return max((int(row["at_ms"]) for row in rows), default=0)


async def page_of(
    directory: Path,
    journal_files: JournalFiles | None,
    environment: Environment,
    after: int,
    limit: int,
    *,
    facts_only: bool,
    longs_as_text: bool = True,
) -> Entries:
    """Return rows after seq `after`: from memory if it has them, else from the files, read by a worker."""
    limit = max(1, min(limit, MAX_ROWS))
    path = directory / DIRECTORY
    if journal_files is not None:
        try:
            entries = journal_files.journal.since(min(after + 1, journal_files.journal.next_seq))
        except Overrun:
            journal_files.show()
        else:
            return page_from_memory(
                entries,
                after,
                limit,
                first_seq=segments.first_seq(path) or 0,
                facts_only=facts_only,
                longs_as_text=longs_as_text,
            )
    return await environment.run_blocking(
        lambda: _from_files(path, after, limit, facts_only=facts_only, longs_as_text=longs_as_text)
    )


def page_from_memory(
    entries: list[Entry], after: int, limit: int, *, first_seq: int, facts_only: bool, longs_as_text: bool
) -> Entries:
    """Return at most `limit` of `entries` as rows."""
    rows: list[dict[str, object]] = []
    next_seq = entries[-1].seq + 1 if entries else after + 1
    for entry in entries:
        if facts_only and type(entry.event).__name__ in event_filter.NO_NEWS:
            continue
        if len(rows) == limit:
            next_seq = entry.seq
            break
        rows.append(to_row(entry, longs_as_text=longs_as_text))
    return Entries(first_seq, rows, next_seq)


def _from_files(path: Path, after: int, limit: int, *, facts_only: bool, longs_as_text: bool) -> Entries:
    first_seq = segments.first_seq(path) or 0
    rows: list[dict[str, object]] = []
    next_seq = max(after + 1, first_seq)
    for row in segments.rows_since(path, after + 1):
        if not (facts_only and row["type"] in event_filter.NO_NEWS):
            if len(rows) == limit:
                next_seq = row["seq"]
                break
            rows.append(for_browser(row) if longs_as_text else row)
        next_seq = row["seq"] + 1
    return Entries(first_seq, rows, next_seq)


def _bytes_of(fields: Mapping[str, object], *names: str) -> int:
    """Return the length of the fields that a recipe replaces.

    The caller subtracts it, so the same run under other names has its keyframes at the same times.
    """
    return sum(len(json_bytes.dumps(fields.get(name))) for name in names)
