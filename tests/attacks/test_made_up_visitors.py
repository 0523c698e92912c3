"""Made-up tokens and cookies give no identity and are counted with their address."""

from datetime import timedelta
from itertools import count

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from django.test import Client
from django.utils import timezone

from queueviz.access import creation_limits, policy
from queueviz.access.visitor import Visitor, counted, of_scope
from queueviz.models import AuditRecord, Grant
from queueviz.sandboxes import creation, demo, ownership, visitor_actions
from sandbox.control.actions import ChangeActor, CrashActor, RestartActor
from sandbox.control.limits import HostLimits
from sandbox.kernel.errors import ActionRefused
from tests.web.fake_port import FakePort

pytestmark = pytest.mark.django_db

JSON = "application/json"
HERE = "192.0.2.1"
CRASH = {"action": "CrashActor", "actor": "A"}


def with_cookie(key: str) -> Client:
    client = Client()
    client.cookies[settings.SESSION_COOKIE_NAME] = key
    return client


def test_a_new_token_with_each_request_is_one_visitor(port: FakePort, still_clock: None, timers: list[object]) -> None:
    ownership.demo_sandbox()
    answers = [
        Client()
        .post("/api/sandboxes/landing/actions", CRASH, content_type=JSON, headers={"Authorization": f"Bearer qv_{n}"})
        .status_code
        for n in range(8)
    ]
    assert answers == [200] * 3 + [429] * 5
    assert len(demo.PRESSES) == 1


def test_a_new_cookie_with_each_request_is_one_visitor(port: FakePort, still_clock: None, timers: list[object]) -> None:
    ownership.demo_sandbox()
    answers = [with_cookie(f"{n:032}").post("/s/landing/actions/", CRASH).status_code for n in range(8)]
    assert answers == [204] * 3 + [429] * 5
    assert len(demo.PRESSES) == 1


def test_questions_of_made_up_visitors_are_one_visitor_s(port: FakePort, still_clock: None) -> None:
    ownership.demo_sandbox()
    names = count()
    asked = [
        Client().get("/api/sandboxes/landing/ask/transactions", headers={"Authorization": f"Bearer {next(names)}"})
        for _ in range(30)
    ]
    assert sum(answer.status_code == 429 for answer in asked) == 30 - visitor_actions.LIMITS.questions_per_s
    assert len(visitor_actions.QUESTIONS) == 1


def test_a_token_that_was_given_out_and_one_that_was_not(port: FakePort) -> None:
    made = creation.create(Visitor(address=HERE), "orders")
    good, wrong = (Visitor(token=token, address=HERE) for token in (made.token, "qv_wrong"))
    assert policy.counted_as(good).startswith("token:")
    assert policy.counted_as(wrong) == f"address:{HERE}"
    Grant.objects.update(revoked_at=timezone.now())
    assert policy.counted_as(good) == f"address:{HERE}"


def test_a_session_that_is_kept_and_one_that_is_not(port: FakePort) -> None:
    kept = SessionStore()
    kept["kept"] = True
    kept.save()
    assert policy.counted_as(Visitor(session=SessionStore(kept.session_key))) == f"session:{kept.session_key}"
    assert policy.counted_as(Visitor(session=SessionStore("x" * 32), address=HERE)) == f"address:{HERE}"
    assert policy.counted_as(Visitor(user=User(pk=7), session=kept)) == "user:7"


@pytest.mark.parametrize(
    ("seen", "as_counted"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("192.0.2.1:50123", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("[2001:db8:1:2::9]:443", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
        ("unknown", "unknown"),
    ],
)
def test_an_address_as_limits_count_it(seen: str, as_counted: str) -> None:
    assert counted(seen) == as_counted


def test_one_ipv6_customer_starts_as_many_sandboxes_as_one_address(
    port: FakePort, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(creation_limits, "LIMITS", HostLimits(creations_per_hour_per_address=20))
    answers = [
        Client(REMOTE_ADDR=f"2001:db8:1:2::{n:x}")
        .post("/api/sandboxes", {"template": "empty"}, content_type=JSON)
        .status_code
        for n in range(25)
    ]
    assert answers == [201] * 20 + [429] * 5
    other = Client(REMOTE_ADDR="2001:db8:1:3::1").post("/api/sandboxes", {"template": "empty"}, content_type=JSON)
    assert other.status_code == 201
    assert AuditRecord.objects.filter(what="create").count() == 21


def test_sockets_are_counted_by_customer_too() -> None:
    scope = {"client": ("2001:db8:1:2::77", 5), "headers": []}
    assert of_scope(scope).address == "2001:db8:1:2::/64"


def test_nothing_is_to_be_mended_where_nothing_was_done(port: FakePort, timers: list[object]) -> None:
    ownership.demo_sandbox()
    port.refuse["act"] = ActionRefused(404, "Actor {actor} does not exist.", actor="Z")
    with pytest.raises(ActionRefused):
        visitor_actions.act(Visitor(address=HERE), "landing", {"action": "CrashActor", "actor": "Z"})
    assert timers == []


def test_however_often_a_button_is_pressed_one_timer_mends_it(port: FakePort, timers: list[object]) -> None:
    ownership.demo_sandbox()
    slow = {"action": "ChangeActor", "actor": "A", "work_ms": "9000"}
    for n in range(5):
        visitor_actions.act(Visitor(address=f"192.0.2.{n}"), "landing", CRASH)
        visitor_actions.act(Visitor(address=f"198.51.100.{n}"), "landing", slow)
    assert [type(action) for action in timers] == [RestartActor, ChangeActor]
    assert {type(action) for _, action, _ in port.acted} == {CrashActor, ChangeActor}


def test_a_sandbox_has_so_many_tokens_and_no_more(visitor: Client, mine: str) -> None:
    """Each good token is a visitor of its own to the rates."""
    for _ in range(ownership.LIMITS.tokens_per_sandbox - 1):  # the first was made with the sandbox
        assert visitor.post(f"/s/{mine}/keep/token/").status_code == 200
    refused = visitor.post(f"/s/{mine}/keep/token/")
    assert refused.status_code == 429
    assert b"20" in refused.content
    Grant.objects.filter(kind=Grant.Kind.TOKEN).update(expires_at=timezone.now() - timedelta(seconds=1))
    assert visitor.post(f"/s/{mine}/keep/token/").status_code == 200
