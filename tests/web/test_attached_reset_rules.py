"""Resets of a real cluster's offsets: with the name typed, carried out once, and written down before and after."""

from typing import Any

import pytest
from django.test import Client

from queueviz import engine
from queueviz.clusters import cluster_resets
from queueviz.models import AuditRecord
from sandbox.control.actions import ResetOffsets
from sandbox.kernel.errors import ActionRefused
from tests.web.clusters import SLUG, account, browser_of, cluster
from tests.web.fake_port import FakePort

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}
FORM = {
    "action": "ResetOffsets",
    "group": "order-svc",
    "topic": "orders",
    "target": "time",
    "value": "1795142537350",
    "queues[]": ["broker-a:0"],
    "method": "online",
    "confirm": "order-svc",
    "reason": "rehearsed yesterday",
    "expected": '[{"queue": "broker-a:0", "committed": "15291", "target": "15000"}]',
}


@pytest.fixture
def operator(port: FakePort) -> Client:
    user = account("ada")
    cluster(audience="everyone", operators=(user,))
    return browser_of(user)


def reset(client: Client, **fields: Any) -> Any:
    return client.post("/k/prod/actions/", {**FORM, **fields}, headers=HTMX)


def records() -> list[tuple[str, dict[str, Any]]]:
    return [(row.what, row.details) for row in AuditRecord.objects.order_by("pk")]


def test_a_reset_is_written_down_before_and_after(operator: Client, port: FakePort) -> None:
    done = {
        "type": "OffsetsReset",
        "seq": "18432",
        "cause": "18431",
        "reset_id": "r1-18431",
        "group": "order-svc",
        "at_ms": 1_795_142_537_350,
        "rows": [["orders/broker-a/0", "1", "2"]],
    }
    port.rows = [{"type": "ActionTaken", "seq": "18431"}, done]
    assert reset(operator).status_code == 204
    (slug, action, by), (first, second) = port.acted[0], records()
    assert (slug, by.role, by.name) == (SLUG, "operator", "ada")
    assert isinstance(action, ResetOffsets)
    assert first[0] == "reset"
    assert first[1]["plan"]["reason"] == "rehearsed yesterday"
    assert first[1]["plan"]["expected"] == [["broker-a:0", 15291, 15000]]
    assert second[0] == "reset-done"
    assert second[1]["of"] == AuditRecord.objects.earliest("pk").pk
    assert second[1]["result"] == done
    assert {row.who for row in AuditRecord.objects.all()} == {"ada"}
    assert {row.slug for row in AuditRecord.objects.all()} == {SLUG}


@pytest.mark.parametrize("typed", ["", "order-sv", "ORDER-SVC", "orders"])
def test_without_the_name_of_the_group_nothing_is_done_and_the_attempt_is_kept(
    operator: Client, port: FakePort, typed: str
) -> None:
    answer = reset(operator, confirm=typed)
    assert answer.status_code == 422
    assert b'data-field="confirm"' in answer.content
    assert port.acted == []
    [(what, details)] = records()
    assert (what, details["plan"]["group"]) == ("reset-refused", "order-svc")


def test_the_attempt_of_someone_who_may_not_is_kept_but_not_without_end(operator: Client, port: FakePort) -> None:
    cluster_resets.ATTEMPTS.forget()  # other tests have the same address
    anonymous = browser_of(account("eve"))
    for _ in range(3):
        assert reset(anonymous).status_code == 403
    assert port.acted == []
    assert [(what, details["why"]) for what, details in records()] == 3 * [
        ("reset-refused", "Only operators of this cluster can do this.")
    ]
    assert {row.who for row in AuditRecord.objects.all()} == {"eve"}
    cluster_resets.ATTEMPTS.forget()
    cluster_resets.ATTEMPTS.burst = 1
    try:
        reset(anonymous), reset(anonymous)
    finally:
        cluster_resets.ATTEMPTS.burst = 20
        cluster_resets.ATTEMPTS.forget()
    assert len(records()) == 4


