"""Every number of the Board against the JSON API, in a world that is stopped.

Whatever happened before, both have the same numbers to the last digit once the page has caught up.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from playwright.sync_api import Page

from queueviz.boards.js_texts import TEXTS

Value = int | str | None
Numbers = dict[str, Value]

LOOKS = 600  # 50 ms apart: other work may share the machine
NAMES = ("min", "committed", "in_memory", "next_pull", "max")
METERS = ("fullest", "span", "busy")
SAID = ("min", "committed", "in memory", "next pull", "max", "lag")
SENTENCE = re.compile(": " + ", ".join(f"{name} ([^,]+)" for name in SAID))
STATES = {str(word): key.removeprefix("state.") for key, word in TEXTS.items() if key.startswith("state.")}

READ = """() => {
    const text = (selector, root = document) => root.querySelector(selector)?.textContent.trim() ?? "";
    const seen = (selector, read) =>
        [...document.querySelectorAll(selector)].filter((node) => node.checkVisibility()).map(read);
    const cells = (row) => [...row.children].map((cell) => cell.textContent.trim());
    const meters = (card) => [...card.querySelectorAll(".meter b")].map((value) => value.textContent);
    const label = (row) => row.querySelector("qv-strip svg").getAttribute("aria-label") ?? "";
    return {
        live: document.querySelector(".app[data-conn=connected]") !== null,
        lag: text("#k-lag"), retry: text("#k-retry"), again: text("#k-again"), seq: text("#clock .seq"),
        rate: text(".speed [aria-pressed=true]"), clock: Math.round(queueviz.clock.now()),
        rows: seen(".q", (row) => [row.dataset.queue, text(".lagn .lag", row), text(".own .badge", row), label(row),
                                   text(".t-max", row)]),
        cards: seen(".cons[data-client]", (card) => [card.dataset.client, text(".state .word", card), ...meters(card)]),
        queues: seen("#twin table:first-of-type tbody tr", cells),
        members: seen("#twin table:last-of-type tbody tr", cells),
    };
}"""


def of_page(page: Page) -> Numbers | None:
    """Return the numbers of the Board: of the drawing, or of the table in its place.  None: it is not live."""
    seen = page.evaluate(READ)
    if not seen["live"]:
        return None
    in_retry = _number(seen["retry"]) or 0
    found: Numbers = {
        "lag": _number(seen["lag"]),
        "in retry": in_retry,
        "delivered again": _number(seen["again"]),
        "event": _number(seen["seq"]),
        "rate": seen["rate"],
        "clock": seen["clock"],
    }
    lags: list[int] = []
    for key, lag, badge, label, drawn in seen["rows"]:
        said = SENTENCE.search(label)
        assert said is not None, f"{key} says {label!r}"
        values = [_number(text) for text in said.groups()]
        found |= {f"{key} {name}": value for name, value in zip(NAMES, values, strict=False)}
        found[f"{key} owner"] = badge
        if drawn:
            found[f"{key} max drawn"] = _number(drawn)
        found[f"{key} lag"] = _number(lag)
        if found[f"{key} committed"] is not None:
            lags.append(int(found[f"{key} max"] or 0) - int(found[f"{key} committed"] or 0))
            found[f"{key} lag beside its own offsets"] = _same(_number(lag), lags[-1])
            found[f"{key} lag in its own sentence"] = _same(values[5], lags[-1])
    if lags and len(lags) == len(seen["rows"]):
        found["lag beside the rows"] = _same(found["lag"], sum(lags) + int(in_retry))
    for client_id, state, *meters in seen["cards"]:
        found[f"{client_id} state"] = STATES.get(state, state)
        if STATES.get(state) == "running":
            found |= {
                f"{client_id} {name}": _number(text.split("/")[0]) for name, text in zip(METERS, meters, strict=True)
            }
    for short, _owner, *cells in seen["queues"]:
        if not short.startswith(("retry", "dead")):
            found |= {f"table {short} {name}": _number(text) for name, text in zip(NAMES, cells, strict=False)}
    for who, state, queues, *_ in seen["members"]:
        client_id = who.split()[-1]
        found[f"table {client_id} state"] = state
        if state == "running":  # who is hung holds queues that others have been given
            found[f"table {client_id} queues"] = _number(queues)
    members = [client_id for client_id, *_ in seen["cards"]] or [who.split()[-1] for who, *_ in seen["members"]]
    return found | {"members": ",".join(sorted(members))}


def of_api(snapshot: Mapping[str, Any], group: str, topic: str) -> Numbers:
    """Return the same numbers as `GET /api/sandboxes/<slug>` reports them."""
    row = next(g for g in snapshot["groups"] if g["group"] == group)
    queues = [q for q in row["queues"] if q["topic"] == topic]
    ends = {f"{q['broker']}:{q['queue_id']}": q for t in snapshot["topics"] if t["topic"] == topic for q in t["queues"]}
    letters = {m["client_id"]: str(m["actor"])[:1] for m in row["members"]}
    found: Numbers = {
        "lag": None if row["lag"] is None else int(row["lag"]),
        "in retry": row["counts"]["retrying"],
        "delivered again": row["counts"]["delivered_again"],
        "event": int(snapshot["seq"]),
        "rate": f"{snapshot['rate']:g}×" if snapshot["rate"] else "",
        "clock": snapshot["at_ms"],
        "members": ",".join(sorted(letters)),
    }
    for queue in queues:
        key = f"{queue['broker']}:{queue['queue_id']}"
        values = {**{name: ends[key][name] for name in ("min", "max")}, **{n: queue[n] for n in NAMES[1:4]}}
        numbers: Numbers = {name: None if value is None else int(value) for name, value in values.items()}
        found |= {f"{key} {name}": value for name, value in numbers.items()}
        short = f"{queue['broker'].removeprefix('broker-')}:{queue['queue_id']}"
        found |= {f"table {short} {name}": value for name, value in numbers.items()}
        found[f"{key} max drawn"] = numbers["max"]
        found[f"{key} owner"] = letters.get(queue["owner"] or "", "")
        committed = numbers["committed"] if numbers["committed"] is not None else numbers["min"]
        found[f"{key} lag"] = int(numbers["max"] or 0) - int(committed or 0)
    for member in row["members"]:
        found |= {f"{member['client_id']} {name}": member[name] for name in ("state", *METERS)}
        found[f"table {member['client_id']} state"] = member["state"]
        found[f"table {member['client_id']} queues"] = sum(q["owner"] == member["client_id"] for q in queues)
    return found


class Comparison:
    """The page and the API of a world that is stopped."""

    def __init__(self, page: Page, ask: Callable[[], Mapping[str, Any]], *, group: str, topic: str) -> None:
        self._page, self._ask = page, ask
        self._group, self._topic = group, topic
        self.numbers = 0  # compared so far

    def differences(self) -> dict[str, str]:
        """Return the numbers that differ once the page has had its time to catch up, with both values."""
        differ = {"page": "is not live"}
        for _ in range(LOOKS):
            shown = of_page(self._page)
            if shown is not None:
                reported = of_api(self._ask(), self._group, self._topic)
                differ = {
                    key: f"page {value!r}, API {reported.get(key)!r}"
                    for key, value in sorted(shown.items())
                    if not _agrees(value) and (key not in reported or reported[key] != value)
                }
                if not differ:
                    self.numbers += len(shown)
                    break
            self._page.evaluate("new Promise((done) => setTimeout(done, 50))")
        return differ


def _agrees(value: Value) -> bool:
    """Compare the values that the page shows twice."""
    return isinstance(value, str) and value.startswith("agrees")


def _same(value: Value, reckoned: int) -> str:
    return "agrees" if value == reckoned else f"{value} where {reckoned} follows"


def _number(text: str) -> Value:
    """`12 345 msgs`, `event #1 204`, `–`."""
    digits = re.sub(r"[^\d−]", "", text).replace("−", "-")
    return int(digits) if digits else None
