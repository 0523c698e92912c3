"""The state of a sandbox at one event: its run is executed again up to there, and its channels are read.

`python -m sandbox.simulation.moment DIRECTORY` reads {"at"} and prints {"progress"}, then {"result"} or {"refused"}.
"""

import sys
from pathlib import Path

from sandbox.cluster import record as records
from sandbox.cluster.journal_files import DIRECTORY
from sandbox.cluster.origin import load_origin
from sandbox.control.limits import HostLimits
from sandbox.hosting.repeatable_ranges import recorded_until, stretches_of
from sandbox.hosting.rerun import Rerun
from sandbox.journal.schema import CAME, Row
from sandbox.journal.segments import lines
from sandbox.kernel import json_bytes
from sandbox.kernel.errors import ActionRefused
from sandbox.queries.snapshot.page_channels import detail_channels
from sandbox.recording.live import frame_of
from sandbox.simulation.beside import Progress, serve

SAID_EACH = 2_000  # turns


class Until(Rerun):
    """A rerun that ends with the turn in which row `last` was written, or with the opening or closing that wrote it."""

    def __init__(self, directory: Path, kept: list[bytes], rows: list[Row], last: int) -> None:
        super().__init__(load_origin(directory), kept, rows, home=directory.parents[1])
        self._last = last

    def _goes_on(self) -> bool:
        return super()._goes_on() and self.compared <= self._last


def moment_at(
    directory: Path, at: int, *, limits: HostLimits | None = None, progress: Progress = lambda share: None
) -> dict[str, object]:
    """Execute the run again up to event `at` and return the state after it: `state`, `snapshot`, `channels`, `seq`.

    `seq` is the last event of the loop turn that wrote event `at`.  If the sandbox slept at that time, `channels` is
    empty
    and `snapshot` is the stored one.  Raises ActionRefused: 404 if the event does not exist, 409 if the run differs
    before
    it or cannot be executed again, 422 if it is too far from the beginning.
    """
    kept, rows, last = _recorded(directory, at, (limits or HostLimits()).moment_events)
    with Until(directory, kept, rows, last) as rerun:
        rerun.take_history()
        for turn, _ in enumerate(rerun.turns()):
            if turn % SAID_EACH == 0:
                progress(rerun.compared / len(rows))
        if rerun.difference is not None and rerun.difference.seq <= at:
            raise ActionRefused(
                409,
                "When replayed, this run differs from event {seq} on.",
                "View an event before the first difference.",
                seq=rerun.difference.seq,
            )
        sandbox = rerun.sandbox
        assert sandbox is not None, "it was run"
        if sandbox.ended:
            return {
                "seq": sandbox.cluster.journal.next_seq - 1,
                "state": "asleep",
                "channels": {},
                "snapshot": records.load_snapshot(sandbox.directory),
            }
        frame = frame_of(sandbox.cluster, detail_channels(sandbox.cluster))
        return {"seq": frame.seq, "state": "live", "snapshot": sandbox.snapshot(), "channels": frame.state["channels"]}


def _recorded(directory: Path, at: int, most: int) -> tuple[list[bytes], list[Row], int]:
    """Return the journal's lines and rows up to the event, and the index of its row.

    If the event belongs to falling asleep, the rows include the `SandboxSlept` that ends it: only that row has the
    time of the beginning.
    """
    kept, rows = recorded_until(directory, at)
    if not rows or rows[-1]["seq"] != at:
        raise ActionRefused(404, "Event {seq} does not exist.", "Choose an event from the Journal.", seq=at)
    last = len(rows) - 1
    for line in lines(directory / DIRECTORY):
        if b'"came"' in line and (row := json_bytes.loads(line))["seq"] > at and CAME in row:
            if row["type"] == "SandboxSlept":
                kept.append(line)
                rows.append(row)
            break
    stretch = next(item for item in stretches_of(directory, rows) if at <= item.to_seq)
    if not stretch.reproducible:
        raise ActionRefused(
            409,
            "At event {seq} this run cannot be replayed.",
            "The sections on the time bar show the reason.",
            seq=at,
            why=stretch.why,
        )
    if len(rows) > most:
        raise ActionRefused(
            422,
            "A view of the past replays at most {most} events.",
            "View an earlier event.",
            most=most,
        )
    return kept, rows, last


def main() -> None:
    serve(lambda order, progress: moment_at(Path(sys.argv[1]), order["at"], progress=progress))


if __name__ == "__main__":
    main()