def test_the_offsets_before_a_reset_by_a_program_are_written_down(operator: Client, port: FakePort) -> None:
    port.answers = {
        "rows": [
            {"queue": "broker-a:0", "committed": "15291", "selected": True},
            {"queue": "broker-a:1", "committed": None, "selected": False},
        ]
    }
    fields = {name: value for name, value in FORM.items() if name not in ("expected", "queues[]")}
    answer = operator.post("/api/clusters/prod/actions", fields, content_type="application/json")
    assert answer.status_code == 200
    assert records()[0][1]["before"] == {"broker-a:0": "15291"}
    reset(operator)
    assert records()[2][1]["before"] == {"broker-a:0": "15291"}  # the one of the preview


def test_what_the_cluster_refuses_is_written_down_too(operator: Client, port: FakePort) -> None:
    port.refuse["act"] = ActionRefused(
        502, "Broker {broker} did not reset its queues: {why}.", broker="broker-a", why="code 1"
    )
    answer = reset(operator)
    assert answer.status_code == 502
    assert b"Broker broker-a did not reset its queues" in answer.content
    assert [what for what, _ in records()] == ["reset", "reset-refused"]
    assert records()[1][1]["why"] == "Broker broker-a did not reset its queues: code 1."


def test_an_answer_that_never_comes_is_no_invitation_to_try_again(
    operator: Client, port: FakePort, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_resets, "PATIENCE_S", 0.01)
    assert operator.get("/k/prod/").status_code == 200
    port.silent.add("act")
    answer = reset(operator)
    assert answer.status_code == 504
    assert b"may or may not be reset" in answer.content
    assert [what for what, _ in records()] == ["reset", "reset-unknown"]


def done(port: FakePort, number: int, group: str = "order-svc", topic: str = "orders") -> str:
    """Return the journal's fact of the next action, which is the `number`th."""
    seq = 18_430 + number
    rows = [[f"{topic}/broker-a/0", "15291", "15000"], [f"{topic}/broker-a/1", "-1", "7"]]
    port.rows.append(
        {
            "type": "OffsetsReset",
            "seq": str(100_000 + seq),
            "cause": str(seq),
            "reset_id": f"r1-{seq}",
            "at_ms": 1_795_142_537_350,
            "group": group,
            "rows": rows,
        }
    )
    return f"r1-{seq}"


def undo(client: Client, reset_id: str, confirm: str = "order-svc") -> Any:
    return client.post(
        "/k/prod/actions/", {"action": "UndoReset", "reset_id": reset_id, "confirm": confirm}, headers=HTMX
    )


def test_an_undo_leads_where_the_database_says_and_is_written_down(operator: Client, port: FakePort) -> None:
    reset_id = done(port, 1)
    reset(operator)
    done(port, 2)
    assert reset_id in operator.get("/k/prod/journal/").content.decode()
    assert undo(operator, reset_id).status_code == 204
    point = port.undone[-1]
    assert (point.reset_id, point.group, point.topic) == (reset_id, "order-svc", "orders")
    assert point.before == {("broker-a", 0): 15291, ("broker-a", 1): None}
    assert [what for what, _ in records()] == ["reset", "reset-done", "undo-reset", "undo-reset-done"]
    assert records()[2][1]["plan"]["back_to"] == {"broker-a:0": 15291, "broker-a:1": None}
    assert {details.get("group") or details["plan"]["group"] for _, details in records()} == {"order-svc"}
    assert records()[3][1]["result"]["rows"][0] == ["orders/broker-a/0", "15291", "15000"]
    shown = operator.get("/k/prod/journal/").content.decode()
    assert 'id="undo-points"' not in shown
    assert "orders/broker-a/0 15\u2009291 → 15\u2009000" in shown


def test_an_undo_asks_for_the_name_of_the_group(operator: Client, port: FakePort) -> None:
    reset_id = done(port, 1)
    reset(operator)
    for typed in ("", "orders"):
        answer = undo(operator, reset_id, typed)
        assert answer.status_code == 422
        assert b'data-field="confirm"' in answer.content
    assert len(port.acted) == 1
    assert records()[-1][0] == "undo-reset-refused"


