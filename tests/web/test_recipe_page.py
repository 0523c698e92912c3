"""A recipe link: made on the page that shares, read on its own page, opened as a sandbox."""

import html
from dataclasses import replace
from urllib.parse import urlsplit

import pytest
from django.test import Client

from queueviz.boards import BOARDS
from queueviz.models import Sandbox
from sandbox.control.branch_orders import Came
from sandbox.control.limits import HostLimits
from sandbox.control.recipe_text import pack, unpack
from sandbox.kernel.errors import ActionRefused
from tests.web.fake_port import SNAPSHOT, FakePort

LIMITS = HostLimits()


@pytest.fixture
def link(visitor: Client, mine: str, port: FakePort) -> str:
    port.rows = [{"seq": "500", "at_ms": 1, "type": "SandboxOpened", "cause": None}]
    page = visitor.post(f"/s/{mine}/share/", {"kind": "recipe", "first": "100", "at": "450"})
    assert page.status_code == 200
    return page.content.decode().split('readonly\n              value="')[1].split('"')[0]


def test_a_link_has_the_recipe_in_its_fragment_and_leaves_nothing_on_the_server(link: str, mine: str) -> None:
    found = urlsplit(link)
    assert (found.path, found.query) == ("/recipe/", "")
    assert unpack(found.fragment, LIMITS).until == 450
    assert not Sandbox.objects.get(slug=mine).grants.filter(kind__in=("share", "live", "fork")).exists()


def test_beside_the_link_stands_the_range_as_a_test(visitor: Client, mine: str, port: FakePort) -> None:
    commit = {"type": "OffsetCommitted", "at_ms": 1, "cause": None, "group": "g", "topic": "t", "broker": "b"}
    port.rows = [{**commit, "seq": seq, "queue_id": 0, "offset": seq} for seq in (99, 100, 449, 450, 451)]
    page = visitor.post(f"/s/{mine}/share/", {"kind": "recipe", "first": "100", "at": "450"}).content.decode()
    program = html.unescape(page.split('id="test"')[1].split(">", 1)[1].split("</textarea>")[0])
    compile(program, "test", "exec")
    assert "{'OffsetCommitted': 3}" in program
    assert "{('g', 't', 'b', 0): 450}" in program
    for first, status in (("451", 200), ("x", 422)):
        assert visitor.post(f"/s/{mine}/share/", {"kind": "recipe", "first": first, "at": "450"}).status_code == status
    assert visitor.post(f"/s/{mine}/share/", {"kind": "recipe", "first": "0", "at": "20000"}).status_code == 422


def test_its_page_says_what_it_would_make_and_makes_nothing(link: str, port: FakePort) -> None:
    assert "recipe-form" in Client().get("/recipe/").content.decode()
    for text in (link, urlsplit(link).fragment):
        page = html.unescape(Client().post("/recipe/", {"text": f" {text}\n"}).content.decode())
        assert "#450" in page
        assert '"action": "CrashActor"' in page
    assert port.branched == []


def test_its_button_makes_a_sandbox_of_the_reader_s_own(link: str, port: FakePort) -> None:
    reader = Client()
    answer = reader.post("/recipe/", {"text": urlsplit(link).fragment, "make": "1"})
    assert answer.status_code == 302
    slug = answer["Location"].split("/")[2]
    assert Sandbox.objects.get(slug=slug).template == "orders"
    (order,) = port.branched
    assert pack(order, LIMITS) == urlsplit(link).fragment
    assert reader.get(f"/s/{slug}/share/").status_code == 200  # an owner


@pytest.mark.parametrize("text", ["", "nonsense", "x" * 3_000, "<script>"])
def test_what_is_no_recipe_gets_a_sentence(text: str, port: FakePort) -> None:
    answer = Client().post("/recipe/", {"text": text, "make": "1"})
    assert answer.status_code == 422
    assert "This is not a reproducible link." in answer.content.decode()
    assert "<script>" not in answer.content.decode().split("<main")[1]
    assert port.branched == []


def test_an_action_that_no_owner_may_do_is_refused(link: str, port: FakePort) -> None:
    order = unpack(urlsplit(link).fragment, LIMITS)
    action = Came(50, 9_500, "ForceUnlock", {"group": "g", "topic": "t", "broker": "b", "queue_id": 0})
    answer = Client().post("/recipe/", {"text": pack(replace(order, came=(action,)), LIMITS), "make": "1"})
    assert answer.status_code == 422
    assert "not allowed to an owner: ForceUnlock" in answer.content.decode()
    assert port.branched == []


def test_where_the_engine_refuses_the_page_says_why(link: str, port: FakePort) -> None:
    port.refuse["branch"] = ActionRefused(409, "This server has other limits.", "Open it where it was made.")
    answer = Client().post("/recipe/", {"text": urlsplit(link).fragment, "make": "1"})
    assert answer.status_code == 409
    assert not Sandbox.objects.filter(name__startswith="orders · 7").exists()


def test_only_who_may_share_gets_a_recipe(link: str, mine: str) -> None:
    assert Client().post(f"/s/{mine}/share/", {"kind": "recipe", "at": "450"}).status_code in (403, 404)


def test_a_number_out_of_its_range_is_named_and_makes_nothing(link: str, port: FakePort) -> None:
    order = replace(unpack(urlsplit(link).fragment, LIMITS), wall_ms=2**53, until_ms=2**53, came=())
    page = html.unescape(Client().post("/recipe/", {"text": pack(order, LIMITS), "make": "1"}).content.decode())
    assert "In this reproducible link wall_ms is 9007199254740992, outside 0 to 4102444800000." in page
    assert port.branched == []


@pytest.mark.parametrize("at_ms", [2**53, 2**62, -(2**62)])
def test_pages_answer_whatever_the_clock_of_a_sandbox_shows(
    visitor: Client, mine: str, port: FakePort, monkeypatch: pytest.MonkeyPatch, at_ms: int
) -> None:
    monkeypatch.setitem(SNAPSHOT, "at_ms", at_ms)
    monkeypatch.setitem(SNAPSHOT, "wall_ms", at_ms)
    pages = ["", *(f"{name}/" for name in BOARDS), "?at=1", "share/", "pipeline/", "history/", "audit/"]
    answers = {page: visitor.get(f"/s/{mine}/{page}").status_code for page in pages}
    assert [page for page, status in answers.items() if status >= 500] == []
