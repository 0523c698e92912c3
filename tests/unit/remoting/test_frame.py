"""Frames at their edges: limits, tolerance, and what is refused with which words."""

import json

import pytest

from sandbox.kernel.errors import ProtocolViolation
from sandbox.remoting import frame as frame_module
from sandbox.remoting.command import Language, RemotingCommand, SerializeType
from sandbox.remoting.frame import MAX_FRAME_BYTES, MAX_HEADER_BYTES, FrameDecoder, encode


def framed(header: bytes, body: bytes = b"", kind: int = 0) -> bytes:
    total = 4 + len(header) + len(body)
    return total.to_bytes(4, "big") + (kind << 24 | len(header)).to_bytes(4, "big") + header + body


def read(header: object, body: bytes = b"") -> RemotingCommand:
    [command] = FrameDecoder().feed(framed(json.dumps(header).encode(), body))
    return command


def test_a_json_header_is_written_in_fastjsons_order() -> None:
    command = RemotingCommand(34, {"topic": "T"}, b"body", opaque=7, remark="why")
    text = (
        b'{"code":34,"extFields":{"topic":"T"},"flag":0,"language":"JAVA","opaque":7,"remark":"why",'
        b'"serializeTypeCurrentRPC":"JSON","version":409}'
    )
    assert encode(command) == framed(text, b"body")


def test_no_ext_fields_and_empty_ext_fields_are_distinguished() -> None:
    assert b"extFields" not in encode(RemotingCommand(0))
    assert b'"extFields":{}' in encode(RemotingCommand(0, {}))


def test_an_empty_body_is_no_body() -> None:
    assert read({"code": 0}).body is None
    assert encode(RemotingCommand(0, body=b"")) == encode(RemotingCommand(0))


def test_missing_header_fields_have_javas_defaults() -> None:
    command = read({"code": 34})
    assert (command.flag, command.opaque, command.version, command.language, command.ext, command.remark) == (
        0,
        0,
        0,
        Language.JAVA,
        None,
        None,
    )


def test_what_c_and_node_clients_write_is_understood() -> None:
    command = read(
        {
            "code": "310",
            "extFields": {"d": 4, "k": False, "l": None, "i": "x"},
            "language": "CPP",
            "remark": "",
            "unknown": [1],
        },
        b"b",
    )
    assert (command.code, command.ext, command.language, command.remark) == (
        310,
        {"d": "4", "k": "false", "i": "x"},
        Language.CPP,
        "",
    )
    assert FrameDecoder().feed(framed(b'{"code":1}\n'))[0].code == 1


@pytest.mark.parametrize(("language", "known"), [("GO", 9), ("KLINGON", 7), (9, 9), (99, 7), (None, 7), ([], 7)])
def test_a_language_no_one_knows_is_other(language: object, known: int) -> None:
    assert read({"code": 1, "language": language}).language == known


def test_an_answer_has_the_number_and_type_of_its_request() -> None:
    request = RemotingCommand(11, opaque=42, serialize_type=SerializeType.ROCKETMQ)
    [answer] = FrameDecoder().feed(encode(request.reply(19, {"minOffset": "0"}, remark="nothing")))
    assert (answer.is_response, answer.opaque, answer.serialize_type) == (True, 42, SerializeType.ROCKETMQ)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\0\0\0\3....", "frame of 3 bytes"),
        (b"\xff\xff\xff\xff....", "frame of -1 bytes"),
        ((MAX_FRAME_BYTES - 3).to_bytes(4, "big") + b"....", f"frame of {MAX_FRAME_BYTES - 3} bytes"),
        (b"\0\0\0\5\0\0\0\2", "header of 2 bytes in a frame of 5"),
        (b"\0\xff\0\0\0\x10\0\1", f"header of {MAX_HEADER_BYTES + 1} bytes in a frame of 16711680"),
        (framed(b"{}", kind=2), "serialize type 2 is unknown"),
        (framed(b"{"), "header of 1 bytes is not JSON"),
        (framed(b"[]"), "header is list, not an object"),
        (framed(b'{"extFields":[]}'), "extFields is list, not an object"),
        (framed(b'{"code":"ten"}'), "header field code is 'ten', not a number"),
        (framed(b"", kind=1), "binary header of 0 bytes ends too early"),
        (framed(bytes(17) + b"\0\0\0\1", kind=1), "ext fields of 1 bytes in a header of 21"),
        (framed(bytes(17) + b"\0\0\0\1" + b"\0", kind=1), "ext fields end in the middle of a field"),
        (framed(bytes(17) + b"\0\0\0\2" + b"\xff\xff", kind=1), "text of -1 bytes at 23 in a header of 23"),
        (framed(bytes(13) + b"\0\0\0\x09" + b"abcd", kind=1), "text of 9 bytes at 17 in a header of 21"),
    ],
)
def test_what_is_no_frame_is_refused_in_words(data: bytes, words: str) -> None:
    with pytest.raises(ProtocolViolation) as refused:
        FrameDecoder().feed(data)
    assert words in str(refused.value)


def test_a_frame_is_refused_before_its_bytes_are_waited_for() -> None:
    decoder = FrameDecoder(max_frame_bytes=1000)
    with pytest.raises(ProtocolViolation, match="frame of 997 bytes"):
        decoder.feed((997).to_bytes(4, "big") + bytes(4))
    assert FrameDecoder(max_frame_bytes=1000).feed((996).to_bytes(4, "big") + bytes(4)) == []


def test_what_fits_in_no_frame_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ProtocolViolation, match="header of"):
        encode(RemotingCommand(1, {"k": "v" * MAX_HEADER_BYTES}))
    with pytest.raises(ProtocolViolation, match="header of"):
        encode(RemotingCommand(1, {"k": "v" * MAX_HEADER_BYTES}, serialize_type=SerializeType.ROCKETMQ))
    with pytest.raises(ProtocolViolation, match="does not fit into a binary header"):
        encode(RemotingCommand(40_000, serialize_type=SerializeType.ROCKETMQ))
    monkeypatch.setattr(frame_module, "MAX_FRAME_BYTES", 100)
    with pytest.raises(ProtocolViolation, match="in a frame of"):
        encode(RemotingCommand(1, body=bytes(100)))


def test_binary_text_that_is_not_utf8_is_read_with_replacements() -> None:
    header = bytes(13) + b"\0\0\0\2" + b"\xc3\x28" + bytes(4)
    [command] = FrameDecoder().feed(framed(header, kind=1))
    assert command.remark == "\ufffd("
