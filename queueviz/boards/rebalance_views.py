"""The content of the Rebalance page for one topic: member views, queue lines, waves of rounds, moves.

Twin of static/queueviz/js/rebalance_views.js, which shows the same for every later frame.  Unknown values stay None
and are written as an en dash.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import reduce
from operator import or_
from typing import NamedTuple, TypedDict

from queueviz.boards import rows
from queueviz.boards.fact_texts import VALUES
from queueviz.boards.live_fields import ago, word
from queueviz.templatetags.formats import duration
from queueviz.texts import Text
from sandbox.queries.rows.rebalance import (
    Belief,
    Division,
    Happening,
    MoveRow,
    Rebalance,
    RebalanceMember,
    RebalanceQueue,
)

WAVES_SHOWN = 20
MOVES_SHOWN = 20
TOGETHER_MS = 5_000  # facts of several brokers about one member are one happening

NOTHING: Rebalance = {
    "group": {"group": "", "model": None, "orderly": None, "strategy": None, "strategies": {}, "apart": []},
    "lives": {"rebalance_ms": 20_000, "route_ms": 30_000},
    "brokers": {},
    "topics": {},
    "members": {},
    "beliefs": {},
    "queues": {},
    "waits": {},
    "rounds": {},
    "moves": {},
}
"""Of a group the engine could not be asked about."""


class Mind(TypedDict):
    """The data one member received, and the assignment it computed from them.  None: unknown."""

    who: str
    letter: str
    me: str  # class with its colour
    state: str | None
    due_ms: int | None
    strategy: str | None
    wants: str | None
    asked_ms: int | None
    trigger: str | None
    told: str | None  # members
    has: str | None  # queues by broker
    place: str | None
    agrees: bool | None
    against: str | None
    mine: str | None
    ids: list[str] | None  # client ids of `told`
    result: list[str] | None  # queues of `mine`
    note: str | None


class Line(TypedDict):
    """One queue with the members that hold or claim it."""

    short: str
    broker: str
    held: list[str]
    claims: list[str]
    due: list[str]
    trouble: str | None
    said: str  # the trouble in words
    since_ms: int | None
    sentence: str


class WaveRound(TypedDict):
    """One rebalance round of a wave."""

    seq: str
    who: str
    me: str
    trigger: str
    late_ms: int
    queues: int
    added: int
    dropped: int


class Wave(TypedDict):
    """Rebalance rounds with one common cause."""

    key: tuple[str, str | None]
    at_ms: int
    seq: str | None
    said: str
    rounds: list[WaveRound]


Move = TypedDict(
    "Move",
    {
        "seq": str,
        "at_ms": int,
        "queue": str,
        "from": str | None,
        "from_who": str,
        "from_me": str,
        "to_who": str,
        "to_me": str,
        "gap": str,
        "both": bool,
        "said": str,
        "why": Text,
        "start": str,
    },
)
"""One queue that changed hands, in words."""

UNKNOWN: Division = {
    "members": None,
    "queues": None,
    "mine": None,
    "asked_ms": None,
    "trigger": None,
    "index": None,
    "agrees": None,
    "missed_ms": None,
    "missed_why": None,
}
"""Of a member that does not report its last division."""


class Names(NamedTuple):
    """Names for display: members by letter, queues by short name."""

    members: Mapping[str, RebalanceMember]
    shorts: Mapping[str, str]
    labels: Mapping[str, str]  # of former members

    @classmethod
    def of(cls, data: Rebalance, topic: str | None) -> Names:
        keys = [key for key, row in data["queues"].items() if row["topic"] == topic]
        shorts = rows.short_names(row_of(key) for key in keys)
        return cls(data["members"], {key: shorts[row_of(key)] for key in keys}, data.get("labels", {}))

    def who(self, client_id: str | None) -> str:
        client_id = client_id or "–"
        member = self.members.get(client_id)
        return (member["letter"] if member else "") or self.labels.get(client_id) or client_id.partition("#")[0]

    def whose(self, client_id: str | None) -> str:
        """Return the label of an event's client id; several members with that id give `A/B`."""
        sharers = [key for key in self.members if client_id and key.startswith(f"{client_id} ")]
        return "/".join(self.who(key) for key in (client_id, *sharers))

    def colour(self, client_id: str | None) -> str:
        return rows.colour(self.members.get(client_id or ""))

    def all(self, client_ids: Iterable[str]) -> str:
        return " ".join(self.who(client_id) for client_id in client_ids) or word("lanes.nobody")

    def queue(self, key: str) -> str:
        return self.shorts.get(key) or row_of(key)


