"""An LMS registers itself behind a link that is good once; what it says about itself is not taken on trust."""

import html
import re
from typing import Any

import pytest
from django.test import Client

from queueviz.lti import registering
from queueviz.lti.registered import hosts_of
from queueviz.models import LtiInvitation, LtiKey, LtiPlatform
from tests.lti.lms import HOST, INSTRUCTOR, ISSUER, Lms
from tests.web.clusters import account, browser_of
from tests.web.courses import LAB

pytestmark = pytest.mark.django_db
LTI = "https://purl.imsglobal.org/spec/lti-platform-configuration"
TOOL = "https://purl.imsglobal.org/spec/lti-tool-configuration"
CONFIGURATION = {
    "issuer": ISSUER,
    "authorization_endpoint": f"{ISSUER}/auth",
    "token_endpoint": f"{ISSUER}/token",
    "jwks_uri": f"{ISSUER}/jwks",
    "registration_endpoint": f"{ISSUER}/registrations",
    LTI: {"product_family_code": "moodle"},
}


@pytest.fixture
def link(lms: Lms, teacher: Client) -> str:
    lms.configuration = dict(CONFIGURATION)
    page = teacher.post("/lti/platforms/", {"do": "invite"})
    return str(page.context["address"]).removeprefix("http://testserver")


def opened(browser: Client, link: str, configuration: str = f"{ISSUER}/configuration") -> Any:
    return browser.get(link, {"openid_configuration": configuration, "registration_token": "r-token"})


def test_an_lms_registers_itself_and_launches(lms: Lms, link: str) -> None:
    answer = opened(Client(), link)
    assert answer.status_code == 200, answer.content
    assert f'data-origin="{ISSUER}"' in answer.content.decode()
    assert f"frame-ancestors https://{HOST}" in answer["Content-Security-Policy"]
    [sent] = lms.registered
    assert sent["authorization"] == "Bearer r-token"
    assert sent["initiate_login_uri"] == "http://testserver/lti/login/"
    assert sent["redirect_uris"] == ["http://testserver/lti/launch/"]
    assert sent["token_endpoint_auth_method"] == "private_key_jwt"
    assert sent[TOOL]["claims"] == ["sub"], "no name and no address is asked for"
    assert {one["type"] for one in sent[TOOL]["messages"]} == {"LtiResourceLinkRequest", "LtiDeepLinkingRequest"}
    made = LtiPlatform.objects.get()
    assert (made.client_id, made.deployments, made.owner.username) == ("client-9", ["deployment-9"], "teacher")  # type: ignore[union-attr]
    lms.conf.get_registration().set_client_id("client-9").set_deployment_id("deployment-9")
    assert lms.open(Client(), "t", (INSTRUCTOR,)).status_code == 302


def test_a_link_is_good_once(lms: Lms, link: str) -> None:
    assert opened(Client(), link).status_code == 200
    assert opened(Client(), link).status_code == 404
    assert LtiPlatform.objects.count() == len(lms.registered) == 1


def test_a_link_that_is_only_looked_at_stays_good(lms: Lms, link: str) -> None:
    assert Client().get(link).status_code == 200
    assert LtiInvitation.objects.get().used_at is None
    assert not lms.asked


def test_without_a_link_nothing_is_asked(lms: Lms, platform: LtiPlatform) -> None:
    assert opened(Client(), "/lti/register/made-up/").status_code == 404
    assert not lms.asked


def test_links_are_made_by_accounts_and_not_without_number(lms: Lms, teacher: Client) -> None:
    assert Client().post("/lti/platforms/", {"do": "invite"}).status_code == 302
    answers = [teacher.post("/lti/platforms/", {"do": "invite"}).status_code for _ in range(7)]
    assert answers == [200] * 5 + [429] * 2


@pytest.mark.parametrize(
    "changed",
    [
        {"issuer": "https://other.example"},
        {"issuer": "http://lms.example"},
        {"issuer": "lms.example"},
        {"registration_endpoint": "https://169.254.169.254/"},
        {"token_endpoint": "http://lms.example/token"},
        {"jwks_uri": "file:///etc/passwd"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"jwks_uri": "https://user:password@lms.example/"},
        {"token_endpoint": 7},
        {"issuer": None},
        {LTI: None},
        {"jwks_uri": "https://lms.example/" + "x" * 600},
    ],
)
def test_an_odd_configuration_registers_nothing(lms: Lms, link: str, changed: dict[str, Any]) -> None:
    lms.configuration |= changed
    assert opened(Client(), link).status_code in (422, 502)
    assert not LtiPlatform.objects.exists()
    assert all(url.startswith(ISSUER) for url in lms.asked)


@pytest.mark.parametrize(
    "address",
    [
        "http://lms.example/configuration",
        "https://lms.example@evil.example/",
        "ftp://x",
        "https://",
        "//x",
        "https://[::1",
        "https://x:99999/",
        "https://a b/",
        "https://ü.example/",
    ],
)
def test_an_odd_address_is_not_asked(lms: Lms, link: str, address: str) -> None:
    assert opened(Client(), link, address).status_code in (422, 502)
    assert all("evil" in url for url in lms.asked), "what looks like another host is that host"
    assert not LtiPlatform.objects.exists()


