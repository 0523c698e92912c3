"""Offers to run a sandbox in the reader's browser: beside the server's, and instead of what an overload refuses."""

import re
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.urls import resolve

from queueviz.pages import context
from sandbox.cluster.templates import TEMPLATES
from sandbox.control.limits import HostLimits
from sandbox.control.recipe_text import unpack
from sandbox.kernel.errors import ActionRefused
from sandbox.labs.catalogue import LABS
from sandbox.labs.incidents import INCIDENTS
from tests.web.fake_port import FakePort

pytestmark = pytest.mark.django_db
LAB, INCIDENT = "pinned-offset", "lag-after-a-deploy"
OFFER = re.compile(
    r'<a class="[^"]*" href="(/lite/[^"]*)">Run it in your browser(?:<span class="vh">(.*?)</span>)?</a>'
)


@pytest.fixture(autouse=True)
def _built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context, "lite_files", lambda: {"pyodide": ""})


def offers(page: Any) -> list[str]:
    """Return the addresses that a page offers.  Each has a page of its own."""
    addresses = [unescape(address) for address, _ in OFFER.findall(page.content.decode())]
    for address in addresses:
        match = resolve(address.partition("#")[0])
        known: dict[str | None, Any] = {"lite": TEMPLATES, "lite-lab": LABS, "lite-incident": INCIDENTS}
        for value in match.kwargs.values():
            assert value in known[match.url_name]
    return addresses


def test_the_first_page_offers_it_beside_the_button_that_starts_one(visitor: Client) -> None:
    assert offers(visitor.get("/")) == ["/lite/flights/"]


def test_each_incident_and_each_lab_is_offered_under_its_own_name(visitor: Client) -> None:
    incidents, labs = visitor.get("/incidents/"), visitor.get("/labs/")
    assert offers(incidents) == [f"/lite/incident/{slug}/" for slug in INCIDENTS]
    assert sorted(offers(labs)) == sorted(f"/lite/lab/{slug}/" for slug in LABS)
    for page in (incidents, labs):
        names = [name for _, name in OFFER.findall(page.content.decode())]
        assert len(set(names)) == len(names)


@pytest.fixture
def shared(visitor: Client, mine: str, port: FakePort) -> Any:
    port.rows = [{"seq": "500", "at_ms": 1, "type": "SandboxOpened", "cause": None}]
    return visitor.post(f"/s/{mine}/share/", {"kind": "recipe", "first": "100", "at": "450"})


def test_a_reproducible_link_is_offered_where_it_is_made_and_where_it_is_read(shared: Any) -> None:
    [address] = offers(shared)
    path, _, text = address.partition("#")
    assert (path, unpack(text, HostLimits()).until) == ("/lite/recipe/", 450)
    for pasted in (text, f"https://example.org/recipe/#{text}", f"https://example.org/lite/recipe/#{text}:journal/"):
        read = Client().post("/recipe/", {"text": pasted})
        assert (read.status_code, offers(read)) == (200, [address])
    assert offers(Client().get("/recipe/")) == []


@pytest.mark.parametrize(
    ("path", "fields", "address"),
    [
        ("/new/", {"template": "orders"}, "/lite/orders/"),
        ("/new/", {}, "/lite/flights/"),
        (f"/labs/{LAB}/", {}, f"/lite/lab/{LAB}/"),
        (f"/incidents/{INCIDENT}/", {}, f"/lite/incident/{INCIDENT}/"),
    ],
)
@pytest.mark.parametrize("status", [429, 503])
def test_what_an_overload_refuses_is_offered_to_the_browser(
    port: FakePort, path: str, fields: dict[str, str], address: str, status: int
) -> None:
    port.refuse["create"] = port.refuse["branch"] = ActionRefused(status, "Full.", "Wait.")
    page = Client().post(path, fields)
    assert (page.status_code, offers(page)) == (status, [address])


def test_a_recipe_that_the_server_has_no_room_for_is_offered(shared: Any, port: FakePort) -> None:
    [address] = offers(shared)
    port.refuse["branch"] = ActionRefused(503, "Other branches are being created.", "Wait.")
    page = Client().post("/recipe/", {"text": address.partition("#")[2], "make": "1"})
    assert (page.status_code, offers(page)) == (503, [address])


def test_too_many_sandboxes_are_offered_the_browser_too(visitor: Client, port: FakePort) -> None:
    for _ in range(HostLimits().sandboxes_per_visitor):
        visitor.post("/new/", {"template": "orders"})
    page = visitor.post("/new/", {"template": "payments"})
    assert (page.status_code, offers(page)) == (429, ["/lite/payments/"])


def test_other_refusals_and_what_a_browser_cannot_begin_offer_nothing(visitor: Client, port: FakePort) -> None:
    assert offers(visitor.post("/new/", {"template": "nothing"})) == []
    assert offers(visitor.get("/s/quiet-otter-aaaaaa/")) == []
    port.refuse["create"] = ActionRefused(503, "Full.", "Wait.")
    assert offers(Client().post("/labs/exam/first-hour/")) == [], "exams are the server's"
    assert offers(Client().post("/new/", {"template": "nothing"})) == []


def test_a_server_without_the_files_offers_nothing(monkeypatch: pytest.MonkeyPatch, shared: Any) -> None:
    monkeypatch.setattr(context, "lite_files", lambda: None)
    for path in ("/", "/incidents/", "/labs/"):
        assert offers(Client().get(path)) == []
