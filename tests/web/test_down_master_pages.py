"""Queues of a dead master on the pages: they stay, marked, until it is back (with the real engine)."""

import re
from typing import Any

import pytest
from django.test import Client

from tests.web.engine_calls import act, start
from tests.web.markup import compact

pytestmark = pytest.mark.django_db(transaction=True)

BOARD = {"en": "master down: readable again when it returns", "zh-hans": "主节点宕机：恢复后才能再读"}
ORDERED = {
    "en": "master down: no locks, so no processing until it returns",
    "zh-hans": "主节点宕机：无法加锁，恢复前不会处理",
}
AS_OF = {"en": "as of", "zh-hans": "截至"}
LOCKS = {
    "en": "lock table lost with the master&#x27;s memory; last known lag:",
    "zh-hans": "锁表随主节点的内存一起丢失；最后所知堆积：",
}
KNOWN = {"en": "4 of 8 queues known", "zh-hans": "已知 8 个队列中的 4 个"}


class Cluster:
    """Two masters, the first with a slave; a concurrent group and an orderly one."""

    def __init__(self) -> None:
        self.client = Client()
        self.slug = start(self.client, "cluster")

    def act(self, action: str, **fields: Any) -> None:
        act(self.client, self.slug, action=action, **fields)

    def page(self, path: str, language: str = "en") -> str:
        answer = self.client.get(f"/s/{self.slug}/{path}", headers={"Accept-Language": language})
        return compact(answer.content.decode())

    def snapshot(self) -> dict[str, Any]:
        found: dict[str, Any] = self.client.get(f"/api/sandboxes/{self.slug}").json()
        return found


def shown(page: str) -> str:
    """Return the visible text of a page with scripts."""
    page = re.sub(r"<(script|noscript|template)\b.*?</\1>", "", page, flags=re.S)
    return re.sub(r"<(small|p|dd|ul)\b[^>]* hidden>.*?</\1>", "", page, flags=re.S)


@pytest.mark.seed("4.30")
@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_locks_says_that_the_lock_table_went_with_the_master_s_memory(real_engine: Any, language: str) -> None:
    cluster = Cluster()
    path = "locks/?group=invoice-fifo"
    assert LOCKS[language] not in shown(cluster.page(path, language))
    cluster.act("KillBroker", broker="broker-a")
    page = shown(cluster.page(path, language))
    assert re.search(f"<li>broker-a: {ORDERED[language]}, {AS_OF[language]} [0-9:]{{8}}[;；] ?{LOCKS[language]}", page)
    assert KNOWN[language] in page
    assert re.findall(r'<tr data-queue="([^"]+)" class="lost">', page) == [f"broker-a:{n}" for n in range(4)]
    twin = cluster.page("part/locks/?group=invoice-fifo", language)
    assert twin.count({"en": "lock table lost with", "zh-hans": "锁表随主节点"}[language]) == 4
    cluster.act("StartBroker", broker="broker-a")
    assert LOCKS[language] not in shown(cluster.page(path, language))


@pytest.mark.parametrize("language", ["en", "zh-hans"])
@pytest.mark.parametrize("path", ["?group=invoice-fifo", "part/board/?group=invoice-fifo"])
def test_the_board_and_its_table_mark_the_queues_of_a_dead_master(real_engine: Any, path: str, language: str) -> None:
    cluster = Cluster()
    cluster.act("KillBroker", broker="broker-a")
    page = shown(cluster.page(path, language))
    assert len(re.findall(f'<small\\s+class="(?:downmark|bad)"[^>]*>{ORDERED[language]}', page)) == 4
    assert len(re.findall(f'<small\\s+class="(?:age|bad)">[^<]*{AS_OF[language]} [0-9:]{{8}}<', page)) == 4
    assert (KNOWN[language] in page) == path.startswith("?"), "the header is no part of the table"
    cluster.act("StartBroker", broker="broker-a")
    assert ORDERED[language] not in shown(cluster.page(path, language))


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_topics_keeps_and_marks_the_queues_of_a_dead_master(real_engine: Any, language: str) -> None:
    kept = {"en": "master down: its slave has the queues", "zh-hans": "主节点宕机：从节点有这些队列"}
    cluster = Cluster()
    table, sheet = "part/topics/", "part/topic/?topic=orders"
    for broker, said in (("broker-a", kept[language]), ("broker-b", BOARD[language])):
        cluster.act("KillBroker", broker=broker)
        page = cluster.page(table, language).partition('id="topic-orders"')[2].partition("</tbody>")[0]
        assert page.count('<td class="mono">broker-') == 2, "no row is gone"
        assert re.search(
            f'<td class="mono">{broker}<small class="k-bad said">{said}, {AS_OF[language]} [0-9:]{{8}}<', page
        )
        page = cluster.page(sheet, language)
        assert re.search(f'<figcaption class="mono small">{broker} <span class="k-bad">{said}, ', page)
        assert len(re.findall(f'<small class="k-bad said">{said}, ', page)) == 4, "one for each of its queues"
    cluster.act("StartBroker", broker="broker-a")
    assert "broker-a<small" not in cluster.page(table, language)


def test_history_says_of_how_many_queues_its_lines_are_known(real_engine: Any) -> None:
    cluster = Cluster()
    path = "history/?group=order-svc&topic=orders"
    assert KNOWN["en"] not in shown(cluster.page(path))
    cluster.act("KillBroker", broker="broker-b")
    assert re.search(f"{KNOWN['en']} · broker-b: {BOARD['en']}, as of", shown(cluster.page(path)))


def test_the_api_says_of_how_many_queues_a_group_s_lag_is_known_now(real_engine: Any) -> None:
    cluster = Cluster()
    cluster.act("KillBroker", broker="broker-b")
    for group in cluster.snapshot()["groups"]:
        assert (group["queues_known"], group["queues_all"]) == (4, 8)
        assert {queue["broker"] for queue in group["queues"] if queue["down"] is not None} == {"broker-b"}
        down = [queue["down"] for queue in group["queues"] if queue["down"] is not None]
        assert {mark["reads"] for mark in down} == {"no_lock" if group["group"] == "invoice-fifo" else "nobody"}
        assert all(mark["known_at_ms"] for mark in down)
        assert group["lag_last_known"] == str(sum(int(mark["lag"] or 0) for mark in down))
