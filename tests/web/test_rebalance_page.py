"""The Rebalance page: what members believe in words, the plan drawn, and both against the engine itself."""

import json
import re
from typing import Any

import pytest
from django.test import Client
from django.utils.html import escape

from queueviz.boards import rebalance_views as views
from queueviz.boards.rebalance_picture import picture
from sandbox.control.readings import Reading
from tests.web.fake_port import FakePort

pytestmark = pytest.mark.django_db

NOW_MS = 1_795_142_537_350
A, B, W = "10.0.0.11@4001#1", "10.0.0.12@4002#2", "192.168.7.9@77#1"
GROUP = "order-svc"


def member(letter: str, **more: Any) -> dict[str, Any]:
    return {
        "actor": letter,
        "letter": letter,
        "colour": ord(letter) % 6,
        "state": "running",
        "transport": "loopback",
        "strategy": "AVG",
        "subscription": {"orders": "*"},
        "known_to": ["broker-a"],
        "due_ms": NOW_MS + 7_000,
        **more,
    }


def belief(client_id: str, members: list[str] | None, mine: list[str] | None, **more: Any) -> dict[str, Any]:
    known = members is not None
    return {
        "client_id": client_id,
        "topic": "orders",
        "members": members,
        "mine": mine,
        "route": {"broker-a": 2},
        "queues": {"broker-a": 2} if known else None,
        "asked_ms": NOW_MS - 3_000 if known else None,
        "trigger": "notified" if known else None,
        "index": members.index(client_id) if members else None,
        "agrees": known or None,
        "missed_ms": None,
        "missed_why": None,
        **more,
    }


def queue(
    number: int, claims: list[str], held: list[str], due: list[str], trouble: str | None = None
) -> dict[str, Any]:
    since_ms = NOW_MS - 2_000
    return {
        "topic": "orders",
        "broker": "broker-a",
        "queue_id": number,
        "claims": dict.fromkeys(claims, since_ms),
        "held": {client_id: {"since_ms": since_ms, "letting_go": False} for client_id in held},
        "due": due,
        "lock": None,
        "trouble": trouble,
        "since_ms": since_ms if trouble else None,
    }


def torn() -> dict[str, Any]:
    """B joined two seconds ago, and A has no notification yet."""
    return {
        "group": {"group": GROUP, "model": "CLUSTERING", "orderly": False, "strategy": "AVG", "apart": []},
        "lives": {"rebalance_ms": 20_000, "route_ms": 30_000},
        "brokers": {"broker-a": {"state": "running", "members": [A, B]}},
        "topics": {"orders": {"queues": {"broker-a": 2}, "retry": False}},
        "members": {A: member("A"), B: member("B")},
        "beliefs": {
            f"{A}|orders": belief(A, [A], ["orders/broker-a/0", "orders/broker-a/1"], agrees=False),
            f"{B}|orders": belief(B, [A, B], ["orders/broker-a/1"]),
        },
        "queues": {
            "orders/broker-a/0": queue(0, [A], [A], [A]),
            "orders/broker-a/1": queue(1, [A, B], [A, B], [B], "twice"),
        },
        "waits": {},
        "rounds": {},
        "moves": {},
        "labels": {},
    }


def put(port: FakePort, slug: str, data: dict[str, Any]) -> None:
    port.boards[f"rebalance/{slug}/{GROUP}"] = Reading(7, NOW_MS, 1.0, "7f3a", data)


def seen(page: Any) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", page.content.decode()))


def test_a_queue_that_two_claim_is_named_with_both_and_for_how_long(visitor: Client, port: FakePort, mine: str) -> None:
    put(port, mine, torn())
    page = visitor.get(f"/s/{mine}/rebalance/?group={GROUP}")
    text = page.content.decode()
    assert 'class="rline t-twice" data-queue="orders/broker-a/1"' in text
    assert "q1: A B holds it, assigned to A B, due to B by the current lists" in text
    assert "assigned to two members 2.0 s" in seen(page)
    assert page.context["troubled"] == 1


def test_a_member_that_goes_by_an_old_list_is_shown_with_what_brokers_know(
    visitor: Client, port: FakePort, mine: str
) -> None:
    put(port, mine, torn())
    said = seen(visitor.get(f"/s/{mine}/rebalance/?group={GROUP}"))
    assert "Members A brokers list A B" in said
    assert "Members A B same as at the brokers now" in said
    assert "Own position 1 of 1" in said
    assert "Own position 2 of 2" in said