def test_canvas_in_the_cloud_is_one_issuer_for_all_schools_and_no_one_else_is(lms: Lms, link: str) -> None:
    school = "https://school.instructure.com"
    lms.configuration |= {
        "issuer": "https://canvas.instructure.com",
        "registration_endpoint": f"{school}/registrations",
    }
    assert opened(Client(), link, "https://evil.example/configuration").status_code == 422
    assert opened(Client(), link, f"{school}/configuration").status_code == 200
    assert "school.instructure.com" in LtiPlatform.objects.get().hosts


def test_a_link_whose_lms_did_not_answer_is_good_a_few_times_more(lms: Lms, link: str) -> None:
    lms.lost = True
    assert [opened(Client(), link).status_code for _ in range(3)] == [502] * 3
    lms.lost = False
    assert opened(Client(), link).status_code == 200


def test_a_link_is_no_way_to_ask_many_servers(lms: Lms, link: str) -> None:
    lms.lost = True
    answers = [opened(Client(), link).status_code for _ in range(registering.MOST_TRIES + 2)]
    assert answers == [502] * registering.MOST_TRIES + [404] * 2


def test_the_same_lms_is_not_registered_twice(lms: Lms, link: str, teacher: Client) -> None:
    assert opened(Client(), link).status_code == 200
    again = teacher.post("/lti/platforms/", {"do": "invite"}).context["address"].removeprefix("http://testserver")
    assert opened(Client(), again).status_code == 409


@pytest.mark.parametrize(
    "host",
    [
        "https://files.example",
        "files.example:8443",
        "files.example/path",
        "*.example",
        "*",
        "files example",
        "a..example",
        "-a.example",
        "a.example;",
        "'self'",
        "files.example; script-src *",
        "x" * 64 + ".example",
        "host@files.example",
    ],
)
def test_a_further_host_that_is_none_is_refused_and_named(lms: Lms, link: str, teacher: Client, host: str) -> None:
    opened(Client(), link)
    platform = LtiPlatform.objects.get()
    change = {"do": "change", "platform": platform.pk, "deployments": "1", "hosts": f"files.example\n{host}"}
    refused = teacher.post("/lti/platforms/", change)
    assert refused.status_code == 422
    assert f"{host.lower()} is not a host." in html.unescape(refused.content.decode())
    assert LtiPlatform.objects.get().hosts == platform.hosts
    platform.hosts = [*platform.hosts, host, "Files.example"]
    found = hosts_of(platform)
    assert "files.example" in found
    assert host.lower() not in found, "one that was kept before"


def test_who_registered_it_changes_and_removes_it_and_no_one_else(lms: Lms, link: str, teacher: Client) -> None:
    opened(Client(), link)
    made, other = LtiPlatform.objects.get(), browser_of(account("other"))
    change = {"do": "change", "platform": made.pk, "deployments": "1\n 2 \n\n", "hosts": "School.example"}
    assert other.post("/lti/platforms/", change).status_code == 404
    many = "\n".join(map(str, range(60)))
    assert teacher.post("/lti/platforms/", change | {"hosts": many}).status_code == 422
    assert teacher.post("/lti/platforms/", change).status_code == 302
    made.refresh_from_db()
    assert (made.deployments, made.hosts) == (["1", "2"], ["school.example"])
    page = teacher.get("/lti/platforms/").content.decode()
    assert re.findall(">([^<]*)</textarea>", page) == ["1&#10;2&#10;", "school.example&#10;"]
    assert other.post("/lti/platforms/", {"do": "remove", "platform": made.pk}).status_code == 404
    assert teacher.post("/lti/platforms/", {"do": "remove", "platform": made.pk}).status_code == 302
    assert not LtiPlatform.objects.exists()


def test_our_key_is_made_once_and_sealed_in_the_database(settings: Any, platform: LtiPlatform) -> None:
    settings.QUEUEVIZ_LTI_KEY_FILE = ""
    first, second = (Client().get("/lti/jwks.json").json() for _ in range(2))
    assert first == second
    [key] = first["keys"]
    assert (key["kty"], key["alg"], set(key) & {"d", "p", "q"}) == ("RSA", "RS256", set())
    assert "PRIVATE" not in LtiKey.objects.get().sealed
    settings.SECRET_KEY = "another"
    assert Client().get("/lti/jwks.json").json() != first, "sealed under another secret it is none"


def test_a_key_file_that_cannot_be_used_is_said(settings: Any, db: None) -> None:
    settings.QUEUEVIZ_LTI_KEY_FILE = __file__
    answer = Client().get("/lti/jwks.json")
    assert (answer.status_code, b"QUEUEVIZ_LTI_KEY_FILE" in answer.content) == (503, True)


def test_the_teacher_s_pages_lead_there(teacher: Client, course: Any) -> None:
    assert f"/c/{course.slug}/lti/" in teacher.get(f"/c/{course.slug}/").content.decode()
    assert "/lti/platforms/" in teacher.get(f"/c/{course.slug}/lti/").content.decode()
    assert "You have not registered an LMS" in teacher.get("/lti/platforms/").content.decode()
    assert LAB in course.labs
