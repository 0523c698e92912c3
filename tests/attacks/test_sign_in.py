"""Guessing passwords: one page looks at them, and counts."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from queueviz.pages import accounts
from tests.web.fake_port import FakePort

pytestmark = pytest.mark.django_db

WRONG = {"username": "root", "password": "guess"}


@pytest.fixture(autouse=True)
def _quick_hashes(settings: Any, port: FakePort, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    monkeypatch.setattr(accounts.ATTEMPTS, "_now", lambda: 0.0)
    User.objects.create_superuser("root", password="not-guess")


def test_the_admin_s_form_is_the_one_that_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    monkeypatch.setattr("django.contrib.auth.forms.authenticate", lambda *args, **more: looked.append(more["password"]))
    for _ in range(30):
        answer = Client().post("/admin/login/?next=/admin/", {**WRONG, "next": "/admin/"})
        assert answer["Location"] == "/accounts/login/?next=/admin/"
    assert looked == []


def test_after_ten_attempts_no_password_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    monkeypatch.setattr("django.contrib.auth.forms.authenticate", lambda *args, **more: looked.append(more["password"]))
    answers = [
        Client(headers={"Authorization": f"Bearer qv_{n}"}).post("/accounts/login/", WRONG).status_code
        for n in range(15)
    ]
    assert answers == [200] * 10 + [429] * 5
    assert len(looked) == 10
    assert Client(REMOTE_ADDR="192.0.2.9").post("/accounts/login/", WRONG).status_code == 200


def test_an_administrator_gets_to_the_admin_and_another_account_is_refused() -> None:
    client = Client()
    there = client.get("/admin/", follow=True)
    assert there.redirect_chain[-1] == ("/accounts/login/?next=/admin/", 302)
    right = {"username": "root", "password": "not-guess", "next": "/admin/"}
    assert client.post("/accounts/login/", right)["Location"] == "/admin/"
    assert client.get("/admin/").status_code == 200
    User.objects.create_user("ada", password="lovelace")
    other = Client()
    assert other.login(username="ada", password="lovelace")
    assert other.get("/admin/", follow=True).status_code == 403


def test_no_other_address_looks_at_a_password() -> None:
    """Only public addresses count: changing one's own password needs a session."""

    def addresses(patterns: list[Any], before: str = "") -> list[str]:
        found = []
        for pattern in patterns:
            here = before + str(pattern.pattern)
            if isinstance(pattern, URLResolver):
                found += addresses(pattern.url_patterns, here)
            elif isinstance(pattern, URLPattern) and "login" in here:
                found.append(here)
        return found

    assert addresses(get_resolver().url_patterns) == [
        "lti/login/",
        "accounts/login/",
        "admin/login/",
        "admin/login/",
    ], "that of LTI has none"
    assert Client().post("/admin/login/", WRONG).status_code == 302, "the first of the two answers"


@pytest.mark.parametrize("password", ["", "short", "password1234", "123456789012345", "grace-hopper"])
def test_a_password_that_is_guessed_soon_is_no_password(password: str) -> None:
    with pytest.raises(ValidationError):
        validate_password(password, User(username="grace-hopper"))


def test_the_admin_s_form_for_accounts_minds_that() -> None:
    client = Client()
    client.force_login(User.objects.get())
    answer = client.post(
        "/admin/auth/user/add/",
        {"username": "ada", "usable_password": "true", "password1": "lovelace", "password2": "lovelace"},
    )
    assert answer.status_code == 200
    assert b"too short" in answer.content
    assert not User.objects.filter(username="ada").exists()
