"""Positions of the fields of a frame."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from sandbox.remoting.command import RemotingCommand, SerializeType
from sandbox.remoting.frame import encode
from sandbox.remoting.frame_parts import LENGTHS_BYTES, Part, frame_parts

WIRE = Path(__file__).parents[2] / "golden" / "wire"
KINDS = pytest.mark.parametrize("kind", list(SerializeType), ids=lambda kind: kind.name)


def by_name(parts: list[Part]) -> dict[str, Part]:
    return {part.name: part for part in parts}


def holds(outer: Part, inner: Part) -> bool:
    return inner.depth > outer.depth and outer.start <= inner.start and inner.end <= outer.end


@KINDS
def test_the_lengths_the_header_and_the_body_share_the_frame_without_a_gap(kind: SerializeType) -> None:
    frame = encode(RemotingCommand(11, {"topic": "T", "queueId": "3"}, b"body", opaque=7, serialize_type=kind))
    outer = [part for part in frame_parts(frame) if part.depth == 0]
    assert [part.name for part in outer] == ["length", "serialize type", "header length", "header", "body"]
    assert [part.start for part in outer] == [0, *(part.end for part in outer[:-1])]
    assert outer[-1].end == len(frame)
    assert outer[0].value == str(len(frame) - 4)
    assert frame[outer[-1].start :] == b"body"


@KINDS
def test_each_field_stands_where_its_bytes_are(kind: SerializeType) -> None:
    command = RemotingCommand(
        310,
        {"a": "组", "b": "orders", "i": "KEYS\x01k\x02"},
        None,
        opaque=-1,
        flag=2,
        remark="wörter",
        serialize_type=kind,
    )
    frame = encode(command)
    parts = by_name(frame_parts(frame))
    for name, value in {"a": "组", "b": "orders", "remark": "wörter"}.items():
        assert parts[name].value == value
        assert value.encode() in frame[parts[name].start : parts[name].end]
        assert name == "remark" or name.encode() in frame[parts[name].start : parts[name].end]
    assert (parts["code"].value, parts["opaque"].value, parts["flag"].value) == ("310", "-1", "2")
    assert (parts["a"].depth, parts["code"].depth) == (2, 1)


@pytest.mark.golden
@pytest.mark.parametrize("kind", ["json", "rocketmq"])
def test_recorded_frames_come_apart_as_they_were_decoded(kind: str) -> None:
    frames: list[dict[str, Any]] = [json.loads(line) for line in (WIRE / f"{kind}.jsonl").read_text().splitlines()]
    for recorded in frames:
        raw, header = bytes.fromhex(recorded["frame_hex"]), recorded["header"]
        parts = frame_parts(raw)
        leaves = [part for part in parts if not any(holds(part, other) for other in parts)]
        assert all(one.end <= two.start for one, two in pairwise(leaves)), recorded["seq"]
        found = {part.name: part.value for part in parts if part.depth == 1}
        assert (found["code"], found["opaque"], found["flag"]) == tuple(
            str(header[name]) for name in ("code", "opaque", "flag")
        )
        custom = {part.name: part.value for part in parts if part.depth == 2}
        assert custom == (header.get("extFields") or {})


def test_a_frame_cut_short_shows_what_is_left_of_it() -> None:
    frame = encode(RemotingCommand(10, {"topic": "T"}, b"x" * 100))
    body = by_name(frame_parts(frame[:-90]))["body"]
    assert body.end - body.start == 10
    short = frame_parts(frame[: LENGTHS_BYTES + 5])
    assert [part.name for part in short] == ["length", "serialize type", "header length", "header"]


def test_bytes_that_are_no_frame_are_refused() -> None:
    with pytest.raises(ValueError, match="3 bytes are no frame"):
        frame_parts(b"abc")
    with pytest.raises(ValueError, match="no JSON object"):
        frame_parts(b"\0\0\0\x06\0\0\0\x02[]")
