"""Messages on `/ws/live/`: the difference of two boards, and every server message as JSON text (catalogue 10)."""

from collections.abc import Mapping
from typing import NamedTuple

from sandbox.control.readings import Reading
from sandbox.journal.event_filter import Row
from sandbox.kernel import json_bytes

Board = Mapping[str, object]
MISSING = object()


class Delta(NamedTuple):
    """The difference of two boards.

    `set`: changed values, of a row only its changed fields.  `gone`: removed keys by section.
    """

    set: dict[str, object]
    gone: dict[str, list[str]]

    def __bool__(self) -> bool:
        return bool(self.set or self.gone)


def changes(old: Board, new: Board) -> Delta:
    """Return the changes that a viewer of `old` needs to show `new`.

    A board has sections.  A section is one value, or a map of keys to values.  A value that is a map is a row, and
    only a row's changed fields are sent.  A row that lost a field is removed and set again, so that no old field
    remains.
    """
    changed: dict[str, object] = {}
    gone: dict[str, list[str]] = {}
    for section in old.keys() - new.keys():
        changed[section] = None
    for section, value in new.items():
        before = old.get(section, MISSING)
        if value == before:
            continue
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            rows, lost = _section(before, value)
            if rows:
                changed[section] = rows
            if lost:
                gone[section] = lost
        else:
            changed[section] = value
    return Delta(changed, gone)


def apply(board: dict[str, object], delta: Delta) -> dict[str, object]:
    """Return the board after a delta; the browser's `live.js` does the same."""
    result: dict[str, object] = {
        section: dict(value) if isinstance(value, Mapping) else value for section, value in board.items()
    }
    for section, keys in delta.gone.items():
        if isinstance(rows := result[section], dict):
            for key in keys:
                rows.pop(key, None)
    for section, value in delta.set.items():
        if value is None:
            result.pop(section, None)
        elif isinstance(value, Mapping) and isinstance(rows := result.get(section), dict):
            for key, row in value.items():
                both = isinstance(row, Mapping) and isinstance(rows.get(key), Mapping)
                rows[key] = {**rows[key], **row} if both else row
        else:
            result[section] = value
    return result


def _section(old: Mapping[str, object], new: Mapping[str, object]) -> tuple[dict[str, object], list[str]]:
    rows: dict[str, object] = {}
    gone = sorted(old.keys() - new.keys())
    for key, row in new.items():
        before = old.get(key, MISSING)
        if row == before:
            continue
        if isinstance(row, Mapping) and isinstance(before, Mapping):
            if before.keys() - row.keys():
                gone.append(key)
                rows[key] = row
            else:
                rows[key] = {name: value for name, value in row.items() if before.get(name, MISSING) != value}
        else:
            rows[key] = row
    return rows, gone


def size_of(text: str) -> int:
    """Return the number of bytes of the text in UTF-8.  ASCII text is not encoded for this."""
    return len(text) if text.isascii() else len(text.encode())


def encode(message: Mapping[str, object]) -> str:
    return json_bytes.dumps(message).decode()


def snap(ch: str, n: int, reading: Reading) -> str:
    """Return the message with the whole board."""
    return encode(
        {
            "k": "snap",
            "ch": ch,
            "n": n,
            "ep": reading.epoch,
            "seq": str(reading.seq),
            "at_ms": reading.at_ms,
            **pace(reading),
            "data": reading.data,
        }
    )


def pace(reading: Reading) -> dict[str, float]:
    """Return the clock's pace; `reached_rate` only if a busy machine runs slower than `rate`."""
    reached = reading.reached_rate
    return {"rate": reading.rate, **({} if reached is None else {"reached_rate": reached})}


def delta(ch: str, n: int, reading: Reading, difference: Delta, *, pace_changed: bool) -> str:
    """Return the message of a difference; it has the clock's pace only if that changed."""
    message = {
        "k": "delta",
        "ch": ch,
        "n": n,
        "seq": str(reading.seq),
        "at_ms": reading.at_ms,
        "set": difference.set,
        "gone": difference.gone,
    }
    if pace_changed:
        message |= pace(reading)
    return encode(message)


def facts(ch: str, rows: list[Row], first: int | None = None) -> str:
    """Return the message with journal rows.

    `first`: rows before this seq are not sent here; the client can request them from the events of the API.
    """
    message: dict[str, object] = {"k": "facts", "ch": ch, "rows": rows}
    if first is not None:
        message["first"] = str(first)
    return encode(message)


def end(ch: str, reason: str) -> str:
    return encode({"k": "end", "ch": ch, "reason": reason})


def beat(server_ms: int, seq: int | None, watchers: int) -> str:
    text = str(seq) if seq is not None else None
    return encode({"k": "beat", "server_ms": server_ms, "seq": text, "watchers": watchers})
