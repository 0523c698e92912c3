"""Findings of a channel on the line of the Board, on their page, in the API and in the metrics."""

import re
from typing import Any

import pytest
from django.test import Client

from queueviz.boards.finding_texts import HEALTHY, SENTENCES, TITLES
from queueviz.boards.rows import short_names
from sandbox.control.readings import Reading, Refusal
from sandbox.findings.all_rules import BY_CODE
from tests.web.clusters import SLUG, account, browser_of, cluster
from tests.web.fake_port import SNAPSHOT, FakePort
from tests.web.markup import compact

pytestmark = pytest.mark.django_db

NOW_MS = SNAPSHOT["at_ms"]
CHECK = {"code": "broker_down", "known": 2, "all": 2}


def hung(**more: Any) -> dict[str, Any]:
    return {
        "key": "member_hung/member/A#1/order-svc",
        "code": "member_hung",
        "severity": "error",
        "kind": "member",
        "subject": "A",
        "group": "order-svc",
        "topic": "",
        "since_ms": NOW_MS - 40_000,
        "text": "A has sent no heartbeat for 40 s; brokers remove it in 1.3 min.",
        "says": [
            {"sentence": "silent", "values": {"who": "A", "silent_ms": 40_000, "left_ms": 80_000}},
            {"sentence": "wait", "values": {"queues": 3}},
        ],
        "marks": ["member/A#1"],
        "because_of": None,
        "remedy": {
            "label": {"sentence": "crash", "values": {"who": "A", "actor": "A"}},
            "action": "CrashActor",
            "fields": {"actor": "A"},
        },
        "lab": "crash-and-stop",
        "incident": "",
        "event": "4118",
        **more,
    }


def slow(**more: Any) -> dict[str, Any]:
    return {
        **hung(),
        "key": "consumers_too_slow/group/order-svc/order-svc",
        "code": "consumers_too_slow",
        "severity": "warning",
        "kind": "group",
        "subject": "order-svc",
        "says": [{"sentence": "rates", "values": {"window_ms": 30_000, "in_per_s": 19.0, "out_per_s": 12.0}}],
        "remedy": None,
        "incident": "lag-after-a-deploy",
        **more,
    }


def put(port: FakePort, slug: str, *findings: dict[str, Any], **more: Any) -> None:
    data = {
        "at_ms": NOW_MS,
        "findings": list(findings),
        "checks": [CHECK],
        "groups": 2,
        "topics": 1,
        "brokers": 2,
        **more,
    }
    port.boards[f"findings/{slug}"] = Reading(1, NOW_MS, 1.0, "7f3a", data)


def part(client: Client, slug: str, name: str) -> str:
    answer = client.get(f"/s/{slug}/part/{name}/")
    assert answer.status_code == 200
    return compact(answer.content.decode())


def test_the_line_says_the_cause_with_its_remedy_and_its_consequence(
    visitor: Client, port: FakePort, mine: str
) -> None:
    put(port, mine, hung(), slow(because_of=hung()["key"]))
    line = re.sub(r"</?span[^>]*>", "", part(visitor, mine, "finding"))
    assert "A has sent no heartbeat for 40 s; brokers remove it in 80 s." in line
    assert "Until then its 3 queues wait." in line
    assert "Because of it: Over 30 s, 19.0 messages arrived per second, and members finished 12.0." in line
    line = part(visitor, mine, "finding")
    assert 'data-actor="A"' in line
    assert 'data-act="CrashActor"' in line
    assert "&quot;member/A#1&quot;" in line, "the marks that the pointer lights"


def test_queues_have_their_short_names_also_in_a_list(visitor: Client, port: FakePort, mine: str) -> None:
    values = {"topic": "orders", "group": "order-svc", "count": 2, "queues": 8, "names": "broker-a:2, broker-a:3"}
    row = hung(code="queue_without_reader", remedy=None, says=[{"sentence": "unassigned", "values": values}])
    put(port, mine, row)
    names = short_names(
        f"{queue['broker']}:{queue['queue_id']}" for topic in SNAPSHOT["topics"] for queue in topic["queues"]
    )
    shown = [names.get(name, name) for name in ("broker-a:2", "broker-a:3")]
    assert ", ".join(shown) in part(visitor, mine, "finding")


def test_a_finding_that_nothing_explains_is_counted_as_one_more(visitor: Client, port: FakePort, mine: str) -> None:
    put(port, mine, hung(), slow())
    assert "+1 more" in part(visitor, mine, "finding")


