"""Frames of commands: split from a byte stream, and encoded (spec remoting 1); independent of sockets.

4 length of the rest   1 serialize type   3 header length   header   body
"""

from operator import itemgetter
from struct import Struct
from typing import Any

from sandbox.kernel import json_bytes
from sandbox.kernel.errors import FrameTooLarge, ProtocolViolation
from sandbox.remoting import rocketmq_header
from sandbox.remoting.command import Language, RemotingCommand, SerializeType
from sandbox.remoting.fields import INT32_END

MAX_FRAME_BYTES = 16_777_216  # with its length field; RocketMQ: com.rocketmq.remoting.frameMaxLength
MAX_HEADER_BYTES = 1_048_576  # RocketMQ limits the frame only; a header is parsed at once

_LENGTHS = Struct(">iI")
_LANGUAGE_OF: dict[Any, int] = {language.name: int(language) for language in Language}
_NAME_OF = {int(language): language.name for language in Language}
_ONLY_TEXT = {str}
_usual = itemgetter("code", "extFields", "flag", "language", "opaque", "version")


class FrameDecoder:
    """Decoder of a byte stream into commands.  It takes pieces of any size.

    A ProtocolViolation ends the stream.  Complete frames before the invalid one, in the same piece, are returned;
    the next `feed` then raises `violation`.
    """

    __slots__ = ("_max_frame_bytes", "_max_header_bytes", "_need", "_tail", "violation")

    def __init__(self, *, max_frame_bytes: int = MAX_FRAME_BYTES, max_header_bytes: int = MAX_HEADER_BYTES) -> None:
        self._max_frame_bytes = max_frame_bytes
        self._max_header_bytes = max_header_bytes
        self._tail = bytearray()  # of one frame; its size is that of the received bytes, however small the pieces
        self._need = 0
        self.violation: ProtocolViolation | None = None

    @property
    def held_bytes(self) -> int:
        """The number of received bytes of an incomplete frame."""
        return len(self._tail)

    def feed(self, data: bytes, raw: list[bytes] | None = None) -> list[RemotingCommand]:
        """Return the commands that these bytes complete; `raw` gets the frame of each.  Raises ProtocolViolation."""
        if self.violation is not None:
            raise self.violation
        if self._tail:
            self._tail += data
            if len(self._tail) < self._need:
                return []
            data, self._tail = bytes(self._tail), bytearray()
        commands: list[RemotingCommand] = []
        try:
            self._cut(data, commands, raw)
        except ProtocolViolation as error:
            self.violation = error
            if not commands:
                raise
        return commands

    def _cut(self, data: bytes, commands: list[RemotingCommand], raw: list[bytes] | None) -> None:
        at, end = 0, len(data)
        while end - at >= 8:
            total, mark = _LENGTHS.unpack_from(data, at)
            if not 4 <= total <= self._max_frame_bytes - 4:
                raise _no_frame(total, data[at : at + 8])
            head = at + 8
            body, stop = head + (mark & 0xFF_FFFF), at + 4 + total
            if body > stop or body - head > self._max_header_bytes:
                kind = ProtocolViolation if body > stop else FrameTooLarge
                raise kind(f"header of {body - head} bytes in a frame of {total}")
            if stop > end:
                self._need = stop - at
                break
            if mark <= 0xFF_FFFF:  # type 0; most are
                commands.append(_decode_json(data[head:body], data[body:stop] or None))
            else:
                commands.append(decode_parts(mark >> 24, data[head:body], data[body:stop] or None))
            if raw is not None:
                raw.append(data[at:stop])
            at = stop
        else:
            self._need = 8
        if at < end:
            self._tail += data[at:]


def _no_frame(total: int, begin: bytes) -> ProtocolViolation:
    """Return the error for an invalid length.

    Plain text is not a frame that is too long: its first four letters are read as the length.
    """
    too_large = total > 0 and not all(32 <= byte < 127 for byte in begin)
    return (FrameTooLarge if too_large else ProtocolViolation)(f"frame of {total} bytes")


def decode_parts(serialize_type: int, header: bytes, body: bytes | None) -> RemotingCommand:
    if serialize_type == SerializeType.JSON:
        return _decode_json(header, body)
    if serialize_type == SerializeType.ROCKETMQ:
        return rocketmq_header.decode(header, body)
    raise ProtocolViolation(f"serialize type {serialize_type} is unknown")


