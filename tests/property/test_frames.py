"""Whatever is sent arrives, however the stream is cut; whatever is broken is refused in one way."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.kernel.errors import ProtocolViolation
from sandbox.remoting.command import Language, RemotingCommand, SerializeType
from sandbox.remoting.frame import FrameDecoder, encode

WIRE = Path(__file__).parents[1] / "golden" / "wire"
RECORDED = [
    bytes.fromhex(json.loads(line)["frame_hex"])
    for kind in ("json", "rocketmq")
    for line in (WIRE / f"{kind}.jsonl").read_text("utf-8").splitlines()[::9]
]

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
INT32 = st.integers(-(2**31), 2**31 - 1)
INT16 = st.integers(-(2**15), 2**15 - 1)
VALUE = TEXT.filter(bool)  # an empty value does not survive the binary header

COMMANDS = st.builds(
    RemotingCommand,
    INT16,
    st.none() | st.dictionaries(TEXT, VALUE, min_size=1, max_size=5),
    st.none() | st.binary(min_size=1, max_size=60),
    flag=INT32,
    opaque=INT32,
    remark=st.none() | VALUE,
    language=st.sampled_from(Language),
    version=INT16,
    serialize_type=st.sampled_from(SerializeType),
)


def value(command: RemotingCommand) -> tuple[object, ...]:
    return tuple(getattr(command, name) for name in RemotingCommand.__slots__ if name != "serialize_type")


@given(COMMANDS)
def test_what_is_written_is_read_again(command: RemotingCommand) -> None:
    [again] = FrameDecoder().feed(encode(command))
    assert value(again) == value(command)
    assert again.serialize_type == command.serialize_type


@given(st.lists(COMMANDS, max_size=5), st.data())
def test_any_cut_of_a_stream_gives_the_same_commands(commands: list[RemotingCommand], data: st.DataObject) -> None:
    stream = b"".join(map(encode, commands))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=12)))
    decoder, read = FrameDecoder(), list[RemotingCommand]()
    for begin, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        read += decoder.feed(stream[begin:end])
    assert [value(c) for c in read] == [value(c) for c in commands]


@given(st.lists(COMMANDS, min_size=1, max_size=2))
def test_a_stream_may_come_byte_by_byte(commands: list[RemotingCommand]) -> None:
    decoder = FrameDecoder()
    read = [c for byte in b"".join(map(encode, commands)) for c in decoder.feed(bytes([byte]))]
    assert [value(c) for c in read] == [value(c) for c in commands]


@given(st.sampled_from(RECORDED), st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), max_size=6))
def test_a_damaged_frame_is_read_awaited_or_refused(frame: bytes, damage: list[tuple[int, int]]) -> None:
    damaged = bytearray(frame)
    for at, byte in damage:
        damaged[at % min(len(damaged), 400)] = byte
    decoder = FrameDecoder()
    try:
        commands = decoder.feed(bytes(damaged))
    except ProtocolViolation:
        return
    for command in commands:
        assert command.ext is None or all(type(v) is str for v in command.ext.values())
        assert command.remark is None or type(command.remark) is str


@given(st.binary(max_size=200))
def test_noise_is_awaited_or_refused(noise: bytes) -> None:
    decoder = FrameDecoder()
    try:
        commands = decoder.feed(noise)
    except ProtocolViolation:
        return
    assert len(commands) <= len(noise) // 8


@given(st.dictionaries(TEXT, st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | TEXT, max_size=4))
def test_ext_fields_are_text_whatever_a_client_writes(ext: dict[str, object]) -> None:
    header = json.dumps({"code": 34, "extFields": ext}).encode()
    frame = (4 + len(header)).to_bytes(4, "big") + len(header).to_bytes(4, "big") + header
    [command] = FrameDecoder().feed(frame)
    assert command.ext == {k: v if type(v) is str else json.dumps(v) for k, v in ext.items() if v is not None}


@pytest.mark.parametrize("size", [8, 9, 100])
def test_a_frame_in_many_small_pieces_is_joined_once(size: int) -> None:
    frame = encode(RemotingCommand(10, {"topic": "T"}, bytes(200_000)))
    decoder = FrameDecoder()
    read = [c for at in range(0, len(frame), size) for c in decoder.feed(frame[at : at + size])]
    assert [len(c.body or b"") for c in read] == [200_000]
