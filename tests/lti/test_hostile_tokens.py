"""Launches that are not what they say: each is refused with a sentence, and none of them leaves anything behind."""

import base64
import json
from collections.abc import Callable
from typing import Any

import jwt
import pytest
from django.core import signing
from django.test import Client

from queueviz.lti import cookies
from queueviz.models import Enrolment, LtiContext, LtiLaunch, LtiPlatform, LtiSeat
from tests.lti.lms import CLIENT, ISSUER, LEARNER, PUBLIC, Lms, key_pair, past
from tests.web.courses import LAB

pytestmark = pytest.mark.django_db
CLAIM = "https://purl.imsglobal.org/spec/lti/claim/"
Forge = Callable[[Lms, str], str]


def unsigned(token: str, header: dict[str, Any]) -> str:
    parts = token.split(".")
    kid = jwt.get_unverified_header(token)["kid"]
    head = base64.urlsafe_b64encode(json.dumps({"kid": kid, **header}).encode()).rstrip(b"=").decode()
    return f"{head}.{parts[1]}."


def by_the_public_key(lms: Lms, token: str) -> str:
    """HS256 with the published key as its secret: who believes the header checks it with just that."""
    import hashlib
    import hmac

    head, body = unsigned(token, {"alg": "HS256"}).split(".")[:2]
    mac = hmac.new(PUBLIC.encode(), f"{head}.{body}".encode(), hashlib.sha256).digest()
    return f"{head}.{body}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}"


def with_a_changed_body(lms: Lms, token: str) -> str:
    head, body, mac = token.split(".")
    claims = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4))) | {"sub": "1"}
    return f"{head}.{base64.urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b'=').decode()}.{mac}"


