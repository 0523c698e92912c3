"""A reader of recordings: the state at an event, the facts of a range, or everything."""

from bisect import bisect_right
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from sandbox.control.limits import RecordingLimits
from sandbox.journal.schema import Row
from sandbox.kernel.errors import BadRecording
from sandbox.recording import columns
from sandbox.recording.chunk import Chunk, unpack_facts, unpack_keyframe
from sandbox.recording.frame import Frame
from sandbox.recording.head import ChunkPlace, read_head
from sandbox.recording.part import map_of, unpack_part


class Mark(NamedTuple):
    """A fact in the index."""

    seq: int
    at_ms: int
    type: str


class Recording:
    """An open recording.  Every method raises BadRecording if the file is damaged."""

    def __init__(self, file: BinaryIO, limits: RecordingLimits | None = None) -> None:
        self._file = file
        self._limits = limits or RecordingLimits()
        file_bytes = file.seek(0, 2)
        self.head = read_head(self._bytes(0, self._limits.head_bytes, at_most=True), file_bytes, self._limits)
        self._begins = [chunk.seq for chunk in self.head.chunks]

    def at(self, seq: int) -> Frame:
        """Return the newest frame at or before event `seq`.  Raises BadRecording before the first."""
        return self._chunk(self._place(seq)).at(seq)

    def facts(self, first: int, last: int) -> Iterator[Row]:
        """Yield the facts with `first` <= seq <= `last`."""
        for chunk in self.head.chunks[max(0, bisect_right(self._begins, first) - 1) :]:
            if chunk.seq > last:
                return
            facts = unpack_facts(self._bytes(chunk.facts_begin, chunk.facts_bytes), self._limits)
            yield from (row for row in facts if first <= int(row["seq"]) <= last)

    def frames(self) -> Iterator[Frame]:
        for chunk in self.head.chunks:
            yield from self._chunk(chunk).frames()

    def index(self) -> list[Mark]:
        data = self._bytes(self.head.index_begins, self.head.file_bytes - self.head.index_begins)
        fields = map_of(
            unpack_part(data, "index", self._limits.unpacked_bytes), {"types", "type", "seq", "at_ms"}, "index"
        )
        types, kinds = fields["types"], fields["type"]
        seqs = columns.increasing(fields["seq"], self.head.facts)
        times_ms = columns.increasing(fields["at_ms"], self.head.facts)
        if (
            not isinstance(types, list)
            or not isinstance(kinds, list)
            or not (len(kinds) == len(seqs) == len(times_ms) == self.head.facts)
        ):
            raise BadRecording("The index does not have a number, a time and a type for each fact. Export again.")
        if not all(type(kind) is int and 0 <= kind < len(types) and type(types[kind]) is str for kind in kinds):
            raise BadRecording("The index names an unknown type. Export it again.")
        return [Mark(seq, at_ms, types[kind]) for seq, at_ms, kind in zip(seqs, times_ms, kinds, strict=True)]

    def check(self) -> None:
        """Read everything and compare it with the first line and the index.  Raises BadRecording if they differ."""
        frames = [(frame.seq, frame.at_ms) for frame in self.frames()]
        if len(frames) != self.head.frames or frames != sorted(frames):
            raise BadRecording("The number or order of frames differs from the first line. Copy it again.")
        if (frames[0], frames[-1]) != tuple(zip(self.head.seq, self.head.at_ms, strict=True)):
            raise BadRecording("The first or last frame differs from the first line. Export it again.")
        facts = [Mark(int(row["seq"]), row["at_ms"], row["type"]) for row in self.facts(*self.head.seq)]
        if facts != self.index():
            raise BadRecording("The index does not match the facts. Export it again.")

    def _place(self, seq: int) -> ChunkPlace:
        at = bisect_right(self._begins, seq) - 1
        if at < 0:
            raise BadRecording(
                f"Event {seq} is before the recording, which begins at {self.head.seq[0]}. Choose a later event."
            )
        return self.head.chunks[at]

    def _chunk(self, position: ChunkPlace) -> Chunk:
        keyframe = unpack_keyframe(self._bytes(position.begins, position.keyframe_bytes), self._limits)
        if (keyframe.seq, keyframe.at_ms) != (position.seq, position.at_ms):
            raise BadRecording("A chunk begins at another position than in the directory. Export it again.")
        return Chunk(keyframe, self._bytes(position.deltas_begin, position.deltas_bytes), self._limits)

    def _bytes(self, begins: int, count: int, *, at_most: bool = False) -> bytes:
        self._file.seek(begins)
        data = self._file.read(count)
        if len(data) < count and not at_most:
            raise BadRecording("The file ends early. Copy it again.")
        return data
