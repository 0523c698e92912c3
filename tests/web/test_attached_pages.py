"""The pages of a real cluster: what is shown, what is not offered, and what is said to be unknown."""

import re
from pathlib import Path

import pytest
from django.test import Client

from queueviz.boards import BOARDS, PARTS, TABS
from tests.web.clusters import account, browser_of, cluster
from tests.web.fake_port import FakePort

pytestmark = pytest.mark.django_db

ROOT = Path(__file__).parents[2]
CHANGING = ("burst", "producer", "consumer", "slow", "strategy", "fault", "topic", "crash", "transactions", "locks")


@pytest.fixture
def page(port: FakePort) -> Client:
    """The page of an operator, who has every right there."""
    operator = account("ada")
    cluster(audience="everyone", title="Production", operators=(operator,))
    return browser_of(operator)


def text(client: Client, path: str = "") -> str:
    answer = client.get(f"/k/prod/{path}")
    assert answer.status_code == 200, path
    return str(answer.content.decode())


def test_every_page_that_can_be_drawn_of_a_cluster_opens(page: Client) -> None:
    drawn = [board for board in BOARDS.values() if board.attached]
    assert {"board", "locks", "index", "topology", "reset", "journal"} <= {board.name for board in drawn}
    for board in drawn:
        shown = text(page, board.path)
        assert "/s/" not in shown, f"{board.name} leads to a sandbox"
        assert "Production" in shown
    for name in [part.name for part in PARTS.values() if part.attached] + [b.name for b in drawn if b.twin]:
        assert "/s/" not in text(page, f"part/{name}/"), name


@pytest.mark.parametrize(
    "path",
    [
        "topics/",
        "settings/",
        "connect/",
        "wire/",
        "client/",
        "clients/A/",
        "store/",
        "part/topic-form/",
        "part/topic/",
        "part/topics/",
        "nothing/",
    ],
)
def test_pages_of_what_is_only_a_sandbox_s_are_not_there(page: Client, path: str) -> None:
    assert page.get(f"/k/prod/{path}").status_code == 404


@pytest.mark.parametrize("form", CHANGING)
def test_a_form_that_changes_something_is_not_given_out(page: Client, form: str) -> None:
    assert text(page, f"part/ask/?form={form}").strip() == ""
    assert "<h2" in text(page, "part/ask/?form=help")


def test_nothing_is_offered_that_cannot_be_done(page: Client) -> None:
    for path in [tab.path for tab in TABS if BOARDS[tab.name].attached]:
        shown = text(page, path)
        for mark in (
            'data-act="',
            'id="world"',
            'id="step"',
            "data-rate=",
            'id="add"',
            'id="collide"',
            'value="CutLink"',
            'value="StopNameServer"',
            'value="KillBroker"',
            "keep/",
            'data-ask="fault"',
            'data-ask="locks"',
            'data-ask="burst"',
            "/clients/",
        ):
            assert mark not in shown, f"{mark} on {path or 'board'}"


def test_a_sandbox_is_still_offered_all_of_it(visitor: Client, mine: str) -> None:
    shown = visitor.get(f"/s/{mine}/").content.decode()
    for mark in ('data-act="', 'id="world"', "data-rate=", 'id="add"', 'data-ask="fault"', 'id="tape"'):
        assert mark in shown
    assert "clusterbar" not in shown
    assert "attached.css" not in shown


def test_it_says_which_release_it_is_and_how_old_the_picture_is(page: Client) -> None:
    shown = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", text(page)))
    assert "RocketMQ 4.9.7" in shown
    assert "polled 2.0 s ago" in shown
    assert "Wall clock, UTC" in text(page)


def test_one_that_does_not_answer_says_so_in_its_own_words(page: Client, port: FakePort) -> None:
    port.trouble = "No name server answers: connect to 10.0.0.1:9876 refused."
    for path in ("", "topology/", "part/cluster-state/"):
        shown = text(page, path)
        assert "Not reachable: No name server answers: connect to 10.0.0.1:9876 refused." in shown
        assert 'role="status"' in shown


