"""The Topology page: boxes, rings and links in words, what can be done to each, and routes beside each other."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.utils import translation

from queueviz.boards import topology_plan as plan
from queueviz.boards.topology_routes import tables
from sandbox.control.readings import Reading
from tests.web.engine_calls import act, start
from tests.web.fake_port import FakePort
from tests.web.patience import until

NOW_MS = 1_795_142_537_350
LIVES = {"expiry_ms": 120_000, "scan_ms": 10_000, "register_ms": 30_000}
OPEN = {
    "a": "A",
    "b": "broker-a",
    "kind": "data",
    "connections": 1,
    "logs": 0,
    "there_cut": False,
    "there_ms": 0,
    "back_cut": False,
    "back_ms": 0,
    "heard_ms": NOW_MS - 4_000,
}
BROKER = {
    "broker": "broker-a",
    "broker_id": 0,
    "role": "master",
    "state": "running",
    "address": "127.0.0.1:1",
    "flush": "ASYNC_FLUSH",
    "replication": "ASYNC_MASTER",
    "skew_ms": 0,
    "disk": "ok",
    "used_percent": 3,
    "min": "0",
    "max": "17766",
    "flushed": "11718",
    "replicated": None,
    "locks": 5,
    "behind": None,
    "replica": None,
}


@pytest.fixture(autouse=True)
def _english() -> Iterator[None]:
    """Whatever another test's page spoke last."""
    with translation.override("en"):
        yield


def client_row(label: str, group: str = "order-svc", kind: str = "consumer") -> dict[str, Any]:
    member = {"label": label, "kind": kind, "group": group, "state": "running"}
    return {
        "kind": kind,
        "state": "running",
        "client_id": f"10.0.0.11@{label}",
        "colour": 0,
        "name_server": "ns-1",
        "members": [member],
        "route_runs": 3,
        "route_due_ms": NOW_MS,
        "heartbeat_runs": 3,
        "heartbeat_due_ms": NOW_MS,
    }


def data(*labels: str, last_ms: int | None = NOW_MS - 4_000, **link: Any) -> dict[str, Any]:
    return {
        "lives": LIVES,
        "name_servers": {
            "ns-1": {"state": "running", "address": "127.0.0.1:2", "next_scan_ms": NOW_MS + 6_000, "topics": 4}
        },
        "brokers": {"broker-a": BROKER},
        "clients": {label: client_row(label) for label in labels or ("A",)},
        "views": {"ns-1~broker-a": {"last_update_ms": last_ms, "known_as": None if last_ms is None else "broker-a"}},
        "links": {"A~broker-a": {**OPEN, **link}},
    }


def put(port: FakePort, slug: str, shown: dict[str, Any]) -> None:
    port.boards[f"topology/{slug}"] = Reading(1, NOW_MS, 1.0, "7f3a", shown)


def ring(age_ms: int) -> plan.Ring:
    return plan.ring("ns-1", "broker-a", {"last_update_ms": NOW_MS - age_ms}, LIVES, NOW_MS + 6_000, NOW_MS)


@pytest.mark.parametrize(
    ("age_ms", "label", "says", "tone"),
    [
        (4_000, "116", "4.0 s ago", "ok"),
        (30_200, "90", "30 s ago", "ok"),
        (36_000, "84", "no heartbeat for 36 s", "late"),
        (119_900, "1", "no heartbeat for 119 s", "late"),
        (123_000, "0", "removed by the scan in 6.0 s", "late"),
    ],
)
def test_a_ring_runs_down_from_the_last_registration(age_ms: int, label: str, says: str, tone: str) -> None:
    drawn = ring(age_ms)
    assert (drawn.label, drawn.says, drawn.tone) == (label, says, tone)


def test_a_broker_no_one_registered_has_no_ring_and_a_word() -> None:
    drawn = plan.ring("ns-1", "broker-a", {"last_update_ms": None}, LIVES, NOW_MS, NOW_MS)
    assert (drawn.label, drawn.says, drawn.tone) == ("–", "not registered", "none")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "open"),
        ({"connections": 0}, "no connection"),
        ({"there_cut": True, "back_cut": True}, "cut"),
        ({"there_cut": True}, "→ cut"),
        ({"there_ms": 700, "back_ms": 700}, "700 ms slower"),
        ({"back_ms": 1_500, "there_cut": True}, "→ cut, ← 1.5 s slower"),
    ],
)
def test_a_link_says_what_was_done_to_it_and_which_way(changes: dict[str, Any], said: str) -> None:
    assert plan.link_word({**OPEN, **changes}) == said


