"""Right page, right person, right partial; and a sentence where there is none."""

import json
import re
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client

from queueviz import engine
from queueviz.live import hubs
from queueviz.models import Sandbox
from queueviz.operations import server_load
from queueviz.operations.static_files import without_comments
from queueviz.sandboxes import ownership
from sandbox.kernel.errors import ActionRefused, Locked
from tests.web.fake_port import SNAPSHOT, FakePort

HTMX = {"HX-Request": "true"}
TABS = ("", "locks/", "index/", "reset/", "topology/", "topics/", "journal/", "settings/")


def _without(page: HttpResponse, slug: str) -> str:
    """The page without what differs with every answer: the address asked for, the form token."""
    return re.sub(r"[A-Za-z0-9]{64}", "", page.content.decode()).replace(slug, "")


def test_the_landing_shows_the_host_s_sandbox_and_one_button(visitor: Client, port: FakePort) -> None:
    page = visitor.get("/")
    assert page.status_code == 200
    assert port.sandboxes == {"landing": "live"}
    assert b'action="/new/"' in page.content


def test_the_landing_stands_without_its_strip(visitor: Client, port: FakePort) -> None:
    port.silent.add("snapshot")
    assert visitor.get("/").status_code == 200


def test_one_click_starts_a_sandbox_without_login(visitor: Client, port: FakePort) -> None:
    answer = visitor.post("/new/", {"template": "payments"})
    assert answer.status_code == 302
    slug = answer["Location"].split("/")[2]
    assert port.sandboxes == {slug: "live"}
    assert visitor.get(answer["Location"]).status_code == 200


def test_htmx_is_sent_to_the_new_sandbox_by_a_header(visitor: Client) -> None:
    answer = visitor.post("/new/", {"template": "payments"}, headers=HTMX)
    assert answer.status_code == 204
    assert answer["HX-Redirect"].startswith("/s/")


def test_a_form_without_the_csrf_token_is_refused_in_our_own_words(port: FakePort, db: None) -> None:
    strict = Client(enforce_csrf_checks=True)
    answer = strict.post("/new/", {"template": "orders"})
    assert answer.status_code == 403
    assert b"reload" in answer.content.lower()
    assert port.sandboxes == {}


def test_a_page_is_given_its_tab_its_rights_and_its_sandbox(visitor: Client, mine: str) -> None:
    """test_every_page opens every page and panel in both languages on the real engine."""
    reported = {tab: visitor.get(f"/s/{mine}/{tab}").context for tab in TABS}
    assert {tab: page["tab"] for tab, page in reported.items()} == {tab: tab.strip("/") or "board" for tab in TABS}
    assert all(page["can"]["act"] is True for page in reported.values())
    assert {page["snapshot"]["sandbox"]["slug"] for page in reported.values()} == {mine}


def test_a_viewer_sees_the_page_and_may_do_nothing(anonymous: Client, mine: str) -> None:
    page = anonymous.get(f"/s/{mine}/")
    assert page.status_code == 200
    assert page.context["can"] == {verb: verb == "see" for verb in page.context["can"]}
    answer = anonymous.post(f"/s/{mine}/actions/", {"action": "CrashActor", "actor": "A"}, headers=HTMX)
    assert answer.status_code == 403
    assert b"<html" not in answer.content


def test_a_private_sandbox_is_404_to_visitors_without_rights_like_an_unknown_one(anonymous: Client, mine: str) -> None:
    Sandbox.objects.update(visibility=Sandbox.Visibility.PRIVATE)
    private, unknown = anonymous.get(f"/s/{mine}/"), anonymous.get("/s/no-such-place/")
    assert private.status_code == unknown.status_code == 404
    assert _without(private, mine) == _without(unknown, "no-such-place")


@pytest.mark.parametrize("url", ["/nothing/", "/s/{}/nothing/", "/s/{}/part/nothing/"])
def test_an_address_that_does_not_exist_has_a_page_that_says_so(visitor: Client, mine: str, url: str) -> None:
    page = visitor.get(url.format(mine))
    assert page.status_code == 404
    assert b"Traceback" not in page.content


def test_an_action_answers_with_nothing_but_its_event_number(visitor: Client, mine: str, port: FakePort) -> None:
    answer = visitor.post(f"/s/{mine}/actions/", {"action": "CrashActor", "actor": "A"}, headers=HTMX)
    assert (answer.status_code, answer.content) == (204, b"")
    assert json.loads(answer["HX-Trigger"]) == {"queueviz:acted": {"seq": "18431", "follow": True}}


