"""The head of a recording: its first line and its directory of chunks.

No position is stored: a part begins where the one before it ends.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from sandbox.control.limits import RecordingLimits
from sandbox.kernel import json_bytes
from sandbox.kernel.calendar_text import LAST_MS
from sandbox.kernel.errors import BadRecording
from sandbox.recording import columns
from sandbox.recording.frame import About
from sandbox.recording.part import map_of, pack_part, unpack_part

FORMAT = "queueviz recording"
VERSION = 1
LENGTHS = ("keyframe_bytes", "deltas_bytes", "facts_bytes")
DIRECTORY = {"seq", "at_ms", *LENGTHS}
ABOUT = {"engine", "template", "preset", "seed", "pace_ms"}
MOST_PACE_MS = 86_400_000  # a day
SUMS = {"channels", "frames", "facts", "seq", "at_ms", "directory_bytes", "index_bytes"}


class ChunkPlace(NamedTuple):
    """The first frame of a chunk, and the positions of its three parts in the file."""

    seq: int
    at_ms: int
    begins: int
    keyframe_bytes: int
    deltas_bytes: int
    facts_bytes: int

    @property
    def deltas_begin(self) -> int:
        return self.begins + self.keyframe_bytes

    @property
    def facts_begin(self) -> int:
        return self.deltas_begin + self.deltas_bytes


class Head(NamedTuple):
    """The head of a recording, which precedes its first chunk."""

    about: About
    channels: list[str]
    frames: int
    facts: int
    seq: tuple[int, int]  # of the first and the last frame
    at_ms: tuple[int, int]
    chunks: list[ChunkPlace]
    index_begins: int
    file_bytes: int


def pack_head(
    about: About, sums: dict[str, object], places: Sequence[Sequence[int]], index_bytes: int, limits: RecordingLimits
) -> bytes:
    """Return the packed head.  Raises BadRecording if it exceeds a limit.

    `places`: for each chunk its first number, its time and the lengths of its parts.
    """
    by_field = list(zip(*places, strict=True))
    directory = pack_part(
        {
            "seq": columns.differences(by_field[0]),
            "at_ms": columns.differences(by_field[1]),
            **{name: list(lengths) for name, lengths in zip(LENGTHS, by_field[2:], strict=True)},
        }
    )
    line = (
        json_bytes.dumps(
            {
                "format": FORMAT,
                "version": VERSION,
                **about._asdict(),
                **sums,
                "directory_bytes": len(directory),
                "index_bytes": index_bytes,
            }
        )
        + b"\n"
    )
    if len(places) > limits.chunks:
        raise BadRecording(
            f"The range has {len(places)} chunks, and {limits.chunks} are allowed (limit chunks). "
            "Export a shorter range."
        )
    if len(line) > limits.line_bytes or len(line + directory) > limits.head_bytes:
        raise BadRecording(
            "The list of channels or chunks is too long (limits line_bytes, head_bytes). "
            "Export fewer channels or a shorter range."
        )
    return line + directory


def read_line(data: bytes, limits: RecordingLimits) -> tuple[dict[str, Any], int]:
    """Return the first line and its length.  Raises BadRecording if it is not that of a recording of this version."""
    end = data.find(b"\n", 0, limits.line_bytes)
    try:
        line = json_bytes.loads(data[:end]) if end >= 0 else None
    except json_bytes.JSONDecodeError:
        line = None
    if not isinstance(line, dict) or line.get("format") != FORMAT:
        raise BadRecording("This file is not a recording. Choose a file that manage.py recording exported.")
    if line.get("version") != VERSION:
        raise BadRecording(
            f"This recording has version {line.get('version')!r:.20}, and this release reads version {VERSION}. "
            "Open it with the release that wrote it, or a newer one."
        )
    return map_of(line, {"format", "version", *ABOUT, *SUMS}, "first line"), end + 1


def read_head(data: bytes, file_bytes: int, limits: RecordingLimits) -> Head:
    """Return the head in `data`, the first `limits.head_bytes` bytes of the file.  Raises BadRecording."""
    if file_bytes > limits.file_bytes:
        raise BadRecording(
            f"The file has {file_bytes} bytes, and {limits.file_bytes} are allowed (limit file_bytes). "
            "Export a shorter range."
        )
    line, body = read_line(data, limits)
    for name, low, high in (
        ("frames", 1, limits.chunks * limits.chunk_frames),
        ("facts", 0, limits.unpacked_bytes),
        ("directory_bytes", 0, limits.file_bytes),
        ("index_bytes", 0, limits.file_bytes),
    ):
        _whole_number(line[name], name, low, high)
    directory_end = body + line["directory_bytes"]
    if directory_end > limits.head_bytes:
        raise BadRecording("The directory is too long (limit head_bytes). Export a shorter range.")
    if directory_end > len(data):
        raise _ends_early(file_bytes, directory_end)
    columns_of = unpack_part(data[body:directory_end], "directory", limits.unpacked_bytes)
    directory = map_of(columns_of, DIRECTORY, "directory")
    places = _places(directory, directory_end, limits)
    index_begins = places[-1].facts_begin + places[-1].facts_bytes
    if index_begins + line["index_bytes"] > file_bytes:
        raise _ends_early(file_bytes, index_begins + line["index_bytes"])
    if index_begins + line["index_bytes"] < file_bytes:
        raise BadRecording("The file has data after its end. Copy it again.")
    return Head(
        _about(line),
        _texts(line["channels"], limits),
        line["frames"],
        line["facts"],
        _pair(line["seq"]),
        _pair(line["at_ms"], LAST_MS),
        places,
        index_begins,
        file_bytes,
    )


def _places(directory: dict[str, Any], begins: int, limits: RecordingLimits) -> list[ChunkPlace]:
    seqs = columns.increasing(directory["seq"], limits.chunks)
    times_ms = columns.increasing(directory["at_ms"], limits.chunks)
    lengths = [directory[name] for name in LENGTHS]
    if (
        not seqs
        or not all(isinstance(column, list) for column in lengths)
        or {len(times_ms), *map(len, lengths)} != {len(seqs)}
    ):
        raise BadRecording("The directory has columns of different lengths, or no chunk. Export it again.")
    for column in lengths:
        for length in column:
            _whole_number(length, "a length", 0, limits.file_bytes)
    starts = accumulate((sum(parts) for parts in zip(*lengths, strict=True)), initial=begins)
    return [ChunkPlace(*fields) for fields in zip(seqs, times_ms, starts, *lengths, strict=False)]


def _about(line: dict[str, Any]) -> About:
    if type(line["engine"]) is not str or not all(
        line[name] is None or type(line[name]) is str for name in ("template", "preset", "seed")
    ):
        raise BadRecording("The first line lacks the description of the run. Export it again.")
    if line["pace_ms"] is not None:
        _whole_number(line["pace_ms"], "pace_ms", 1, MOST_PACE_MS)
    return About(**{name: line[name] for name in About._fields})


def _texts(value: Any, limits: RecordingLimits) -> list[str]:
    if not isinstance(value, list) or len(value) > limits.channels or not all(type(text) is str for text in value):
        raise BadRecording(
            f"The first line names no channels, or more than {limits.channels} (limit channels). Export fewer channels."
        )
    return value


def _pair(value: Any, most: int = columns.LARGEST - 1) -> tuple[int, int]:
    if not isinstance(value, list) or len(value) != 2:
        raise BadRecording("The first line lacks the range of the recording. Export it again.")
    for number in value:
        _whole_number(number, "a number", 0, most)
    if value[0] > value[1]:
        raise BadRecording("In the first line, the end is before the beginning. Export it again.")
    return value[0], value[1]


def _whole_number(value: Any, name: str, low: int, high: int) -> None:
    if type(value) is not int or not low <= value <= high:
        raise BadRecording(
            f"In the first line or the directory {name} is not a whole number from {low} to {high}. Export it again."
        )


def _ends_early(actual: int, expected: int) -> BadRecording:
    return BadRecording(f"The file is incomplete: it has {actual} of {expected} bytes. Copy it again.")
