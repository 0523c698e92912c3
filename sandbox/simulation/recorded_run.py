"""A recording made from a sandbox's directory: exact frames if its run can be executed again, else its keyframes."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from sandbox.cluster.cluster import Cluster
from sandbox.cluster.environment import MakeDisk
from sandbox.cluster.journal_backwards import for_browser
from sandbox.cluster.origin import load_origin
from sandbox.cluster.paced_disk import PacedDisk
from sandbox.hosting.repeatable_ranges import recorded_until, stretches_of
from sandbox.hosting.rerun import Rerun
from sandbox.journal.schema import Row
from sandbox.recording import journal_range
from sandbox.recording.frame import PACE_MS, About, Frame, in_range
from sandbox.recording.journal_range import FACT_NAMES
from sandbox.recording.live import boards_of, frame_of
from sandbox.simulation.beside import Progress

LEAD_MS = 1_000  # read before the range, so that its first event has a frame

Channels = Callable[[Cluster], Sequence[str]]


class RecordedRun:
    """The events `first` to `last` of a sandbox's directory as a recording.  Raises CorruptRecord and OSError.

    `channels`: returns the channels to record at each time.  Frames of keyframes have only one, `snapshot`.
    """

    def __init__(
        self,
        directory: Path,
        first: int,
        last: int,
        *,
        channels: Channels = boards_of,
        pace_ms: int = PACE_MS,
        make_disk: MakeDisk = PacedDisk,
    ) -> None:
        self._directory, self._first, self._last = directory, first, last
        self._channels, self._pace_ms, self._make_disk = channels, pace_ms, make_disk
        self._lines, self._rows = recorded_until(directory, last)
        self._again = 0  # rows that are executed again, and come out the same
        if self._rows:
            stretch = stretches_of(directory, self._rows)[0]
            if stretch.reproducible and first <= stretch.to_seq:
                self._again = sum(row["seq"] <= stretch.to_seq for row in self._rows)

    def about(self, engine: str) -> About:
        about = journal_range.about_sandbox(self._directory, engine)
        return about._replace(pace_ms=self._pace_ms if self._again else None)

    def frames(self, progress: Progress = lambda _: None) -> Iterator[Frame]:
        return in_range(self._all_frames(progress), self._first, self._last)

    def facts(self) -> Iterator[Row]:
        return journal_range.facts(for_browser(row) for row in self._rows if row["type"] in FACT_NAMES)

    def _all_frames(self, progress: Progress) -> Iterator[Frame]:
        is_exact = False
        for frame in self._executed(progress) if self._again else ():
            is_exact = True
            yield frame
        yield from journal_range.keyframes(self._rows[self._again if is_exact else 0 :])

    def _executed(self, progress: Progress) -> Iterator[Frame]:
        """Yield the boards' frames each `pace_ms` of the sandbox's clock and after each fact, until the rerun differs.

        A fact's frame is that of the end of its instant, so that it shows what the fact says.  The caller then
        continues with keyframes.
        """
        rows = self._rows[: self._again]
        begins_ms = next((row["at_ms"] for row in rows if row["seq"] >= self._first), 0) - LEAD_MS
        next_ms = read = 0  # rows that were looked at
        with Rerun(
            load_origin(self._directory),
            self._lines[: self._again],
            rows,
            home=self._directory.parents[1],
            make_disk=self._make_disk,
        ) as rerun:
            rerun.take_history(before_ms=begins_ms)
            for _ in rerun.turns():
                sandbox = rerun.sandbox
                if sandbox is None or sandbox.ended or rerun.difference is not None or not sandbox.cluster.restored:
                    continue
                if not rerun.is_between_instants:
                    continue
                now_ms = sandbox.cluster.clock.now_ms()
                is_fact = any(row["type"] in FACT_NAMES for row in rows[read : rerun.compared])
                read = rerun.compared
                if now_ms >= next_ms or is_fact:
                    next_ms = now_ms - now_ms % self._pace_ms + self._pace_ms
                    progress(rerun.compared / len(rows))
                    if now_ms >= begins_ms:
                        yield frame_of(sandbox.cluster, self._channels(sandbox.cluster))
            self._again = rerun.compared