def test_what_is_unknown_is_a_dash_with_a_reason_and_no_nought(page: Client, port: FakePort) -> None:
    header = {
        "lag": None,
        "redelivered_on_crash": None,
        "in_per_s": None,
        "out_per_s": None,
        "e2e_p50_ms": None,
        "e2e_p99_ms": None,
        "delivered_again": None,
        "oldest_since_ms": None,
        "model": "CLUSTERING",
        "strategy": None,
        "listener": None,
        "next_actor": None,
    }
    row = {
        "min": "0",
        "max": "9",
        "committed": "5",
        "in_memory": None,
        "next_pull": None,
        "owner": None,
        "assigned": None,
        "cells": None,
        "lock": None,
        "oldest": None,
        "flow_control": None,
    }
    port.show("board/k.prod/order-svc/orders", {"header": header, "queues": {"broker-a:0": row}, "members": {}}, seq=1)
    shown = text(page)
    for figure in ("lag", "risk", "again"):
        assert re.search(rf'id="k-{figure}">–', shown), figure
    assert "means unknown, not zero" in shown
    twin = text(page, "part/board/")
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", twin)
    assert cells[1:5] == ["0", "5", "–", "–"]


def test_no_badge_of_the_articles_is_on_a_page_of_production(page: Client) -> None:
    for path in [tab.path for tab in TABS if BOARDS[tab.name].attached] + ["reset/"]:
        assert 'class="differs"' not in text(page, path), path


def test_a_group_without_members_had_perhaps_some(page: Client, port: FakePort) -> None:
    port.show(
        "board/k.prod/order-svc/orders", {"header": {}, "queues": {"broker-a:0": {"max": "9"}}, "members": {}}, seq=1
    )
    assert "No broker reports a member of this group." in text(page)
    assert "No consumer yet" not in text(page)


def test_a_viewer_sees_the_reset_with_the_reason_why_not(page: Client, port: FakePort) -> None:
    port.show(
        "board/k.prod/order-svc/orders", {"header": {}, "queues": {"broker-a:0": {"max": "9"}}, "members": {}}, seq=1
    )
    shown = text(Client(), "reset/")
    assert "Only operators of this cluster can do this." in shown
    assert re.search(r'<button class="btn primary" id="rs-go"[^>]*disabled[^>]*data-forbidden', shown)
    allowed = text(page, "reset/")
    assert "data-forbidden" not in allowed
    assert "This is a real cluster. To confirm, type" in allowed


def test_the_first_page_lists_the_clusters_someone_may_look_at(page: Client) -> None:
    cluster("hidden", title="Hidden one")
    assert "Production" in page.get("/").content.decode()
    assert "Hidden one" not in page.get("/").content.decode()
    assert "Attach a cluster" not in page.get("/").content.decode()


def test_an_administrator_is_shown_where_to_attach_one(port: FakePort) -> None:
    admin = browser_of(account("root", is_staff=True, is_superuser=True))
    shown = admin.get("/").content.decode()
    assert "No cluster is attached yet." in shown
    assert 'href="/admin/queueviz/cluster/add/"' in shown
    assert "Real clusters" not in Client().get("/").content.decode()


def test_no_page_writes_an_address_of_a_sandbox_by_hand() -> None:
    """`root` leads to a sandbox and to a cluster alike."""
    guilty = [path.name for path in sorted((ROOT / "templates").rglob("*.html")) if "/s/{{ sandbox" in path.read_text()]
    guilty += [path.name for path in sorted((ROOT / "static/queueviz/js").glob("*.js")) if "`/s/" in path.read_text()]
    assert guilty == []


def test_a_dead_master_is_said_everywhere_with_the_time_of_its_last_answer(page: Client, port: FakePort) -> None:
    at_ms = 1_795_000_028_000  # 11:07:08
    row = {
        "min": "0",
        "max": "9",
        "committed": "5",
        "in_memory": None,
        "next_pull": None,
        "owner": None,
        "assigned": None,
        "cells": None,
        "lock": None,
        "oldest": None,
        "flow_control": None,
        "down": None,
    }
    port.show(
        "board/k.prod/order-svc/orders",
        {
            "header": {"lag": "4", "queues_known": 1, "queues_all": 2, "lag_last_known": "4", "model": "CLUSTERING"},
            "members": {},
            "queues": {
                "broker-a:0": row,
                "broker-b:0": row | {"down": {"known_at_ms": at_ms, "reads": None, "lag": "4"}},
            },
        },
        seq=1,
    )
    shown = text(page)
    assert "1 of 2 queues known" in shown
    ages = dict(re.findall(r'data-queue="(broker-.:0)".*?class="age">([^<]*)<', shown, re.DOTALL))
    assert ages == {"broker-a:0": "", "broker-b:0": "as of 11:07:08"}
    assert text(page, "part/board/").count("as of 11:07:08") == 1