def test_more_clients_than_the_page_holds_stand_together_by_group() -> None:
    many = data(*(f"A{n}" for n in range(plan.MOST_BOXES + 1)))
    many["clients"]["B"] = client_row("B", "invoice-fifo") | {"state": "hung"}
    boxes = {box.stack: box for box in plan.clients(many)}
    assert {group: (len(box.nodes), box.row["state"]) for group, box in boxes.items()} == {
        "order-svc": (41, "running"),
        "invoice-fifo": (1, "hung"),
    }
    assert [box.stack for box in plan.clients(data("A", "B"))] == [None, None]


def test_boxes_and_rings_stand_in_the_first_paint(visitor: Client, port: FakePort, mine: str) -> None:
    put(port, mine, data())
    page = visitor.get(f"/s/{mine}/topology/").content.decode()
    assert 'data-box="ns-1"' in page
    assert 'data-ring="ns-1~broker-a"' in page
    assert (
        "ns-1: last heartbeat of broker-a 4.0 s ago; "
        "without another heartbeat, the name server removes the broker in 116 s" in page
    )
    assert f'href="/s/{mine}/clients/A/"' in page, "a client opens its own page"
    assert "Nothing selected" in page


def test_the_table_says_what_the_drawing_shows(visitor: Client, port: FakePort, mine: str) -> None:
    put(port, mine, data(there_cut=True, back_cut=True))
    table = visitor.get(f"/s/{mine}/part/topology/").content.decode()
    assert "A → broker-a" in table
    assert ">cut<" in table
    assert "ns-1: 4.0 s ago" in table


def panel(client: Client, slug: str, query: str) -> str:
    return client.get(f"/s/{slug}/part/topology-panel/?{query}").content.decode()


def test_a_broker_shows_its_log_its_registrations_and_what_can_be_done(
    visitor: Client, port: FakePort, mine: str
) -> None:
    put(port, mine, data())
    text = panel(visitor, mine, "node=broker-a")
    for said in ("17\u2009766", "11\u2009718", "ASYNC_FLUSH", "116 s", "messages and heartbeats"):
        assert said in text, said
    for action in ("KillBroker", "PowerCut", "HangBroker", "StopBroker"):
        assert f'value="{action}"' in text
    assert "StartBroker" not in text, "it runs already"


def test_c1_a_broker_with_damaged_tables_names_the_files_and_what_can_be_done(
    visitor: Client, port: FakePort, mine: str
) -> None:
    broken = data()
    broken["brokers"]["broker-a"] = BROKER | {
        "state": "damaged",
        "damaged": [
            {"table": "consumerOffset", "file": "config/consumerOffset.json", "why": "nul_bytes"},
            {"table": "topics", "file": "config/topics.json.bak", "why": "not_json"},
        ],
    }
    put(port, mine, broken)
    text = panel(visitor, mine, "node=broker-a")
    assert "<b>damaged files</b>" in text
    assert "<code>config/consumerOffset.json</code> holds only NUL bytes" in text
    assert "<code>config/topics.json.bak</code> is not JSON" in text
    assert "Restore an intact file and start the broker, or accept the loss" in text
    for table in ("consumerOffset", "topics"):
        assert f'name="table" value="{table}"' in text
        assert f"Accept the loss of {table}" in text
    assert text.count('value="AcceptLoss"') == 2
    put(port, mine, data())
    assert "Damaged tables" not in panel(visitor, mine, "node=broker-a")


def test_a_link_can_be_cut_each_way_and_healed_once_it_is(visitor: Client, port: FakePort, mine: str) -> None:
    put(port, mine, data())
    text = panel(visitor, mine, "link=A~broker-a")
    assert text.count('value="CutLink"') == text.count('value="DelayLink"') == 3
    assert f'href="/s/{mine}/wire/?link=A~broker-a"' in text
    assert "HealLink" not in text
    put(port, mine, data(there_cut=True, connections=0))
    text = panel(visitor, mine, "link=A~broker-a")
    assert "HealLink" in text
    assert "/wire/" not in text, "no frames without a connection"


def test_a_viewer_finds_every_button_off(anonymous: Client, port: FakePort, visitor: Client, mine: str) -> None:
    put(port, mine, data(there_cut=True))
    for query in ("node=broker-a", "node=ns-1", "link=A~broker-a"):
        text = panel(anonymous, mine, query)
        buttons = [part.partition(">")[0] for part in text.split("<button")[1:]]
        assert buttons
        assert all("disabled" in button for button in buttons)


@pytest.mark.parametrize("query", ["", "node=nobody", "link=x~y", "node=%3Cscript%3E"])
def test_a_choice_that_is_gone_is_no_choice(visitor: Client, port: FakePort, mine: str, query: str) -> None:
    put(port, mine, data())
    assert "Nothing selected" in panel(visitor, mine, query)


