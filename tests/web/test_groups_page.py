"""The Groups page: every group over all its topics, the worst first, each leading to its Board."""

import re
from typing import Any

import pytest
from django.test import Client

from sandbox.control.readings import Reading
from tests.web.clusters import account, browser_of, cluster
from tests.web.fake_port import ATTACHED, SNAPSHOT, FakePort
from tests.web.markup import compact

pytestmark = pytest.mark.django_db

NOW_MS = SNAPSHOT["at_ms"]


def group(state: str = "ok", **more: Any) -> dict[str, Any]:
    return {
        "state": state,
        "topic": "orders",
        "topics": ["orders"],
        "lag": "0",
        "retrying": "0",
        "queues_known": 8,
        "queues_all": 8,
        "lag_last_known": None,
        "oldest_since_ms": None,
        "oldest_after_ms": None,
        "members": 2,
        "consumed_per_s": 5.0,
        "delivered_per_s": 5.0,
        "differs": False,
        "finding": None,
        **more,
    }


def put(port: FakePort, slug: str, **groups: dict[str, Any]) -> None:
    port.boards[f"groups/{slug}"] = Reading(1, NOW_MS, 1.0, "7f3a", {"groups": groups})


def rows(page: str) -> dict[str, str]:
    page = compact(page)
    body = page[page.index("<tbody") : page.index("</tbody>")]
    return {found[1]: found[0] for found in re.findall(r'(<tr role="row" data-group="([^"]*)".*?</tr>)', body)}


def words(row: str) -> list[str]:
    return [word for word in re.sub(r"<[^>]+>", "|", row).split("|") if word.strip()]


def test_the_worst_group_stands_first_and_leads_to_its_board(visitor: Client, port: FakePort, mine: str) -> None:
    put(
        port,
        mine,
        audit=group(),
        billing=group(
            "behind", lag="90", oldest_since_ms=NOW_MS - 16_000, topic="refunds", topics=["orders", "refunds"]
        ),
        mails=group("nobody", lag="7000", members=0),
        orders=group("behind", lag="1200"),
        reports=group("quiet"),
    )
    found = rows(visitor.get(f"/s/{mine}/groups/").content.decode())
    assert list(found) == ["orders", "billing", "mails", "audit", "reports"]
    assert f'href="/s/{mine}/?group=billing&amp;topic=refunds"' in found["billing"]
    assert words(found["billing"]) == ["Behind", "billing", "orders, refunds", "90", "0", "16 s", "2", "5.0", "5.0"]
    assert "late" in found["billing"]


def test_a_group_with_a_finding_is_named_by_it_and_comes_before_the_others(
    visitor: Client, port: FakePort, mine: str
) -> None:
    slow = {"code": "consumers_too_slow", "severity": "warning", "subject": "mails"}
    hung = {"code": "member_hung", "severity": "error", "subject": "A"}
    put(port, mine, audit=group("behind"), mails=group(finding=slow), orders=group(finding=hung))
    shown = rows(visitor.get(f"/s/{mine}/groups/").content.decode())
    assert list(shown) == ["orders", "mails", "audit"]
    assert [words(shown[name])[0] for name in shown] == ["no heartbeat", "members too slow", "Behind"]
    assert 'class="g-behind' in shown["orders"]


def test_what_is_not_known_is_not_nought(visitor: Client, port: FakePort, mine: str) -> None:
    put(
        port,
        mine,
        mails=group(
            "unknown", lag=None, retrying=None, members=None, consumed_per_s=None, delivered_per_s=None, queues_known=0
        ),
    )
    found = rows(visitor.get(f"/s/{mine}/groups/").content.decode())
    assert words(found["mails"]) == ["Not reported yet", "mails", "orders", "–", "0 of 8 queues known", *["–"] * 5]


def test_a_group_of_which_a_part_is_unknown_is_not_green(visitor: Client, port: FakePort, mine: str) -> None:
    put(port, mine, audit=group(), mails=group("ok_partly", queues_known=4), rest=group("quiet_partly", queues_known=0))
    found = rows(visitor.get(f"/s/{mine}/groups/").content.decode())
    assert list(found) == ["mails", "rest", "audit"], "before what is well"
    assert words(found["mails"])[0] == "Healthy on known queues: 4 of 8"
    assert words(found["rest"])[0] == "Nothing to do on known queues: 0 of 8"
    assert words(found["mails"])[6] == "–", "how long the oldest has waited is not known"
    assert "g-ok " not in found["mails"].replace('"', " ")


