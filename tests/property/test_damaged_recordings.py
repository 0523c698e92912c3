"""Whatever a recording's bytes are, it is read or refused with a sentence."""

import io
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.control.limits import RecordingLimits
from sandbox.kernel.errors import BadRecording
from sandbox.recording.chunk import Chunk, unpack_facts, unpack_keyframe
from sandbox.recording.part import pack_part
from sandbox.recording.reader import Recording

GOLDEN = Path(__file__).parents[1] / "golden" / "recordings" / "0.1.0.qvr"
LEAVES = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text(max_size=4) | st.floats(allow_nan=False)
JSON = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
)


@cache
def golden() -> bytes:
    return GOLDEN.read_bytes()


def refusal(read: Callable[[], object]) -> str | None:
    """The sentence it is refused with; None: it is read.  Any other exception fails the test."""
    try:
        read()
    except BadRecording as why:
        return str(why)
    return None


def read_all(data: bytes) -> None:
    said = refusal(lambda: Recording(io.BytesIO(data)).check())
    assert said is None or (said.endswith(".") and len(said) < 400), "a sentence"


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_changed_bytes_are_read_or_refused(data: Any) -> None:
    content = bytearray(golden())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    read_all(bytes(content))


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10_000))
def test_a_shortened_file_is_refused(length: int) -> None:
    read_all(golden()[:length])


@settings(deadline=None)
@given(JSON, st.sampled_from(["seq", "at_ms", "columns", "gone"]))
def test_any_json_in_the_place_of_a_part_is_refused_or_read(value: Any, field: str) -> None:
    limits = RecordingLimits(unpacked_bytes=100_000)
    keyframe = unpack_keyframe(pack_part({"seq": 1, "at_ms": 1, "state": {"channels": {}}}), limits)
    good = {"seq": [1], "at_ms": [1], "columns": [[["a"], [1], "d", [3]]], "gone": []}
    packed = zlib_of(value)
    for read in (
        lambda: unpack_keyframe(packed, limits),
        lambda: unpack_facts(packed, limits),
        lambda: Chunk(keyframe, packed, limits),
        lambda: list(Chunk(keyframe, zlib_of(good | {field: value}), limits).frames()),
    ):
        said = refusal(read)
        assert said is None or said.endswith(".")


def zlib_of(value: Any) -> bytes:
    try:
        text = orjson.dumps(value)
    except TypeError:  # integers of more than 64 bits
        text = str(value).encode("utf-8", "replace")
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    return packer.compress(text) + packer.flush()


def test_a_part_that_unpacks_to_more_than_the_limit_is_not_unpacked() -> None:
    bomb = zlib_of(["a" * 1_000_000])
    assert len(bomb) < 10_000
    with pytest.raises(BadRecording, match="limit unpacked_bytes"):
        unpack_facts(bomb, RecordingLimits(unpacked_bytes=10_000))
