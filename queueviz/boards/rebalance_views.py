"""What the Rebalance page shows of its channel, one topic at a time: minds, lines, waves of rounds, moves.

Twin of static/queueviz/js/rebalance_views.js, which says the same of every later frame.  What nobody can tell stays
None and is written as an en dash.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from queueviz.boards import rows
from queueviz.boards.fact_texts import VALUES
from queueviz.boards.live_fields import ago, word
from queueviz.templatetags.formats import duration

Row = dict[str, Any]
Data = Mapping[str, Any]

WAVES_SHOWN = 20
MOVES_SHOWN = 20
TOGETHER_MS = 5_000  # facts of several brokers about one member are one happening


class Names(NamedTuple):
    """Members by letter, queues by their short names."""

    members: Data
    shorts: Mapping[str, str]
    labels: Mapping[str, str]  # of those who are members no more

    @classmethod
    def of(cls, data: Data, topic: str | None) -> Names:
        keys = [key for key, row in (data.get("queues") or {}).items() if row["topic"] == topic]
        shorts = rows.short_names(row_of(key) for key in keys)
        labels = data.get("labels") or {}
        return cls(data.get("members") or {}, {key: shorts[row_of(key)] for key in keys}, labels)

    def who(self, client_id: str | None) -> str:
        client_id = client_id or "–"
        member = self.members.get(client_id) or {}
        return str(member.get("letter") or self.labels.get(client_id) or client_id.partition("#")[0])

    def colour(self, client_id: str | None) -> str:
        return rows.colour(self.members.get(client_id or ""))

    def all(self, client_ids: Iterable[str]) -> str:
        return " ".join(self.who(client_id) for client_id in client_ids) or word("lanes.nobody")

    def queue(self, key: str) -> str:
        return self.shorts.get(key) or row_of(key)


def row_of(key: str) -> str:
    """`orders/broker-a/3` → `broker-a:3`."""
    _, broker, number = key.split("/")
    return f"{broker}:{number}"


def topics_of(data: Data) -> list[str]:
    """The group's own first, its retry topic last."""
    found = data.get("topics") or {}
    return sorted(found, key=lambda topic: (bool(found[topic].get("retry")), topic))


def minds(data: Data, topic: str | None, names: Names, now_ms: int) -> dict[str, Row]:
    """By client id, letters first: what each member was told and what it made of it."""
    members = data.get("members") or {}
    order = sorted(members, key=lambda client_id: (str(members[client_id].get("letter") or ""), client_id))
    return {client_id: mind(data, topic, client_id, names, now_ms) for client_id in order}


def mind(data: Data, topic: str | None, client_id: str, names: Names, now_ms: int) -> Row:
    member = data["members"][client_id]
    belief = (data.get("beliefs") or {}).get(f"{client_id}|{topic}") or {}
    told, mine = belief.get("members"), belief.get("mine")
    return {
        "who": member.get("actor") or client_id.partition("#")[0], "letter": member.get("letter") or "?",
        "me": rows.colour(member), "state": member.get("state"), "due_ms": member.get("due_ms"),
        "strategy": member.get("strategy"), "wants": (member.get("subscription") or {}).get(topic),
        "asked_ms": belief.get("asked_ms"), "trigger": belief.get("trigger"),
        "told": None if told is None else names.all(told), "has": counted(belief.get("queues")),
        "place": _place(belief), "agrees": belief.get("agrees"), "against": _against(data, topic, belief, names),
        "mine": None if mine is None else " ".join(names.queue(key) for key in mine) or word("mind.nothing"),
        "ids": None if told is None else list(told),
        "result": None if mine is None else [row_of(key) for key in mine],
        "note": _note(member, belief, now_ms),
    }  # fmt: skip


def counted(queues: Mapping[str, int] | None) -> str | None:
    """`broker-a 4, broker-b 4`."""
    return None if queues is None else ", ".join(f"{broker} {queues[broker]}" for broker in sorted(queues)) or "0"


def _place(belief: Data) -> str | None:
    if belief.get("members") is None:
        return None
    if belief.get("index") is None:
        return word("mind.absent")
    return word("mind.place").format(n=belief["index"] + 1, of=len(belief["members"]))


def _against(data: Data, topic: str | None, belief: Data, names: Names) -> str | None:
    """What brokers say now, where the member goes by something else."""
    if belief.get("agrees") is None:
        return None
    if belief["agrees"]:
        return word("mind.yes")
    brokers = (data.get("brokers") or {}).values()
    known = sorted({client_id for broker in brokers for client_id in broker["members"] or ()})
    if known != belief["members"]:
        return word("mind.no_members").format(members=names.all(known))
    has = ((data.get("topics") or {}).get(topic or "") or {}).get("queues")
    return word("mind.no_queues").format(queues=counted(has) or "–")


def _note(member: Data, belief: Data, now_ms: int) -> str | None:
    """One sentence about what is not as usual."""
    if member.get("transport") == "tcp":
        return word("mind.secret")
    if not belief:
        return word("mind.gone")
    if belief.get("missed_ms") is not None:
        age = ago(now_ms - belief["missed_ms"])
        why = belief.get("missed_why")
        return word("mind.cannot").format(age=age, why=why) if why else word("mind.missed").format(age=age)
    route, used = belief.get("route"), belief.get("queues")
    if route is not None and used is not None and route != used:
        return word("mind.route").format(queues=counted(route))
    return None