def test_a_sleeping_sandbox_still_shows_who_was_there(visitor: Client, port: FakePort, mine: str) -> None:
    page = visitor.get(f"/s/{mine}/topology/")  # the fake's snapshot, and no reading
    assert 'data-box="broker-a"' in page.content.decode()
    assert page.context["live"]["channels"] == {}


def route(read: int = 4, perm: int = 6, **addresses: str) -> dict[str, Any]:
    return {
        "queueDatas": [
            {"brokerName": "broker-a", "readQueueNums": read, "writeQueueNums": 4, "perm": perm, "topicSynFlag": 0}
        ],
        "brokerDatas": [{"brokerName": "broker-a", "cluster": "c", "brokerAddrs": addresses or {"0": "h:1"}}],
    }


def reported(name: str, found: dict[str, Any] | None, *, known: bool | None = True) -> dict[str, Any]:
    return {"name_server": name, "known": known, "route": found, "code": None}


def test_cells_that_differ_are_marked_in_every_table_and_those_of_a_stopped_server_are_not() -> None:
    answer = {
        "topic": "orders",
        "servers": [reported("ns-1", route(8)), reported("ns-2", route(4)), reported("ns-3", None, known=None)],
    }
    one, two, down = tables(answer)
    for table, read in ((one, "8"), (two, "4")):
        [(broker, cells)] = table.rows
        assert broker == "broker-a"
        assert [(cell.text, cell.differs) for cell in cells] == [
            (read, True),
            ("4", False),
            ("RW (6)", False),
            ("0 → h:1", False),
        ]
    assert not any(cell.differs for _, cells in down.rows for cell in cells)


def test_a_name_server_that_runs_and_knows_nothing_differs_in_everything() -> None:
    one, two = tables({"topic": "orders", "servers": [reported("ns-1", route()), reported("ns-2", None, known=False)]})
    assert all(cell.differs for table in (one, two) for _, cells in table.rows for cell in cells)
    assert [cell.text for _, cells in two.rows for cell in cells] == [None] * 4


@pytest.mark.django_db(transaction=True)
@pytest.mark.seed("3.2")
def test_every_role_of_a_cluster_and_its_connections_stand_on_the_page(real_engine: Any) -> None:
    client = Client()
    slug = start(client, "cluster")
    act(client, slug, action="SetRate", rate=5)  # faster, and a busy machine makes name servers late

    def connected() -> Any:
        page = client.get(f"/s/{slug}/topology/")
        links = page.context["live"]["first"][f"topology/{slug}"]["data"]["links"]
        wanted = {"shop~broker-b", "broker-a.1~ns-2", "broker-a.1~broker-a"}
        return (page.content.decode(), links) if wanted <= links.keys() else None

    text, links = until(connected)
    act(client, slug, action="SetRate", rate=0)
    for box in ("ns-1", "ns-2", "broker-a", "broker-a.1", "broker-b", "A", "shop"):
        assert f'data-box="{box}"' in text
    assert sum(1 for key in links if key.startswith("shop~ns-")) == 1, "a client keeps to one name server"
    cut = client.post(
        f"/s/{slug}/actions/",
        {"action": "CutLink", "a": "shop", "b": "broker-b", "one_way": "true"},
        headers={"HX-Request": "true"},
    )
    assert cut.status_code == 204
    assert "→ cut" in panel(client, slug, "link=shop~broker-b")


@pytest.mark.django_db(transaction=True)
@pytest.mark.seed("3.16")
def test_routes_of_two_name_servers_stand_side_by_side_and_differ_where_one_was_not_notified(real_engine: Any) -> None:
    client = Client()
    slug = start(client, "cluster")

    def shown() -> str:
        return client.get(f"/s/{slug}/ask/route/?topic=orders&everywhere=true").content.decode()

    until(lambda: shown().count("0 → ") == 4)
    same = shown()
    assert same.count("1 → ") == 2, "the slave of broker-a, in each table"
    assert "differs" not in same
    act(client, slug, action="CutLink", a="broker-b", b="ns-2")
    act(client, slug, action="ChangeTopic", topic="orders", write_queues=6, read_queues=6, scope="broker-b")
    until(lambda: "differs" in shown())
    assert shown().count("differs") == 4, "read and write of one broker, in both tables"
    chinese = client.get(f"/s/{slug}/ask/route/?topic=orders&everywhere=true", headers={"accept-language": "zh-Hans"})
    assert "不一致" in chinese.content.decode()
