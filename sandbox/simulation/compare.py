"""Comparison of a run with the same run without some actions, or with another action in the place of one.

Both runs continue for a while after the last of these actions, without sleep.  After the end of the recorded run, no
more actions are executed.  Each run also gives a recording of one board, from a while before the first of these
actions on.  Its frames are read at the same times in both.

`python -m sandbox.simulation.compare DIRECTORY` reads {"seqs", "instead"} and prints {"progress"}, then {"result"}.
"""

import base64
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from sandbox.cluster.journal_backwards import for_browser
from sandbox.cluster.journal_files import DIRECTORY
from sandbox.control.actions import Action, parse_action
from sandbox.control.branch_orders import BranchOrder
from sandbox.control.limits import HostLimits
from sandbox.hosting.branching import read_run
from sandbox.hosting.rerun import Rerun
from sandbox.journal.schema import CAME, Row
from sandbox.journal.segments import rows_since
from sandbox.kernel.engine_version import ENGINE
from sandbox.kernel.errors import ActionRefused
from sandbox.queries.rows.snapshot import Snapshot
from sandbox.recording import journal_range
from sandbox.recording.frame import About, Frame
from sandbox.recording.journal_range import FACT_NAMES
from sandbox.recording.live import board_of, frame_of
from sandbox.recording.writer import write_recording
from sandbox.simulation.beside import Progress, serve
from sandbox.simulation.member_labels import labels_of
from sandbox.simulation.run_figures import Figures, figures_of

LEAD_MS = 30_000  # of the sandbox, before the first action
AFTER_MS = 90_000  # after the last
PACE_MS = 250  # between two frames
NOT_COMPARED = frozenset({"seq", "cause", CAME})


class Played(NamedTuple):
    """One of the two runs, at its end.  `board`: group, topic and data."""

    rows: list[Row]
    last: Snapshot
    board: dict[str, object] | None
    recording: bytes | None


class Side(NamedTuple):
    """One side of the comparison.  `came`: its first row that the other side does not have."""

    played: Played
    figures: Figures
    came: Row | None

    def row(self) -> dict[str, object]:
        _, last, board, recording = self.played
        return {
            "first": self.came and for_browser(self.came),
            "at_ms": last["at_ms"],
            "seq": last["seq"],
            "figures": self.figures.row(),
            "board": board,
            "names": labels_of(last),
            "recording": recording and base64.b64encode(recording).decode(),
        }


class Compared(NamedTuple):
    """The comparison of both runs.

    `actions`: those that differ.  `same_until`: seq of the last event that both runs have.
    """

    actions: list[Row]
    same_until: int
    before: Side
    after: Side

    def row(self) -> dict[str, object]:
        return {
            "actions": [for_browser(row) for row in self.actions],
            "same_until": self.same_until,
            "begins_ms": LEAD_MS,
            "ends_ms": self.actions[-1]["at_ms"] - self.actions[0]["at_ms"] + AFTER_MS,
            "before": self.before.row(),
            "after": self.after.row(),
        }


def compare(
    directory: Path, changes: Mapping[int, Action | None], *, progress: Progress = lambda share: None
) -> Compared:
    """Execute both runs and return their comparison.

    `changes`: seq of an action → the action to execute instead, None for none.  Raises ActionRefused: 404, 409, 422
    as for a branch.
    """
    limits = HostLimits()
    actions = [_event(directory, seq) for seq in sorted(changes)]
    seq, until_ms = actions[0]["seq"], actions[-1]["at_ms"] + AFTER_MS
    end = _last_seq(directory, actions[-1]["seq"], until_ms)
    run = read_run(directory, BranchOrder(parent=directory.name, at=end, changes=changes), limits)
    home, about = directory.parents[1], journal_range.about_sandbox(directory, ENGINE)._replace(pace_ms=PACE_MS)
    with Rerun(run.origin, run.lines, run.rows, home=home, changes=changes, awake_from=seq) as rerun:
        after = _played(rerun, actions[0], until_ms, about, lambda share: progress(share / 2))
        before_change = rerun.before_change
    with Rerun(run.origin, run.lines, run.rows, home=home, awake_from=seq) as rerun:
        before = _played(rerun, actions[0], until_ms, about, lambda share: progress(0.5 + share / 2))
    same, first_before, first_after = _first_difference(before.rows, after.rows, seq, changed=changes[seq] is not None)
    figures = [figures_of(played.rows, seq, before_change, played.last) for played in (before, after)]
    return Compared(actions, same, Side(before, figures[0], first_before), Side(after, figures[1], first_after))