def test_what_a_wire_member_thinks_is_unknown_and_never_empty(visitor: Client, port: FakePort, mine: str) -> None:
    data = torn()
    data["members"][W] = member("3", actor=None, transport="tcp", strategy=None, subscription=None, due_ms=None)
    data["beliefs"][f"{W}|orders"] = belief(W, None, None, route=None, agrees=None)
    put(port, mine, data)
    page = visitor.get(f"/s/{mine}/rebalance/?group={GROUP}")
    assert (
        page.context["minds"][W]
        | {"told": None, "has": None, "place": None, "mine": None, "asked_ms": None, "agrees": None, "due_ms": None}
        == page.context["minds"][W]
    )
    assert "The assignment of this member is not reported." in seen(page)
    twin = seen(visitor.get(f"/s/{mine}/part/rebalance/?group={GROUP}"))
    assert "192.168.7.9@77#1 – – – –" in twin


def test_the_table_says_what_the_drawing_shows(visitor: Client, port: FakePort, mine: str) -> None:
    put(port, mine, torn())
    said = seen(visitor.get(f"/s/{mine}/part/rebalance/?group={GROUP}"))
    assert "q1 broker-a A B A B B assigned to two members 2.0 s" in said
    assert f"{A}, {B} 2 of 2" in said


def test_every_kind_of_group_has_its_sentence(visitor: Client, port: FakePort, mine: str) -> None:
    empty = torn() | {"members": {}, "beliefs": {}}
    put(port, mine, empty)
    assert "has no member. Its queues fill" in seen(visitor.get(f"/s/{mine}/rebalance/?group={GROUP}"))
    everyone = torn()
    everyone["group"] = {**everyone["group"], "model": "BROADCASTING", "strategy": None}
    put(port, mine, everyone)
    page = visitor.get(f"/s/{mine}/rebalance/?group={GROUP}")
    assert "every member reads all queues" in seen(page)
    assert "plan-form" not in page.content.decode(), "nothing can be planned where nothing is divided"


def test_members_that_differ_are_set_side_by_side(visitor: Client, port: FakePort, mine: str) -> None:
    data = torn()
    data["group"]["apart"] = ["subscription"]
    data["members"][B]["subscription"] = {"orders": "red || blue"}
    put(port, mine, data)
    page = visitor.get(f"/s/{mine}/rebalance/?group={GROUP}")
    assert [(row["who"], row["wants"]) for row in page.context["apart"]] == [("A", "*"), ("B", "red || blue")]
    assert "messages are lost or not consumed" in seen(page)


def test_a_lock_that_is_waited_for_is_named_with_its_holder_and_what_is_left() -> None:
    data = torn()
    data["queues"]["orders/broker-a/1"] = queue(1, [A], [], [A], "waits")
    data["waits"] = {
        f"{A}|orders/broker-a/1": {
            "client_id": A,
            "queue": "orders/broker-a/1",
            "why": "lock",
            "holder": B,
            "holder_state": "crashed",
            "until_ms": NOW_MS + 41_200,
            "again_ms": NOW_MS + 7_000,
        }
    }
    names = views.Names.of(data, "orders")
    assert views.lines(data, "orders", names, NOW_MS)["orders/broker-a/1"]["said"] == (
        "waits for the lock of B, 42 s left at most"
    )


def round_of(seq: int, client_id: str, at_ms: int, because: dict[str, Any] | None, **more: Any) -> dict[str, Any]:
    return {
        "seq": str(seq),
        "at_ms": at_ms,
        "client_id": client_id,
        "topic": "orders",
        "trigger": "notified",
        "members": 2,
        "queues": 1,
        "added": [],
        "dropped": [],
        "because": because,
        **more,
    }


def test_rounds_with_one_cause_stand_together_and_say_how_late_each_was() -> None:
    data = torn()
    joined = {"seq": "90", "at_ms": NOW_MS, "what": "joined", "who": B, "why": "broker-a"}
    again = joined | {"seq": "91", "at_ms": NOW_MS + 12, "why": "broker-b"}
    data["rounds"] = {"95": round_of(95, B, NOW_MS + 20, joined), "97": round_of(97, A, NOW_MS + 2_020, again)}
    [wave] = views.waves(data, "orders", views.Names.of(data, "orders"))
    assert (wave["said"], wave["seq"]) == ("B joined", "90")
    assert [(one["who"], one["late_ms"]) for one in wave["rounds"]] == [("B", 20), ("A", 2_020)]


def test_a_round_of_one_of_two_members_with_one_client_id_names_both() -> None:
    data = torn()
    data["members"][f"{A} C"] = member("C")
    data["brokers"] = {"broker-a": {"state": "running", "members": [A, A]}}
    joined = {"seq": "90", "at_ms": NOW_MS, "what": "joined", "who": A, "why": "broker-a"}
    data["rounds"] = {"95": round_of(95, A, NOW_MS + 20, joined)}
    names = views.Names.of(data, "orders")
    [wave] = views.waves(data, "orders", names)
    assert (wave["said"], [one["who"] for one in wave["rounds"]]) == ("A/C joined", ["A/C"])
    assert views.mind(data, "orders", f"{A} C", names, NOW_MS)["letter"] == "C"


