"""Requests no one's browser sends: a 4xx with a sentence, never a 500."""

import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client

from queueviz.access import database_limits
from queueviz.models import Sandbox
from queueviz.sandboxes import ownership, visitor_actions
from tests.web.fake_port import FakePort

JSON = "application/json"
IN_TWO_WAYS = [
    "queues_by_member=x&queues_by_member.A=y",
    "queues_by_member.A=y&queues_by_member=x",
    "queues_by_member=x&queues_by_member=z&queues_by_member.A=y",
    "queues_by_member[]=x&queues_by_member.A=y",
    "queues_by_member.A=y&queues_by_member[]=x",
    "queues_by_member=x&queues_by_member[]=y",
]
ADDRESSES = [
    "/",
    "/places/",
    "/fidelity/",
    "/s/{slug}/",
    "/s/{slug}/groups/",
    "/s/{slug}/pipeline/",
    "/s/{slug}/ask/plan-strategy/",
    "/s/{slug}/part/groups/",
    "/api/sandboxes/{slug}",
    "/accounts/login/",
    "/api/sandboxes/{slug}/ask/plan-strategy",
    "/api/sandboxes/{slug}/journal",
    "/admin/login/",
]


@pytest.fixture
def lenient(visitor: Client) -> Client:
    """A mistake of ours answers 500, as it does on a server."""
    visitor.raise_request_exception = False
    return visitor


@pytest.fixture(autouse=True)
def _no_one_is_too_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    for rate in (visitor_actions.ACTIONS, visitor_actions.QUESTIONS):
        monkeypatch.setattr(rate, "burst", 1_000_000)


@pytest.mark.parametrize("fields", IN_TWO_WAYS)
def test_a_field_in_two_ways_is_refused_by_name(lenient: Client, mine: str, port: FakePort, fields: str) -> None:
    form = "application/x-www-form-urlencoded"
    acted = lenient.post(f"/s/{mine}/actions/", f"action=SetStrategy&group=g&strategy=CONFIG&{fields}", form)
    asked = lenient.get(f"/s/{mine}/ask/plan-strategy/?group=g&strategy=CONFIG&{fields}")
    assert (acted.status_code, asked.status_code) == (422, 422)
    for answer in (acted, asked):
        assert b"queues_by_member is sent in two forms." in answer.content
    assert port.acted == []


@pytest.mark.parametrize("address", ADDRESSES)
def test_two_thousand_query_fields_are_refused(lenient: Client, mine: str, address: str) -> None:
    query = "&".join(f"f{n}=1" for n in range(2_000))
    answer = lenient.get(f"{address.format(slug=mine)}?{query}")
    assert answer.status_code == 400
    assert b"A request can have at most 1000 fields." in answer.content


@pytest.mark.parametrize("address", ["/new/", "/s/{slug}/actions/", "/accounts/login/"])
def test_two_thousand_form_fields_are_refused(lenient: Client, mine: str, address: str) -> None:
    answer = lenient.post(address.format(slug=mine), {f"f{n}": "1" for n in range(2_000)})
    assert answer.status_code == 400
    assert b"A request can have at most 1000 fields." in answer.content


@pytest.mark.parametrize("address", ["/new/", "/s/{slug}/actions/", "/accounts/login/", "/api/sandboxes"])
def test_a_form_or_document_that_is_too_large_is_refused(lenient: Client, mine: str, address: str) -> None:
    body = "name=" + "x" * (settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1)
    answer = lenient.post(address.format(slug=mine), body, "application/x-www-form-urlencoded")
    assert answer.status_code == 413
    assert str(settings.DATA_UPLOAD_MAX_MEMORY_SIZE).encode() in answer.content


@pytest.mark.parametrize("text", [r"\ud800", r"x\udfff", r"\ud83d"])
def test_half_a_surrogate_is_no_text(lenient: Client, mine: str, port: FakePort, text: str) -> None:
    bodies = {
        "/api/sandboxes": f'{{"name": "{text}"}}',
        f"/api/sandboxes/{mine}/actions": f'{{"action": "CrashActor", "actor": "{text}"}}',
        f"/api/sandboxes/{mine}/runs": f'{{"job": "{text}"}}',
    }
    token = ownership.new_token(Sandbox.objects.get(slug=mine))
    for address, body in bodies.items():
        answer = Client(raise_request_exception=False).post(
            address, body, JSON, headers={"Authorization": f"Bearer {token}"}
        )
        assert answer.status_code == 400, address
        assert answer.json()["hint"] == "The body must be one JSON object."
    changes = f'{{"a":"{text}"}}'
    form = lenient.post(f"/s/{mine}/actions/", {"action": "ChangeBroker", "broker": "b", "changes": changes})
    assert form.status_code == 422
    raw = lenient.post("/new/", b"template=empty&name=%ED%A0%80", "application/x-www-form-urlencoded")
    assert raw.status_code == 302, "a form's bytes that are no UTF-8 are replaced"
    assert port.acted == []


