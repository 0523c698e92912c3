"""One connection to a broker, its frames written and read here from the format alone."""

import itertools
import json
import re
import socket
import struct
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, BinaryIO, NamedTuple

PATIENCE_S = 20.0
ONEWAY = 2


class Frame(NamedTuple):
    """A request or an answer; `ext` is empty where the header has none."""

    code: int
    ext: dict[str, str]
    body: bytes
    remark: str

    def json(self) -> Any:
        """The body; brokers write numbers as keys, which JSON does not allow."""
        return loose_json(self.body.decode())


def loose_json(text: str) -> Any:
    return json.loads(re.sub(r"([{,]\s*)(\d+)\s*:", r'\1"\2":', text) or "{}")


class Line:
    """Asks one thing after the other; what the broker sends of itself waits in `heard`."""

    def __init__(self, connection: socket.socket, stream: BinaryIO) -> None:
        self._connection, self._stream = connection, stream
        self._opaque = itertools.count(1)
        self.heard: deque[Frame] = deque()

    def ask(self, code: int, ext: Mapping[str, object] | None = None, body: bytes = b"") -> Frame:
        opaque = self._say(code, ext or {}, body, 0)
        while True:
            header, frame = self._read()
            if not header["flag"] & 1:
                self.heard.append(frame)
            elif header["opaque"] == opaque:
                return frame

    def send_one_way(self, code: int, ext: Mapping[str, object]) -> None:
        """Send without a response."""
        self._say(code, ext, b"", ONEWAY)

    def hear(self, code: int) -> Frame:
        """The next request of a kind that the broker makes."""
        while True:
            if not self.heard:
                self.heard.append(self._read()[1])
            frame = self.heard.popleft()
            if frame.code == code:
                return frame

    def _say(self, code: int, ext: Mapping[str, object], body: bytes, flag: int) -> int:
        opaque = next(self._opaque)
        header = json.dumps(
            {
                "code": code,
                "extFields": {key: str(value) for key, value in ext.items()},
                "flag": flag,
                "language": "JAVA",
                "opaque": opaque,
                "serializeTypeCurrentRPC": "JSON",
                "version": 409,
            }
        ).encode()
        self._connection.sendall(struct.pack(">ii", 4 + len(header) + len(body), len(header)) + header + body)
        return opaque

    def _read(self) -> tuple[dict[str, Any], Frame]:
        length, header_bytes = struct.unpack(">ii", self._stream.read(8))
        header = json.loads(self._stream.read(header_bytes))
        body = self._stream.read(length - 4 - header_bytes)
        return header, Frame(header["code"], header.get("extFields") or {}, body, header.get("remark") or "")


@contextmanager
def line_to(address: str) -> Iterator[Line]:
    ip, _, port = address.rpartition(":")
    with (
        socket.create_connection((ip, int(port)), timeout=PATIENCE_S) as connection,
        connection.makefile("rb") as stream,
    ):
        yield Line(connection, stream)
