"""A claim link adds one owner and removes none, is used up by that alone, and ends with the tokens."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from django.test import Client
from django.utils import timezone

from queueviz.access import policy
from queueviz.access.visitor import Visitor
from queueviz.models import Grant, Sandbox
from queueviz.sandboxes import creation, ownership
from sandbox.kernel.errors import ActionRefused
from tests.web.fake_port import FakePort

pytestmark = pytest.mark.django_db


def browser() -> Visitor:
    return Visitor(session=SessionStore(), address="192.0.2.1")


def account(name: str) -> Visitor:
    return Visitor(user=User.objects.create_user(name), session=SessionStore(), address="192.0.2.1")


def role(visitor: Visitor, sandbox: Sandbox) -> str:
    return policy.visit_at(visitor, sandbox.slug, "see").role


@pytest.mark.parametrize("first", ["browser", "account"])
@pytest.mark.parametrize("taker", ["browser", "account"])
def test_who_takes_it_is_an_owner_and_who_owned_it_stays_one(port: FakePort, first: str, taker: str) -> None:
    owner, friend = (
        browser() if kind == "browser" else account(name) for kind, name in ((first, "ada"), (taker, "grace"))
    )
    sandbox = creation.create(owner, "orders").sandbox
    assert ownership.claim(friend, ownership.claim_link(owner, sandbox)) == sandbox
    assert (role(owner, sandbox), role(friend, sandbox)) == ("owner", "owner")
    assert policy.sandboxes_of(owner) == policy.sandboxes_of(friend) == [sandbox]
    assert role(browser(), sandbox) == "viewer"


def test_a_sandbox_that_an_account_takes_lives_as_an_account_s(port: FakePort) -> None:
    owner, friend = browser(), account("grace")
    sandbox = creation.create(owner, "orders").sandbox
    ownership.claim(friend, ownership.claim_link(owner, sandbox))
    sandbox.refresh_from_db()
    assert sandbox.expires_at is not None
    assert sandbox.expires_at > timezone.now() + timedelta(days=29)


def test_a_browser_that_took_it_takes_it_to_its_account(visitor: Client, anonymous: Client, mine: str) -> None:
    """Although another account has it already."""
    for name in ("ada", "grace"):
        User.objects.create_user(name, password="lovelace")
    path = visitor.post(f"/s/{mine}/keep/claim-link/").context["claim_url"]
    assert anonymous.post(path).status_code == 302
    for client, name in ((visitor, "ada"), (anonymous, "grace")):
        assert client.login(username=name, password="lovelace")
        assert client.get(f"/s/{mine}/").context["role"] == "owner"
    assert not Grant.objects.filter(kind=Grant.Kind.SESSION).exists(), "signed out, a browser has nothing"


def test_revoking_ends_links_that_are_open_in_someone_s_browser(visitor: Client, anonymous: Client, mine: str) -> None:
    path = visitor.post(f"/s/{mine}/keep/claim-link/").context["claim_url"]
    assert anonymous.get(path).status_code == 200
    page = visitor.post(f"/s/{mine}/keep/revoke/")
    assert b"2 API tokens and links were revoked." in page.content, "the sandbox's first token, and the link"
    assert anonymous.post(path).status_code == 404
    assert anonymous.get(path).status_code == 404
    assert anonymous.get(f"/s/{mine}/").context["role"] == "viewer"
    assert visitor.get(f"/s/{mine}/").context["role"] == "owner"


def test_an_owner_who_opens_a_link_does_not_use_it_up(port: FakePort) -> None:
    owner, friend = browser(), browser()
    sandbox = creation.create(owner, "orders").sandbox
    token = ownership.claim_link(owner, sandbox)
    assert ownership.claim(owner, token) == sandbox
    ownership.claim(friend, token)
    assert role(friend, sandbox) == "owner"


def test_a_program_with_a_token_does_not_use_a_link_up(port: FakePort) -> None:
    """It has no session that could own anything."""
    owner, friend = browser(), browser()
    sandbox = creation.create(owner, "orders").sandbox
    token = ownership.claim_link(owner, sandbox)
    with pytest.raises(ActionRefused) as refused:
        ownership.claim(Visitor(token="qv_made_up"), token)
    assert refused.value.status == 409
    ownership.claim(friend, token)
    assert role(friend, sandbox) == "owner"


def test_links_are_limited_in_number(port: FakePort) -> None:
    owner = browser()
    sandbox = creation.create(owner, "orders").sandbox
    for _ in range(ownership.LIMITS.tokens_per_sandbox):
        ownership.claim_link(owner, sandbox)
    with pytest.raises(ActionRefused) as refused:
        ownership.claim_link(owner, sandbox)
    assert refused.value.status == 429
    ownership.revoke(owner, sandbox)
    ownership.claim_link(owner, sandbox)