def _event(directory: Path, seq: int) -> Row:
    row = next(rows_since(directory / DIRECTORY, seq), None)
    if row is None or row["seq"] != seq:
        raise ActionRefused(404, "Event {seq} does not exist.", "Choose an event from the Journal.", seq=seq)
    return row


def _last_seq(directory: Path, seq: int, until_ms: int) -> int:
    """Return the seq of the last event to execute again: up to that time, or the end of the stretch."""
    last = seq
    for row in rows_since(directory / DIRECTORY, seq):
        if row["at_ms"] > until_ms or row["type"] == "StretchEnded" or _is_after_a_kill(row):
            break
        last = row["seq"]
    return last


def _is_after_a_kill(row: Row) -> bool:
    return bool(row["type"] == "SandboxWoken" and row["reason"] == "after a kill")


def _played(rerun: Rerun, action: Row, until_ms: int, about: About, progress: Progress) -> Played:
    shown = _Shown(action)
    rerun.take_history(before_ms=action["at_ms"] - LEAD_MS)
    for turn, _ in enumerate(rerun.turns()):
        shown.look(rerun)
        if turn % 2_000 == 0:
            progress(rerun.share)
    if rerun.difference is not None:
        raise ActionRefused(
            409,
            "When replayed, this run differs from event {seq} on.",
            "Branch from an event before the first difference.",
            seq=rerun.difference.seq,
        )
    for _ in rerun.on_until(until_ms):
        shown.look(rerun)
    assert rerun.sandbox is not None
    last, rows = rerun.sandbox.snapshot(), rerun.written()
    board: dict[str, object] | None = None
    if shown.board is not None:
        board = {**shown.board, "data": rerun.sandbox.read("board", list(shown.board.values())).data}
    recording = None
    if shown.frames:
        facts = journal_range.facts(for_browser(row) for row in rows if row["type"] in FACT_NAMES)
        recording = write_recording(about, shown.frames, facts)
    return Played(rows, last, board, recording)


class _Shown:
    """The recording of one board, from before the action on.  `board`: group and topic; None: there is no board."""

    def __init__(self, action: Row) -> None:
        self._fields = action["fields"]
        self._action_ms = action["at_ms"]
        self._next_ms = self._action_ms - LEAD_MS
        self.board: dict[str, str] | None = None
        self.frames: list[Frame] = []

    def look(self, rerun: Rerun) -> None:
        sandbox = rerun.sandbox
        if sandbox is None or sandbox.ended or not sandbox.cluster.restored:
            return
        now_ms = sandbox.cluster.clock.now_ms()
        if now_ms < self._next_ms or not rerun.is_between_instants:
            return
        self._next_ms = now_ms - (now_ms - self._action_ms) % PACE_MS + PACE_MS
        self.board = self.board or _board_of(sandbox.snapshot(), self._fields)
        if self.board is not None:
            self.frames.append(frame_of(sandbox.cluster, [board_of(**self.board)]))


def _board_of(snapshot: Snapshot, fields: dict[str, object]) -> dict[str, str] | None:
    """Return the board of the group that the action was about, else of the first group."""
    groups = sorted(snapshot["groups"], key=lambda group: group["group"])
    about = [
        group
        for group in groups
        if group["group"] == fields.get("group")
        or any(member["actor"] == fields.get("actor") for member in group["members"] if member["actor"])
    ]
    for group in about or groups:
        for subscription in group["subscription"]:
            return {"group": group["group"], "topic": subscription["topic"]}
    return None


def _first_difference(
    before: list[Row], after: list[Row], seq: int, *, changed: bool
) -> tuple[int, Row | None, Row | None]:
    """Return the last common event, and the first row of each side after which the runs differ.

    Rows after the action are compared by content and time, since their numbers differ.
    """
    mine = [row for row in before if row["seq"] > seq and row["type"] != "Keyframe"]
    other = [row for row in after if row["seq"] >= seq + changed and row["type"] != "Keyframe"]
    index = next(
        (n for n, (a, b) in enumerate(zip(mine, other, strict=False)) if _bare(a) != _bare(b)),
        min(len(mine), len(other)),
    )
    same = mine[index - 1]["seq"] if index else max((row["seq"] for row in before if row["seq"] < seq), default=0)
    return same, mine[index] if index < len(mine) else None, other[index] if index < len(other) else None


def _bare(row: Row) -> Row:
    return {name: value for name, value in row.items() if name not in NOT_COMPARED}


def main() -> None:
    serve(_ordered)


def _ordered(order: dict[str, Any], progress: Progress) -> Row:
    instead = order.get("instead")
    changes = dict.fromkeys(order["seqs"], parse_action(instead) if instead else None)
    return compare(Path(sys.argv[1]), changes, progress=progress).row()


if __name__ == "__main__":
    main()
