"""The last frames of a link with their bytes: fields, hex and decoded body."""

from sandbox.cluster.cluster import Cluster
from sandbox.cluster.frame_bodies import body_of
from sandbox.cluster.frame_recorder import Frame, Link
from sandbox.control.questions import Frames
from sandbox.kernel.errors import ActionRefused
from sandbox.queries.questions.answers import answers
from sandbox.queries.snapshot.frames import frame_row, link_row
from sandbox.remoting.codes import RequestCode
from sandbox.remoting.frame_parts import Part, frame_parts
from sandbox.remoting.headers.messages import V2_NAMES

Row = dict[str, object]

BRIEF_BYTES = 512  # of each frame's hex when all are asked for at once

_V2 = {RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE}


@answers(Frames)
def frames(cluster: Cluster, question: Frames) -> Row:
    """Return all stored frames of a link, or frame `no` with all its stored bytes.

    A question keeps the recording of the link on.  Raises ActionRefused (404) if the frame is no longer stored.
    """
    watched = cluster.frames.watch(question.link)
    if question.no is None:
        return {
            "link": link_row(watched),
            "frames": [_whole(frame, watched.link, frame.data[:BRIEF_BYTES]) for frame in watched.last],
        }
    frame = watched.find(question.no)
    if frame is None:
        raise ActionRefused(
            404,
            "Frame {no} is no longer stored.",
            "Only the last {count} frames of a network link are stored.",
            field="no",
            no=question.no,
            count=cluster.limits.wire_frames,
        )
    pair = watched.find(number) if (number := frame.asked_by or frame.answered_by) is not None else None
    return {
        "link": link_row(watched),
        "frame": _whole(frame, watched.link, frame.data),
        "pair": None if pair is None else {"no": pair.no, **frame_row(pair, watched.link)},
    }


def _whole(frame: Frame, link: Link, shown: bytes) -> Row:
    """Return a frame with its fields and body.

    Each of `fields` has its first byte and the one after its last; `hex` has the bytes in `shown`.
    """
    parts = frame_parts(frame.data)
    custom = {part.name: part.value for part in parts if part.depth == 2}
    body = next((part for part in parts if part.name == "body" and part.depth == 0), None)
    whole = frame.bytes == len(frame.data)
    return {
        "no": frame.no,
        **frame_row(frame, link),
        "hex": shown.hex(),
        "kept": len(frame.data),
        "fields": [_field(part, frame) for part in parts],
        "body": None
        if body is None
        else {
            "bytes": frame.bytes - body.start,
            "whole": whole,
            **body_of(frame.request_code, frame.code if frame.answer else None, frame.data[body.start :], custom),
        },
    }


def _field(part: Part, frame: Frame) -> Row:
    """Return a field as a row; `means` is the full name of a one-letter field."""
    letters = not frame.answer and frame.request_code in _V2
    return {**part._asdict(), "means": V2_NAMES.get(part.name) if letters and part.depth == 2 else None}