@pytest.mark.parametrize(
    ("fields", "field"),
    [({"action": "CrashActor"}, "actor"), ({"action": "Fly"}, "action"), ({"action": "SetRate", "rate": "x"}, "rate")],
)
def test_a_bad_field_is_answered_beside_it(visitor: Client, mine: str, fields: dict[str, str], field: str) -> None:
    answer = visitor.post(f"/s/{mine}/actions/", fields, headers=HTMX)
    assert answer.status_code == 422
    assert f'data-field="{field}"'.encode() in answer.content
    assert b"<html" not in answer.content


@pytest.mark.parametrize(("raised", "status"), [(404, 422), (409, 409), (429, 429), (503, 503)])
def test_the_engine_s_refusal_is_a_sentence(
    visitor: Client, mine: str, port: FakePort, raised: int, status: int
) -> None:
    port.refuse["act"] = ActionRefused(raised, "{who} is on fire.", "Wait for rain.", who="broker-a")
    answer = visitor.post(f"/s/{mine}/actions/", {"action": "CrashActor", "actor": "A"}, headers=HTMX)
    assert answer.status_code == status
    assert b"broker-a is on fire." in answer.content
    assert b"Wait for rain." in answer.content


def test_the_reader_s_words_are_escaped(visitor: Client, mine: str) -> None:
    answer = visitor.post(f"/s/{mine}/actions/", {"action": "<script>alert(1)</script>"}, headers=HTMX)
    assert answer.status_code == 422
    assert b"<script>alert" not in answer.content


def test_a_silent_engine_is_503_with_a_sentence(visitor: Client, mine: str, port: FakePort) -> None:
    port.silent.add("snapshot")
    page = visitor.get(f"/s/{mine}/")
    assert page.status_code == 503
    assert b"<html" in page.content
    partial = visitor.get(f"/s/{mine}/part/board/", headers=HTMX)
    assert partial.status_code == 503
    assert b"<html" not in partial.content


