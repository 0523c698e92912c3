"""Bodies with settings as `name=value` lines: 25, 26, 318 and 319.

RocketMQ: `MixAll.string2Properties`, `properties2String`.
"""

import re
from typing import NamedTuple, Self

from sandbox.remoting.fields import Malformed

MAX_SETTINGS_BYTES = 65_536  # of one request; all settings of a broker are a tenth of it

_PAIR = re.compile(r"((?:\\.|[^\\=:\s])*)\s*[=:]?\s*(.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|.)", re.DOTALL)
_MEANT = {"n": "\n", "r": "\r", "t": "\t", "f": "\f"}


class Settings(NamedTuple):
    """Settings by name, in the order of the lines; of equal names the last is used."""

    values: dict[str, str]

    def encode(self) -> bytes:
        return "".join(f"{name}={value}\n" for name, value in self.values.items()).encode()

    @classmethod
    def decode(cls, data: bytes | None) -> Self:
        """Decode as Java's `Properties` does: comments, continued lines, escapes.  Raises Malformed."""
        text = data or b""
        if len(text) > MAX_SETTINGS_BYTES:
            raise Malformed(f"{len(text)} bytes of settings are over {MAX_SETTINGS_BYTES}")
        pairs = (_PAIR.fullmatch(line) for line in _lines(text.decode("utf-8", "replace")))
        return cls({_plain(pair[1]): _plain(pair[2]) for pair in pairs if pair is not None})


def _lines(text: str) -> list[str]:
    """Return the lines with content; one that ends with an odd number of backslashes continues in the next."""
    lines: list[str] = []
    goes_on = False
    for raw in re.split(r"\r\n|\r|\n", text):
        line = raw.lstrip(" \t\f")
        if not goes_on and (not line or line[0] in "#!"):
            continue
        line = (lines.pop() if goes_on else "") + line
        goes_on = (len(line) - len(line.rstrip("\\"))) % 2 == 1
        lines.append(line[:-1] if goes_on else line)
    return lines


def _plain(text: str) -> str:
    return _ESCAPE.sub(_meant, text)


def _meant(escape: re.Match[str]) -> str:
    mark = escape[1]
    if mark == "u":
        raise Malformed("string2Properties error")
    return chr(int(mark[1:], 16)) if len(mark) == 5 else _MEANT.get(mark, mark)
