"""An error response to gRPC clients that connect to a port of the remoting protocol.

It implements HTTP/2 as far as needed (RFC 9113, RFC 7541): each call is answered by trailers alone, with UNIMPLEMENTED.
"""

SENTENCE = (
    "This port speaks RocketMQ's remoting protocol, not gRPC: use a 4.x client, or one of 5.x for remoting "
    "(in Java DefaultMQProducer and DefaultMQPushConsumer)."
)
PREFACE_BYTES = 24
HEAD_BYTES = 9
LONGEST_FRAME_BYTES = 16_384  # of a peer that has announced no other
MOST_BYTES = 64 * 1024  # of a connection
DATA, HEADERS, RST_STREAM, SETTINGS, PING, CONTINUATION = 0, 1, 3, 4, 6, 9
ACK = END_STREAM = 1
END_HEADERS = 4
UNIMPLEMENTED = "12"


class GrpcRefusal:
    """The refusal of the calls of one gRPC connection.

    `is_over`: a call was answered and its caller has sent everything, or too much.
    """

    def __init__(self) -> None:
        self.is_over = False
        self._buffer = bytearray()
        self._read_bytes = 0
        self._begun = False
        self._answered: set[int] = set()

    def answer(self, data: bytes) -> bytes:
        """Return the bytes to send in answer to the received bytes, which begin with the HTTP/2 preface."""
        self._buffer += data
        self._read_bytes += len(data)
        out = b""
        if not self._begun and len(self._buffer) >= PREFACE_BYTES:
            del self._buffer[:PREFACE_BYTES]
            self._begun = True
            out = _frame(SETTINGS, 0, 0)
        while self._begun and not self.is_over and len(self._buffer) >= HEAD_BYTES:
            size = int.from_bytes(self._buffer[:3], "big")
            if size > LONGEST_FRAME_BYTES:
                self.is_over = True
            if len(self._buffer) < HEAD_BYTES + size:
                break
            kind, flags = self._buffer[3], self._buffer[4]
            stream = int.from_bytes(self._buffer[5:9], "big") & 0x7FFF_FFFF
            body = bytes(self._buffer[HEAD_BYTES : HEAD_BYTES + size])
            del self._buffer[: HEAD_BYTES + size]
            out += self._take(kind, flags, stream, body)
        self.is_over = self.is_over or self._read_bytes > MOST_BYTES
        return out

    def _take(self, kind: int, flags: int, stream: int, body: bytes) -> bytes:
        out = b""
        if kind in (SETTINGS, PING) and not flags & ACK:
            out = _frame(kind, ACK, 0, body if kind == PING else b"")
        elif kind in (HEADERS, CONTINUATION) and flags & END_HEADERS and stream not in self._answered:
            self._answered.add(stream)
            out = _frame(HEADERS, END_HEADERS | END_STREAM, stream, TRAILERS)
        is_last = kind == RST_STREAM or (kind in (DATA, HEADERS) and flags & END_STREAM)
        self.is_over = stream in self._answered and bool(is_last)
        return out


def _frame(kind: int, flags: int, stream: int, body: bytes = b"") -> bytes:
    return len(body).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + body


def _literal(name: str, value: str) -> bytes:
    """Return a header field that is not indexed, without Huffman coding."""
    return b"\x00" + _text(name) + _text(value)


def _text(text: str) -> bytes:
    """Return the text with its length before it: in a prefix of 7 bits, then in groups of 7."""
    data = text.encode("ascii")
    length = bytes([min(len(data), 127)])
    rest = len(data) - 127
    while rest >= 0:
        length += bytes([rest % 128 + (128 if rest >= 128 else 0)])
        rest = rest // 128 if rest >= 128 else -1
    return length + data


STATUS_200 = b"\x88"  # of the static table
TRAILERS = (
    STATUS_200
    + _literal("content-type", "application/grpc")
    + _literal("grpc-status", UNIMPLEMENTED)
    + _literal("grpc-message", SENTENCE)
)