def test_a_reset_is_undone_once_and_only_the_newest(operator: Client, port: FakePort) -> None:
    first, second = done(port, 1), done(port, 2)
    reset(operator), reset(operator)
    answer = undo(operator, first)
    assert answer.status_code == 409
    assert b"The offsets of order-svc were reset again on orders after this reset." in answer.content
    assert undo(operator, second).status_code == 204
    again = undo(operator, second)
    assert again.status_code == 409
    assert b"This reset is already undone." in again.content
    assert undo(operator, first).status_code == 409
    assert b"Offset reset r7 cannot be undone: not found." in undo(operator, "r7").content
    assert len(port.acted) == 3


def test_a_reset_of_another_topic_does_not_stand_in_the_way(operator: Client, port: FakePort) -> None:
    first, _ = done(port, 1), done(port, 2, topic="orders-2")
    reset(operator), reset(operator, topic="orders-2")
    assert undo(operator, first).status_code == 204


def test_a_reset_that_one_broker_did_and_another_did_not_can_be_undone(operator: Client, port: FakePort) -> None:
    reset_id = done(port, 1)
    port.refuse["act"] = ActionRefused(
        502,
        "Broker {broker} did not reset its queues: {why}.",
        broker="broker-b",
        why="code 1",
        details={"began": "18431"},
    )
    assert reset(operator).status_code == 502
    assert records()[-1][1]["result"]["reset_id"] == reset_id
    assert undo(operator, reset_id).status_code == 204


def test_a_sandbox_s_reset_needs_no_name_and_no_audit(visitor: Client, mine: str, port: FakePort) -> None:
    before = AuditRecord.objects.count()
    answer = visitor.post(f"/s/{mine}/actions/", {**FORM, "confirm": ""}, headers=HTMX)
    assert answer.status_code == 204
    assert AuditRecord.objects.count() == before


def test_the_preview_says_when_another_way_is_taken(operator: Client, port: FakePort) -> None:
    row = {
        "queue": "broker-a:0",
        "broker": "broker-a",
        "queue_id": 0,
        "min": "0",
        "max": "9",
        "committed": "5",
        "in_memory": None,
        "target": "0",
        "change": "+1227",
        "again": 5,
        "skipped": 0,
        "notes": [],
        "owner": None,
        "selected": True,
    }
    instead = {
        "message": "In an online reset, broker broker-a (4.9.7) supports only a point in time or the latest offset. "
        "This reset is done offline.",
        "pattern": "In an online reset, broker {broker} ({version}) supports only a point in time "
        "or the latest offset. This reset is done offline.",
        "hint": "",
        "values": {"broker": "broker-a", "version": "4.9.7"},
    }
    port.answers = {
        "seq": "7",
        "at_ms": 1_795_142_537_350,
        "group": "order-svc",
        "topic": "orders",
        "method": "offline",
        "target": "earliest",
        "value": None,
        "asked_method": "online",
        "instead": instead,
        "refused": None,
        "fingerprint": "f",
        "rows": [row],
        "delivered_again": 5,
        "skipped": 0,
        "lag_after": 9,
        "catch_up_ms": None,
        "warnings": 0,
        "histogram": [],
    }
    said = operator.get("/k/prod/ask/plan-reset/?group=order-svc&topic=orders&target=earliest").content.decode()
    assert "broker-a (4.9.7) supports only a point in time or the latest offset" in said
    assert '<dd class="num">–</dd>' in said, "how long catching up takes is unknown"
    assert ">+1\u2009227<" in said


def test_operators_find_the_record_on_the_journal_page_and_viewers_do_not(operator: Client, port: FakePort) -> None:
    reset(operator)
    shown = operator.get("/k/prod/journal/").content.decode()
    assert "rehearsed yesterday" in shown
    assert "rehearsed yesterday" not in Client().get("/k/prod/journal/").content.decode()


def test_the_engine_is_asked_with_more_patience_than_for_a_sandbox() -> None:
    """`AttachedLimits.question_s` must fit in."""
    from sandbox.control.limits import AttachedLimits

    assert AttachedLimits().question_s < cluster_resets.PATIENCE_S
    assert AttachedLimits().attach_s < engine.OPENING_PATIENCE_S
