"""Requests that come at once are counted as those are that come one after the other."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from threading import Barrier
from typing import Any

import pytest
from django.apps import apps
from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from django.db import connections
from django.test import Client
from django.utils import timezone

from queueviz.access import creation_limits, policy
from queueviz.access.visitor import Visitor
from queueviz.links import share_links
from queueviz.management.commands import serve
from queueviz.models import AuditRecord, Grant, Sandbox
from queueviz.runs import run_requests
from queueviz.sandboxes import creation, ownership
from sandbox.control.limits import HostLimits
from sandbox.kernel.errors import ActionRefused
from tests.attacks.databases import connected, fresh
from tests.databases.postgresql import Postgresql
from tests.web.conftest import jobs
from tests.web.fake_port import FakePort

__all__ = ["jobs"]

AT_ONCE = 8


def at_once(do: Callable[[int], int], times: int = AT_ONCE) -> list[int]:
    """Run all calls at the same time and return their results."""
    ready = Barrier(times)

    def one(n: int) -> int:
        ready.wait(30)
        try:
            return do(n)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(times) as pool:
        return sorted(pool.map(one, range(times)))


def same_browser(client: Client) -> Client:
    twin = Client()
    twin.cookies[settings.SESSION_COOKIE_NAME] = client.cookies[settings.SESSION_COOKIE_NAME].value
    return twin


def test_of_eight_starts_at_once_as_many_succeed_as_there_is_room_for(own_database: None, port: FakePort) -> None:
    browser = Client()
    assert browser.post("/new/", {"template": "empty"}).status_code == 302
    answers = at_once(lambda n: same_browser(browser).post("/new/", {"template": "empty"}).status_code)
    assert answers == [302] * 4 + [429] * 4
    assert Sandbox.objects.count() == len(port.sandboxes) == ownership.LIMITS.sandboxes_per_visitor
    made = set(port.sandboxes)
    assert {row.place.slug for row in browser.get("/").context["mine"]} == made, "whoever started them owns them all"


def test_of_many_starts_at_once_from_one_address_so_many_succeed(
    own_database: None, port: FakePort, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(creation_limits, "LIMITS", HostLimits(creations_per_hour_per_address=20))
    for _ in range(20 - 3):
        creation.create(Visitor(address="127.0.0.1"), "empty")
    answers = at_once(lambda n: Client().post("/new/", {"template": "empty"}).status_code)
    assert answers == [302] * 3 + [429] * 5
    assert AuditRecord.objects.filter(what="create").count() == 20


def test_of_eight_wishes_at_once_for_a_run_two_are_taken(own_database: None, port: FakePort, jobs: None) -> None:
    user = User.objects.create_user("ada")
    slugs = [creation.create(Visitor(user=user), "empty").sandbox.slug for _ in range(AT_ONCE)]

    def ask(n: int) -> int:
        try:
            run_requests.ask_for(Visitor(user=user), slugs[n], "latency", {})
        except ActionRefused as refused:
            return refused.status
        return 201

    assert at_once(ask) == [201] * 2 + [429] * 6


def owned() -> tuple[Visitor, Sandbox]:
    owner = Visitor(session=SessionStore())
    return owner, creation.create(owner, "orders").sandbox


def refused(do: Callable[[], object]) -> int:
    """0, or the status of the refusal."""
    try:
        do()
    except ActionRefused as refusal:
        return refusal.status
    return 0


def test_of_eight_tokens_made_at_once_as_many_are_given_as_there_is_room_for(
    own_database: None, port: FakePort
) -> None:
    _, sandbox = owned()
    for _ in range(ownership.LIMITS.tokens_per_sandbox - 3):  # the first came with the sandbox
        ownership.new_token(sandbox)
    assert at_once(lambda n: refused(lambda: ownership.new_token(sandbox))) == [0] * 2 + [429] * 6


def test_of_eight_claim_links_made_at_once_as_many_are_given_as_there_is_room_for(
    own_database: None, port: FakePort
) -> None:
    owner, sandbox = owned()
    for _ in range(ownership.LIMITS.tokens_per_sandbox - 2):
        ownership.claim_link(owner, sandbox)
    assert at_once(lambda n: refused(lambda: ownership.claim_link(owner, sandbox))) == [0] * 2 + [429] * 6


def test_of_eight_share_links_made_at_once_as_many_are_given_as_there_is_room_for(
    own_database: None, port: FakePort
) -> None:
    owner, sandbox = owned()

    def make() -> str:
        return share_links.make_live(owner, sandbox, label="", days=1)

    for _ in range(share_links.LIMITS.share_links_per_sandbox - 2):
        make()
    assert at_once(lambda n: refused(make)) == [0] * 2 + [429] * 6


def test_of_eight_first_visits_to_the_demo_all_find_the_same(own_database: None, port: FakePort) -> None:
    assert set(at_once(lambda n: int(ownership.demo_sandbox().pk))) == {Sandbox.objects.get(of_host=True).pk}


def test_processes_that_start_at_once_on_an_empty_postgresql_all_find_their_tables(
    postgresql_server: Postgresql, django_db_blocker: Any
) -> None:
    with django_db_blocker.unblock(), connected(fresh(postgresql_server)):
        at_once(lambda n: serve.migrate_if_needed() or n, 3)
        assert Sandbox.objects.count() == 0


def test_a_start_that_fails_leaves_no_row(own_database: None, port: FakePort) -> None:
    port.refuse["create"] = ActionRefused(503, "There is no room now.", "Try again later.")
    with pytest.raises(ActionRefused):
        creation.create(Visitor(session=SessionStore()), "empty")
    assert (Sandbox.objects.count(), Grant.objects.count(), AuditRecord.objects.count()) == (0, 0, 0)


def test_of_eight_who_take_a_link_at_once_one_gets_it(own_database: None, port: FakePort) -> None:
    owner = Visitor(session=SessionStore())
    sandbox = creation.create(owner, "orders").sandbox
    token = ownership.claim_link(owner, sandbox)

    def take(n: int) -> int:
        return Client().post(f"/claim/{token}/").status_code

    assert at_once(take) == [302] + [404] * 7
    assert Grant.objects.filter(kind=Grant.Kind.SESSION).count() == 2


@pytest.mark.django_db
def test_sessions_of_an_earlier_version_keep_their_sandboxes() -> None:
    """They listed slugs."""
    before = SessionStore()
    before["sandboxes"] = ["old-owl-aaaaaa", "gone-owl-aaaaaa"]
    before.save()
    sandbox = Sandbox.objects.create(slug="old-owl-aaaaaa", name="old", template="empty", visited_at=timezone.now())
    import_module("queueviz.migrations.0005_sessions_hold_grants").carry_over(apps, None)
    now = SessionStore(before.session_key)
    assert policy.sandboxes_of(Visitor(session=now)) == [sandbox]
    assert "sandboxes" not in now
