"""Writer of recordings.  The same frames and facts give the same bytes."""

from collections.abc import Iterable, Iterator, Sequence

from sandbox.control.limits import RecordingLimits
from sandbox.journal.schema import Row
from sandbox.kernel.errors import BadRecording
from sandbox.recording import columns
from sandbox.recording.chunk import pack_deltas, pack_facts, pack_keyframe
from sandbox.recording.frame import CHUNK_MS, About, Frame
from sandbox.recording.head import pack_head
from sandbox.recording.part import pack_part


def write_recording(
    about: About, frames: Iterable[Frame], facts: Iterable[Row], limits: RecordingLimits | None = None
) -> bytes:
    """Return the bytes of a recording of these frames and facts.

    `facts`: rows in the order of the journal; those outside the range of the frames are left out.  Raises BadRecording.
    """
    limits = limits or RecordingLimits()
    packed: list[tuple[bytes, bytes]] = []
    places: list[list[int]] = []
    channels: set[str] = set()
    count, last = 0, None
    for chunk in _chunks(_moved(frames), limits):
        packed.append((pack_keyframe(chunk[0]), pack_deltas(chunk)))
        places.append([chunk[0].seq, chunk[0].at_ms])
        channels.update(name for frame in chunk for name in frame.state["channels"])
        count, last = count + len(chunk), chunk[-1]
    if last is None:
        raise BadRecording("There is nothing to record: no frame lies in the range. Choose a longer range.")
    first_seq, first_ms = places[0]
    rows = [row for row in facts if first_seq <= int(row["seq"]) <= last.seq]
    body: list[bytes] = []
    for position, parts, own in zip(places, packed, _by_chunk(rows, [seq for seq, _ in places]), strict=True):
        body += [*parts, pack_facts(own)]
        position += map(len, body[-3:])
    index = pack_index(rows)
    sums: dict[str, object] = {
        "channels": sorted(channels),
        "frames": count,
        "facts": len(rows),
        "seq": [first_seq, last.seq],
        "at_ms": [first_ms, last.at_ms],
    }
    data = b"".join([pack_head(about, sums, places, len(index), limits), *body, index])
    if len(data) > limits.file_bytes:
        raise BadRecording(
            f"The recording has {len(data)} bytes, and {limits.file_bytes} are allowed "
            "(limit file_bytes). Export a shorter range."
        )
    return data


def pack_index(rows: Sequence[Row]) -> bytes:
    """Return the packed index: number, time and type of every fact.

    The index gives the marks on a scrubber, and the way from one fact to the next.
    """
    types = sorted({row["type"] for row in rows})
    return pack_part(
        {
            "types": types,
            "type": [types.index(row["type"]) for row in rows],
            "seq": columns.differences([int(row["seq"]) for row in rows]),
            "at_ms": columns.differences([row["at_ms"] for row in rows]),
        }
    )


def _moved(frames: Iterable[Frame]) -> Iterator[Frame]:
    """Yield the frames without those that equal the one before, but always the first and the last.

    Raises BadRecording if they are not in order.
    """
    before: Frame | None = None
    held: Frame | None = None
    for frame in frames:
        if before is not None and (frame.seq < before.seq or frame.at_ms < before.at_ms):
            raise BadRecording("The frames are not in order. Export them in the order of the journal.")
        if before is None or frame.seq != before.seq or frame.state != before.state:
            yield frame
            before, held = frame, None
        else:
            held = frame
    if held is not None:
        yield held


def _chunks(frames: Iterable[Frame], limits: RecordingLimits) -> Iterator[list[Frame]]:
    chunk: list[Frame] = []
    for frame in frames:
        if chunk and (frame.at_ms - chunk[0].at_ms >= CHUNK_MS or len(chunk) == limits.chunk_frames):
            yield chunk
            chunk = []
        chunk.append(frame)
    if chunk:
        yield chunk


def _by_chunk(rows: Sequence[Row], begins: Sequence[int]) -> Iterator[list[Row]]:
    """Yield the facts of each chunk: a fact belongs to the last chunk that begins at or before it."""
    at = 0
    for end in [*begins[1:], None]:
        first = at
        while at < len(rows) and (end is None or int(rows[at]["seq"]) < end):
            at += 1
        yield list(rows[first:at])