def test_without_a_finding_the_line_counts_the_checks_and_is_never_green_where_one_is_unknown(
    visitor: Client, port: FakePort, mine: str
) -> None:
    put(port, mine)
    assert "Healthy: 1 check holds." in part(visitor, mine, "finding")
    put(port, mine, checks=[CHECK, {"code": "offset_pinned", "known": 3, "all": 8}])
    line = part(visitor, mine, "finding")
    assert "No problem is known. Checks that hold: 1; unknown: 1." in line
    assert "Healthy:" not in line
    assert "“No message holds a committed offset”: 3 / 8." in line
    put(port, mine, began_ms=NOW_MS - 4_000, checks=[CHECK, {"code": "offset_pinned", "known": 3, "all": 8}])
    assert "They need up to 30 s of samples." in part(visitor, mine, "finding")
    port.boards[f"findings/{mine}"] = Refusal("failed")
    assert "Not checked yet." in part(visitor, mine, "finding")


@pytest.mark.parametrize("name", ["finding", "findings"])
def test_a_member_that_crashed_is_named_and_nothing_is_called_healthy(
    visitor: Client, port: FakePort, mine: str, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    put(port, mine)
    members = [{"actor": "A", "state": "crashed"}, {"actor": "B", "state": "running"}]
    monkeypatch.setitem(SNAPSHOT, "groups", [{**SNAPSHOT["groups"][0], "members": members}])
    page = part(visitor, mine, name)
    assert "A crashed and has not started again." in page
    assert "Healthy" not in page


def test_checks_that_hold_are_called_healthy_only_where_nothing_is_wrong(
    visitor: Client, port: FakePort, mine: str
) -> None:
    put(port, mine)
    assert "Healthy: 1 check holds" in part(visitor, mine, "findings")
    put(port, mine, hung())
    page = part(visitor, mine, "findings")
    assert "1 check holds" in page
    assert "Healthy" not in page


def test_a_page_fetches_again_only_while_figures_move(visitor: Client, port: FakePort, mine: str) -> None:
    put(port, mine)
    assert "data-moves" not in part(visitor, mine, "finding"), "all checks hold: a fact of the journal says otherwise"
    put(port, mine, hung())
    assert "data-moves" in part(visitor, mine, "finding")
    port.boards[f"findings/{mine}"] = Refusal("failed")
    assert "data-moves" in part(visitor, mine, "finding")


def test_the_page_lists_causes_consequences_and_checks_with_their_links(
    visitor: Client, port: FakePort, mine: str
) -> None:
    put(
        port,
        mine,
        hung(),
        slow(because_of=hung()["key"]),
        checks=[CHECK, {"code": "offset_pinned", "known": 3, "all": 8}],
    )
    answer = visitor.get(f"/s/{mine}/findings/")
    page = compact(answer.content.decode())
    assert "<b>1 error</b><b>1 warning</b>" in page
    assert page.index("A has sent no heartbeat") < page.index("19.0 messages arrived per second, and ")
    assert page.count('<article class="card fi') == 1, "the consequence is within its cause"
    assert f'href="/s/{mine}/journal/?at=4118"' in page
    assert "Incident: Lag after a deploy" in page
    assert "Every broker has a master" in page
    assert "Unknown: 1 check cannot be made everywhere" in page


def test_who_may_only_look_gets_no_remedy(visitor: Client, port: FakePort, mine: str) -> None:
    put(port, mine, hung())
    page = compact(Client().get(f"/s/{mine}/part/finding/").content.decode())
    assert "A has sent no heartbeat" in page
    assert 'data-act="CrashActor"' not in page


def test_a_real_cluster_has_the_page_without_remedies(port: FakePort) -> None:
    ops = account("ops")
    cluster(viewers=(ops,))
    put(port, SLUG, hung())
    answer = browser_of(ops).get("/k/prod/findings/")
    assert answer.status_code == 200
    page = compact(answer.content.decode())
    assert "A has sent no heartbeat" in page
    assert 'data-act="CrashActor"' not in page


def test_the_api_returns_the_findings(visitor: Client, port: FakePort, mine: str) -> None:
    put(port, mine, hung())
    answer = visitor.get(f"/api/sandboxes/{mine}/findings").json()
    assert answer["findings"][0]["text"].startswith("A has sent no heartbeat for 40 s")
    assert answer["checks"] == [CHECK]
    port.boards[f"findings/{mine}"] = Refusal("asleep")
    assert visitor.get(f"/api/sandboxes/{mine}/findings").status_code == 503


def test_every_sentence_of_every_rule_has_its_texts() -> None:
    assert set(TITLES) == set(HEALTHY) == set(BY_CODE)
    for rule in BY_CODE.values():
        assert {f"{rule.code}.{name}" for name in rule.sentences} <= set(SENTENCES)


WHY = {
    "rows": [
        {
            "values": {
                "queue": "broker-a:0",
                "who": "A",
                "in_per_s": 15.0,
                "out_per_s": 8.0,
                "busy_percent": 100,
                "then_per_s": 16.0,
            },
            "mark": "queue/orders/broker-a:0",
            "about": True,
        },
        {
            "values": {
                "queue": "broker-a:1",
                "who": "",
                "in_per_s": 4.0,
                "out_per_s": None,
                "busy_percent": None,
                "then_per_s": None,
            },
            "mark": "queue/orders/broker-a:1",
            "about": False,
        },
    ],
    "total": {"in_per_s": 19.0, "out_per_s": 12.0},
    "beside": {"at_work": [1, 3], "each_ms": 125, "needed": 2},
    "left_out": 3,
    "window_ms": 30_000,
}


def test_the_line_and_the_page_have_the_figures_of_the_sentences(visitor: Client, port: FakePort, mine: str) -> None:
    put(port, mine, slow(why=WHY), hung(why=None))
    for name in ("finding", "findings"):
        text = part(visitor, mine, name)
        assert 'data-window="last 30 s"' in text, name
        assert '<th scope="col" class="end">With 2</th>' in text
        assert '<td class="num end">15.0</td><td class="num end">8.0</td><td class="num end">100 %</td>' in text
        assert "<td>none</td>" in text, "no member reads it"
        assert '<td class="num end">–</td>' in text, "not known"
        assert '<th scope="row">Sum</th><td></td><td class="num end">19.0</td><td class="num end">12.0</td>' in text
        assert "3 more rows" in text
        assert '<dt>Always at work</dt><dd class="num">1 / 3</dd>' in text
        assert "[&quot;queue/orders/broker-a:0&quot;]" in text, "the pointer on a row lights its queue"


def test_a_finding_without_figures_has_no_why(visitor: Client, port: FakePort, mine: str) -> None:
    put(port, mine, hung(why=None))
    assert "finding-why" not in part(visitor, mine, "finding")
    assert "<details" not in part(visitor, mine, "findings")


def test_times_that_go_on_have_the_time_from_which_they_count(visitor: Client, port: FakePort, mine: str) -> None:
    put(port, mine, hung(subject="<b>"))
    line = part(visitor, mine, "finding")
    assert f'A has sent no heartbeat for <span data-since="{NOW_MS - 40_000}">40 s</span>;' in line
    assert f'in <span data-until="{NOW_MS + 80_000}">80 s</span>.' in line
    assert "<b><b>" not in line


def test_more_findings_are_a_list_below_the_line_with_their_marks(visitor: Client, port: FakePort, mine: str) -> None:
    put(port, mine, slow(), hung())
    line = part(visitor, mine, "finding")
    assert 'aria-expanded="false" aria-controls="finding-list"' in line
    assert f'data-key="{hung()["key"]}" data-marks="[&quot;member/A#1&quot;]"' in line


def test_a_remedy_says_what_it_will_do_before_it_runs(visitor: Client, port: FakePort, mine: str) -> None:
    remedy = {
        "label": {"sentence": "start", "values": {"broker": "broker-a"}},
        "action": "StartBroker",
        "fields": {"broker": "broker-a"},
        "does": {"sentence": "runs", "values": {"broker": "broker-a", "queues": 4}},
    }
    down = {"sentence": "down", "values": {"broker": "broker-a", "state": "stopped"}}
    put(port, mine, hung(code="broker_down", key="broker_down/x", says=[down], remedy=remedy))
    for name in ("finding", "findings"):
        text = part(visitor, mine, name)
        assert "broker-a runs again as master: its 4 queues accept messages, and are read from it." in text
        assert text.index('popover role="dialog"') < text.index("hx-post"), "only the dialog has the action"
        assert text.count("hx-post") == 1
    put(port, mine, hung())
    assert "popover" not in part(visitor, mine, "finding"), "the dialog of a crash has a preview"


def test_locked_queues_have_their_short_names(visitor: Client, port: FakePort, mine: str) -> None:
    rows = [f"{queue['broker']}:{queue['queue_id']}" for topic in SNAPSHOT["topics"] for queue in topic["queues"]]
    values = {"count": 2, "names": ", ".join(rows[:2]), "who": "A", "left_ms": 33_000}
    says = [{"sentence": "crashed", "values": values}]
    put(port, mine, hung(code="lock_held_by_gone_member", says=says, remedy=None))
    shown = ", ".join(short_names(rows)[row] for row in rows[:2])
    assert f"<b>{shown} are locked by A" in part(visitor, mine, "finding")


def test_a_last_state_of_another_version_has_the_title_of_its_finding(
    visitor: Client, port: FakePort, mine: str
) -> None:
    says = [{"sentence": "unread", "values": {"groups": 1, "readers": "mail-svc"}}]
    put(port, mine, hung(code="broker_down", says=says, remedy=None))
    assert ": no master</b>" in part(visitor, mine, "finding")
