"""Recordings of worlds: sizes, the state at an event, the same bytes again."""

import io
import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from sandbox.control.limits import RecordingLimits
from sandbox.kernel.errors import BadRecording
from sandbox.recording import folder, journal_range
from sandbox.recording.frame import About, Frame, in_range, state_of
from sandbox.recording.reader import Recording
from sandbox.recording.writer import write_recording
from sandbox.simulation.recorded import recorded_frames
from sandbox.simulation.world import World

ABOUT = About("test", "orders", "sandbox", "7", 100)


class Recorded:
    """Frames as they were read, and the recording of them."""

    def __init__(self, home: Path) -> None:
        with World(home, "orders", seed=7) as world:
            self.frames = list(recorded_frames(world, 30))
            world.act("CrashActor", actor="A")
            self.frames += recorded_frames(world, 45)
            world.act("CreateTopic", topic="late", write_queues=1, read_queues=1)
            world.act("StartConsumer", group="late-svc", subscriptions=[["late", "*"]], work_ms=[1])
            self.frames += recorded_frames(world, 60)
            world.sleep()
        self.facts = list(journal_range.facts_of(home / "sandboxes" / "world"))
        self.data = write_recording(ABOUT, self.frames, self.facts)
        self.recording = Recording(io.BytesIO(self.data))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return Recorded(tmp_path_factory.mktemp("recorded"))


def plain(value: Any) -> Any:
    return json.loads(json.dumps(value))


def made(states: list[dict[str, Any]], apart_ms: int = 1_000) -> Iterator[Frame]:
    for number, state in enumerate(states):
        yield Frame(number, number * apart_ms, state_of(1.0, "e", {"made": state}))


def test_at_every_event_the_state_is_the_newest_frame_read_until_then(recorded: Recorded) -> None:
    for seq in range(recorded.frames[0].seq, recorded.frames[-1].seq + 1, 7):
        wanted = [frame for frame in recorded.frames if frame.seq <= seq][-1]
        assert recorded.recording.at(seq).state == plain(wanted.state), seq


def test_frames_come_back_without_those_that_showed_nothing_new(recorded: Recorded) -> None:
    found = list(recorded.recording.frames())
    read = {json.dumps(frame, sort_keys=True) for frame in recorded.frames}
    assert all(json.dumps(frame, sort_keys=True) in read for frame in found)
    assert len(found) == recorded.recording.head.frames <= len(recorded.frames)


def test_chunks_are_a_minute_long_and_each_begins_with_a_keyframe(recorded: Recorded) -> None:
    begins_ms = [place.at_ms for place in recorded.recording.head.chunks]
    assert len(begins_ms) == 3
    assert all(60_000 <= later - earlier < 61_000 for earlier, later in pairwise(begins_ms))


def test_a_board_that_comes_later_is_there_from_then_on(recorded: Recorded) -> None:
    first, last = (recorded.recording.at(seq).state["channels"] for seq in recorded.recording.head.seq)
    assert [*first] == ["board/order-svc/orders"]
    assert sorted(last) == ["board/late-svc/late", "board/order-svc/orders"] == recorded.recording.head.channels


def test_facts_come_back_as_the_api_sends_them_and_stand_in_the_index(recorded: Recorded) -> None:
    first, last = recorded.recording.head.seq
    wanted = [row for row in recorded.facts if first <= int(row["seq"]) <= last]
    assert list(recorded.recording.facts(first, last)) == plain(wanted)
    assert [mark.type for mark in recorded.recording.index()] == [row["type"] for row in wanted]
    crash = next(row for row in wanted if row["type"] == "ActionTaken" and row["action"] == "CrashActor")
    assert list(recorded.recording.facts(int(crash["seq"]), int(crash["seq"]))) == [crash]
    assert crash["by"] == "owner", "a role, and no name"


def test_a_recording_says_which_event_comes_before_it(recorded: Recorded) -> None:
    with pytest.raises(BadRecording, match=f"which begins at {recorded.frames[0].seq}"):
        recorded.recording.at(recorded.frames[0].seq - 1)


def test_a_range_begins_with_the_state_at_its_first_event() -> None:
    frames = [frame._replace(seq=frame.seq * 10) for frame in made([{"n": n} for n in range(5)])]
    assert [frame.seq for frame in in_range(frames, 15, 30)] == [10, 20, 30]
    assert [frame.seq for frame in in_range(frames, 15, 18)] == [10]
    assert [frame.seq for frame in in_range(frames, 0, 5)] == [0]


