"""Channels of commands, or of plain bytes, over one TCP connection."""

import asyncio
import logging
from collections import Counter

from sandbox.kernel.errors import FrameTooLarge, ProtocolViolation
from sandbox.remoting.channel import ByteHandler, Handler, OnByteClose, OnClose
from sandbox.remoting.codes import RequestCode, ResponseCode
from sandbox.remoting.command import FLAG_ONEWAY, FLAG_RESPONSE, RemotingCommand
from sandbox.remoting.frame import FrameDecoder, encode
from sandbox.transport import tcp_guard
from sandbox.transport.grpc_refusal import GrpcRefusal
from sandbox.transport.tcp_guard import TcpGuard
from sandbox.transport.tcp_limits import TcpLimits
from sandbox.transport.tcp_stream import TcpStream

log = logging.getLogger(__name__)

MANY = 64  # commands handled together while answers are short
FEW = 4  # while answers are long: between them it is checked whether the other side reads
LONG_BYTES = 256 * 1024  # of one write

TLS_RECORD = b"\x16\x03"
HTTP_2 = b"PRI * HTTP/2.0"
NO_TLS = "it greets with TLS, which this port does not speak"
NO_GRPC = "it speaks RocketMQ 5 gRPC; use a 4.x client or the remoting protocol"
GRPC_S = 5.0  # after which a gRPC client that says nothing more is disconnected
EXPIRED = "expired"  # reason of a close for inactivity, as in ClientDisconnected

NO_DEBT = frozenset({RequestCode.PULL_MESSAGE, RequestCode.LITE_PULL_MESSAGE, RequestCode.HEART_BEAT})
"""A pull may wait for a message, and is counted where it waits (`broker.hold`): a consumer has one for each of its
queues.  A client whose heartbeats are refused is removed from its groups.
"""

OVERLOAD = "[OVERLOAD]system busy, start flow control for a while"