def row_of(key: str) -> str:
    """Return the queue without its topic: `orders/broker-a/3` → `broker-a:3`."""
    _, broker, number = key.split("/")
    return f"{broker}:{number}"


def topics_of(data: Rebalance) -> list[str]:
    """Return the group's topics by name, the retry topic last."""
    topics = data["topics"]
    return sorted(topics, key=lambda topic: (bool(topics[topic].get("retry")), topic))


def minds(data: Rebalance, topic: str | None, names: Names, now_ms: int) -> dict[str, Mind]:
    """Return each member's received data and its computed assignment, by client id, in the order of letters."""
    members = data["members"]
    order = sorted(members, key=lambda client_id: (members[client_id]["letter"], client_id))
    return {client_id: mind(data, topic, client_id, names, now_ms) for client_id in order}


def mind(data: Rebalance, topic: str | None, client_id: str, names: Names, now_ms: int) -> Mind:
    member, known = data["members"][client_id], data["beliefs"].get(f"{client_id}|{topic}")
    belief: Division = known or UNKNOWN
    ids, mine = belief["members"], belief["mine"]
    return {
        "who": member.get("actor") or client_id.partition("#")[0],
        "letter": member.get("letter") or "?",
        "me": rows.colour(member),
        "state": member.get("state"),
        "due_ms": member.get("due_ms"),
        "strategy": member.get("strategy"),
        "wants": wanted(member, topic),
        "asked_ms": belief["asked_ms"],
        "trigger": belief["trigger"],
        "told": None if ids is None else names.all(ids),
        "has": counted(belief["queues"]),
        "place": _place(belief),
        "agrees": belief["agrees"],
        "against": _against(data, topic, belief, names),
        "mine": None if mine is None else " ".join(names.queue(key) for key in mine) or word("mind.nothing"),
        "ids": None if ids is None else list(ids),
        "result": None if mine is None else [row_of(key) for key in mine],
        "note": _note(member, known, now_ms),
    }


def counted(queues: Mapping[str, int] | None) -> str | None:
    """Return the number of queues by broker as text, such as `broker-a 4, broker-b 4`.  None if unknown."""
    return None if queues is None else ", ".join(f"{broker} {queues[broker]}" for broker in sorted(queues)) or "0"


def wanted(member: RebalanceMember, topic: str | None) -> str | None:
    """Return the member's subscription expression for the topic.  None: unknown or not subscribed."""
    subscription = member.get("subscription")
    return subscription.get(topic or "") if subscription else None


def _place(belief: Division) -> str | None:
    members, index = belief["members"], belief["index"]
    if members is None:
        return None
    return word("mind.absent") if index is None else word("mind.place").format(n=index + 1, of=len(members))


def _against(data: Rebalance, topic: str | None, belief: Division, names: Names) -> str | None:
    """Return the brokers' current data as a sentence, if the member's data differs from it."""
    if belief["agrees"] is None:
        return None
    if belief["agrees"]:
        return word("mind.yes")
    lists = (Counter(broker["members"] or ()) for broker in data["brokers"].values())
    known = sorted(reduce(or_, lists, Counter[str]()).elements())  # an id of two connections is there twice
    if known != belief["members"]:
        return word("mind.no_members").format(members=names.all(known))
    has = data["topics"].get(topic or "")
    return word("mind.no_queues").format(queues=(counted(has["queues"]) if has else None) or "–")


def _note(member: RebalanceMember, belief: Belief | None, now_ms: int) -> str | None:
    """Return one sentence about an unusual state of the member."""
    if member.get("transport") == "tcp":
        return word("mind.secret")
    if belief is None:
        return word("mind.gone")
    missed_ms, reason = belief["missed_ms"], belief["missed_why"]
    if missed_ms is not None:
        age = ago(now_ms - missed_ms)
        return word("mind.cannot").format(age=age, why=reason) if reason else word("mind.missed").format(age=age)
    route, used = belief["route"], belief["queues"]
    if route is not None and used is not None and route != used:
        return word("mind.route").format(queues=counted(route))
    return None


def lines(data: Rebalance, topic: str | None, names: Names, now_ms: int) -> dict[str, Line]:
    """Return lines by queue, in the order in which clients sort queues."""
    queues = {key: row for key, row in data["queues"].items() if row["topic"] == topic}
    order = sorted(queues, key=lambda key: rows.order(row_of(key)))
    return {key: line(data, key, queues[key], names, now_ms) for key in order}