def test_rows_that_go_and_come_back_change_type_or_stay_are_as_they_were() -> None:
    states: list[dict[str, Any]] = [
        {"rows": {"a": {"x": 1, "deep": None}, "b": {"x": "5"}}, "list": [1]},
        {"rows": {"a": {"x": 1, "deep": {"y": {"z": 1}}}}, "list": [1]},
        {"rows": {"a": {"x": None, "deep": {"y": {}}}, "b": {}}, "list": []},
        {"rows": {"b": {"x": "6"}, "a": 3}, "list": {}},
        {"rows": {"b": {"x": "12345678901234567890"}, "a": {"x": 2}}, "other": True},
    ]
    found = Recording(io.BytesIO(write_recording(ABOUT, made(states), [])))
    assert [frame.state["channels"]["made"] for frame in found.frames()] == states


def test_export_import_and_export_give_the_same_bytes(tmp_path: Path) -> None:
    first, folder, again = tmp_path / "first.qvr", tmp_path / "folder", tmp_path / "again.qvr"
    out = io.StringIO()
    call_command("recording", "export", str(first), "--play=orders", "--seed=7", "--minutes=1.5", stdout=out)
    call_command("recording", "import", str(first), str(folder), stdout=out)
    call_command("recording", "export", str(again), f"--directory={folder}", stdout=out)
    call_command("recording", "check", str(again), stdout=out)
    assert again.read_bytes() == first.read_bytes()
    assert "2 chunks" in out.getvalue()


def test_a_sandboxs_directory_is_recorded_by_its_keyframes(tmp_path: Path) -> None:
    with World(tmp_path / "home", "orders", seed=7) as world:
        world.run(120)
        snapshots = [entry for entry in world.entries() if type(entry.event).__name__ == "Keyframe"]
        world.sleep()
    file = tmp_path / "kept.qvr"
    box = tmp_path / "home" / "sandboxes" / "world"
    call_command("recording", "export", str(file), f"--directory={box}", stdout=io.StringIO())
    with file.open("rb") as data:
        found = Recording(data)
        last = found.at(snapshots[-1].seq)
        assert last.state["channels"]["snapshot"] == plain(snapshots[-1].event._asdict()["snapshot"])
        assert found.head.about.pace_ms is None


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    files = [tmp_path / "one.qvr", tmp_path / "two.qvr"]
    for file in files:
        call_command(
            "recording", "export", str(file), "--play=orders", "--seed=3", "--minutes=0.2", stdout=io.StringIO()
        )
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("frames.ndjson", '{"at_ms": "x", "seq": 1, "state": {}}'),
        ("frames.ndjson", "no JSON"),
        ("frames.ndjson", "[]"),
        ("facts.ndjson", '{"seq": 1}'),
        ("facts.ndjson", "7"),
    ],
)
def test_a_directory_that_import_did_not_make_so_is_refused(
    recorded: Recorded, tmp_path: Path, name: str, line: str
) -> None:
    folder.unpack(recorded.recording, tmp_path / "folder")
    (tmp_path / "folder" / name).write_text(line)
    with pytest.raises(CommandError, match=r"again\.$"):
        call_command("recording", "export", str(tmp_path / "x.qvr"), f"--directory={tmp_path / 'folder'}")


@pytest.mark.parametrize(
    ("limits", "name"),
    [
        (RecordingLimits(chunks=1), "chunks"),
        (RecordingLimits(file_bytes=1_000), "file_bytes"),
        (RecordingLimits(line_bytes=100), "line_bytes"),
    ],
)
def test_what_is_too_large_names_its_limit(recorded: Recorded, limits: RecordingLimits, name: str) -> None:
    with pytest.raises(BadRecording, match=name):
        write_recording(ABOUT, recorded.frames, recorded.facts, limits)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "This file is not a recording"),
        (b"hello\nworld", "This file is not a recording"),
        (b"[" * 9_000, "This file is not a recording"),
        (b'{"format":"queueviz recording","version":2}\n', "version 2, and this release reads version 1"),
        (b'{"format":"queueviz recording","version":1}\n', "does not have the fields"),
        (None, "No such file"),
    ],
)
def test_a_file_that_is_no_recording_is_named_so(tmp_path: Path, content: bytes | None, sentence: str) -> None:
    file = tmp_path / "odd.qvr"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(CommandError, match=sentence):
        call_command("recording", "check", str(file))


def test_a_file_cut_anywhere_ends_early(recorded: Recorded) -> None:
    begins = recorded.recording.head.chunks[0].begins
    for length in (begins - 1, begins, begins + 100, len(recorded.data) - 1):
        with pytest.raises(BadRecording, match="The file is incomplete"):
            Recording(io.BytesIO(recorded.data[:length]))
    with pytest.raises(BadRecording, match="has data after its end"):
        Recording(io.BytesIO(recorded.data + b"x"))
