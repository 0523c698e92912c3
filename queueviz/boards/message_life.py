"""The life of a message: its events in order of time, and its state by group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

from queueviz.boards.message_texts import OUTCOMES, STATES, STEPS, SignWord, sign_word
from queueviz.texts import Text
from sandbox.queries.rows.lives import ChainStep, CopyProgress, Delivery, GroupLife, Life, MessagePull
from sandbox.queries.rows.message_row import FullMessage, MessageRow

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


class LifeEvent(TypedDict):
    """One event of a message's life.  None in a field: the event has no such value."""

    at_ms: int
    after_ms: NotRequired[int]  # since it was stored
    what: str
    sign: str
    word: Text
    tone: str
    group: str | None
    who: str | None
    step: MessageRow | None  # the record it is about
    end_ms: int | None
    outcome: SignWord | None
    seq: str | None
    thread: NotRequired[int | None]  # of a delivery; likewise the next two
    batch: NotRequired[int | None]
    took_ms: NotRequired[int]


class CopyLine(CopyProgress):
    """The progress of a group on one copy of the message, in words."""

    said: SignWord
    reader: str | None  # label
    record: ChainStep | None


class GroupLine(TypedDict):
    """One group that reads the message, with its progress in words."""

    group: str
    model: str
    expression: str | None
    subscribed: bool | None
    state: str
    given: bool | None
    deliveries: list[Delivery] | None
    pulls: list[MessagePull] | None
    said: SignWord
    last: SignWord | None  # the newest outcome
    count: int | None  # deliveries
    places: list[CopyLine]


def line_of(message: FullMessage, life: Life, now_ms: int) -> list[LifeEvent]:
    """Return the message's events in order of time."""
    chain = life.get("chain")
    rows = (
        [_born(message), *(_stored(step) for step in chain)]
        if chain is not None
        else [_born(message), _event(message["store_ms"], "stored", step=message)]
    )
    for group in life.get("groups") or ():
        steps = chain or ()
        rows += [_pull(pull, group, steps) for pull in group.get("pulls") or ()]
        rows += [_delivery(delivery, group, steps, now_ms) for delivery in group.get("deliveries") or ()]
    first_ms = min((row["at_ms"] for row in rows[1:]), default=message["store_ms"])
    for row in rows:
        row["after_ms"] = row["at_ms"] - first_ms
    return sorted(rows, key=lambda row: row["at_ms"])  # of one moment: made, stored, pulled, given


def _event(at_ms: int, what: str, *, group: str | None = None, step: MessageRow | None = None) -> LifeEvent:
    return {
        "at_ms": at_ms,
        "what": what,
        "sign": SIGNS[what],
        "word": STEPS[what],
        "tone": "plain",
        "group": group,
        "who": None,
        "step": step,
        "end_ms": None,
        "outcome": None,
        "seq": None,
    }


def _born(message: FullMessage) -> LifeEvent:
    event = _event(message["born_ms"], "born")
    event["who"] = message["born_host"]
    return event


def _stored(step: ChainStep) -> LifeEvent:
    event = _event(step["store_ms"], step["what"], group=step["group"], step=step)
    event["tone"] = {"dead_letter": "bad", "delayed": "warn", "retry": "warn"}.get(step["what"], "plain")
    event["seq"] = step.get("seq")
    return event


def _pull(pull: MessagePull, group: GroupLife, steps: Sequence[ChainStep]) -> LifeEvent:
    event = _event(pull["at_ms"], pull["what"], group=group["group"], step=steps[pull["step"]])
    event["who"], event["seq"] = pull["actor"] or pull["client_id"], pull["seq"]
    return event


def _delivery(delivery: Delivery, group: GroupLife, steps: Sequence[ChainStep], now_ms: int) -> LifeEvent:
    outcome, end_ms = sign_word(OUTCOMES, delivery["outcome"]), delivery["ended_ms"]
    event = _event(
        delivery["started_ms"],
        "once" if delivery["once"] else "given",
        group=group["group"],
        step=steps[delivery["step"]],
    )
    event["who"], event["seq"] = delivery["actor"] or delivery["client_id"], delivery["seq"]
    event["outcome"], event["tone"], event["end_ms"] = outcome, outcome["tone"], end_ms
    event["thread"], event["batch"] = delivery["thread"], delivery["batch"]
    event["took_ms"] = (now_ms if end_ms is None else end_ms) - delivery["started_ms"]
    return event


def groups_of(life: Life, names: Mapping[str, str]) -> list[GroupLine] | None:
    """Return each group with its state in words, and one row per record it reads.  None if the groups are unknown.

    `names` turns client ids into labels.
    """
    groups = life.get("groups")
    if groups is None:
        return None
    return [_group(group, life.get("chain") or (), names) for group in groups]


def _group(group: GroupLife, chain: Sequence[ChainStep], names: Mapping[str, str]) -> GroupLine:
    deliveries = group.get("deliveries")
    return {
        **group,
        "said": sign_word(STATES, group["state"]),
        "last": _last(group),
        "count": None if deliveries is None else len(deliveries),
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


def _name(copy: CopyProgress, names: Mapping[str, str]) -> str | None:
    client_id = copy["member"] or copy["owner"]
    return None if client_id is None else names.get(client_id, client_id)


def _last(group: GroupLife) -> SignWord | None:
    ended = [row for row in group.get("deliveries") or () if row["outcome"] is not None]
    return sign_word(OUTCOMES, ended[-1]["outcome"]) if ended else None