def lines(data: Data, topic: str | None, names: Names, now_ms: int) -> dict[str, Row]:
    """By queue, in the order clients sort them."""
    found = {key: row for key, row in (data.get("queues") or {}).items() if row["topic"] == topic}
    order = sorted(found, key=lambda key: rows.order(row_of(key)))
    return {key: line(data, key, found[key], names, now_ms) for key in order}


def line(data: Data, key: str, row: Data, names: Names, now_ms: int) -> Row:
    trouble, since_ms = row.get("trouble"), row.get("since_ms")
    said = "" if trouble is None else word(f"trouble.{trouble}")
    waits = [wait for wait in (data.get("waits") or {}).values() if wait["queue"] == key]
    if waits and trouble in ("waits", "lingers"):
        left = duration(max(0, -(-(waits[0]["until_ms"] - now_ms) // 1000) * 1000)) if waits[0]["until_ms"] else "–"
        holder, since_ms = names.who(waits[0].get("holder")), None
        said = word(f"trouble.{waits[0]['why']}").format(who=holder, left=left)
    held, claims, due = row.get("held") or {}, row.get("claims") or {}, row.get("due") or []
    sentence = word("lanes.sentence").format(
        queue=names.queue(key), held=names.all(held), claims=names.all(claims), due=names.all(due)
    )
    return {"short": names.queue(key), "broker": row["broker"], "held": list(held), "claims": list(claims),
            "due": list(due), "trouble": trouble, "said": said, "since_ms": since_ms, "sentence": sentence}  # fmt: skip


def waves(data: Data, topic: str | None, names: Names) -> list[Row]:
    """Rounds that have one cause together, the newest first: who acted on it how long after."""
    found: list[Row] = []
    given = data.get("rounds") or {}
    for seq in sorted(given, key=int):
        row = given[seq]
        if row["topic"] != topic:
            continue
        because = row.get("because") or {}
        changed_ms = because.get("topic_changed_ms")
        at_ms = changed_ms if changed_ms is not None else because.get("at_ms", row["at_ms"])
        key = (because.get("what", "none"), None if changed_ms is not None else because.get("who"))
        wave = next((wave for wave in found if wave["key"] == key and abs(wave["at_ms"] - at_ms) <= TOGETHER_MS), None)
        if wave is None:
            wave = {"key": key, "at_ms": at_ms, "seq": because.get("seq"), "said": because_of(because, names),
                    "rounds": []}  # fmt: skip
            found.append(wave)
        late_ms = max(0, row["at_ms"] - wave["at_ms"])
        wave["rounds"].append(
            {"seq": seq, "who": names.who(row["client_id"]), "me": names.colour(row["client_id"]),
             "trigger": row.get("trigger"), "late_ms": late_ms, "queues": row["queues"],
             "added": len(row["added"]), "dropped": len(row["dropped"]),
             "route_ms": 0 if changed_ms is None else max(0, because["at_ms"] - changed_ms)}
        )  # fmt: skip
    for wave in found:
        longest_ms = max(1_000, *(one["late_ms"] for one in wave["rounds"]))
        for one in wave["rounds"]:
            route_ms = min(one["route_ms"], one["late_ms"])
            one["route_share"] = share(route_ms, longest_ms)
            one["rest_share"] = share(max(one["late_ms"] - route_ms, longest_ms // 50), longest_ms)  # always a mark
    return found[::-1][:WAVES_SHOWN]


def share(ms: int, longest_ms: int) -> str:
    """Of a bar a hundred wide."""
    return f"{100 * ms / longest_ms:.1f}"


def because_of(because: Data, names: Names) -> str:
    why = because.get("why")
    return word(f"because.{because.get('what', 'none')}").format(
        who=names.who(because.get("who")), why=VALUES.get(why, why) if why else "–"
    )


def moves(data: Data, topic: str | None, names: Names) -> list[Row]:
    """The newest first, the queues that changed hands."""
    given = data.get("moves") or {}
    found = []
    for seq in sorted(given, key=int, reverse=True):
        row = given[seq]
        if row["queue"].partition("/")[0] != topic:
            continue
        left_why = row.get("left_why")
        found.append(
            {"seq": seq, "at_ms": row["taken_ms"], "queue": names.queue(row["queue"]), "from": row.get("from"),
             "from_who": names.who(row["from"]) if row.get("from") else "–",
             "from_me": names.colour(row.get("from")), "to_who": names.who(row["to"]),
             "to_me": names.colour(row["to"]), "gap": gap(row), "both": _both(row),
             "said": because_of(row.get("because") or {}, names),
             "why": VALUES.get(left_why, left_why) if left_why else "", "start": row.get("start_offset")}
        )  # fmt: skip
    return found[:MOVES_SHOWN]


def gap(row: Data) -> str:
    """How long nobody read it, or two did."""
    if row.get("from") is None:
        return word("gap.first")
    if row.get("left_ms") is None:
        return word("gap.still")
    ms = row["taken_ms"] - row["left_ms"]
    if ms == 0:
        return word("gap.at_once")
    return word("gap.paused" if ms > 0 else "gap.both").format(age=duration(abs(ms)))


def _both(row: Data) -> bool:
    return row.get("from") is not None and (row.get("left_ms") is None or row["left_ms"] > row["taken_ms"])