def test_a_round_for_more_queues_is_late_since_they_were_made() -> None:
    data = torn()
    route = {
        "seq": "90",
        "at_ms": NOW_MS + 21_000,
        "what": "route",
        "who": "ns-1",
        "why": None,
        "topic_changed_ms": NOW_MS,
    }
    data["rounds"] = {"95": round_of(95, A, NOW_MS + 28_000, route, trigger="timer")}
    [wave] = views.waves(data, "orders", views.Names.of(data, "orders"))
    [one] = wave["rounds"]
    assert (wave["at_ms"], wave["said"]) == (NOW_MS, "Queues added or removed")
    assert one["late_ms"] == 28_000


@pytest.mark.parametrize(
    ("left_ms", "said"),
    [
        (None, "both members hold the queue"),
        (NOW_MS, "at once"),
        (NOW_MS - 1_400, "paused 1.4 s"),
        (NOW_MS + 2_000, "both members held the queue for 2.0 s"),
    ],
)
def test_a_move_says_how_long_no_one_or_both_had_the_queue(left_ms: int | None, said: str) -> None:
    assert views.gap({"from": A, "left_ms": left_ms, "taken_ms": NOW_MS}) == said
    assert views.gap({"from": None, "left_ms": None, "taken_ms": NOW_MS}) == "no owner before"


@pytest.fixture
def living(real_engine: Any, client: Client) -> tuple[Client, str]:
    """Two brokers, eight queues, three members on the engine itself."""
    answer = client.post("/new/", {"template": "orders"})
    return client, str(answer["Location"]).split("/")[2]


def planned(client: Client, slug: str, **fields: Any) -> Any:
    return client.get(f"/s/{slug}/ask/plan-rebalance/", {"group": GROUP, "topic": "orders", "members": 4, **fields})


def test_the_page_of_a_running_group_has_a_mind_for_each_member(living: tuple[Client, str]) -> None:
    client, slug = living
    page = client.get(f"/s/{slug}/rebalance/")
    assert page.status_code == 200
    assert [mind["letter"] for mind in page.context["minds"].values()] == ["A", "B", "C"]
    assert len(page.context["lines"]) == 8
    assert page.context["topics"] == ["orders", f"%RETRY%{GROUP}"]
    assert f"rebalance/{slug}/{GROUP}" in page.context["live"]["channels"].values()


def test_a_plan_is_drawn_with_its_moves_its_sum_and_the_other_strategies(living: tuple[Client, str]) -> None:
    client, slug = living
    text = seen(planned(client, slug, strategy="AVG", queues="10"))
    for said in (
        "of 10 move",
        "10 queues ÷ 4 members = 2, remainder 2",
        "By circle",
        "Consistent hash",
        "hypothetical",
    ):
        assert said in text, said


def test_one_more_member_is_distinguished_from_another_strategy(living: tuple[Client, str]) -> None:
    client, slug = living
    page = planned(client, slug)
    rows = re.search(r'<table class="table tight compared">(.*?)</table>', page.content.decode(), re.S)
    assert rows is not None
    cells = [re.sub(r"<[^>]+>", " ", row).split() for row in rows[1].split("<tr")[2:]]
    compared = page.context["answer"]["compared"]
    assert [row[-5:-3] for row in cells] == [[str(row["moves"]), str(row["switching"])] for row in compared]
    assert "Switching" in rows[1]


def test_a_plan_on_the_ring_draws_every_place_and_every_queue(living: tuple[Client, str]) -> None:
    client, slug = living
    page = planned(client, slug, strategy="CONSISTENT_HASH")
    text = page.content.decode()
    ring = picture(page.context["answer"])["ring"]
    assert len(ring["places"]) == 40
    assert len(ring["queues"]) == 8
    assert escape(json.dumps(ring)) in text
    assert 'value="SetStrategy"' in text, "and can be applied"


def test_a_forecast_for_the_board_stays_small(living: tuple[Client, str]) -> None:
    client, slug = living
    page = client.get(f"/s/{slug}/ask/plan-rebalance/", {"group": GROUP, "topic": "orders", "add": 1})
    assert "data-plan" in page.content.decode()
    assert "<svg" not in page.content.decode()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"members": "65"}, "64"),
        ({"queues": "257"}, "256"),
        ({"strategy": "MACHINE_ROOM", "rooms": "nowhere"}, "No broker is in any of these rooms"),
    ],
)
def test_a_plan_that_cannot_be_made_says_why_beside_the_form(
    living: tuple[Client, str], wrong: dict[str, str], said: str
) -> None:
    client, slug = living
    answer = planned(client, slug, **wrong)
    assert answer.status_code == 422
    assert said in seen(answer)
