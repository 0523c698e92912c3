"""Every number of the Board against the JSON API, while both move.

A number agrees when it lies within what the API said of it during the last two and a half seconds; what does not agree
for longer than two seconds, read again and again, is a disagreement.
"""

import re
import time
from collections.abc import Mapping
from typing import Any

from playwright.sync_api import Page

from queueviz.boards.js_texts import TEXTS

Value = int | str | None
Numbers = dict[str, Value]

WINDOW_S = 2.5  # the table is fetched every two seconds
PERSISTS_S = 2.0
LOOK_EVERY_S = 0.2
NAMES = ("min", "committed", "in_memory", "next_pull", "max")
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
        lag: text("#k-lag"), retrying: text("#k-retry"), again: text("#k-again"), seq: text("#clock .seq"),
        rate: text(".speed [aria-pressed=true]"), clock: Math.round(queueviz.clock.now()),
        rows: seen(".q", (row) => [row.dataset.queue, text(".lagn .lag", row), text(".own .badge", row), label(row),
                                   text(".t-max", row)]),
        cards: seen(".cons[data-client]", (card) => [card.dataset.client, text(".state .word", card), ...meters(card)]),
        queues: seen("#twin table:first-of-type tbody tr", cells),
        members: seen("#twin table:last-of-type tbody tr", cells),
    };
}"""  # fmt: skip


def of_page(page: Page) -> Numbers:
    """What the Board shows at one moment: the drawing, or the table that stands in its place."""
    seen = page.evaluate(READ)
    found: Numbers = {"lag": _number(seen["lag"]), "delivered again": _number(seen["again"]),
                      "event": _number(seen["seq"]), "rate": seen["rate"], "clock": seen["clock"]}  # fmt: skip
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
        again = int(_number(seen["retrying"].split(" ")[0]) or 0)  # `3 of them in retry`
        found["lag beside the rows"] = _same(found["lag"], again + sum(max(0, lag) for lag in lags))
    for client_id, state, *meters in seen["cards"]:  # the first meter is of the fullest queue, and the API has the sum
        found[f"{client_id} state"] = STATES.get(state, state)
        if STATES.get(state) == "running":
            found |= {f"{client_id} {name}": _number(text.split("/")[0])
                      for name, text in zip(("span", "busy"), meters[1:], strict=True)}  # fmt: skip
    for short, _owner, *cells in seen["queues"]:
        if not short.startswith(("retry", "dead")):
            found |= {f"table {short} {name}": _number(text) for name, text in zip(NAMES, cells, strict=False)}
    for who, state, queues, *_ in seen["members"]:
        client_id = who.split()[-1]
        found |= {f"table {client_id} state": state, f"table {client_id} queues": _number(queues)}
    members = [client_id for client_id, *_ in seen["cards"]] or [who.split()[-1] for who, *_ in seen["members"]]
    return found | {"members": ",".join(sorted(members))}


def of_api(snapshot: Mapping[str, Any], group: str, topic: str) -> Numbers:
    """The same, as `GET /api/sandboxes/<slug>` says it."""
    row = next(g for g in snapshot["groups"] if g["group"] == group)
    queues = [q for q in row["queues"] if q["topic"] == topic]
    ends = {f"{q['broker']}:{q['queue_id']}": q for t in snapshot["topics"] if t["topic"] == topic for q in t["queues"]}
    letters = {m["client_id"]: str(m["actor"])[:1] for m in row["members"]}
    found: Numbers = {"delivered again": row["counts"]["delivered_again"], "event": int(snapshot["seq"]),
                      "rate": f"{snapshot['rate']:g}×" if snapshot["rate"] else "", "clock": snapshot["at_ms"],
                      "members": ",".join(sorted(letters))}  # fmt: skip
    lag = 0
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
        lag += max(0, int(found[f"{key} lag"] or 0))
    for member in row["members"]:
        found |= {f"{member['client_id']} {name}": member[name] for name in ("state", "span", "busy")}
        found[f"table {member['client_id']} state"] = member["state"]
        found[f"table {member['client_id']} queues"] = sum(q["owner"] == member["client_id"] for q in queues)
    return found | {"lag": lag + row["counts"]["retrying"]}


class Comparison:
    """Looks at both until everything has agreed once, or something has not for longer than two seconds."""

    def __init__(self, page: Page, ask: Any, *, group: str, topic: str) -> None:
        self._page, self._ask = page, ask
        self._group, self._topic = group, topic
        self.numbers = 0  # compared so far

    def check(self) -> dict[str, str]:
        """What disagrees, with what the page and the API said; empty when all is well."""
        said: list[tuple[float, Numbers]] = []
        suspects: dict[str, float] = {}
        shown: Numbers = {}
        begun_s = time.monotonic()
        while not said or said[-1][0] - begun_s < WINDOW_S or suspects:
            said.append((time.monotonic(), of_api(self._ask(), self._group, self._topic)))
            if said[-1][0] - begun_s >= WINDOW_S:
                shown = of_page(self._page)
                now_s = time.monotonic()
                said.append((now_s, of_api(self._ask(), self._group, self._topic)))
                window = [numbers for at_s, numbers in said if now_s - at_s <= WINDOW_S + LOOK_EVERY_S]
                wrong = {key for key, value in shown.items() if not _agrees(key, value, window)}
                suspects = {key: suspects.get(key, now_s) for key in wrong}
                old = [key for key, since_s in suspects.items() if now_s - since_s > PERSISTS_S]
                if old:
                    return {key: f"page {shown[key]!r}, API {_span(key, window)}" for key in sorted(old)}
            self._page.wait_for_timeout(LOOK_EVERY_S * 1000)
        self.numbers += len(shown)
        return {}


def _agrees(key: str, value: Value, window: list[Numbers]) -> bool:
    if isinstance(value, str) and value.startswith("agrees"):
        return True
    said = [numbers[key] for numbers in window if key in numbers]
    if value in said:
        return True
    numbers = [one for one in said if isinstance(one, int)]
    return isinstance(value, int) and bool(numbers) and min(numbers) <= value <= max(numbers)


def _same(value: Value, reckoned: int) -> str:
    return "agrees" if value == reckoned else f"{value} where {reckoned} follows"


def _span(key: str, window: list[Numbers]) -> str:
    said = [numbers.get(key, "nothing") for numbers in window]
    return f"{said[0]!r} to {said[-1]!r}"


def _number(text: str) -> Value:
    """`12 345 msgs`, `event #1 204`, `–`."""
    digits = re.sub(r"[^\d−]", "", text).replace("−", "-")
    return int(digits) if digits else None
