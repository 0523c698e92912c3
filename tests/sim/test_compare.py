"""One action different: two runs from one seed, the first event that differs, and what it changed."""

import io
from pathlib import Path

import pytest

from sandbox.control.actions import CrashActor, StopActor
from sandbox.journal.segments import rows_since
from sandbox.kernel.errors import ActionRefused
from sandbox.recording.reader import Recording
from sandbox.simulation.compare import compare
from sandbox.simulation.run_figures import longest_lock_wait
from tests.sim.recorded_stage import Recorded


@pytest.fixture
def crashed(tmp_path: Path) -> Path:
    """Ordered consumers; one of them crashed, twenty seconds ago."""
    stage = Recorded(tmp_path, "payments", seed=5, luck=3)
    stage.run(25)
    stage.act("CrashActor", actor="A")
    stage.run(20)
    stage.close()
    return stage.directory


def seq_of(directory: Path, action: str) -> int:
    return next(
        row["seq"]
        for row in rows_since(directory / "journal", 0)
        if row["type"] == "ActionTaken" and row["action"] == action
    )


def test_a_clean_stop_instead_of_a_crash_gives_the_locks_back(crashed: Path) -> None:
    seq = seq_of(crashed, "CrashActor")
    shares: list[float] = []
    compared = compare(crashed, {seq: StopActor(actor="A")}, progress=shares.append)
    crash, stop = compared.before, compared.after
    assert compared.same_until < seq
    assert (crash.came or {})["type"] == (stop.came or {})["type"] == "MemberStateChanged"
    assert [side.came["state"] for side in (crash, stop) if side.came] == ["crashed", "stopping"]
    assert (stop.figures.lost, crash.figures.lost) == (0, 0)
    waits = [side.figures.longest_lock_wait for side in (crash, stop)]
    assert waits[0] is not None
    assert waits[0].ms > (waits[1].ms if waits[1] is not None else 0) + 10_000  # None: none had to wait
    assert (
        crash.played.rows[-1]["at_ms"] - compared.actions[0]["at_ms"] >= 80_000
    )  # also behind the end of what was recorded
    assert shares == sorted(shares)


def test_without_the_action_nothing_of_it_happens(crashed: Path) -> None:
    seq = seq_of(crashed, "CrashActor")
    compared = compare(crashed, {seq: None})
    assert compared.after.figures.delivered_again == 0
    assert all(row["state"] != "crashed" for row in compared.after.played.rows if row["type"] == "MemberStateChanged")
    assert compared.before.played.rows[:100] == compared.after.played.rows[:100]


def test_the_same_action_again_is_the_same_run(crashed: Path) -> None:
    compared = compare(crashed, {seq_of(crashed, "CrashActor"): CrashActor(actor="A")})
    assert (compared.before.came, compared.after.came) == (None, None)
    assert compared.before.figures == compared.after.figures


def test_both_runs_are_recordings_of_one_board_from_before_the_action_on(crashed: Path) -> None:
    compared = compare(crashed, {seq_of(crashed, "CrashActor"): StopActor(actor="A")})
    before, after = (Recording(io.BytesIO(side.played.recording or b"")) for side in (compared.before, compared.after))
    at_ms = compared.actions[0]["at_ms"]
    for recording in (before, after):
        times = [frame.at_ms - at_ms for frame in recording.frames()]
        assert times[0] <= -20_000
        assert times[-1] >= 89_000
    earlier = [[frame for frame in recording.frames() if frame.at_ms < at_ms - 250] for recording in (before, after)]
    assert earlier[0] == earlier[1]
    (board,) = before.head.channels
    members = [[*recording.frames()][-1].state["channels"][board]["members"] for recording in (before, after)]
    states = [one["state"] for found in members for one in found.values() if one["letter"] == "A"]
    assert states == ["crashed", "stopped"]
    assert {row["type"] for row in after.facts(0, 10**9)} >= {"ActionTaken", "QueueLocked"}


def test_several_actions_are_left_out_at_once(tmp_path: Path) -> None:
    stage = Recorded(tmp_path, "payments", seed=5, luck=3)
    stage.run(25)
    for actor in ("A", "B"):
        stage.act("CrashActor", actor=actor)
        stage.run(10)
    stage.close()
    seqs = [row["seq"] for row in rows_since(stage.directory / "journal", 0) if row["type"] == "ActionTaken"][-2:]
    result = compare(stage.directory, dict.fromkeys(seqs))
    crashes = [
        sum(row["type"] == "MemberStateChanged" and row["state"] == "crashed" for row in side.played.rows)
        for side in (result.before, result.after)
    ]
    assert crashes == [2, 0]
    assert [row["seq"] for row in result.actions] == seqs
    first, last = (row["at_ms"] for row in result.actions)
    assert result.row()["ends_ms"] == last - first + 90_000
    assert result.after.played.rows[-1]["at_ms"] >= last + 80_000


def test_what_is_no_action_is_refused(crashed: Path) -> None:
    with pytest.raises(ActionRefused, match="is not an action"):
        compare(crashed, {3: None})
    with pytest.raises(ActionRefused, match=r"Event \d+ does not exist"):
        compare(crashed, {10**9: None})


def test_a_wait_for_a_lock_lasts_from_the_first_refusal_to_the_grant() -> None:
    queue = {"group": "g", "topic": "t", "broker": "b", "queue_id": 0, "holder": "B"}
    rows = [
        {"seq": n, "at_ms": at_ms, "type": kind, "client_id": "A", "how": how, **queue}
        for n, (at_ms, kind, how) in enumerate(
            [
                (10, "LockDenied", ""),
                (20, "QueueLocked", "renewed"),
                (30, "LockDenied", ""),
                (50, "QueueLocked", "expired"),
                (90, "LockDenied", ""),
            ]
        )
    ]
    found = longest_lock_wait(rows[:4], 100)
    assert found is not None
    assert (found.ms, found.queue, found.open) == (40, "t/b/0", False)
    still = longest_lock_wait(rows, 200)
    assert still is not None
    assert (still.ms, still.open) == (110, True)
