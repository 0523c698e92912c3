"""Every address of a sandbox, for its owner and for visitors without rights, in both languages."""

import re
from collections.abc import Iterator

import httpx
import pytest

from tests.server.server import Server

PAGES = (
    "",
    "groups/",
    "rebalance/",
    "locks/",
    "store/",
    "index/",
    "messages/",
    "messages/no-such-id/",
    "topology/",
    "topics/",
    "journal/",
    "reset/",
    "settings/",
    "audit/",
    "history/",
    "pipeline/",
)
PARTS = (
    "board",
    "rebalance",
    "locks",
    "store",
    "index",
    "topology",
    "topology-map",
    "topology-panel",
    "topics",
    "rail",
    "reset-dialog",
    "topic-form",
)
LANGUAGES = ("en", "zh-hans")


class Owner:
    """A browser with a sandbox of its own, made by the form of the first page."""

    def __init__(self, server: Server) -> None:
        self.http = server.browser()
        self.http.get("/")
        made = self.post("/new/", template="orders")
        assert made.status_code == 302, made.text
        self.slug = made.headers["Location"].split("/")[2]

    def post(self, address: str, **form: str) -> httpx.Response:
        return self.http.post(address, data={"csrfmiddlewaretoken": self.http.cookies["csrftoken"], **form})

    def speak(self, language: str) -> None:
        answer = self.post("/language/", language=language, next=f"/s/{self.slug}/")
        assert answer.status_code == 302
        assert answer.headers["Location"] == f"/s/{self.slug}/"


@pytest.fixture(scope="module")
def owner(first_start: Server) -> Iterator[Owner]:
    made = Owner(first_start)
    yield made
    made.post(f"/s/{made.slug}/keep/delete/")
    made.http.close()


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_there_for_its_owner(server: Server, owner: Owner, page: str, language: str) -> None:
    owner.speak(language)
    seen = owner.http.get(f"/s/{owner.slug}/{page}")
    assert seen.status_code == 200
    assert f'<html lang="{language}"' in seen.text
    word = {"en": "Board", "zh-hans": "看板"}[language]
    assert word in seen.text
    assert seen.headers["Content-Security-Policy"].count("unsafe-eval") == 0


@pytest.mark.parametrize("part", PARTS)
def test_a_panel_is_there_for_its_owner(server: Server, owner: Owner, part: str) -> None:
    seen = owner.http.get(f"/s/{owner.slug}/part/{part}/", headers={"HX-Request": "true"})
    assert seen.status_code == 200
    assert "<html" not in seen.text, "a panel, not a page"


@pytest.mark.parametrize(
    ("question", "fields"),
    [
        ("plan-reset", {"group": "order-svc", "topic": "orders", "target": "earliest"}),
        ("plan-rebalance", {"group": "order-svc", "topic": "orders", "add": "2"}),
        ("walk-index", {"topic": "orders", "key": "order-1"}),
    ],
)
def test_an_answer_is_a_panel_too(server: Server, owner: Owner, question: str, fields: dict[str, str]) -> None:
    seen = owner.http.get(f"/s/{owner.slug}/ask/{question}/", params=fields)
    assert seen.status_code == 200
    assert "<html" not in seen.text


def test_the_language_of_the_browser_is_spoken_and_a_choice_stays(server: Server) -> None:
    with server.browser(**{"Accept-Language": "zh-CN,zh;q=0.9"}) as visitor:
        assert "启动沙盒" in visitor.get("/").text
        form = {"csrfmiddlewaretoken": visitor.cookies["csrftoken"], "language": "en", "next": "/"}
        assert visitor.post("/language/", data=form).status_code == 302
        assert "Start a sandbox" in visitor.get("/").text
    with server.browser() as visitor:
        assert '<html lang="en"' in visitor.get("/").text


def test_a_theme_is_kept(server: Server) -> None:
    with server.browser() as visitor:
        visitor.get("/")
        form = {"csrfmiddlewaretoken": visitor.cookies["csrftoken"], "theme": "dark", "next": "https://evil.example/"}
        answer = visitor.post("/theme/", data=form)
        assert answer.headers["Location"] == "/", "nobody is sent to another site"
        assert 'data-theme="dark"' in visitor.get("/").text


