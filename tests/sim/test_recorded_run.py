"""The recording of a sandbox: what its boards showed is there again, out of its actions."""

import io
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from sandbox.journal import segments
from sandbox.recording.frame import PACE_MS, Frame
from sandbox.recording.journal_range import SNAPSHOT
from sandbox.recording.reader import Recording
from sandbox.recording.writer import write_recording
from sandbox.simulation.recorded_run import RecordedRun
from tests.sim.recorded_stage import SLUG, Recorded

BOARD = "board/order-svc/orders"
END = 2**53


class Watched:
    """A sandbox that slept in between, and its board at some moments as a visitor saw it."""

    def __init__(self, home: Path) -> None:
        stage = Recorded(home, "orders", seed=7, luck=3)
        self.seen: list[Any] = []
        for number in range(30):
            if number == 8:
                stage.act("CrashActor", actor="A")
            if number == 16:
                stage.sleep()
                stage.wake()
            stage.run(0.73)
            [reading] = stage.machine.sim.run(stage.host.read([BOARD.replace("board/", f"board/{SLUG}/")]))
            self.seen.append(reading)
        stage.close()
        self.directory = stage.directory
        self.newest = self.seen[-1].seq


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Watched:
    return Watched(tmp_path_factory.mktemp("watched"))


def queues_of(board: Any) -> Any:
    """Return values that no reader changes; rates are since the reader's last frame."""
    return {
        key: {name: value for name, value in row.items() if name != "rate_per_s"}
        for key, row in board["queues"].items()
    }


def frames(directory: Path, first: int = 0, last: int = END, **options: Any) -> list[Frame]:
    return list(RecordedRun(directory, first, last, **options).frames())


def test_a_board_a_visitor_saw_is_the_frame_at_its_event(watched: Watched) -> None:
    """A frame is the end of a millisecond's first instant; some were seen in the middle of one, or in the next."""
    found = frames(watched.directory, pace_ms=1)
    compared = 0
    for reading in watched.seen:
        before = [frame for frame in found if (frame.seq, frame.at_ms) <= (reading.seq, reading.at_ms)]
        follows = found[len(before)].at_ms if len(before) < len(found) else END
        if before[-1].seq == reading.seq and follows > reading.at_ms:
            compared += 1
            assert queues_of(before[-1].state["channels"][BOARD]) == queues_of(reading.data)
    assert compared >= 0.9 * len(watched.seen)


def test_figures_that_change_once_a_second_are_those_that_a_visitor_saw(watched: Watched) -> None:
    recorded = frames(watched.directory)
    flowing = [reading for reading in watched.seen if reading.data["header"]["in_per_s"]]
    assert len(flowing) > 20
    for reading in flowing:
        frame = next(frame for frame in reversed(recorded) if frame.seq <= reading.seq)
        header = frame.state["channels"][BOARD]["header"]
        for name in ("in_per_s", "out_per_s", "delivered_per_s"):
            assert header[name] == pytest.approx(reading.data["header"][name], abs=1.0), name


def test_frames_come_each_100_ms_of_the_sandboxs_clock_or_with_a_fact_and_none_is_a_keyframes(watched: Watched) -> None:
    recorded = frames(watched.directory)
    facts_ms = {row["at_ms"] for row in RecordedRun(watched.directory, 0, END).facts()}
    apart = [
        later.at_ms // PACE_MS - earlier.at_ms // PACE_MS
        for earlier, later in pairwise(recorded)
        if later.at_ms not in facts_ms
    ]
    assert min(apart) >= 1
    assert apart.count(1) > 0.7 * len(apart)
    assert not any(SNAPSHOT in frame.state["channels"] for frame in recorded)


def test_what_a_fact_says_is_in_a_frame_of_its_millisecond(watched: Watched) -> None:
    run = RecordedRun(watched.directory, 0, END)
    by_time = {frame.at_ms: frame for frame in run.frames()}
    [crash] = [row for row in run.facts() if row["type"] == "MemberStateChanged" and row["state"] == "crashed"][:1]
    member = by_time[crash["at_ms"]].state["channels"][BOARD]["members"][crash["client_id"]]
    assert member["state"] == "crashed"


def test_the_same_directory_gives_the_same_bytes(watched: Watched, tmp_path: Path) -> None:
    one, other = tmp_path / "one.qvr", tmp_path / "other.qvr"
    for file in (one, other):
        call_command("recording", "export", str(file), f"--directory={watched.directory}", stdout=io.StringIO())
    assert one.read_bytes() == other.read_bytes()
    with one.open("rb") as file:
        recording = Recording(file)
        recording.check()
        assert recording.head.about.pace_ms == PACE_MS
        assert recording.head.channels == [BOARD]


def test_a_range_begins_with_the_state_at_its_first_event_and_has_its_facts(watched: Watched) -> None:
    first, last = watched.seen[10].seq, watched.seen[20].seq
    run = RecordedRun(watched.directory, first, last)
    found = list(run.frames())
    assert found[0].seq <= first < found[1].seq
    assert found[-1].seq <= last
    recording = Recording(io.BytesIO(write_recording(run.about("test"), found, run.facts())))
    assert [row["type"] for row in recording.facts(first, last)].count("SandboxSlept") == 1


def test_progress_rises_to_the_end(watched: Watched) -> None:
    said: list[float] = []
    for _ in RecordedRun(watched.directory, 0, END).frames(said.append):
        pass
    assert said == sorted(said)
    assert 0 <= said[0] < 0.2 < 0.9 < said[-1] <= 1


def test_from_a_difference_on_keyframes_stand_in(watched: Watched, tmp_path: Path) -> None:
    box = tmp_path / "sandboxes" / "box"
    (box / "journal").mkdir(parents=True)
    for name in ("sandbox.json", "origin.json"):
        (box / name).write_bytes((watched.directory / name).read_bytes())
    lines = list(segments.lines(watched.directory / "journal"))
    wrong = next(place for place, line in enumerate(lines) if b'"CrashActor"' in line)
    lines[wrong] = lines[wrong].replace(b'"actor":"A"', b'"actor":"B"')
    (box / "journal" / f"{0:020}.ndjson").write_bytes(b"".join(lines))
    found = frames(box)
    exact = [frame for frame in found if BOARD in frame.state["channels"]]
    assert 0 < len(exact) < len(found)
    assert exact == found[: len(exact)]
    assert [*found[-1].state["channels"]] == [SNAPSHOT]


def test_a_sandbox_that_recorded_no_run_has_its_keyframes(watched: Watched, tmp_path: Path) -> None:
    box = tmp_path / "sandboxes" / "box"
    (box / "journal").mkdir(parents=True)
    (box / "sandbox.json").write_bytes((watched.directory / "sandbox.json").read_bytes())
    for segment in (watched.directory / "journal").iterdir():
        (box / "journal" / segment.name).write_bytes(segment.read_bytes())
    found = frames(box)
    assert found
    assert {*map(tuple, (frame.state["channels"] for frame in found))} == {(SNAPSHOT,)}
    assert RecordedRun(box, 0, END).about("test").pace_ms is None


def test_one_that_fell_asleep_at_once_has_its_keyframes(tmp_path: Path) -> None:
    stage = Recorded(tmp_path, "orders", seed=1, luck=1)
    stage.sleep()
    stage.close()
    assert {*map(tuple, (frame.state["channels"] for frame in frames(stage.directory)))} == {(SNAPSHOT,)}
