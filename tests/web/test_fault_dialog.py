"""The fault dialog offers what is possible now, and each of its buttons does what it says."""

from html.parser import HTMLParser
from typing import Any, NamedTuple

import orjson
import pytest
from django.contrib.auth.models import User
from django.test import Client

from queueviz.boards.faults import faults_of
from queueviz.models import Grant, Sandbox
from sandbox.control.actions import CutLink, DelayLink, ForceUnlock, SetStrategy, parse_action
from tests.web.engine_calls import HTMX, start
from tests.web.fake_port import FakePort


class Form(NamedTuple):
    fields: dict[str, str]  # as they stand; a checkbox that is not ticked is not sent
    buttons: dict[str, str]  # action → words


class Forms(HTMLParser):
    """The forms of a page with their fields and buttons."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[Form] = []
        self._select: str | None = None
        self._button: str | None = None
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        name = given.get("name") or ""
        if tag == "form":
            self.found.append(Form({}, {}))
        elif tag == "input" and (given.get("type") not in ("checkbox", "radio") or "checked" in given):
            self.found[-1].fields[name] = given.get("value") or ""
        elif tag == "select":
            self._select = name
        elif tag == "option" and "selected" in given:
            self._select = f"{self._select}!"
        elif tag == "button" and self.found:
            self._button = given.get("value") or ""

    def handle_data(self, data: str) -> None:
        if self._select is not None and data.strip():
            name, chosen = self._select.removesuffix("!"), self._select.endswith("!")
            if chosen or name not in self.found[-1].fields:
                self.found[-1].fields[name] = data.strip()
            self._select = name
        elif self._button is not None and data.strip():
            self.found[-1].buttons[self._button] = data.strip()

    def handle_endtag(self, tag: str) -> None:
        if tag == "select":
            self._select = None
        elif tag == "button":
            self._button = None


def dialog(client: Client, slug: str, form: str = "fault", **query: str) -> list[Form]:
    answer = client.get(f"/s/{slug}/part/ask/", {"form": form, **query})
    assert answer.status_code == 200
    return Forms(answer.content.decode()).found


def press(client: Client, slug: str, fields: dict[str, str]) -> int:
    return client.post(f"/s/{slug}/actions/", fields, headers=HTMX).status_code


def button(forms: list[Form], action: str, **fields: str) -> dict[str, str]:
    """Return the request of a button, with the form's other fields."""
    [form] = [
        form
        for form in forms
        if action in (*form.buttons, form.fields.get("action"))
        and all(form.fields.get(name) == value for name, value in fields.items())
    ]
    return {**form.fields, "action": action}


def causes(client: Client, slug: str) -> list[tuple[str, str]]:
    """Every action with the facts that name it as their cause."""
    rows = [orjson.loads(line) for line in client.get(f"/api/sandboxes/{slug}/events").content.splitlines()]
    acts = {row["seq"]: row["action"] for row in rows if row["type"] == "ActionTaken"}
    return [(acts[row["cause"]], row["type"]) for row in rows if row["cause"] in acts]


SERVER = {"name_server": "ns-2"}
MASTER, SLAVE = {"broker": "broker-a", "broker_id": "0"}, {"broker": "broker-a", "broker_id": "1"}
LONELY = {"broker": "broker-b", "broker_id": "0"}
SEQUENCES: list[list[tuple[str, dict[str, str]]]] = [  # of at most ten: no one may press more in a second
    [
        ("StopNameServer", SERVER),
        ("StartNameServer", SERVER),
        ("KillBroker", MASTER),
        ("PromoteSlave", SLAVE),
        ("StartBroker", SLAVE),
    ],
    [
        ("HangBroker", LONELY),
        ("ResumeBroker", LONELY),
        ("PowerCut", LONELY),
        ("StartBroker", LONELY),
        ("StopBroker", LONELY),
        ("StartBroker", LONELY),
        ("FillDisk", {"broker": "broker-b"}),
        ("FreeDisk", {"broker": "broker-b"}),
    ],
]
REPORTED = [
    {
        ("StopNameServer", "NameServerStopped"),
        ("StartNameServer", "NameServerStarted"),
        ("KillBroker", "BrokerStopped"),
        ("PromoteSlave", "BrokerStarted"),
        ("StartBroker", "BrokerStarted"),
    },
    {
        ("PowerCut", "BrokerStopped"),
        ("PowerCut", "UnflushedLost"),
        ("StartBroker", "RecoveryDone"),
        ("StopBroker", "BrokerStopped"),
        ("FillDisk", "DiskChanged"),
        ("FreeDisk", "DiskChanged"),
    },
]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("number", range(len(SEQUENCES)))
def test_every_button_of_a_cluster_works_and_the_journal_names_its_cause(real_engine: Any, number: int) -> None:
    client = Client()
    slug = start(client, "cluster")
    for action, row in SEQUENCES[number]:
        sent = button(dialog(client, slug), action, **row)
        assert press(client, slug, sent) == 204, (action, sent)
    assert REPORTED[number] <= set(causes(client, slug))


@pytest.mark.django_db(transaction=True)
def test_a_clock_is_set_wrong_by_what_is_typed(real_engine: Any) -> None:
    client = Client()
    slug = start(client, "cluster")
    assert press(client, slug, {**button(dialog(client, slug), "SkewClock", **SLAVE), "skew_ms": "-60000"}) == 204
    skewed = {
        (row["broker"], row["broker_id"]): row["skew_ms"]
        for row in client.get(f"/api/sandboxes/{slug}").json()["brokers"]
    }
    assert skewed == {("broker-a", 0): 0, ("broker-a", 1): -60_000, ("broker-b", 0): 0}


