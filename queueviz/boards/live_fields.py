"""Formats of the values in a live row, for the first paint.  `live_fields.js` formats later values identically."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypedDict, cast

from queueviz.boards.client_texts import WORDS
from queueviz.boards.connect_texts import WORDS as CONNECT_WORDS
from queueviz.boards.counted import Counted
from queueviz.boards.fact_texts import VALUES
from queueviz.boards.js_texts import TEXTS
from queueviz.boards.message_texts import WORDS as MESSAGE_WORDS
from queueviz.boards.rebalance_texts import WORDS as REBALANCE_WORDS
from queueviz.boards.store_texts import WORDS as STORE_WORDS
from queueviz.boards.topology_texts import WORDS as TOPOLOGY_WORDS
from queueviz.templatetags.formats import UNKNOWN, byte_count, clock, duration, number, second
from queueviz.texts import Text

WORDS_OF_PAGES: tuple[Mapping[str, Text | Counted], ...] = (
    WORDS,
    TEXTS,
    TOPOLOGY_WORDS,
    CONNECT_WORDS,
    REBALANCE_WORDS,
    STORE_WORDS,
    MESSAGE_WORDS,
)
SIMPLE: dict[str, Callable[[Any], str]] = {
    "number": number,
    "bytes": byte_count,
    "ms": duration,
    "clock": clock,
    "second": second,
}


def shown(
    row: Mapping[str, object] | None,
    name: str,
    kind: str,
    *,
    now_ms: int,
    began_ms: int = 0,
    names: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Return the field `name` of a live row as text.

    `kind`: number, bytes, ms, clock, second, text, left, ago, after, took, runs, queue, wait, mark, list, yes, body,
    or a family of words (`step.`).  `after` counts from `began_ms`.  `names` turns client ids into labels.
    """
    row = row or {}
    value: Any = row.get(name)  # `kind` says its type
    if kind in ("wait", "mark"):
        return _sentence(cast(Sentence, row), f"{kind}.{value}", names) if value else UNKNOWN
    if kind == "body" and "stored_body_bytes" in row and not value:
        size = byte_count(cast(int, row["stored_body_bytes"]))
        return word("body.empty") if value == "" else word("body.binary").format(size=size)
    if value is None or value == "":
        return UNKNOWN
    if kind in SIMPLE:
        return str(SIMPLE[kind](value))
    if kind == "left":
        return left(value - now_ms)
    if kind == "ago":
        return ago(now_ms - value)
    if kind == "after":
        return f"+{step_ms(value - began_ms)}"
    if kind == "took":
        return step_ms(value)
    if kind == "runs":
        return runs(value, cast(int, row.get(f"{name}_more") or 0))
    if kind == "queue":
        return queue(value)
    if kind == "list":
        return ", ".join(map(str, value)) or UNKNOWN
    if kind == "yes":
        return word("yes" if value else "no")
    if kind.endswith("."):
        return word(kind + str(value))
    return str(value)


def left(ms: int) -> str:
    """Return the time left in whole seconds, as a countdown."""
    return word("time.now_due") if ms <= 0 else duration(-(-ms // 1000) * 1000 if ms >= 1000 else ms)


def step_ms(ms: int) -> str:
    """Return a step's duration: below 1 s in milliseconds; 0 is shown as less than 1 ms."""
    return "< 1 ms" if ms == 0 else f"{ms} ms" if ms < 1000 else duration(ms)


def ago(ms: int) -> str:
    return duration(max(0, ms) if ms < 1000 else ms // 1000 * 1000)


def runs(offset_ranges: list[list[str]], more: int) -> str:
    """Return ranges of numbers as text: 1 003–1 018, 1 020 and 3 more."""
    parts = [number(first) if first == last else f"{number(first)}–{number(last)}" for first, last in offset_ranges]
    text = ", ".join(parts) or UNKNOWN
    return f"{text} {word('queue.and_more').format(n=more)}" if more else text


def queue(key: str) -> str:
    """Return a short queue name: `orders/broker-a/3` → `orders q3 broker-a`."""
    topic, broker, number_ = key.split("/")
    return f"{topic} q{number_} {broker}"


def word(key: str) -> str:
    text = next((words[key] for words in WORDS_OF_PAGES if key in words), None)
    return str(text) if text is not None else key.partition(".")[2] or key


class Sentence(TypedDict, total=False):
    """The values of a sentence about a wait or a mark (`rows.waits`, `rows.clients`)."""

    queue: str | None
    holder: str | None
    state: str | None
    holder_state: str | None
    reason: str | None
    trigger: str
    trace: list[str]
    offset: str
    left_ms: int


def _sentence(row: Sentence, key: str, names: Mapping[str, str]) -> str:
    values: dict[str, object] = {**row}
    if key_of_queue := row.get("queue"):
        values["queue"] = queue(key_of_queue)
    if holder := row.get("holder"):
        values["holder"] = names.get(holder) or str(holder).partition("#")[0]
    for name, code in (
        ("state", row.get("state")),
        ("state", row.get("holder_state")),
        ("reason", row.get("reason")),
    ):
        if code is not None:
            values[name] = VALUES.get(code, code)
    if row.get("trigger"):
        values["trigger"] = word(f"trigger.{row['trigger']}")
    if row.get("trace"):
        values["trace"] = ", ".join(word(f"trace.{code}") for code in row["trace"])
    if row.get("offset"):
        values["offset"] = number(row["offset"])
    if (left_ms := row.get("left_ms")) is not None:
        values["left"] = duration(left_ms)
    return word(key).format_map(_Unknown(values))


class _Unknown(dict[str, object]):
    def __missing__(self, name: str) -> str:
        return UNKNOWN
