"""The binary header, serialize type 1 (spec remoting 1.3).  RocketMQ: `RocketMQSerializable`.

    2 code   1 language   2 version   4 opaque   4 flag
    4 + n  remark      length 0: none
    4 + m  ext fields  repeated: 2 + key, 4 + value; a value of length 0: none

Text that is not UTF-8 is read with replacement characters, as Java does.
"""

from functools import lru_cache
from struct import Struct, error

from sandbox.kernel.errors import ProtocolViolation
from sandbox.remoting import header_shape
from sandbox.remoting.command import Language, RemotingCommand, SerializeType
from sandbox.remoting.header_shape import FIXED, LANGUAGES, Field

_INT = Struct(">i")
_SHORT = Struct(">h")


def decode(header: bytes, body: bytes | None) -> RemotingCommand:
    return header_shape.read(header, body) or _decode(header, body)


def _decode(header: bytes, body: bytes | None) -> RemotingCommand:
    try:
        code, language, version, opaque, flag, remark_bytes = FIXED.unpack_from(header)
        at = FIXED.size
        remark, at = _text(header, at, remark_bytes) if remark_bytes > 0 else (None, at)
        (ext_bytes,) = _INT.unpack_from(header, at)
    except error:
        raise ProtocolViolation(f"binary header of {len(header)} bytes ends too early") from None
    at += _INT.size
    if ext_bytes > len(header) - at:
        raise ProtocolViolation(f"ext fields of {ext_bytes} bytes in a header of {len(header)}")
    ext: dict[str, str] | None = None
    if ext_bytes > 0:
        ext, places = _fields(header, at, at + ext_bytes)
        if remark_bytes == 0:
            header_shape.remember(header, places)
    return RemotingCommand(
        code,
        ext,
        body,
        flag=flag,
        opaque=opaque,
        remark=remark,
        version=version,
        language=language if language in LANGUAGES else Language.OTHER,
        serialize_type=SerializeType.ROCKETMQ,
    )


def encode(command: RemotingCommand) -> bytes:
    remark = command.remark.encode() if command.remark else b""
    ext = b"".join(_pairs(command.ext)) if command.ext else b""
    try:
        fixed = FIXED.pack(command.code, command.language, command.version, command.opaque, command.flag, len(remark))
    except error:
        raise ProtocolViolation(f"{command!r} does not fit into a binary header") from None
    return b"".join((fixed, remark, _INT.pack(len(ext)), ext))


def _text(header: bytes, at: int, length: int) -> tuple[str, int]:
    end = at + length
    if length < 0 or end > len(header):
        raise ProtocolViolation(f"text of {length} bytes at {at} in a header of {len(header)}")
    return header[at:end].decode("utf-8", "replace"), end


def _fields(header: bytes, at: int, end: int) -> tuple[dict[str, str], list[Field]]:
    """Return the values of the fields and their positions; a value of length 0 is none."""
    fields: dict[str, str] = {}
    places: list[Field] = []
    try:
        while at < end:
            (length,) = _SHORT.unpack_from(header, at)
            key, at = _text(header, at + 2, length)
            (length,) = _INT.unpack_from(header, at)
            value, at = _text(header, at + 4, length)
            if value:
                fields[key] = value
                places.append((key, at - length, at))
    except error:
        raise ProtocolViolation(f"ext fields end in the middle of a field at {at}") from None
    if at > end:
        raise ProtocolViolation(f"the last ext field ends at {at}, the fields at {end}")
    return fields, places


def _pairs(ext: dict[str, str]) -> list[bytes]:
    parts: list[bytes] = []
    for key, value in ext.items():
        text = value.encode()
        parts.append(_before(key, len(text)))
        parts.append(text)
    return parts


@lru_cache(maxsize=4096)
def _before(key: str, text_bytes: int) -> bytes:
    """Return the bytes of a field up to its value; cached, as responses have few names and few lengths."""
    name = key.encode()
    if len(name) > 0x7FFF:
        raise ProtocolViolation(f"ext field name of {len(name)} bytes")
    return _SHORT.pack(len(name)) + name + _INT.pack(text_bytes)