class TcpChannel:
    """A `Channel` over TCP.  All commands of a read are one batch, and their answers are sent in one write.

    With a `guard` it is the server's end: unanswered requests and incomplete frames are counted, and the reason of
    its end is reported.  `send` raises ProtocolViolation for a request that is too large for a frame; such an answer
    becomes an error.
    """

    transport_kind = "tcp"

    def __init__(
        self, stream: TcpStream, heard: Handler, on_close: OnClose, limits: TcpLimits, guard: TcpGuard | None = None
    ) -> None:
        self._stream = stream
        self._heard = heard
        self._on_close = on_close
        self._guard = guard
        self._decoder = FrameDecoder(max_frame_bytes=limits.frame_bytes, max_header_bytes=limits.header_bytes)
        self._held_back: list[RemotingCommand] = []  # until the other side reads
        self._pending: dict[int, float] = {}  # opaque → arrival, oldest first
        self._repeated: Counter[int] | None = None  # opaques used by further requests, if any
        self._last_code: int | None = None  # of the last request
        self._unfinished_bytes = 0
        self._refusal: GrpcRefusal | None = None
        self._patience: asyncio.TimerHandle | None = None
        self.local = stream.local
        self.remote = stream.remote
        self.why_closed = "closed"  # as in ClientDisconnected

    @property
    def is_open(self) -> bool:
        return self._stream.is_open

    def send(self, command: RemotingCommand) -> None:
        if not self._stream.is_open:
            return
        if command.flag & FLAG_RESPONSE:
            if self._repeated and command.opaque in self._repeated:
                self._repeated -= Counter((command.opaque,))
            else:
                self._pending.pop(command.opaque, None)
            try:
                frame = encode(command)
            except ProtocolViolation as error:
                self._send_failure(command, error)
                return
        else:
            frame = encode(command)
        self._say(command, frame)

    def close(self, reason: str = "closed") -> None:
        if self.is_open and reason != "closed":
            self.why_closed = reason
            if reason == EXPIRED:
                self._end(tcp_guard.IDLE, "no traffic for too long", self._last_code)
        self._stream.close()

    def __repr__(self) -> str:
        return f"<{'open' if self.is_open else 'closed'} {self.local} → {self.remote}>"

    # Called by the stream.

    def heard(self, data: bytes) -> None:
        if self._refusal is not None:
            self._refuse_grpc(self._refusal, data)
            return
        tap = self._guard.tap if self._guard is not None else None
        raw: list[bytes] | None = None if tap is None else []
        try:
            commands = self._decoder.feed(data, raw)
        except ProtocolViolation as error:
            first = data if self._last_code is None else b""
            if first.startswith(HTTP_2) and self._guard is not None:
                self.why_closed = tcp_guard.PROTOCOL
                self._end(tcp_guard.PROTOCOL, NO_GRPC)
                self._refusal = GrpcRefusal()
                self._patience = asyncio.get_running_loop().call_later(GRPC_S, self._stream.close)
                self._refuse_grpc(self._refusal, data)
                return
            self._violated(
                ProtocolViolation(NO_TLS)
                if first.startswith(TLS_RECORD)
                else ProtocolViolation(NO_GRPC)
                if first.startswith(HTTP_2)
                else error
            )
            return
        if self._guard is not None and self._decoder.held_bytes != self._unfinished_bytes:
            self._count_unfinished(self._guard, self._decoder.held_bytes)
        if commands:
            if tap is not None and raw is not None:
                for command, frame in zip(commands, raw, strict=True):
                    tap(self.remote, self.local, command, frame)
            if self._held_back:
                self._held_back += commands
            else:
                self._take(commands)
        if self._decoder.violation is not None and self.is_open:
            self._violated(self._decoder.violation)

    def drained(self) -> None:
        held, self._held_back = self._held_back, []
        if held:
            self._take(held)

    def unread(self, size: int) -> None:
        self._end(tcp_guard.UNREAD, f"{size} bytes of answers are unread", self._last_code)

    def lost(self) -> None:
        self._held_back.clear()
        self._pending.clear()
        self._repeated = None
        if self._patience is not None:
            self._patience.cancel()
        if self._guard is not None:
            self._count_unfinished(self._guard, 0)
        self._on_close(self)

    # Batches.

    def _take(self, commands: list[RemotingCommand]) -> None:
        """Process commands in order.  If the other side does not read the answers, the batches are smaller or wait."""
        if len(commands) <= FEW:
            self._handle(commands)
            return
        at = 0
        while at < len(commands) and self.is_open:
            if self._stream.stalled and self._guard is not None:
                self._held_back = commands[at:]
                return
            count = FEW if self._stream.wrote_bytes > LONG_BYTES else MANY
            self._handle(commands[at : at + count] if at or count < len(commands) else commands)
            at += count
            if at < len(commands):
                self._stream.flush()

    def _handle(self, commands: list[RemotingCommand]) -> None:
        if self._guard is not None:
            commands = self._admitted(commands, self._guard)
        if commands:
            try:
                self._heard(commands, self)
            except Exception:
                log.exception("%d commands from %s", len(commands), self.remote)
                self.close()

    def _admitted(self, commands: list[RemotingCommand], guard: TcpGuard) -> list[RemotingCommand]:
        """Return the requests within the limit of pending requests.  The others are answered here."""
        pending, now_s = self._pending, guard.clock.monotonic()
        self._last_code = commands[-1].code
        room = (
            guard.limits.pending_requests - len(pending) - self._repeated.total()
            if self._repeated
            else (guard.limits.pending_requests - len(pending))
        )
        if room < len(commands):
            room += self._forget_unanswered(now_s - guard.limits.pending_s)
        refused = []
        for c in commands:
            if c.flag & (FLAG_RESPONSE | FLAG_ONEWAY) or c.code in NO_DEBT:
                continue
            if room <= 0:
                refused.append(c)
                continue
            room -= 1
            if c.opaque in pending:
                if self._repeated is None:
                    self._repeated = Counter()
                self._repeated[c.opaque] += 1
            else:
                pending[c.opaque] = now_s
        for c in refused:
            guard.too_many_pending(self.remote)
            self._say(c.reply(ResponseCode.SYSTEM_BUSY, remark=OVERLOAD))
        return [c for c in commands if c not in refused] if refused else commands

    def _forget_unanswered(self, before_s: float) -> int:
        """Drop requests that got no answer since `before_s`, and return their number.

        Name servers do not answer unknown codes.
        """
        gone = 0
        for opaque, since_s in list(self._pending.items()):
            if since_s > before_s:
                break
            del self._pending[opaque]
            gone += 1 + (self._repeated.pop(opaque, 0) if self._repeated else 0)
        return gone

    def _count_unfinished(self, guard: TcpGuard, held_bytes: int) -> None:
        guard.unfinished_bytes += held_bytes - self._unfinished_bytes
        self._unfinished_bytes = held_bytes
        if held_bytes and guard.unfinished_bytes > guard.limits.unfinished_bytes:
            self._end(tcp_guard.UNFINISHED, f"{guard.unfinished_bytes} bytes of unfinished frames are held")
            self._stream.abort()

    def _say(self, command: RemotingCommand, frame: bytes | None = None) -> None:
        frame = frame or encode(command)
        if self._guard is not None and self._guard.tap is not None:
            self._guard.tap(self.local, self.remote, command, frame)
        self._stream.write(frame)

    # The end of the connection.

    def _refuse_grpc(self, refusal: GrpcRefusal, data: bytes) -> None:
        """Answer a gRPC client with an error it can read.  The refusal is reported already."""
        self._stream.write(refusal.answer(data))
        if refusal.is_over:
            self.close()

    def _violated(self, error: ProtocolViolation) -> None:
        self.why_closed = tcp_guard.PROTOCOL
        reason = (
            tcp_guard.TOO_LARGE
            if isinstance(error, FrameTooLarge)
            else tcp_guard.TLS
            if str(error) == NO_TLS
            else tcp_guard.PROTOCOL
        )
        self._end(reason, str(error), error.request_code)
        self.close()

    def _end(self, reason: str, remark: str, request_code: int | None = None) -> None:
        if self._guard is not None:
            self._guard.refuse(self.remote, reason, remark, request_code)
        else:
            log.warning("%s: %s", self, remark)

    def _send_failure(self, command: RemotingCommand, error: ProtocolViolation) -> None:
        self._end(tcp_guard.TOO_LARGE, f"an answer cannot be sent: {error}"[:200], self._last_code)
        try:
            self._say(
                RemotingCommand(
                    ResponseCode.SYSTEM_ERROR,
                    flag=FLAG_RESPONSE,
                    opaque=command.opaque,
                    remark=str(error)[:1_000],
                    serialize_type=command.serialize_type,
                )
            )
        except ProtocolViolation as also:
            self._violated(also)


class TcpByteChannel:
    """A `ByteChannel` over TCP: each read gives one piece."""

    transport_kind = "tcp"

    def __init__(
        self, stream: TcpStream, heard: ByteHandler, on_close: OnByteClose, guard: TcpGuard | None = None
    ) -> None:
        self._stream = stream
        self._heard = heard
        self._on_close = on_close
        self._guard = guard
        self.local = stream.local
        self.remote = stream.remote

    @property
    def is_open(self) -> bool:
        return self._stream.is_open

    def send(self, payload: bytes) -> None:
        self._stream.write(payload)

    def close(self) -> None:
        self._stream.close()

    def heard(self, data: bytes) -> None:
        try:
            self._heard([data], self)
        except Exception:
            log.exception("%d bytes from %s", len(data), self.remote)
            self.close()

    def drained(self) -> None:
        pass

    def unread(self, size: int) -> None:
        if self._guard is not None:
            self._guard.refuse(self.remote, tcp_guard.UNREAD, f"{size} bytes are unread")

    def lost(self) -> None:
        self._on_close(self)