HOSTILE: dict[str, tuple[Forge, int, str]] = {
    "another nonce": (lambda lms, token: lms.forged(token, nonce="another"), 400, "does not match the launch"),
    "no nonce": (lambda lms, token: lms.forged(token, nonce=None), 400, "does not match the launch"),
    "a nonce that is no text": (lambda lms, token: lms.forged(token, nonce=["n"]), 400, "does not match the launch"),
    "another audience": (lambda lms, token: lms.forged(token, aud="another"), 403, "not registered"),
    "no audience": (lambda lms, token: lms.forged(token, aud=None), 403, "not registered"),
    "our audience among others, made for another": (
        lambda lms, token: lms.forged(token, aud=[CLIENT, "other"], azp="other"),
        403,
        "not registered",
    ),
    "our audience among others, made for no one": (
        lambda lms, token: lms.forged(token, aud=[CLIENT, "other"], azp=None),
        403,
        "not registered",
    ),
    "another issuer": (lambda lms, token: lms.forged(token, iss="https://other.example"), 403, "not registered"),
    "no issuer": (lambda lms, token: lms.forged(token, iss=None), 403, "not registered"),
    "an issuer that is a list": (lambda lms, token: lms.forged(token, iss=[ISSUER]), 403, "not registered"),
    "an unknown deployment": (
        lambda lms, token: lms.forged(token, **{f"{CLAIM}deployment_id": "2"}),
        403,
        "deployment",
    ),
    "no deployment": (lambda lms, token: lms.forged(token, **{f"{CLAIM}deployment_id": None}), 403, "deployment"),
    "expired": (lambda lms, token: lms.forged(token, exp=past(60), iat=past(360)), 403, "is expired"),
    "without an end": (lambda lms, token: lms.forged(token, exp=None), 403, "is expired"),
    "without a beginning": (lambda lms, token: lms.forged(token, iat=None), 403, "is expired"),
    "of the future": (lambda lms, token: lms.forged(token, iat=past(-600), exp=past(-900)), 403, "is expired"),
    "alg none": (lambda lms, token: unsigned(token, {"alg": "none"}), 403, "signature"),
    "alg None in capitals": (lambda lms, token: unsigned(token, {"alg": "NONE"}), 403, "signature"),
    "no alg": (lambda lms, token: unsigned(token, {}), 403, "signature"),
    "HS256 by the public key": (by_the_public_key, 403, "signature"),
    "another key": (lambda lms, token: lms.forged(token, key_pair()[0]), 403, "signature"),
    "an unknown key id": (lambda lms, token: lms.forged(token, headers={"kid": "x"}), 403, "signature"),
    "its own key in the header": (
        lambda lms, token: lms.forged(
            token, key_pair()[0], headers={"jwk": {"kty": "RSA"}, "jku": "https://x.example"}
        ),
        403,
        "signature",
    ),
    "a changed body": (with_a_changed_body, 403, "signature"),
    "no signature": (lambda lms, token: token.rsplit(".", 1)[0] + ".", 403, "signature"),
    "another version": (lambda lms, token: lms.forged(token, **{f"{CLAIM}version": "1.1"}), 400, "not supported"),
    "another kind": (lambda lms, token: lms.forged(token, **{f"{CLAIM}message_type": "X"}), 400, "not supported"),
    "no link": (lambda lms, token: lms.forged(token, **{f"{CLAIM}resource_link": None}), 400, "not supported"),
    "roles that are no list": (lambda lms, token: lms.forged(token, **{f"{CLAIM}roles": LEARNER}), 400, ""),
    "roles that are no texts": (lambda lms, token: lms.forged(token, **{f"{CLAIM}roles": [1]}), 400, ""),
    "a context that is a text": (lambda lms, token: lms.forged(token, **{f"{CLAIM}context": "c"}), 400, "context"),
    "no context": (lambda lms, token: lms.forged(token, **{f"{CLAIM}context": None}), 400, "which course"),
    "custom parameters that are a list": (lambda lms, token: lms.forged(token, **{f"{CLAIM}custom": ["lab"]}), 400, ""),
    "no learner": (lambda lms, token: lms.forged(token, sub=None), 400, ""),
    "no token": (lambda lms, token: "", 400, ""),
    "no three parts": (lambda lms, token: "a.b", 400, "not a launch"),
    "no JSON": (lambda lms, token: "a.b.c", 400, "not a launch"),
    "JSON of another shape": (lambda lms, token: "W10.W10.W10", 400, ""),
    "a body deeper than anything": (
        lambda lms, token: "e30." + base64.urlsafe_b64encode(b"[" * 100_000).decode() + ".x",
        400,
        "not a launch",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_token_is_refused(lms: Lms, linked: LtiContext, name: str) -> None:
    forge, status, word = HOSTILE[name]
    browser = Client()
    state, token = lms.authorized(browser, lab=LAB)
    answer = lms.post(browser, state, forge(lms, token))
    assert answer.status_code == status, answer.content.decode()
    assert word in answer.content.decode()
    assert not any(model.objects.exists() for model in (LtiLaunch, LtiSeat, Enrolment))
    assert browser.get(f"/c/{linked.course.slug}/").status_code == 404


def test_the_same_token_without_a_change_is_taken(lms: Lms, linked: LtiContext) -> None:
    """So the ones above are refused for what was changed."""
    browser = Client()
    state, token = lms.authorized(browser, lab=LAB)
    assert lms.post(browser, state, lms.forged(token)).status_code == 302
    several = lms.authorized(browser, "43")
    assert lms.post(browser, several[0], lms.forged(several[1], aud=[CLIENT, "x"], azp=CLIENT)).status_code == 302


def test_a_launch_is_used_once(lms: Lms, linked: LtiContext) -> None:
    browser = Client()
    state, token = lms.authorized(browser)
    entered = lms.post(browser, state, token)["Location"]
    assert lms.post(browser, state, token).status_code == 409
    assert browser.get(entered).status_code == 302
    assert browser.get(entered).status_code == 404, "its cookie is gone"
    assert Enrolment.objects.count() == 1


def test_who_kept_the_cookie_does_not_come_in_twice(lms: Lms, linked: LtiContext) -> None:
    browser, kept = Client(), Client()
    state, token = lms.authorized(browser)
    entered = lms.post(browser, state, token)["Location"]
    kept.cookies[cookies.name_of(state)] = browser.cookies[cookies.name_of(state)].value
    assert browser.get(entered).status_code == 302
    assert kept.get(entered).status_code == 409
    assert lms.post(kept, state, token).status_code == 409


def test_state_and_token_of_one_browser_are_worth_nothing_in_another(lms: Lms, linked: LtiContext) -> None:
    browser, other = Client(), Client()
    state, token = lms.authorized(browser)
    assert lms.post(other, state, token).status_code == 400
    entered = lms.post(browser, state, token)["Location"]
    assert other.get(entered).status_code == 404
    lms.begun(other)
    assert other.get(entered).status_code == 404


def test_a_made_up_state_is_refused_also_with_a_made_up_cookie(lms: Lms, linked: LtiContext) -> None:
    browser = Client()
    _, token = lms.authorized(browser)
    for made_up in ("x", signing.dumps(["x", "n", 1], salt="another"), ""):
        browser.cookies[cookies.name_of("x")] = made_up
        assert lms.post(browser, "x", token).status_code == 400


def test_a_launch_that_began_too_long_ago_is_refused(
    lms: Lms, linked: LtiContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = Client()
    state, token = lms.authorized(browser)
    monkeypatch.setattr(cookies, "LIFE_S", -1)
    assert lms.post(browser, state, token).status_code == 400


def test_the_token_of_one_platform_does_not_answer_to_a_launch_of_another(lms: Lms, linked: LtiContext) -> None:
    """Both are registered; the browser began with one, and the other one's token is good by itself."""
    browser = Client()
    state, token = lms.authorized(browser)
    other = LtiPlatform.objects.create(
        name="Other",
        issuer="https://other.example",
        client_id="o",
        auth_url=f"{ISSUER}/auth",
        token_url=f"{ISSUER}/token",
        key_set_url=f"{ISSUER}/jwks",
        deployments=["deployment-1"],
    )
    assert lms.post(browser, state, lms.forged(token, iss=other.issuer, aud="o", azp="o")).status_code == 403


def test_a_context_of_another_deployment_is_another_context(lms: Lms, linked: LtiContext) -> None:
    LtiPlatform.objects.update(deployments=["deployment-1", "deployment-2"])
    browser = Client()
    state, token = lms.authorized(browser)
    assert lms.post(browser, state, lms.forged(token, **{f"{CLAIM}deployment_id": "deployment-2"})).status_code == 409


def test_a_platform_that_cannot_be_reached_is_said_and_the_next_launch_comes_in(lms: Lms, linked: LtiContext) -> None:
    browser = Client()
    lms.lost = True
    answer = lms.open(browser)
    assert (answer.status_code, Enrolment.objects.count()) == (503, 0)
    assert "is not reachable" in answer.content.decode()
    lms.lost, lms.broken = False, True
    assert lms.open(browser).status_code == 503, "what answers is no set of keys"
    lms.broken = False
    assert lms.open(browser).status_code == 302


def test_keys_are_fetched_once_and_again_for_a_new_one_but_not_for_each_made_up_one(
    lms: Lms, linked: LtiContext
) -> None:
    for user in ("1", "2", "3"):
        assert lms.open(Client(), user).status_code == 302
    assert lms.asked.count(f"{ISSUER}/jwks") == 1
    for _ in range(5):
        browser = Client()
        state, token = lms.authorized(browser)
        assert lms.post(browser, state, lms.forged(token, headers={"kid": "hypothetical"})).status_code == 403
    assert lms.asked.count(f"{ISSUER}/jwks") == 2


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"iss": ISSUER},
        {"iss": "https://other.example", "login_hint": "1"},
        {"login_hint": "1"},
        {"iss": ISSUER, "login_hint": "1", "client_id": "another"},
        {"iss": ISSUER, "login_hint": "1" * 5000},
        {"iss": "\x00", "login_hint": "1"},
    ],
)
def test_a_login_that_is_none_is_refused(lms: Lms, platform: LtiPlatform, given: dict[str, str]) -> None:
    for answer in (Client().get("/lti/login/", given), Client().post("/lti/login/", given)):
        assert answer.status_code in (400, 403)
        assert not answer.cookies


def test_launches_without_number_end_in_a_wait(
    lms: Lms, platform: LtiPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    from queueviz.pages import lti

    monkeypatch.setattr(lti, "LAUNCHES", lti.Rate(0.001, 5, what="launches"))
    answers = [Client().post("/lti/launch/", {"state": "x"}).status_code for _ in range(7)]
    assert answers == [400] * 5 + [429] * 2
