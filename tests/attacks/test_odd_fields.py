"""Every field of every action and question with a value of the wrong shape, asked of the engine itself."""

from dataclasses import MISSING, fields
from typing import Any

import pytest
from django.test import Client

from queueviz.sandboxes import visitor_actions
from sandbox.control.actions import BY_NAME as ACTIONS
from sandbox.control.questions import BY_NAME as QUESTIONS
from tests.web.conftest import flights_table, real_engine

__all__ = ["flights_table", "real_engine"]

pytestmark = pytest.mark.django_db(transaction=True)

JSON = "application/json"
RIGHT: dict[str, Any] = {
    "topic": "orders",
    "group": "order-svc",
    "actor": "A",
    "broker": "broker-a",
    "key": "7",
    "target": "earliest",
    "queue_id": 0,
    "offset": 0,
    "physical_offset": 0,
    "strategy": "CONFIG",
}
OUR_MISTAKE = ("A server error occurred", "The engine could not")
DEEP: Any = "x"
for _ in range(60):
    DEEP = {"a": [DEEP]}
ODD: list[Any] = [
    True,
    -1,
    1.5,
    2**70,
    "",
    "x" * 5_000,
    "\x00",
    ["x"],
    [[]],
    [None],
    {},
    {"A": 5},
    {"A": None},
    {"A": [1]},
    {"A": {"b": 1}},
    {"": ""},
    DEEP,
]


def with_one_odd_field(kind: Any) -> list[dict[str, Any]]:
    needed = {
        spec.name: RIGHT.get(spec.name, "x")
        for spec in fields(kind)
        if spec.default is MISSING and spec.default_factory is MISSING
    }
    return [needed | {spec.name: value} for spec in fields(kind) for value in ODD]


@pytest.fixture(autouse=True)
def _no_one_is_too_fast(real_engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for rate in (visitor_actions.ACTIONS, visitor_actions.QUESTIONS):
        monkeypatch.setattr(rate, "burst", 1_000_000)


def with_a_sandbox(address: str = "192.0.2.1") -> tuple[Client, str]:
    client = Client(raise_request_exception=False, REMOTE_ADDR=address)
    return client, client.post("/api/sandboxes", {"template": "orders"}, JSON).json()["slug"]


def test_no_odd_field_of_an_action_is_a_mistake_of_ours(caplog: pytest.LogCaptureFixture) -> None:
    guilty = []
    for n, (name, kind) in enumerate(ACTIONS.items()):
        client, slug = with_a_sandbox(f"192.0.2.{n}")
        for given in with_one_odd_field(kind):
            answer = client.post(f"/api/sandboxes/{slug}/actions", {"action": name, **given}, JSON)
            if answer.status_code >= 500 and answer.json()["error"].startswith(OUR_MISTAKE):
                guilty.append((name, given, answer.json()))
        assert client.post(f"/s/{slug}/keep/delete/").status_code == 302
    assert guilty == []
    assert "Traceback" not in caplog.text


def test_no_odd_field_of_a_question_is_a_mistake_of_ours(caplog: pytest.LogCaptureFixture) -> None:
    client, slug = with_a_sandbox()
    guilty = []
    for name, kind in QUESTIONS.items():
        for given in with_one_odd_field(kind):
            for address in (f"/api/sandboxes/{slug}/ask/{name}", f"/s/{slug}/ask/{name}/"):
                answer = client.get(address, {field: str(value) for field, value in given.items()})
                if answer.status_code == 500:
                    guilty.append((address, given))
    assert guilty == []
    assert "Traceback" not in caplog.text
