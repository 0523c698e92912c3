"""A recording as a directory of plain JSON: `import` creates it and `export` packs it again, to the same bytes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sandbox.journal.schema import Row
from sandbox.kernel import json_bytes
from sandbox.kernel.errors import BadRecording
from sandbox.recording.frame import About, Frame
from sandbox.recording.part import map_of
from sandbox.recording.reader import Recording

ABOUT, FRAMES, FACTS = "recording.json", "frames.ndjson", "facts.ndjson"


def unpack(recording: Recording, directory: Path) -> None:
    """Write the recording into a new directory.  Raises BadRecording, and FileExistsError."""
    recording.check()
    directory.mkdir(parents=True)
    with (directory / FRAMES).open("wb") as frames:
        for frame in recording.frames():
            frames.write(_line(frame._asdict()))
    with (directory / FACTS).open("wb") as facts:
        for row in recording.facts(*recording.head.seq):
            facts.write(_line(row))
    (directory / ABOUT).write_bytes(_line(recording.head.about._asdict()))


def is_folder(directory: Path) -> bool:
    return (directory / ABOUT).is_file()


def about_of(directory: Path) -> About:
    return About(**map_of(_loaded((directory / ABOUT).read_bytes(), ABOUT), set(About._fields), ABOUT))


def frames_of(directory: Path) -> Iterator[Frame]:
    with (directory / FRAMES).open("rb") as lines:
        for line in lines:
            match map_of(_loaded(line, FRAMES), set(Frame._fields), f"line of {FRAMES}"):
                case {"seq": int(seq), "at_ms": int(at_ms), "state": {"channels": dict()} as state}:
                    yield Frame(seq, at_ms, state)
                case _:
                    raise BadRecording(f"{FRAMES} has a line without a number, a time or channels. Import it again.")


def facts_of(directory: Path) -> Iterator[Row]:
    with (directory / FACTS).open("rb") as lines:
        for line in lines:
            match _loaded(line, FACTS):
                case {"seq": str(seq), "at_ms": int(), "type": str(), "cause": _} as row if seq.isdecimal():
                    yield row
                case _:
                    raise BadRecording(f"{FACTS} has a line without a number, a time or a type. Import it again.")


def _line(value: Any) -> bytes:
    return json_bytes.dumps(value, option=json_bytes.OPT_APPEND_NEWLINE | json_bytes.OPT_SORT_KEYS)


def _loaded(line: bytes, name: str) -> Any:
    try:
        return json_bytes.loads(line)
    except json_bytes.JSONDecodeError as error:
        raise BadRecording(f"{name} has a line that is not JSON. Import the recording again.") from error
