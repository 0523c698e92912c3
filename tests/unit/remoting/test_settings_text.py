"""Settings as lines of text, as Java's `Properties` reads them."""

import pytest

from sandbox.remoting.bodies.settings import MAX_SETTINGS_BYTES, Settings
from sandbox.remoting.fields import Malformed


@pytest.mark.parametrize(
    ("text", "values"),
    [
        (b"a=1\nb = two words \n", {"a": "1", "b": "two words "}),
        (b"# no\n! no\n\n a : 1\r\nb 2", {"a": "1", "b": "2"}),
        (b"a=1\na=2", {"a": "2"}),
        (b"a=x=y:z", {"a": "x=y:z"}),
        (b"a=one \\\n   two", {"a": "one two"}),
        (b"a=\\u4e2d\\n\\\\", {"a": "中\n\\"}),
        (b"path\\=x=1", {"path=x": "1"}),
        (b"alone", {"alone": ""}),
        (b"", {}),
        (None, {}),
    ],
)
def test_lines_are_read(text: bytes | None, values: dict[str, str]) -> None:
    assert Settings.decode(text).values == values


def test_what_is_written_is_read_again() -> None:
    values = {"brokerName": "broker-a", "brokerPermission": "6"}
    assert Settings(values).encode() == b"brokerName=broker-a\nbrokerPermission=6\n"
    assert Settings.decode(Settings(values).encode()).values == values


@pytest.mark.parametrize("text", [b"a=\\u12", b"x" * (MAX_SETTINGS_BYTES + 1)])
def test_what_cannot_be_read_is_refused(text: bytes) -> None:
    with pytest.raises(Malformed):
        Settings.decode(text)
