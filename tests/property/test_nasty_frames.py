"""Nonsense is refused in one way: by the decoder with its own error, by brokers and name servers with an answer.

`tests/golden/nasty` holds frames that are named for what they do; what `script/test robustness` finds comes to them.
"""

import json
import logging
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.cluster.shared_listener import SharedListener
from sandbox.journal.events import HandlerFailed
from sandbox.kernel.errors import ProtocolViolation
from sandbox.remoting.codes import ResponseCode
from sandbox.remoting.command import FLAG_RESPONSE, RemotingCommand
from sandbox.remoting.frame import FrameDecoder, encode
from tests.robustness import frames
from tests.robustness.generated import FRAME, STREAM
from tests.unit.broker.stage import Stage
from tests.unit.broker.world import FakeChannel

NASTY = sorted((Path(__file__).parents[1] / "golden" / "nasty").glob("*.frame"))
KNOWN = {int(code) for code in ResponseCode}
VALUES = [
    "",
    "x",
    "-1",
    "0",
    str(2**31 - 1),
    str(2**31),
    str(2**63 - 1),
    str(-(2**63)),
    "9" * 50,
    "true",
    "\x00",
    "x" * 60_000,
    "中" * 300,
]
LIMIT = 1 << 24


class Node:
    """A broker with its name server behind one port, in virtual time; `say` feeds bytes as a socket would."""

    def __init__(self) -> None:
        self.stage = Stage(property_filter=True)
        self.stage.topic("orders", 2)
        self.stage.client().send("orders")
        self._listener = SharedListener(self.stage.broker, lambda: self.stage.name_server)
        self._decoder = FrameDecoder()
        self.channel = FakeChannel()
        self._listener.connected(self.channel)

    def say(self, data: bytes) -> list[RemotingCommand]:
        """The commands that were handled.  What ends a connection begins a new one."""
        try:
            commands = self._decoder.feed(data)
        except ProtocolViolation:
            commands = []
        if self._decoder.violation is not None or self._decoder.held_bytes:
            self._decoder = FrameDecoder()
        if commands:
            self._listener.handle(commands, self.channel)
        self.stage.settle()
        return commands

    def answers(self) -> list[RemotingCommand]:
        """Return the responses; each fits into a frame."""
        said = self.channel.take()
        for each in said:
            encode(each)
        return said

    def failures(self) -> list[str]:
        return [f"{event.request_code}: {event.remark}" for event in self.stage.events(HandlerFailed)]

    def goes_on(self) -> bool:
        """Someone else sends and pulls."""
        client = self.stage.client()
        sent = client.send("orders", b"still here")
        if sent.code != 0:
            return False
        pulled = client.pull("well-behaved", "orders", int((sent.ext or {})["queueOffset"]))
        return b"still here" in (pulled.body or b"")


@pytest.mark.parametrize("path", NASTY, ids=lambda path: path.stem)
def test_what_is_nasty_is_read_awaited_or_refused_and_fails_no_handler(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    node, data = Node(), path.read_bytes()
    with caplog.at_level(logging.WARNING):
        node.say(data)
        node.say(data * 3)
        node.stage.pass_s(130)
    assert node.failures() == []
    assert [record.getMessage() for record in caplog.records if record.levelno > logging.WARNING] == []
    assert all(answer.code in KNOWN for answer in node.answers() if answer.is_response)
    assert node.goes_on()


def test_there_is_something_nasty() -> None:
    assert len(NASTY) >= 80


@settings(max_examples=15, derandomize=True)
@given(st.integers(0, 2**32))
def test_real_frames_with_something_wrong_fail_no_handler(seed: int) -> None:
    node, mutations = Node(), frames.Mutations(seed)
    for _ in range(40):
        node.say(mutations.next()[1])
    assert node.failures() == []
    assert node.answers() is not None
    assert node.goes_on()


@settings(max_examples=25, derandomize=True)
@given(st.lists(STREAM, max_size=15))
def test_made_up_frames_fail_no_handler(streams: list[bytes]) -> None:
    node = Node()
    for stream in streams:
        node.say(stream)
    assert node.failures() == []
    assert node.answers() is not None
    assert node.goes_on()


@given(STREAM, st.data())
def test_however_it_is_cut_the_decoder_says_the_same(stream: bytes, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    pieces = [stream[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert read(pieces) == read([stream])


def read(pieces: list[bytes]) -> tuple[list[tuple[int, int]], str]:
    """Codes and opaques in their order, and how it ended."""
    decoder, commands = FrameDecoder(), list[tuple[int, int]]()
    fed = 0
    for piece in pieces:
        fed += len(piece)
        try:
            commands += [(c.code, c.opaque) for c in decoder.feed(piece)]
        except ProtocolViolation as why:
            return commands, str(why)
        assert decoder.held_bytes <= min(fed, LIMIT), "no more is kept than came, and never more than a frame"
    return commands, "" if decoder.violation is None else str(decoder.violation)


@given(st.lists(st.integers(-(2**31), 2**31 - 1), max_size=5), st.binary(max_size=60) | FRAME)
def test_every_whole_frame_before_the_nonsense_is_read(opaques: list[int], nonsense: bytes) -> None:
    stream = b"".join(encode(RemotingCommand(34, {"a": "b"}, b"body", opaque=opaque)) for opaque in opaques)
    decoder = FrameDecoder()
    try:
        commands = decoder.feed(stream + nonsense)
    except ProtocolViolation:
        assert opaques == []
        return
    assert [c.opaque for c in commands][: len(opaques)] == opaques
    if decoder.violation is not None:
        with pytest.raises(ProtocolViolation):
            decoder.feed(b"more")


@given(st.integers(0, 2**31 - 1), st.integers(0, 255), st.integers(0, 2**24 - 1))
def test_a_length_alone_reserves_nothing(length: int, kind: int, header: int) -> None:
    decoder = FrameDecoder()
    try:
        decoder.feed(length.to_bytes(4, "big") + bytes([kind]) + header.to_bytes(3, "big"))
    except ProtocolViolation:
        return
    assert decoder.held_bytes <= 8


def recorded_requests() -> dict[int, dict[str, str]]:
    """Return recorded requests of a real client, by code."""
    found: dict[int, dict[str, str]] = {}
    for line in (frames.GOLDEN / "json.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        if row["kind"] == "request":
            found.setdefault(row["code"], {}).update(row["header"].get("extFields") or {})
    return found


REQUESTS = recorded_requests()


@pytest.mark.parametrize("code", sorted(REQUESTS))
def test_a_field_that_is_missing_or_out_of_range_is_answered_with_a_code_of_rocketmqs(code: int) -> None:
    node, whole = Node(), REQUESTS[code]
    variants = [{**whole, name: value} for name in whole for value in VALUES]
    variants += [{other: whole[other] for other in whole if other != name} for name in whole]
    for n, ext in enumerate([{}, *variants]):
        command = RemotingCommand(code, ext, None, opaque=n)
        node._listener.handle([command], node.channel)
        node.stage.settle()
        said = [answer for answer in node.answers() if answer.flag & FLAG_RESPONSE and answer.opaque == n]
        assert all(answer.code in KNOWN for answer in said), (ext, said)
    assert node.failures() == []
