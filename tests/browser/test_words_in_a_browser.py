"""Every sentence exists in both languages, with the same values in it."""

import re
from pathlib import Path

from playwright.sync_api import expect

from queueviz.boards.action_texts import ACTIONS
from queueviz.boards.fact_texts import FACTS
from sandbox.control.actions import BY_NAME as ACTION_NAMES
from sandbox.journal.events import BY_NAME, FLOW
from tests.browser.conftest import PATIENCE_MS, Site

CATALOGUE = Path(__file__).parents[2] / "queueviz" / "locale" / "zh_Hans" / "LC_MESSAGES" / "django.po"
LINES = r'(?:".*"\n)+'
ENTRY = re.compile(rf"^msgid (?P<en>{LINES})(?:msgid_plural (?P<many>{LINES}))?msgstr(?:\[0\])? (?P<zh>{LINES})", re.M)
VALUE = re.compile(r"\{\w+\}|%\(\w+\)s|<b [^>]*>|\*\*")


def entries() -> list[tuple[str, str]]:
    text = CATALOGUE.read_text("utf-8").split("\n\n", 1)[1] + "\n"
    return [("".join(m["many"] or m["en"]), "".join(m["zh"])) for m in ENTRY.finditer(text)]


def test_every_sentence_is_translated() -> None:
    missing = [en for en, zh in entries() if zh.strip() == '""']
    assert len(entries()) > 500
    assert missing == []


def test_translations_keep_their_values() -> None:
    lost = [(en, zh) for en, zh in entries() if set(VALUE.findall(zh)) != set(VALUE.findall(en))]
    assert lost == []


def test_the_board_speaks_chinese(site: Site) -> None:
    site.visit("orders")
    site.page.context.add_cookies([{"name": "django_language", "value": "zh-hans", "url": site.base_url}])
    site.open()
    expect(site.page.locator("html")).to_have_attribute("lang", "zh-hans")
    expect(site.page.locator("#conn")).to_contain_text("已连接")
    expect(site.page.locator(".cons .state").first).to_have_text("运行中")
    assert site.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_every_action_and_every_fact_has_a_sentence() -> None:
    """Flow is not written one by one; everything else is, in plain words."""
    reported = {name.partition(":")[0] for name in FACTS}
    assert {event.__name__ for event in set(BY_NAME.values()) - FLOW} - reported == set()
    assert set(ACTION_NAMES) - {name.partition(":")[0] for name in ACTIONS} == set()


def test_an_action_is_said_once_and_counted_right(site: Site) -> None:
    site.visit("orders")
    assert site.act(action="SendMessages", topic="orders", count="1") == 204
    assert site.act(action="SendMessages", topic="orders", count="2") == 204
    site.open("journal/")
    lines = site.page.locator("#journal .txt")
    expect(lines.filter(has_text="1 message sent to orders, by owner").first).to_be_visible()
    expect(lines.filter(has_text="2 messages sent to orders, by owner").first).to_be_visible()
    assert not [line for line in lines.all_inner_texts() if "owner owner" in line or "{" in line]
    site.start("index")  # of its own: in a shared one this line may be far back
    site.open("journal/")
    expect(lines.filter(has_text="200 messages sent to orders").first).to_be_visible()


def test_a_queue_of_another_topic_goes_by_its_topic(site: Site) -> None:
    site.start("orders")
    site.open("journal/")
    took = site.page.locator("#journal .txt").filter(has_text=" took ")
    expect(took.filter(has_text="%RETRY%").first).to_be_visible(timeout=PATIENCE_MS)
    expect(took.filter(has_text=" took orders ").first).to_be_visible()
    topics = {line.split(" took ")[1].split(" ")[0] for line in took.all_inner_texts()}
    assert topics == {"orders", "%RETRY%order-svc"}
