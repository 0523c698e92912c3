"""Binary headers read by the shape of earlier ones: the same as field by field, whatever comes."""

from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.remoting import header_shape, rocketmq_header
from sandbox.remoting.command import RemotingCommand, SerializeType


@pytest.fixture(autouse=True)
def _forget() -> None:
    header_shape._shapes.clear()


def header(pairs: list[tuple[bytes, bytes]], *, opaque: int = 1, remark: bytes = b"", language: int = 0) -> bytes:
    ext = b"".join(pack(">h", len(name)) + name + pack(">i", len(value)) + value for name, value in pairs)
    return pack(">hBhiii", 310, language, 409, opaque, 0, len(remark)) + remark + pack(">i", len(ext)) + ext


def seen(command: RemotingCommand) -> tuple[object, ...]:
    return (
        command.code,
        command.language,
        command.version,
        command.opaque,
        command.flag,
        command.remark,
        command.serialize_type,
        list((command.ext or {}).items()),
        command.body,
    )


def field_by_field(raw: bytes) -> tuple[object, ...]:
    return seen(rocketmq_header._decode(raw, b"body"))


def test_the_second_header_of_a_kind_is_read_by_the_shape_of_the_first() -> None:
    first, second = header([(b"a", b"group"), (b"i", b"")]), header([(b"a", b"other"), (b"i", b"")], opaque=77)
    assert header_shape.read(first, None) is None
    rocketmq_header.decode(first, None)
    found = header_shape.read(second, b"body")
    assert found is not None
    assert (found.ext, found.opaque, found.body) == ({"a": "other"}, 77, b"body")
    assert found.serialize_type == SerializeType.ROCKETMQ


@pytest.mark.parametrize(
    "other",
    [
        header([(b"b", b"group")]),  # another name
        header([(b"ab", b"grou")]),  # other lengths within the same length
        header([(b"a", b"gro\xff\xfe")]),  # no UTF-8
        header([(b"a", b"group")], language=99),  # a language no one knows
        header([(b"a", b"grou")], remark=b"r"),
    ],
)
def test_what_has_the_same_length_but_not_the_same_shape_is_read_as_it_is(other: bytes) -> None:
    known = header([(b"a", b"group")])
    assert len(known) == len(other)
    rocketmq_header.decode(known, None)
    assert seen(rocketmq_header.decode(other, b"body")) == field_by_field(other)


def test_a_shape_that_fits_no_one_any_more_gives_way() -> None:
    old, new = header([(b"a", b"group")]), header([(b"b", b"group")])
    rocketmq_header.decode(old, None)
    for _ in range(header_shape._PATIENCE):
        assert header_shape.read(new, None) is None
    rocketmq_header.decode(new, None)
    assert header_shape.read(new, None) is not None


def test_a_header_of_very_many_fields_is_not_remembered() -> None:
    rocketmq_header.decode(header([(b"n%d" % n, b"v") for n in range(header_shape._FIELDS_KEPT + 1)]), None)
    assert not header_shape._shapes


def test_however_many_lengths_come_so_many_shapes_are_kept() -> None:
    for size in range(1, 2 * header_shape._SHAPES_KEPT):
        rocketmq_header.decode(header([(b"a", b"v" * size)]), None)
    assert len(header_shape._shapes) <= header_shape._SHAPES_KEPT


names = st.sampled_from([b"a", b"b", b"ab"])
values = st.sampled_from([b"", b"x", b"yz", b"\xc3\xa9", b"\xff"])


@given(st.lists(st.lists(st.tuples(names, values), max_size=4), max_size=12))
def test_any_headers_one_after_the_other_are_read_as_if_alone(many: list[list[tuple[bytes, bytes]]]) -> None:
    for pairs in many:
        raw = header(pairs)
        assert seen(rocketmq_header.decode(raw, b"body")) == field_by_field(raw)


def test_a_long_header_is_read_and_not_kept() -> None:
    long = header([(b"a", b"v"), (b"n" * 30_000, b""), (b"m" * 30_000, b""), (b"o" * 30_000, b"")])
    assert rocketmq_header.decode(long, None).ext == {"a": "v"}
    assert header_shape._shapes == {}