@pytest.mark.django_db(transaction=True)
def test_links_are_cut_slowed_and_healed_from_the_dialog(real_engine: Any) -> None:
    client = Client()
    slug = start(client, "cluster")
    link = button(dialog(client, slug), "CutLink")
    assert (link["a"], link["b"]) == ("ns-1", "broker-a")
    del link["delay_ms"]  # the button sends all fields but this one
    assert press(client, slug, {**link, "b": "ns-2"}) == 422
    assert press(client, slug, {**link, "a": "broker-a", "b": "broker-a.1"}) == 204
    assert press(client, slug, {**link, "a": "A", "b": "broker-b", "one_way": "true"}) == 204
    slow = button(dialog(client, slug), "DelayLink")
    assert press(client, slug, {**slow, "a": "shop", "b": "ns-1"}) == 204
    assert press(client, slug, button(dialog(client, slug), "HealLink", a="A")) == 204
    links = client.get(f"/api/sandboxes/{slug}").json()["links"]
    assert [(row["a"], row["b"], row["state"], row["delay_ms"]) for row in links] == [
        ("broker-a", "broker-a.1", "cut", 0),
        ("ns-1", "shop", "delayed", 500),
    ]
    assert ("CutLink", "LinkChanged") in causes(client, slug)


@pytest.mark.seed("1.4")
@pytest.mark.django_db(transaction=True)
def test_all_six_strategies_are_set_from_their_dialog(real_engine: Any) -> None:
    client = Client()
    slug = start(client, "orders")
    simple, rooms, lists = dialog(client, slug, "strategy", group="order-svc", topic="orders")
    for name in ("AVG_BY_CIRCLE", "CONSISTENT_HASH", "AVG"):
        assert press(client, slug, {**simple.fields, "strategy": name}) == 204
    for name in ("MACHINE_ROOM", "MACHINE_ROOM_NEARBY"):
        assert press(client, slug, {**rooms.fields, "strategy": name}) == 204
    assert {field for field in lists.fields if "." in field} == {f"queues_by_member.{label}" for label in "ABC"}
    typed = {"queues_by_member.A": "broker-a:0, broker-a:1", "queues_by_member.B": "broker-b:0"}
    assert press(client, slug, {**lists.fields, **typed}) == 204
    taken = [
        row
        for row in (orjson.loads(line) for line in client.get(f"/api/sandboxes/{slug}/events").content.splitlines())
        if row["type"] == "ActionTaken"
    ][-1]
    assert taken["fields"]["queues_by_member"] == {"A": "broker-a:0, broker-a:1", "B": "broker-b:0"}


def test_what_the_dialogs_send_is_what_actions_are_made_of() -> None:
    assert parse_action({"action": "CutLink", "a": "A", "b": "ns-1", "one_way": "true"}) == CutLink(
        a="A", b="ns-1", one_way=True
    )
    assert parse_action({"action": "DelayLink", "a": "A", "b": "ns-1", "delay_ms": "50"}) == DelayLink(
        a="A", b="ns-1", delay_ms=50
    )
    rooms = parse_action(
        {"action": "SetStrategy", "group": "g", "strategy": "MACHINE_ROOM", "rooms": "east@broker-a, east"}
    )
    assert isinstance(rooms, SetStrategy)
    assert rooms.rooms == ("east@broker-a", "east")


def offered(states: dict[tuple[str, int], str]) -> dict[str, list[str]]:
    brokers = [{"broker": name, "broker_id": broker_id, "state": state} for (name, broker_id), state in states.items()]
    return {row.node: [offered.action for offered in row.buttons] for row in faults_of({"brokers": brokers})["brokers"]}


def test_a_slave_can_be_promoted_only_while_its_master_is_down() -> None:
    alive = offered({("broker-a", 0): "running", ("broker-a", 1): "running", ("broker-b", 0): "killed"})
    assert "PromoteSlave" not in alive["broker-a.1"]
    for state in ("killed", "stopped", "power_cut"):
        assert offered({("broker-a", 0): state, ("broker-a", 1): "running"})["broker-a.1"][0] == "PromoteSlave"
    assert "PromoteSlave" not in offered({("broker-a", 0): "hung", ("broker-a", 1): "running"})["broker-a.1"]


def test_a_hung_broker_is_not_offered_a_clean_stop() -> None:
    assert offered({("broker-a", 0): "hung"})["broker-a"] == ["ResumeBroker", "KillBroker", "PowerCut"]


@pytest.mark.django_db
def test_unlocking_by_force_is_for_instructors_alone(port: FakePort) -> None:
    owner = Client()
    slug = start(owner, "orders")
    force = {"action": "ForceUnlock", "group": "g", "topic": "orders", "broker": "broker-a", "queue_id": "0"}
    assert "ForceUnlock" not in owner.get(f"/s/{slug}/part/ask/?form=fault").content.decode()
    assert press(owner, slug, force) == 403
    assert not port.acted
    teacher = Client()
    user = User.objects.create_user("teacher")
    Grant.objects.create(sandbox=Sandbox.objects.get(slug=slug), kind=Grant.Kind.EDITOR, role="instructor", user=user)
    teacher.force_login(user)
    assert "ForceUnlock" in teacher.get(f"/s/{slug}/part/ask/?form=fault").content.decode()
    assert press(teacher, slug, force) == 204
    [(_, action, actor)] = port.acted
    assert action == ForceUnlock(group="g", topic="orders", broker="broker-a", queue_id=0)
    assert actor.role == "instructor"