def test_a_data_home_in_use_is_503_with_the_reason(visitor: Client, mine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def held() -> None:
        raise Locked("the data home is in use by process 7")

    monkeypatch.setattr(engine, "port", held)
    page = visitor.get(f"/s/{mine}/")
    assert page.status_code == 503
    assert b"process 7" in page.content


def test_our_own_mistake_shows_no_traceback(visitor: Client, mine: str, port: FakePort) -> None:
    broken: Future[Any] = Future()
    broken.set_exception(RuntimeError("secret detail"))
    port.snapshot = lambda slug: broken  # type: ignore[method-assign]
    visitor.raise_request_exception = False
    page = visitor.get(f"/s/{mine}/")
    assert page.status_code == 500
    assert b"secret detail" not in page.content
    assert b"Traceback" not in page.content


def test_a_question_is_answered_as_a_partial_or_refused_in_its_place(
    visitor: Client, mine: str, port: FakePort
) -> None:
    port.refuse["ask"] = ActionRefused(422, "Group g does not exist.", field="group")
    url = f"/s/{mine}/ask/plan-reset/?group=g&topic=t&target=earliest"
    refused = visitor.get(url, headers=HTMX)
    assert refused.status_code == 422
    assert b"Group g does not exist." in refused.content
    assert visitor.get(f"/s/{mine}/ask/nothing/", headers=HTMX).status_code in (404, 422)


def test_the_slow_dialog_offers_the_newest_keys_of_the_topic(visitor: Client, mine: str, port: FakePort) -> None:
    port.show(
        f"store/{mine}/broker-a",
        {
            "records": {
                "99": {"topic": "orders", "key": "order-1"},
                "1000": {"topic": "orders", "key": "order-2"},
                "500": {"topic": "others", "key": "not this one"},
                "700": {"topic": "orders", "key": None},
            }
        },
        seq=1,
    )
    shown = visitor.get(f"/s/{mine}/part/ask/?form=slow&group=order-svc&topic=orders", headers=HTMX).content.decode()
    assert shown.index('value="order-2"') < shown.index('value="order-1"')
    assert "not this one" not in shown
    assert shown.count("<option value=") == 2


def test_an_owner_s_visit_wakes_and_a_viewer_s_does_not(
    visitor: Client, anonymous: Client, mine: str, port: FakePort
) -> None:
    port.sandboxes[mine] = "asleep"
    assert anonymous.get(f"/s/{mine}/").status_code == 200
    assert port.sandboxes[mine] == "asleep"
    visitor.get(f"/s/{mine}/part/board/")
    assert port.sandboxes[mine] == "asleep", "only a page wakes, not what a forgotten tab asks for"
    visitor.get(f"/s/{mine}/")
    assert port.sandboxes[mine] == "live"


def test_settings_keep_rename_share_and_delete(visitor: Client, anonymous: Client, mine: str, port: FakePort) -> None:
    keep = f"/s/{mine}/keep"
    assert anonymous.post(f"{keep}/delete/").status_code == 403
    visitor.post(f"{keep}/change/", {"name": "My broker", "visibility": "private"})
    assert Sandbox.objects.get(slug=mine).name == "My broker"
    assert anonymous.get(f"/s/{mine}/").status_code == 404
    assert visitor.post(f"{keep}/change/", {"name": "x" * 200, "visibility": "private"}).status_code == 422
    assert visitor.post(f"{keep}/nothing/").status_code == 404
    assert visitor.get(f"{keep}/delete/").status_code == 405
    visitor.post(f"{keep}/delete/")
    assert mine not in port.sandboxes
    assert visitor.get(f"/s/{mine}/").status_code == 404


def test_a_token_is_shown_once_and_not_in_an_address(visitor: Client, mine: str) -> None:
    answer = visitor.post(f"/s/{mine}/keep/token/")
    assert answer.status_code == 200
    assert answer.context["token"].encode() in answer.content
    assert answer.context["token"].encode() not in visitor.get(f"/s/{mine}/settings/").content


def test_a_claim_link_asks_before_it_is_used_up(visitor: Client, anonymous: Client, mine: str) -> None:
    link = visitor.post(f"/s/{mine}/keep/claim-link/").context["claim_url"]
    path = link.removeprefix("http://testserver")
    for _ in range(2):
        assert anonymous.get(path).status_code == 200, "looking does not use it up"
    assert anonymous.post(path)["Location"] == f"/s/{mine}/"
    assert anonymous.get(f"/s/{mine}/").context["can"]["share"] is True
    assert anonymous.post(path).status_code == 404


def test_theme_and_language_are_kept_in_cookies(visitor: Client, mine: str) -> None:
    answer = visitor.post("/theme/", {"theme": "dark", "next": f"/s/{mine}/"})
    assert (answer["Location"], answer.cookies["theme"].value) == (f"/s/{mine}/", "dark")
    visitor.post("/language/", {"language": "zh-hans", "next": "/"})
    page = visitor.get(f"/s/{mine}/")
    assert b'data-theme="dark"' in page.content
    assert b'lang="zh-hans"' in page.content


@pytest.mark.parametrize("there", ["https://evil.example/", "//evil.example", "javascript:alert(1)"])
def test_no_one_is_sent_to_another_site(visitor: Client, there: str) -> None:
    assert visitor.post("/theme/", {"theme": "dark", "next": there})["Location"] == "/"


def test_pages_run_under_a_strict_content_policy(visitor: Client, mine: str) -> None:
    page = visitor.get(f"/s/{mine}/")
    rules = dict(rule.strip().split(" ", 1) for rule in page["Content-Security-Policy"].split(";"))
    assert rules["default-src"] == rules["script-src"] == rules["connect-src"] == "'self'"
    assert rules["frame-ancestors"] == rules["object-src"] == "'none'"
    assert page["X-Content-Type-Options"] == "nosniff"
    assert b"onclick=" not in page.content


def test_the_session_cookie_cannot_be_read_or_sent_from_elsewhere(visitor: Client, mine: str) -> None:
    cookie = visitor.cookies["sessionid"]
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"
    assert int(cookie["max-age"]) == 30 * 24 * 3600


def test_health_is_200_while_engine_and_database_answer(visitor: Client, port: FakePort) -> None:
    said = visitor.get("/healthz")
    assert said.status_code == 200
    assert said.json()["status"] == "ok"
    port.silent.add("status")
    said = visitor.get("/healthz")
    assert said.status_code == 503
    assert said.json()["database"] == "ok"


@pytest.mark.parametrize(("late_ms", "status"), [(250, "ok"), (251, "busy")])
def test_health_is_busy_and_says_why_when_frames_come_late(
    visitor: Client, monkeypatch: pytest.MonkeyPatch, late_ms: int, status: str
) -> None:
    monkeypatch.setattr(hubs, "figures", lambda: {"late_ms": late_ms})
    said = visitor.get("/healthz", headers={"Accept-Language": "zh-hans"})
    assert said.status_code == 200, "a busy server must not be restarted"
    assert said.json()["status"] == status
    assert said.json().get("busy") == {"ok": None}.get(status, "Frames were up to 251 ms late in the last seconds.")


def test_health_is_busy_when_the_engine_answers_late(visitor: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter((100.0, 100.7))
    monkeypatch.setattr(server_load, "time", SimpleNamespace(monotonic=lambda: next(moments)))
    said = visitor.get("/healthz").json()
    assert (said["status"], said["busy"]) == ("busy", "The engine took 700 ms to answer.")


def test_the_cost_of_the_live_sockets_is_open(visitor: Client) -> None:
    figures = visitor.get("/healthz/live").json()
    assert {"sockets", "channels", "oldest_unacknowledged_ms"} <= set(figures)


def test_another_host_name_is_refused_without_a_traceback(visitor: Client) -> None:
    answer = visitor.get("/healthz", headers={"Host": "evil.example"})
    assert answer.status_code == 400
    assert b"Traceback" not in answer.content


def test_static_files_are_served_with_their_type(visitor: Client) -> None:
    style = visitor.get("/static/queueviz/css/tokens.css")
    assert style.status_code == 200
    assert style["Content-Type"].startswith("text/css")
    assert visitor.get("/static/../settings.py").status_code == 404


def test_scripts_and_styles_travel_without_comments_that_have_lines_of_their_own() -> None:
    code = """let a = 1; /* stays */\n/* stays */ let b = "/*";\nlet c = "*/";\n"""
    assert without_comments(f"/* What it does:\n   much. */\n{code}  /** Why. */\n") == code


def test_the_landing_button_acts_with_viewer_rights(
    visitor: Client, port: FakePort, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("queueviz.sandboxes.demo._later", lambda after_s, action: None)
    ownership.demo_sandbox()
    url = "/s/landing/actions/"
    pressed = [visitor.post(url, {"action": "CrashActor", "actor": "A"}, headers=HTMX).status_code for _ in range(4)]
    assert pressed == [204, 204, 204, 429]
    assert visitor.post("/s/landing/keep/delete/").status_code == 403


def test_who_has_too_many_sandboxes_deletes_one_and_starts_with_one_button(visitor: Client, port: FakePort) -> None:
    made = [visitor.post("/new/", {"template": "orders"})["Location"] for _ in range(5)]
    refused = visitor.post("/new/", {"template": "orders"})
    assert refused.status_code == 429
    slugs = re.findall('name="instead" value="([^"]+)"', refused.content.decode())
    assert sorted(slugs) == sorted(address.split("/")[2] for address in made)
    assert visitor.post("/new/", {"template": "orders", "instead": slugs[0]})["Location"] not in made
    assert visitor.get(f"/s/{slugs[0]}/").status_code == 404
    assert Client().post("/new/", {"template": "orders", "instead": slugs[1]}).status_code == 403
    assert visitor.get(f"/s/{slugs[1]}/").status_code == 200


def test_a_producer_that_has_just_begun_has_no_rate_yet(
    visitor: Client, mine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = {"client_id": "10.0.0.9@1", "actor": "till", "state": "running", "rate_per_s": None}
    monkeypatch.setitem(SNAPSHOT, "producers", [begun])
    rail = visitor.get(f"/s/{mine}/part/rail/").content.decode()
    assert "– msg/s" in rail
    assert "0 msg/s" not in rail


@pytest.mark.parametrize(("cookie", "theme"), [("dark", "dark"), ("light", "light"), ("", "auto"), ("<b>", "auto")])
def test_the_api_page_has_the_theme_of_the_visitor(visitor: Client, cookie: str, theme: str) -> None:
    visitor.cookies["theme"] = cookie
    page = visitor.get("/api/docs").content.decode()
    assert f'data-theme="{theme}"' in page
    assert "page_api" in page, "which shows it"
