"""The life of a message as one line in time, and as a table of groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from queueviz.boards.message_texts import OUTCOMES, STATES, STEPS, sign_word

Row = dict[str, Any]

SIGNS = {
    "born": "✎",
    "stored": "▣",
    "half": "◧",
    "delayed": "◔",
    "retry": "↻",
    "dead_letter": "✕",
    "pulled": "▽",
    "filtered": "∅",
    "given": "▶",
    "once": "▶",
}


def line_of(message: Mapping[str, Any], life: Mapping[str, Any], now_ms: int) -> list[Row]:
    """Return the message's events in the order of time.

    Keys: {"at_ms", "after_ms" (since it was stored), "sign", "word", "tone", "group", "who", "step", "end_ms",
    "outcome", "note", "seq"}.  Only `at_ms` and the words are always present.
    """
    chain = life.get("chain")
    rows = (
        [_born(message), *(_stored(step) for step in chain)]
        if chain is not None
        else [_born(message), {**_row(message["store_ms"], "stored"), "step": message}]
    )
    for group in life.get("groups") or ():
        steps = chain or ()
        rows += [_pull(pull, group, steps) for pull in group.get("pulls") or ()]
        rows += [_given(delivery, group, steps, now_ms) for delivery in group.get("deliveries") or ()]
    first_ms = min((row["at_ms"] for row in rows[1:]), default=message["store_ms"])
    for row in rows:
        row["after_ms"] = row["at_ms"] - first_ms
    return sorted(rows, key=lambda row: row["at_ms"])  # of one moment: made, stored, pulled, given


def _row(at_ms: int, what: str, **more: Any) -> Row:
    return {
        "at_ms": at_ms,
        "what": what,
        "sign": SIGNS[what],
        "word": STEPS[what],
        "tone": "plain",
        "group": None,
        "who": None,
        "step": None,
        "end_ms": None,
        "outcome": None,
        "seq": None,
        **more,
    }


def _born(message: Mapping[str, Any]) -> Row:
    return _row(message["born_ms"], "born", who=message["born_host"])


def _stored(step: Mapping[str, Any]) -> Row:
    tone = {"dead_letter": "bad", "delayed": "warn", "retry": "warn"}.get(step["what"], "plain")
    return _row(step["store_ms"], step["what"], step=step, group=step["group"], tone=tone, seq=step.get("seq"))


def _pull(pull: Mapping[str, Any], group: Mapping[str, Any], steps: Any) -> Row:
    return _row(
        pull["at_ms"],
        pull["what"],
        who=pull["actor"] or pull["client_id"],
        group=group["group"],
        step=steps[pull["step"]],
        seq=pull["seq"],
    )


def _given(delivery: Mapping[str, Any], group: Mapping[str, Any], steps: Any, now_ms: int) -> Row:
    outcome = sign_word(OUTCOMES, delivery["outcome"])
    end_ms = delivery["ended_ms"]
    return _row(
        delivery["started_ms"],
        "once" if delivery["once"] else "given",
        seq=delivery["seq"],
        outcome=outcome,
        who=delivery["actor"] or delivery["client_id"],
        group=group["group"],
        step=steps[delivery["step"]],
        tone=outcome["tone"],
        end_ms=end_ms,
        thread=delivery["thread"],
        batch=delivery["batch"],
        took_ms=(now_ms if end_ms is None else end_ms) - delivery["started_ms"],
    )


def groups_of(life: Mapping[str, Any], names: Mapping[str, str]) -> list[Row] | None:
    """Return each group with its state in words, and one row per record it reads.  None: the groups are unknown.

    `names` turns client ids into labels.
    """
    groups = life.get("groups")
    if groups is None:
        return None
    chain = life.get("chain") or ()
    return [
        {
            **group,
            "said": sign_word(STATES, group["state"]),
            "last": _last(group),
            "count": None if group.get("deliveries") is None else len(group["deliveries"]),
            "places": [
                {
                    **copy,
                    "said": sign_word(STATES, copy["state"]),
                    "reader": _name(copy, names),
                    "record": chain[copy["step"]] if copy["step"] < len(chain) else None,
                }
                for copy in group.get("places") or ()
            ],
        }
        for group in groups
    ]


def _name(copy: Mapping[str, Any], names: Mapping[str, str]) -> str | None:
    client_id: str | None = copy["member"] or copy["owner"]
    return None if client_id is None else names.get(client_id, client_id)


def _last(group: Mapping[str, Any]) -> Row | None:
    ended = [row for row in group.get("deliveries") or () if row["outcome"] is not None]
    return sign_word(OUTCOMES, ended[-1]["outcome"]) if ended else None
