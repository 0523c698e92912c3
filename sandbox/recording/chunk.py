"""Chunks of a recording: a minute of frames as a keyframe and columns of changes, and its facts as columns by type.

A column is a path, the numbers of the frames at which its leaf changed (as differences), and the values.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from sandbox.control.limits import RecordingLimits
from sandbox.journal.schema import Row
from sandbox.kernel.errors import BadRecording
from sandbox.recording import columns
from sandbox.recording.frame import Frame
from sandbox.recording.part import map_of, pack_part, unpack_part
from sandbox.recording.tree import GONE, Path, Tree, changes, copied, path_of, put, remove

Change = tuple[Path, Any]


def pack_keyframe(frame: Frame) -> bytes:
    return pack_part({"seq": frame.seq, "at_ms": frame.at_ms, "state": frame.state})


def unpack_keyframe(data: bytes, limits: RecordingLimits) -> Frame:
    fields = map_of(unpack_part(data, "keyframe", limits.unpacked_bytes), {"seq", "at_ms", "state"}, "keyframe")
    numbers_fit = all(type(fields[name]) is int and 0 <= fields[name] < columns.LARGEST for name in ("seq", "at_ms"))
    if not numbers_fit or not isinstance(fields["state"], dict):
        raise BadRecording("A keyframe has no number, no time or no state. Export it again.")
    return Frame(fields["seq"], fields["at_ms"], fields["state"])


def pack_deltas(frames: Sequence[Frame]) -> bytes:
    """Pack the changes between a chunk's frames; the first frame is the keyframe."""
    changed: dict[Path, tuple[list[int], list[Any]]] = {}
    gone: dict[Path, list[int]] = {}
    for number, (before, frame) in enumerate(pairwise(frames), 1):
        for path, value in changes(before.state, frame.state):
            if value is GONE:
                gone.setdefault(path, []).append(number)
            else:
                numbers, values = changed.setdefault(path, ([], []))
                numbers.append(number)
                values.append(value)
    return pack_part(
        {
            "seq": columns.differences([frame.seq - frames[0].seq for frame in frames[1:]]),
            "at_ms": columns.differences([frame.at_ms - frames[0].at_ms for frame in frames[1:]]),
            "columns": [
                [path, columns.differences(numbers), *columns.pack(values)]
                for path, (numbers, values) in sorted(changed.items())
            ],
            "gone": [[path, columns.differences(numbers)] for path, numbers in sorted(gone.items())],
        }
    )


class Chunk:
    """The frames of a chunk: a keyframe and its changes, readable at any frame.  Raises BadRecording if damaged."""

    def __init__(self, keyframe: Frame, data: bytes, limits: RecordingLimits) -> None:
        fields = map_of(
            unpack_part(data, "chunk of changes", limits.unpacked_bytes),
            {"seq", "at_ms", "columns", "gone"},
            "chunk of changes",
        )
        seqs = columns.increasing(fields["seq"], limits.chunk_frames)
        times_ms = columns.increasing(fields["at_ms"], limits.chunk_frames)
        are_lists = isinstance(fields["columns"], list) and isinstance(fields["gone"], list)
        if len(seqs) != len(times_ms) or not are_lists:
            raise BadRecording("A chunk of changes has frames without a time. Export it again.")
        self._keyframe = keyframe
        self.seqs = [keyframe.seq, *(keyframe.seq + seq for seq in seqs)]
        self.times_ms = [keyframe.at_ms, *(keyframe.at_ms + at_ms for at_ms in times_ms)]
        self._gone: list[list[Path]] = [[] for _ in self.seqs]
        self._set: list[list[Change]] = [[] for _ in self.seqs]
        for row in fields["gone"]:
            path, numbers, _ = self._column(row, 2)
            for number in numbers:
                self._gone[number].append(path)
        for row in fields["columns"]:
            path, numbers, rest = self._column(row, 4)
            for number, value in zip(numbers, columns.unpack(rest, len(numbers)), strict=True):
                self._set[number].append((path, value))

    def _column(self, row: Any, length: int) -> tuple[Path, list[int], list[Any]]:
        if not isinstance(row, list) or len(row) != length:
            raise BadRecording("A column has too few or too many parts. Export it again.")
        numbers = columns.increasing(row[1], len(self.seqs))
        if numbers and not 0 < numbers[0] <= numbers[-1] < len(self.seqs):
            raise BadRecording("A column changes at a frame that does not exist. Export it again.")
        return path_of(row[0]), numbers, row[2:]

    def frames(self) -> Iterator[Frame]:
        """Yield all frames, each with a state of its own."""
        state: Tree = copied(self._keyframe.state)
        for number, (seq, at_ms) in enumerate(zip(self.seqs, self.times_ms, strict=True)):
            self._apply(state, number)
            yield Frame(seq, at_ms, copied(state))

    def at(self, seq: int) -> Frame:
        """Return the newest frame whose number is not above `seq`, or the keyframe."""
        last = max((number for number, known in enumerate(self.seqs) if known <= seq), default=0)
        state: Tree = copied(self._keyframe.state)
        for number in range(last + 1):
            self._apply(state, number)
        return Frame(self.seqs[last], self.times_ms[last], state)

    def _apply(self, state: Tree, number: int) -> None:
        for path in self._gone[number]:
            remove(state, path)
        for path, value in self._set[number]:
            put(state, path, copied(value))


def pack_facts(rows: Sequence[Row]) -> bytes:
    """Return the packed facts, as columns by event type and fields.

    Journals of other versions have other fields.
    """
    tables: dict[tuple[str, tuple[str, ...]], list[Row]] = {}
    for row in rows:
        tables.setdefault((row["type"], tuple(sorted(row.keys() - {"type"}))), []).append(row)
    return pack_part(
        [
            [kind, {name: columns.pack([row[name] for row in table]) for name in names}]
            for (kind, names), table in sorted(tables.items())
        ]
    )


def unpack_facts(data: bytes, limits: RecordingLimits) -> list[Row]:
    """Return the facts in journal order.  Raises BadRecording if they are damaged."""
    tables = unpack_part(data, "facts", limits.unpacked_bytes)
    rows: list[Row] = []
    if not isinstance(tables, list):
        raise BadRecording("The facts are not a list. Export it again.")
    for table in tables:
        match table:
            case [str(kind), {"seq": [_, list(seqs)], "at_ms": _, "cause": _} as fields]:
                values = {name: columns.unpack(column, len(seqs)) for name, column in fields.items()}
                rows += [{"type": kind} | {name: values[name][at] for name in values} for at in range(len(seqs))]
            case _:
                raise BadRecording("A table of facts has no numbers, times or causes. Export it again.")
    if not all(isinstance(row["seq"], str) and row["seq"].isdecimal() and type(row["at_ms"]) is int for row in rows):
        raise BadRecording("A fact has no number or no time. Export it again.")
    return sorted(rows, key=lambda row: int(row["seq"]))