def test_a_visitor_without_rights_watches_but_may_not_touch(server: Server, owner: Owner) -> None:
    with server.browser() as anonymous:
        for page in PAGES:
            assert anonymous.get(f"/s/{owner.slug}/{page}").status_code == 200, page
        form = {"csrfmiddlewaretoken": anonymous.cookies["csrftoken"]}
        for address in ("actions/", "keep/delete/", "keep/token/", "keep/sleep/"):
            refused = anonymous.post(f"/s/{owner.slug}/{address}", data={**form, "action": "SetRate", "rate": "0"})
            assert refused.status_code == 403, address
        secret = anonymous.get(f"/s/{owner.slug}/settings/").text
        assert "keep/token/" not in secret or "disabled" in secret


def test_a_private_sandbox_is_404_for_visitors_without_rights_and_looks_like_none(server: Server, owner: Owner) -> None:
    changed = owner.post(f"/s/{owner.slug}/keep/change/", name="mine", visibility="private")
    assert changed.status_code == 302
    try:
        with server.browser() as anonymous:
            for address in (
                *(f"/s/{owner.slug}/{page}" for page in PAGES),
                f"/s/{owner.slug}/part/board/",
                f"/api/sandboxes/{owner.slug}",
                f"/api/sandboxes/{owner.slug}/events",
                f"/api/sandboxes/{owner.slug}/ask/route?topic=orders",
            ):
                assert anonymous.get(address).status_code == 404, address
            private, unknown = (anonymous.get(f"/s/{slug}/").text for slug in (owner.slug, "quiet-otter-zzzzzz"))
            assert without_tokens(private, owner.slug) == without_tokens(unknown, "quiet-otter-zzzzzz")
        assert owner.http.get(f"/s/{owner.slug}/").status_code == 200
    finally:
        owner.post(f"/s/{owner.slug}/keep/change/", name="mine", visibility="link")


def without_tokens(page: str, slug: str) -> str:
    return re.sub(r'"[0-9A-Za-z]{64}"', "", page).replace(slug, "")


def test_a_claim_link_makes_an_owner_of_another_browser_once(server: Server, owner: Owner) -> None:
    shown = owner.post(f"/s/{owner.slug}/keep/claim-link/").text
    token = shown.split("/claim/")[1].split("/")[0]
    with server.browser() as other, server.browser() as third:
        assert other.get(f"/claim/{token}/").status_code == 200
        form = {"csrfmiddlewaretoken": other.cookies["csrftoken"]}
        assert other.post(f"/claim/{token}/", data=form).status_code == 302
        assert other.get(f"/s/{owner.slug}/settings/").status_code == 200
        assert third.get(f"/claim/{token}/").status_code == 404


def test_a_form_acts_and_its_refusal_stands_beside_the_field(server: Server, owner: Owner) -> None:
    owner.speak("en")  # whatever was spoken before
    done = owner.post(f"/s/{owner.slug}/actions/", action="CreateTopic", topic="by-form", write_queues="2")
    assert done.status_code == 204
    assert '"queueviz:acted"' in done.headers["HX-Trigger"]
    refused = owner.post(f"/s/{owner.slug}/actions/", action="CreateTopic", topic="by form")
    assert refused.status_code == 422
    assert "illegal characters" in refused.text


@pytest.mark.parametrize(
    "address", ["/healthz", "/healthz/live", "/api/docs", "/api/openapi.json", "/accounts/login/", "/fidelity/"]
)
def test_the_other_addresses_answer(server: Server, address: str) -> None:
    assert httpx.get(server.url + address).status_code == 200


def test_every_static_file_a_page_names_is_served_and_kept(server: Server, owner: Owner) -> None:
    page = owner.http.get(f"/s/{owner.slug}/").text
    named = {part.split('"')[0] for part in page.split('"/static/')[1:]}
    assert len(named) > 5
    for name in sorted(named):
        served = httpx.get(f"{server.url}/static/{name}")
        assert served.status_code == 200, name
        assert "immutable" in served.headers["Cache-Control"], name