def encode(command: RemotingCommand) -> bytes:
    """Return the command as one complete frame.  Raises ProtocolViolation if it is too large for one."""
    kind = command.serialize_type
    header = _encode_json(command) if kind == 0 else rocketmq_header.encode(command)
    body = command.body or b""
    total = 4 + len(header) + len(body)
    if len(header) > MAX_HEADER_BYTES or total > MAX_FRAME_BYTES - 4:
        raise ProtocolViolation(f"header of {len(header)} bytes in a frame of {total}")
    return _LENGTHS.pack(total, kind << 24 | len(header)) + header + body


def _decode_json(header: bytes, body: bytes | None) -> RemotingCommand:
    try:
        fields = json_bytes.loads(header)
    except json_bytes.JSONDecodeError as error:
        raise ProtocolViolation(f"header of {len(header)} bytes is not JSON: {error}") from None
    try:  # the form of Java's requests; others are read field by field
        code, ext, flag, language, opaque, version = _usual(fields)
        "".join(ext.values())  # a TypeError unless all of it is text
        if "remark" not in fields and type(code) is type(flag) is type(opaque) is type(version) is int:
            return RemotingCommand(
                code, ext, body, flag=flag, opaque=opaque, version=version, language=_LANGUAGE_OF[language]
            )
    except (AttributeError, KeyError, TypeError):
        pass
    return _unusual(fields, body)


def _unusual(fields: Any, body: bytes | None) -> RemotingCommand:
    if not isinstance(fields, dict):
        raise ProtocolViolation(f"header is {type(fields).__name__}, not an object")
    get = fields.get
    ext, remark, code, language = get("extFields"), get("remark"), get("code", 0), get("language", "JAVA")
    flag, opaque, version = get("flag", 0), get("opaque", 0), get("version", 0)
    try:
        if ext is not None and (type(ext) is not dict or {*map(type, ext.values())} != _ONLY_TEXT):
            ext = _texts(ext)
        if remark is not None and type(remark) is not str:
            remark = _text(remark)
        if not type(code) is type(flag) is type(opaque) is type(version) is int:
            code, flag, opaque, version = (_int(fields, name) for name in ("code", "flag", "opaque", "version"))
        if not (-INT32_END <= opaque < INT32_END and -INT32_END <= code < INT32_END):
            raise ProtocolViolation(f"code {code} with opaque {opaque} are no 32-bit numbers")
    except ProtocolViolation as error:
        error.request_code = code if type(code) is int else None
        raise
    known = _LANGUAGE_OF.get(language) if type(language) is str else _language(language)
    return RemotingCommand(
        code,
        ext,
        body,
        flag=flag,
        opaque=opaque,
        remark=remark,
        version=version,
        language=Language.OTHER if known is None else known,
    )


def _int(fields: dict[str, Any], name: str) -> int:
    value = fields.get(name, 0)
    if type(value) is int:
        return value
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        raise ProtocolViolation(f"header field {name} is {value!r:.80}, not a number") from None


def _language(value: Any) -> int:
    """Return a language by its number; unknown ones are OTHER."""
    return value if type(value) is int and value in _NAME_OF else Language.OTHER


def _texts(ext: Any) -> dict[str, str]:
    """Return the ext fields as text: some clients (C++, Node) write numbers and booleans where Java writes text."""
    if type(ext) is not dict:
        raise ProtocolViolation(f"extFields is {type(ext).__name__}, not an object")
    return {name: value if type(value) is str else _text(value) for name, value in ext.items() if value is not None}


def _text(value: Any) -> str:
    try:
        return json_bytes.dumps(value).decode()  # 7, 0.5, true, and even a list as Java's map would hold it
    except json_bytes.JSONEncodeError as error:  # parsed, but too deep to be written
        raise ProtocolViolation(f"a header field is no text: {error}") from None


def _encode_json(command: RemotingCommand) -> bytes:
    """Return the header as JSON, with keys in alphabetical order as fastjson writes them; None is left out."""
    fields: dict[str, object] = {"code": int(command.code)}
    if command.ext is not None:
        fields["extFields"] = command.ext
    fields["flag"] = command.flag
    fields["language"] = _NAME_OF.get(command.language, "OTHER")
    fields["opaque"] = command.opaque
    if command.remark is not None:
        fields["remark"] = command.remark
    fields["serializeTypeCurrentRPC"] = "JSON"
    fields["version"] = command.version
    try:
        return json_bytes.dumps(fields)
    except json_bytes.JSONEncodeError as error:
        raise ProtocolViolation(f"{command!r} cannot be written as JSON: {error}") from None