def line(data: Rebalance, key: str, row: RebalanceQueue, names: Names, now_ms: int) -> Line:
    trouble, since_ms = row["trouble"], row["since_ms"]
    trouble_text = "" if trouble is None else word(f"trouble.{trouble}")
    wait = next((wait for wait in data["waits"].values() if wait["queue"] == key), None)
    if wait is not None and trouble in ("waits", "lingers"):
        until_ms = wait["until_ms"]
        left = duration(max(0, -(-(until_ms - now_ms) // 1000) * 1000)) if until_ms else "–"
        holder, since_ms = names.who(wait.get("holder")), None
        trouble_text = word(f"trouble.{wait['why']}").format(who=holder, left=left)
    held, claims, due = row["held"], row["claims"], row["due"]
    sentence = word("lanes.sentence").format(
        queue=names.queue(key), held=names.all(held), claims=names.all(claims), due=names.all(due)
    )
    return {
        "short": names.queue(key),
        "broker": row["broker"],
        "held": list(held),
        "claims": list(claims),
        "due": list(due),
        "trouble": trouble,
        "said": trouble_text,
        "since_ms": since_ms,
        "sentence": sentence,
    }


def waves(data: Rebalance, topic: str | None, names: Names) -> list[Wave]:
    """Return the waves of rounds with one common cause, the newest first, with each member and its delay."""
    shown: list[Wave] = []
    rounds = data["rounds"]
    for seq in sorted(rounds, key=int):
        row = rounds[seq]
        if row["topic"] != topic:
            continue
        because = row["because"]
        changed_ms = because.get("topic_changed_ms") if because else None
        heard_ms = because["at_ms"] if because else row["at_ms"]
        at_ms = changed_ms if changed_ms is not None else heard_ms
        key = (because["what"], None if changed_ms is not None else because["who"]) if because else ("none", None)
        wave = next((wave for wave in shown if wave["key"] == key and abs(wave["at_ms"] - at_ms) <= TOGETHER_MS), None)
        if wave is None:
            wave = {
                "key": key,
                "at_ms": at_ms,
                "seq": because["seq"] if because else None,
                "said": because_of(because, names),
                "rounds": [],
            }
            shown.append(wave)
        late_ms = max(0, row["at_ms"] - wave["at_ms"])
        wave["rounds"].append(
            {
                "seq": seq,
                "who": names.whose(row["client_id"]),
                "me": names.colour(row["client_id"]),
                "trigger": row["trigger"],
                "late_ms": late_ms,
                "queues": row["queues"],
                "added": len(row["added"]),
                "dropped": len(row["dropped"]),
            }
        )
    return shown[::-1][:WAVES_SHOWN]


def because_of(because: Happening | None, names: Names) -> str:
    what, client, reason = (because["what"], because["who"], because["why"]) if because else ("none", None, None)
    return word(f"because.{what}").format(who=names.whose(client), why=VALUES.get(reason, reason) if reason else "–")


def moves(data: Rebalance, topic: str | None, names: Names) -> list[Move]:
    """Return the queues that changed their member, the newest first."""
    reported = data["moves"]
    shown: list[Move] = []
    for seq in sorted(reported, key=int, reverse=True):
        row = reported[seq]
        if row["queue"].partition("/")[0] != topic:
            continue
        left_why = row["left_why"]
        shown.append(
            {
                "seq": seq,
                "at_ms": row["taken_ms"],
                "queue": names.queue(row["queue"]),
                "from": row["from"],
                "from_who": names.whose(row["from"]) if row["from"] else "–",
                "from_me": names.colour(row["from"]),
                "to_who": names.whose(row["to"]),
                "to_me": names.colour(row["to"]),
                "gap": gap(row),
                "both": _both(row),
                "said": because_of(row["because"], names),
                "why": VALUES.get(left_why, left_why) if left_why else "",
                "start": row["start_offset"],
            }
        )
    return shown[:MOVES_SHOWN]


def gap(row: MoveRow) -> str:
    """Return in words how long the queue had no reader, or had two."""
    left_ms = row["left_ms"]
    if row["from"] is None:
        return word("gap.first")
    if left_ms is None:
        return word("gap.still")
    ms = row["taken_ms"] - left_ms
    if ms == 0:
        return word("gap.at_once")
    return word("gap.paused" if ms > 0 else "gap.both").format(age=duration(abs(ms)))


def _both(row: MoveRow) -> bool:
    left_ms = row["left_ms"]
    return row["from"] is not None and (left_ms is None or left_ms > row["taken_ms"])