@pytest.mark.parametrize(
    ("language", "mark", "own"),
    [
        (
            "en",
            "Subscriptions of the members differ: tags",
            "A: orders a, 20 dropped by its client\n"
            "far@1: subscription not reported, its client dropped an unknown number",
        ),
        (
            "zh-hans",
            "成员的订阅不一致：标签",
            "A: orders a, 其客户端丢弃 20 条\nfar@1: 订阅未上报, 其客户端丢弃多少条未知",
        ),
    ],
)
def test_members_that_subscribe_differently_are_named_with_what_each_asks_for(
    visitor: Client, port: FakePort, mine: str, language: str, mark: str, own: str
) -> None:
    words_of = [
        {
            "client_id": "10.0.0.1@1",
            "actor": "A",
            "model": "CLUSTERING",
            "listener": "orderly",
            "dropped": 20,
            "passed_over": 0,
            "subscriptions": [{"topic": "orders", "expression": "a", "kind": "TAG"}],
        },
        {
            "client_id": "far@1",
            "actor": None,
            "model": None,
            "listener": None,
            "dropped": None,
            "passed_over": None,
            "subscriptions": None,
        },
    ]
    put(port, mine, mails=group(members_differ=["expressions"], member_words=words_of))
    page = visitor.get(f"/s/{mine}/groups/", headers={"Accept-Language": language}).content.decode()
    assert f'<small data-c="differ">{mark}</small>' in page
    assert f'<small data-c="words">{own}</small>' in page


def test_delivered_beside_consumed_is_marked_where_it_is_more(visitor: Client, port: FakePort, mine: str) -> None:
    put(port, mine, mails=group("differs", delivered_per_s=41.7, consumed_per_s=12.4, differs=True))
    found = rows(visitor.get(f"/s/{mine}/groups/").content.decode())
    assert words(found["mails"])[-3:] == ["12.4", "41.7", "+29.3 not consumed"]


def test_a_cluster_has_the_page_too_with_an_age_it_is_not_over(port: FakePort) -> None:
    operator = account("ada")
    cluster(audience="everyone", title="Production", operators=(operator,))
    put(port, "k.prod", mails=group("behind", lag="12", oldest_after_ms=NOW_MS - 96_000, queues_known=4))
    page = browser_of(operator).get("/k/prod/groups/").content.decode()
    assert "≤\u200996 s" in page
    assert "4 of 8 queues known" in page
    assert 'href="/k/prod/?group=mails&amp;topic=orders"' in page


def test_a_sandbox_without_a_group_says_how_one_comes_to_be(visitor: Client, port: FakePort, mine: str) -> None:
    put(port, mine)
    page = compact(visitor.get(f"/s/{mine}/groups/").content.decode())
    assert '<div class="empty" id="no-groups"><p>No group yet.' in page
    assert '<table role="table" class="table g" id="groups" hidden>' in page


def places(client: Client) -> str:
    assert "places/" in client.get("/").content.decode()
    return client.get("/places/").content.decode()


def test_the_first_page_says_how_each_sandbox_and_cluster_gets_on(visitor: Client, port: FakePort, mine: str) -> None:
    cluster(audience="everyone", title="Production")
    put(port, mine, orders=group("behind", lag="1200"), audit=group(lag="34"))
    put(port, "k.prod", mails=group("ok", lag="7"), bills=group("unknown", lag=None, queues_known=0))
    page = places(visitor)
    assert f'<a class="standing bad" href="/s/{mine}/groups/">Lag 1\u2009234 · orders: Behind</a>' in page
    assert 'href="/k/prod/groups/">Lag 7, not all queues are known · bills: Not reported yet</a>' in page
    assert "3 nodes answer" in page
    port.answering = 2
    assert "2 of 3 nodes answer" in places(visitor)


def test_a_sleeping_sandbox_is_not_woken_by_the_first_page(visitor: Client, port: FakePort, mine: str) -> None:
    port.sandboxes[mine] = "asleep"
    page = places(visitor)
    assert "· asleep" in page
    assert "standing" not in page
    assert port.sandboxes[mine] == "asleep"


def test_more_groups_than_tabs_hold_are_chosen_by_name(port: FakePort, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster(audience="everyone", title="Production")
    [like] = ATTACHED["groups"]
    monkeypatch.setitem(ATTACHED, "groups", [{**like, "group": f"group-{n:02}"} for n in range(9)])
    client = browser_of(account("ada"))
    for path in ("", "rebalance/"):
        page = compact(client.get(f"/k/prod/{path}?group=group-07").content.decode())
        assert re.search(r'<input [^>]*list="group-names" value="group-07"', page), path
        assert page.count('<option value="group-') == 9
        assert 'href="/k/prod/groups/">all 9 groups</a>' in page
    assert "No group here has the name nothing;" in client.get("/k/prod/?group=nothing").content.decode()
