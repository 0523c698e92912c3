"""Articles and code: every row in both languages, found by words, and a mark beside the numbers concerned."""

import re

import pytest
from django.template import Context, Template, TemplateSyntaxError
from django.test import Client
from django.utils import translation
from django.utils.html import escape

from queueviz.fidelity.ledger import ledger
from queueviz.fidelity.view import LONGEST_SEARCH, PLACES
from tests.web.fake_port import FakePort

HTMX = {"HX-Request": "true"}
MARK = re.compile(r'<details class="differs">.*?</details>', re.S)


def rows_in(page: str) -> list[str]:
    return re.findall(r'<tr role="row" id="([^"]+)">', page)


def text(answer: object) -> str:
    return answer.content.decode()  # type: ignore[attr-defined]


def test_every_row_stands_on_the_page_once_and_in_order(visitor: Client) -> None:
    page = visitor.get("/fidelity/")
    assert page.status_code == 200
    assert rows_in(text(page)) == list(ledger())


def test_the_page_needs_neither_engine_nor_login(visitor: Client, port: FakePort) -> None:
    port.silent |= {"snapshot", "read", "wake", "create"}
    assert visitor.get("/fidelity/").status_code == 200
    assert port.sandboxes == {}


@pytest.mark.parametrize(
    ("query", "there", "absent"),
    [
        ("q=smallest+unfinished", "0.27", "0.28"),
        ("q=D22", "2.10", "2.11"),
        ("q=%E6%88%91", "", "0.1"),
        ("section=2", "2.13", "3.1"),
        ("section=D", "D47", "4.34"),
        ("differing=on", "0.27", "0.26"),
    ],
)
def test_rows_are_found_without_a_script(visitor: Client, query: str, there: str, absent: str) -> None:
    rows = rows_in(text(visitor.get(f"/fidelity/?{query}")))
    assert (there in rows) is bool(there)
    assert absent not in rows


def test_nothing_found_is_said_and_leads_back(visitor: Client) -> None:
    page = text(visitor.get("/fidelity/?q=no-such-words-anywhere"))
    assert rows_in(page) == []
    assert "No matching row." in page
    assert "0 of 221 rows" in page


def test_a_search_of_any_length_is_cut_and_escaped(visitor: Client) -> None:
    page = text(visitor.get("/fidelity/", {"q": "<script>alert(1)</script>" + "x" * 5_000}))
    assert "<script>alert" not in page
    searched = page.split('name="q"')[1].split(">")[0]
    assert len(searched) < 2 * LONGEST_SEARCH


def test_an_unknown_section_is_no_section(visitor: Client) -> None:
    assert len(rows_in(text(visitor.get("/fidelity/?section=7")))) == len(ledger())


def test_htmx_gets_the_rows_alone(visitor: Client) -> None:
    answer = visitor.get("/fidelity/?q=0.27", headers=HTMX)
    assert "<html" not in text(answer)
    assert rows_in(text(answer)) == ["0.27"]
    assert "HX-Request" in answer["Vary"]


def test_both_values_stand_side_by_side(visitor: Client) -> None:
    page = text(visitor.get("/fidelity/?q=D2&section=0"))
    row = page.split('id="0.30"')[1].split("</tr>")[0]
    article, code = re.findall(r"<dd>([^<]*)</dd>", row)[:2]
    assert (article, code) == ("every 10 s", "every 5 s, the first time after 10 s")


def test_chinese_readers_get_chinese_rows(visitor: Client) -> None:
    page = text(visitor.get("/fidelity/", headers={"Accept-Language": "zh-CN,zh"}))
    assert "文章与源码" in page
    for claim in ledger().values():
        assert escape(claim.claim_zh) in page, claim.row
        assert escape(claim.rocketmq_zh) in page, claim.row


def test_links_lead_to_the_reader_s_own_sandbox(visitor: Client, mine: str) -> None:
    addresses = set(re.findall(r'href="(/s/[^"]+)"', text(visitor.get("/fidelity/"))))
    assert f"/s/{mine}/" in addresses
    for address in sorted(addresses):
        assert visitor.get(address).status_code == 200, address


def test_someone_without_a_sandbox_is_led_to_the_host_s(visitor: Client) -> None:
    assert re.findall(r'href="(/s/[^"]+)"', text(visitor.get("/fidelity/"))) == [], "nobody has opened it yet"
    visitor.get("/")
    addresses = set(re.findall(r'href="(/s/[^"]+)"', text(visitor.get("/fidelity/"))))
    assert {address.split("/")[2] for address in addresses} == {"landing"}


def test_the_first_page_and_the_help_name_it(visitor: Client, mine: str) -> None:
    assert 'href="/fidelity/"' in text(visitor.get("/"))
    assert 'href="/fidelity/"' in text(visitor.get(f"/s/{mine}/part/ask/?form=help"))


def test_a_mark_says_what_the_article_and_what_the_code_has() -> None:
    shown = Template('{% load fidelity %}{% differs "D2" %}').render(Context())
    assert "The article says: every 10 s. RocketMQ 4.9.8: every 5 s, the first time after 10 s." in shown
    assert 'href="/fidelity/#D2"' in shown
    with translation.override("zh-hans"):
        assert "每 5 秒" in Template('{% load fidelity %}{% differs "D2" %}').render(Context())


@pytest.mark.parametrize("given", ['"D99"', '"0.27"', ""])
def test_a_mark_without_its_difference_is_our_mistake(given: str) -> None:
    with pytest.raises(TemplateSyntaxError, match="there is no difference"):
        Template(f"{{% load fidelity %}}{{% differs {given} %}}").render(Context())


@pytest.mark.parametrize(
    ("path", "differences"),
    [
        ("settings/", {"D1", "D3"}),
        ("topics/", {"D25", "D30"}),
        ("locks/", {"D42"}),
        ("index/", {"D26", "D27", "D28", "D29"}),
        ("reset/", {"D13"}),
        ("part/ask/?form=help", {"D4", "D5", "D6", "D9", "D11"}),
    ],
)
def test_numbers_the_articles_give_otherwise_are_marked(
    visitor: Client, mine: str, port: FakePort, path: str, differences: set[str]
) -> None:
    queues = {"broker-a:0": {"min": "0", "max": "5"}}
    port.show(f"board/{mine}/order-svc/orders", {"queues": queues, "members": {}}, seq=1)
    page = text(visitor.get(f"/s/{mine}/{path}"))
    marked = {name for mark in MARK.findall(page) for name in re.findall(r"#(D\d+)", mark)}
    assert differences <= marked
    assert "css/differs.css" in page


def test_the_settings_list_what_is_seen_there(visitor: Client, mine: str) -> None:
    page = text(visitor.get(f"/s/{mine}/settings/"))
    listed = {claim.row for claim in ledger().section("D") if "settings" in claim.where}
    assert listed
    assert listed <= set(re.findall(r'href="/fidelity/#(D\d+)"', page))


def test_every_place_a_row_names_has_a_title() -> None:
    assert {place for claim in ledger().values() for place in claim.where} <= set(PLACES)
