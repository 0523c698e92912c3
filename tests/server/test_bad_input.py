"""Wrong input: a 4xx, a sentence, a next step, and nothing in the log."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.server.server import JSON, Driver, Server, run

REFUSED_ACTIONS: list[tuple[dict[str, Any], int, str]] = [
    ({"action": "CreateTopic", "topic": "a b/c"}, 422, "illegal characters: letters, digits and"),
    ({"action": "CreateTopic", "topic": "x" * 128}, 422, "longer than"),
    ({"action": "CreateTopic", "topic": ""}, 422, "topic is missing"),
    ({"action": "CreateTopic", "topic": "orders"}, 409, "Topic orders already exists"),
    ({"action": "CreateTopic", "topic": "SCHEDULE_TOPIC_XXXX"}, 422, "is a system topic of the brokers"),
    ({"action": "CreateTopic", "topic": "wide", "write_queues": 65}, 422, "outside 0 to 64"),
    ({"action": "ChangeTopic", "topic": "nowhere", "write_queues": 2}, 404, "Topic nowhere does not exist"),
    ({"action": "SendMessages", "topic": "a b", "count": 1}, 422, "illegal characters"),
    ({"action": "SendMessages", "topic": "orders", "queue": "broker-a:99"}, 422, "orders has no queue broker-a:99"),
    ({"action": "SendMessages", "topic": "orders", "queue": "broker-z:0"}, 404, "Broker broker-z does not exist"),
    ({"action": "SendMessages", "topic": "orders", "queue": "third"}, 422, "third is not a queue"),
    ({"action": "SendMessages", "topic": "orders", "count": 0}, 422, "outside 1 to 1000000"),
    ({"action": "SendMessages", "topic": "orders", "count": 5_001}, 422, "limit of messages per send is 5000"),
    ({"action": "SendMessages", "topic": "orders", "body": "x" * 262_145}, 422, "can have at most 262144 bytes"),
    ({"action": "StartProducer", "topic": "o o"}, 422, "illegal characters"),
    ({"action": "StartConsumer", "group": "new"}, 422, "needs a topic"),
    (
        {"action": "StartConsumer", "group": "a b", "subscriptions": [["orders", "*"]]},
        422,
        "a b is not a valid group name: It contains illegal characters",
    ),
    ({"action": "StartConsumer", "group": "order-svc", "copies": 24}, 422, "limit of members is 24"),
    ({"action": "CrashActor", "actor": "nobody"}, 404, "Actor nobody does not exist"),
    ({"action": "CrashActor", "actor": 7}, 422, "actor must be a text"),
    ({"action": "CrashActor"}, 422, "actor is missing"),
    ({"action": "CrashActor", "actor": "A", "hard": True}, 422, "has no field hard"),
    ({"action": "Explode"}, 422, "Action 'Explode' does not exist"),
    ({}, 422, "Action None does not exist"),
    ({"action": "SetRate", "rate": 61}, 422, "outside 0 to 60"),
    ({"action": "SetRate", "rate": "fast"}, 422, "must be a number"),
    ({"action": "Step", "until": "Nonsense"}, 422, "Event Nonsense does not exist"),
    ({"action": "SetStrategy", "group": "order-svc", "strategy": "BEST"}, 422, "cannot be 'BEST'"),
    ({"action": "ResetOffsets", "group": "order-svc", "topic": "nowhere", "target": "earliest"}, 404, "does not exist"),
    (
        {"action": "ResetOffsets", "group": "order-svc", "topic": "orders", "target": "offset", "value": 10**12},
        422,
        "would be skipped permanently",
    ),
    (
        {"action": "ResetOffsets", "group": "order-svc", "topic": "orders", "target": "offset", "value": 2**70},
        422,
        "whole number",
    ),
    (
        {"action": "ChangeGroup", "group": "nobody", "changes": {"retry_max_times": 3}},
        404,
        "Group nobody does not exist",
    ),
    ({"action": "ChangeGroup", "group": "order-svc", "changes": {"speed": 3}}, 422, "Setting speed does not exist"),
    ({"action": "ChangeBroker", "broker": "broker-a", "changes": {"speed": 3}}, 422, "Setting speed does not exist"),
    ({"action": "ChangeBroker", "broker": "broker-z", "changes": {}}, 404, "Broker broker-z does not exist"),
    ({"action": "FreeDisk", "broker": "broker-a"}, 409, "is not full"),
    ({"action": "StartBroker", "broker": "broker-a"}, 409, "is already running"),
]

REFUSED_QUESTIONS: list[tuple[str, dict[str, Any], int, str]] = [
    ("what-is-love", {}, 404, "Question 'what-is-love' does not exist"),
    ("plan-reset", {}, 422, "group is missing"),
    ("read-record", {"broker": "broker-a", "physical_offset": 10**15}, 404, "No record begins at"),
    ("read-record", {"broker": "broker-a", "physical_offset": 3}, 404, "No record begins at 3"),
    ("read-record", {"broker": "broker-a", "physical_offset": "there"}, 422, "must be a whole number"),
    ("read-entry", {"broker": "broker-a", "topic": "orders", "queue_id": 0, "offset": 10**15}, 404, "has no entry"),
    ("read-entry", {"broker": "broker-a", "topic": "orders", "queue_id": 99, "offset": 0}, 404, "is empty"),
    ("locate", {"broker": "broker-a", "physical_offset": -1}, 422, "outside 0 to"),
    ("walk-index", {"topic": "orders"}, 422, "key is missing"),
    ("find-messages", {}, 422, "The topic is missing."),
    ("find-messages", {"topic": "orders", "cursor": "%%"}, 422, "cursor is not valid"),
    ("route", {"topic": "orders", "name_server": "ns-9"}, 404, "No running name server has the name ns-9"),
    ("offset-file", {"owner": "../../secret_key"}, 404, "Actor "),
    (
        "start-offset",
        {"group": "order-svc", "topic": "orders", "broker": "broker-a", "queue_id": 44},
        404,
        "orders has no queue broker-a:44",
    ),
]


@pytest.mark.parametrize(("action", "status", "says"), REFUSED_ACTIONS, ids=lambda value: str(value)[:60])
def test_an_action_that_makes_no_sense_is_refused_with_a_sentence(
    server: Server, orders: Driver, action: dict[str, Any], status: int, says: str
) -> None:
    before = int(orders.snapshot()["seq"])
    fields = dict(action)
    answer = orders.post(fields.pop("action", None), **fields)
    assert answer.status_code == status, answer.text
    assert says in answer.json()["error"]
    assert answer.json()["error"][0].isprintable()
    assert "hint" in answer.json()
    assert not [row for row in orders.events(before - 1) if row["type"] == "ActionTaken"], "nothing was done"


@pytest.mark.parametrize(("name", "fields", "status", "says"), REFUSED_QUESTIONS, ids=lambda value: str(value)[:60])
def test_a_question_that_makes_no_sense_is_refused_with_a_sentence(
    server: Server, orders: Driver, name: str, fields: dict[str, Any], status: int, says: str
) -> None:
    answer = orders.ask(name, **fields)
    assert answer.status_code == status, answer.text
    assert says in answer.json()["error"]
    assert "hint" in answer.json()


@pytest.mark.parametrize("body", [b"{nope", b"", b"[1]", b'"text"', b'{"action":"\xff"}', b"[" * 5_000])
def test_what_is_no_json_object_is_said_to_be_none(server: Server, orders: Driver, body: bytes) -> None:
    answer = orders.http.post("/actions", content=body, headers={"Content-Type": JSON})
    assert answer.status_code == 400
    assert "JSON" in answer.json()["error"]
    assert answer.json()["hint"] == "The body must be one JSON object."


def test_a_form_is_not_taken_for_json(server: Server, orders: Driver) -> None:
    answer = orders.http.post("/actions", data={"action": "SetRate", "rate": "1"})
    assert answer.status_code == 415
    assert answer.json()["error"] == "Send application/json."


@pytest.mark.parametrize("megabytes", [3, 30])
def test_a_huge_body_is_refused(server: Server, orders: Driver, megabytes: int) -> None:
    body = b'{"action":"' + b"x" * (megabytes * 1_000_000) + b'"}'
    for address in (f"{orders.address}/actions", f"{server.url}/api/sandboxes"):
        answer = httpx.post(
            address, content=body, timeout=60, headers={"Content-Type": JSON, "Authorization": f"Bearer {orders.token}"}
        )
        assert answer.status_code == 413
        assert "bytes" in answer.json()["error"]
        assert answer.json()["hint"]


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer qv_wrong"}, {"Authorization": "Basic YTpi"}])
def test_who_has_no_right_changes_nothing(server: Server, orders: Driver, headers: dict[str, str]) -> None:
    for path in ("/actions", "/sleep", "/wake"):
        answer = httpx.post(orders.address + path, json={"action": "SetRate", "rate": 0}, headers=headers)
        assert answer.status_code == 403
        assert answer.json()["hint"]
    seen = orders.snapshot()
    assert seen["rate"] == 1.0
    assert seen["sandbox"]["state"] == "live"


def test_the_token_of_one_sandbox_does_not_open_another(server: Server, orders: Driver, workshop: Driver) -> None:
    answer = httpx.post(
        f"{workshop.address}/actions",
        json={"action": "SetRate", "rate": 0},
        headers={"Authorization": f"Bearer {orders.token}"},
    )
    assert answer.status_code == 403


@pytest.mark.parametrize(
    ("new", "status", "says"),
    [
        ({"template": "castle"}, 422, "Template castle does not exist"),
        ({"preset": "x"}, 422, "Preset x does not exist"),
        ({"template": 5}, 422, "template"),
        ({"colour": "red"}, 422, "colour"),
        ({"name": "n" * 81}, 422, "name"),
    ],
)
def test_a_sandbox_no_one_can_make_is_refused(server: Server, new: dict[str, Any], status: int, says: str) -> None:
    before = {path.name for path in (server.home / "sandboxes").iterdir()}
    answer = httpx.post(f"{server.url}/api/sandboxes", json=new)
    assert answer.status_code == status
    assert says in answer.json()["error"]
    assert {path.name for path in (server.home / "sandboxes").iterdir()} == before


def test_unknown_addresses_are_404_in_the_language_of_who_asks(server: Server, orders: Driver) -> None:
    for address in ("/api/sandboxes/no-such-one", "/api/nothing"):
        answer = httpx.get(server.url + address)
        assert answer.status_code == 404
        assert answer.json()["error"]
        assert answer.json()["hint"]
    for address in (
        "/s/no-such-one/",
        f"/s/{orders.slug}/nonsense/",
        "/claim/none/",
        "/nothing",
        "/s/%ff%fe/",
        f"/s/{orders.slug}%00/",
        f"/s/{orders.slug}/part/nonsense/",
    ):
        answer = httpx.get(server.url + address)
        assert answer.status_code == 404, address
        assert "<h1" in answer.text
        assert "Traceback" not in answer.text
        chinese = httpx.get(server.url + address, headers={"Accept-Language": "zh-hans"})
        assert chinese.status_code == 404
        assert 'lang="zh-hans"' in chinese.text


def test_a_form_without_its_csrf_token_changes_nothing(server: Server, orders: Driver) -> None:
    with server.browser() as visitor:
        visitor.get("/")
        for address, form in (
            ("/new/", {"template": "empty"}),
            (f"/s/{orders.slug}/actions/", {"action": "SetRate", "rate": "0"}),
            (f"/s/{orders.slug}/keep/delete/", {}),
        ):
            answer = visitor.post(address, data=form)
            assert answer.status_code == 403
            assert "Reload the page" in answer.text
        crossed = visitor.post("/api/sandboxes", json={"template": "empty"})
        assert crossed.status_code == 403
        assert "CSRF" in crossed.json()["error"]
    assert orders.snapshot()["rate"] == 1.0


def test_a_foreign_host_name_is_refused(server: Server) -> None:
    answer = httpx.get(f"{server.url}/", headers={"Host": "evil.example"})
    assert answer.status_code == 400
    assert "Traceback" not in answer.text


def test_odd_cookies_and_queries_do_no_harm(server: Server, orders: Driver) -> None:
    cookies = 'sessionid=\x7f; csrftoken=zz; django_language=xx; theme="><script>'
    assert httpx.get(f"{server.url}/", headers={"Cookie": cookies}).status_code == 200
    odd = {"group": "<odd>", "topic": "../../x", "sel": "a:b:c"}
    for path in ("", "locks/", "index/", "reset/", "topics/", "journal/", "settings/", "part/board/"):
        for at, status in ({}, {200}), ({"at": "x"}, {200, 422}):  # no event's number: a sentence, where it is read
            answer = httpx.get(f"{server.url}/s/{orders.slug}/{path}", params=odd | at)
            assert answer.status_code in status, path
            assert "<odd>" not in answer.text


def test_too_many_actions_at_once_are_refused_and_the_next_second_is_free(server: Server, workshop: Driver) -> None:
    with ThreadPoolExecutor(12) as hands:
        presses = [
            hands.submit(workshop.http.post, "/actions", json={"action": "SetRate", "rate": 1}) for _ in range(60)
        ]
    answers = [press.result() for press in presses]
    refused = [answer for answer in answers if answer.status_code == 429]
    assert refused, "ten a second"
    assert len(refused) < len(answers), "the first ones were carried out"
    assert refused[0].json()["error"].startswith("Too many actions")
    assert "try again" in refused[0].json()["hint"]
    workshop.act("SetRate", rate=1)


def test_commands_say_in_one_sentence_what_is_wrong(server: Server, orders: Driver, tmp_path: Path) -> None:
    table = tmp_path / "orders.csv"
    table.write_text("id,state\n1,paid\n")
    lines = tmp_path / "orders.ndjson"
    lines.write_text('{"id": 1}\n{"id": \n')
    to = ("--sandbox", orders.slug, "--url", server.url, "--token", orders.token)
    empty = tmp_path / "empty"
    empty.mkdir()
    for arguments, says in (
        (("mqstore", "summary", str(tmp_path)), "is not a store"),
        (("mqstore", "verify", str(empty)), "is not a store"),
        (("mqstore", "queues", str(tmp_path / "missing")), "missing"),
        (("mqstore", "summary", str(table)), "orders.csv"),
        (("feed", "csv", str(table), "--topic", "orders", "--key", "customer", *to), "there is no column customer"),
        (("feed", "csv", str(tmp_path / "no.csv"), "--topic", "orders", *to), "no such file"),
        (("feed", "ndjson", str(lines), "--topic", "orders", "--key", "id", *to), "line 2"),
        (("feed", "csv", str(table), "--topic", "orders", *to[:-1], "qv_wrong"), "token does not permit"),
        (("feed", "csv", str(table), "--topic", "o o", *to), "illegal characters"),
        (("feed", "csv", str(table), "--topic", "orders"), "Choose one target"),
        (("feed", "csv", str(table), "--topic", "orders", "--sandbox", "no-such", *to[2:]), "no sandbox no-such"),
        (("feed", "csv", str(table), "--topic", "orders", "--store", str(table)), "cannot be used as a store"),
        (("sandboxes", "wake", orders.slug, "--url", server.url, "--token", "qv_wrong"), "token does not permit"),
    ):
        said = run(*arguments, home=server.home)
        assert said.returncode == 1, (arguments, said.stdout, said.stderr)
        assert "Traceback" not in said.stderr, said.stderr
        assert says.lower() in said.stderr.lower(), (arguments, said.stderr)
        assert len(said.stderr.strip().splitlines()) == 1, said.stderr