@pytest.mark.parametrize("charset", ["hex", "rot13", "idna", "utf-16", "base64", "unicode_escape"])
def test_a_charset_that_is_none_of_text_is_refused(lenient: Client, mine: str, charset: str) -> None:
    body = '--x\r\nContent-Disposition: form-data; name="action"\r\n\r\nSetRate\r\n--x--\r\n'
    for kind in ("application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        answer = lenient.generic("POST", f"/s/{mine}/actions/", body, f"{kind}; charset={charset}")
        assert answer.status_code == 415, kind


def test_a_control_character_in_any_place_is_no_mistake_of_ours(lenient: Client, mine: str) -> None:
    for address in (
        f"/s/{mine}/%00/",
        "/s/%00/",
        "/claim/%00/",
        f"/s/{mine}/clients/%00/",
        f"/s/{mine}/messages/%00/",
        f"/api/sandboxes/{mine}/runs/%00",
        f"/api/sandboxes/{mine}/pipeline/%00/%00",
        "/?next=%00",
        f"/s/{mine}/part/freshness/%00/",
        f"/s/{mine}/audit/?group=%00",
        "/api/clusters/%00",
    ):
        assert lenient.get(address).status_code < 500, address


@pytest.mark.parametrize("field", ["template", "preset", "name"])
def test_a_text_that_is_too_long_for_its_column_is_refused_by_name(lenient: Client, field: str) -> None:
    answer = lenient.post("/api/sandboxes", {"template": "empty", field: "x" * 81}, JSON)
    assert (answer.status_code, answer.json()["field"]) == (422, field)


def who_writes_hears_that_it_is_busy(lock: AbstractContextManager[None]) -> None:
    """While another holds the lock, and who only looks needs no turn."""
    client = Client(raise_request_exception=False)
    made = client.post("/new/", {"template": "empty"})
    assert made.status_code == 302
    with lock:
        page = client.post("/new/", {"template": "empty"})
        api = client.post("/api/sandboxes", {"template": "empty"}, JSON)
        session = Client(raise_request_exception=False).post("/new/", {"template": "empty"})
        watching = client.get(made["Location"])
    for answer in (page, api, session):
        assert answer.status_code == 503
        assert b"The database is busy." in answer.content
    assert watching.status_code == 200, "who only looks needs no turn"
    assert client.post("/new/", {"template": "empty"}).status_code == 302


def test_a_database_that_is_locked_says_so(port: FakePort, own_sqlite: Path) -> None:
    @contextmanager
    def locked() -> Iterator[None]:
        with closing(connection.cursor()) as cursor:
            cursor.execute("PRAGMA busy_timeout = 20")
        with closing(sqlite3.connect(own_sqlite, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            yield

    who_writes_hears_that_it_is_busy(locked())


def test_a_postgresql_whose_lock_another_holds_says_so(port: FakePort, own_postgresql: None) -> None:
    """As a locked SQLite does: who waits in vain is not kept for ever."""

    @contextmanager
    def locked() -> Iterator[None]:
        with closing(connection.cursor()) as cursor:
            cursor.execute("SHOW lock_timeout")
            assert cursor.fetchone() == ("5s",)
            cursor.execute("SET lock_timeout = '20ms'")
        with closing(connection.copy()) as other, closing(other.cursor()) as held:
            held.execute("SELECT pg_advisory_lock(%s)", [database_limits.number_of("create")])
            yield

    who_writes_hears_that_it_is_busy(locked())


def test_a_character_that_postgresql_cannot_hold_is_said_to_be_one(port: FakePort, own_postgresql: None) -> None:
    client = Client(raise_request_exception=False)
    made = client.post("/api/sandboxes", {"template": "empty"}, JSON).json()
    given = {"headers": {"Authorization": f"Bearer {made['token']}"}}
    wish = client.post(
        f"/api/sandboxes/{made['slug']}/runs", {"job": "hot_keys", "options": {"topic": "a\x00b"}}, JSON, **given
    )
    named = client.post("/api/sandboxes", {"template": "empty", "name": "a\x00b"}, JSON)
    cookie = Client(raise_request_exception=False)
    cookie.cookies[settings.SESSION_COOKIE_NAME] = "a\x00b"
    assert [answer.status_code for answer in (wish, named)] == [400, 400]
    for answer in (wish, named):
        assert answer.json()["error"] == "This request contains a character that cannot be stored."
    assert cookie.get("/").status_code < 500
