"""Fast parsing of binary headers that differ only in their values, with one call each.

A client sends the same fields in the same order again, with values of the same length.  The field positions of a
header are stored by the header's length and tried on the next header of that length.  One that does not fit is read
field by field.
"""

from struct import Struct

from sandbox.remoting.command import Language, RemotingCommand, SerializeType

FIXED = Struct(">hBhiii")  # code, language, version, opaque, flag, length of the remark
_START = ">hBhii"  # the part that is equal in most headers
_START_BYTES = 13

LANGUAGES = frozenset(int(language) for language in Language)
_SHAPES_KEPT = 256  # lengths
_FIELDS_KEPT = 64  # of one shape
_BYTES_KEPT = 64 * 1024  # of the header a shape is made from, which may be kept with it
_PATIENCE = 8  # headers that did not fit, in sequence, before another shape replaces it

Field = tuple[str, int, int]
"""Name, start and end of its value."""


class HeaderShape:
    """The field positions of one header without a remark: `literal value literal value` and so on."""

    __slots__ = ("_literals", "_names", "_unpack", "missed")

    def __init__(self, header: bytes, fields: list[Field]) -> None:
        layout, literals, at = [_START], [], _START_BYTES
        for _, begin, end in fields:
            layout.append(f"{begin - at}s{end - begin}s")
            literals.append(header[at:begin])
            at = end
        if at < len(header):
            layout.append(f"{len(header) - at}s")
            literals.append(header[at:])
        self._unpack = Struct("".join(layout)).unpack
        self._literals = tuple(literals)
        self._names = [name for name, _, _ in fields]
        self.missed = 0

    def read(self, header: bytes, body: bytes | None) -> RemotingCommand | None:
        """Read a header of the same length; None if it has other fields, values of other lengths, or is not UTF-8."""
        values = self._unpack(header)
        if values[5::2] != self._literals:
            self.missed += 1
            return None
        try:
            ext = dict(zip(self._names, map(bytes.decode, values[6::2]), strict=True))
        except UnicodeDecodeError:
            return None
        self.missed = 0
        code, language, version, opaque, flag = values[:5]
        return RemotingCommand(
            code,
            ext,
            body,
            flag=flag,
            opaque=opaque,
            version=version,
            language=language if language in LANGUAGES else Language.OTHER,
            serialize_type=SerializeType.ROCKETMQ,
        )


_shapes: dict[int, HeaderShape] = {}


def read(header: bytes, body: bytes | None) -> RemotingCommand | None:
    """Read a header by the shape of an earlier one; None if it must be read field by field."""
    shape = _shapes.get(len(header))
    return None if shape is None else shape.read(header, body)


def remember(header: bytes, fields: list[Field]) -> None:
    """Store the shape of a header without a remark; `fields` are those with a value."""
    known = _shapes.get(len(header))
    if len(fields) > _FIELDS_KEPT or len(header) > _BYTES_KEPT or (known is not None and known.missed < _PATIENCE):
        return
    if len(_shapes) >= _SHAPES_KEPT:
        _shapes.clear()
    _shapes[len(header)] = HeaderShape(header, fields)
