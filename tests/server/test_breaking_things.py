"""Everything one may do to members and offsets, by the API: what it does to the snapshot and to the journal."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.server.server import Driver, Server, committed, find_member, queues_of, stored

GROUP, TOPIC = "order-svc", "orders"
FAST = 20  # so that a minute of waiting is three seconds


@pytest.fixture(scope="module")
def lab(first_start: Server) -> Iterator[Driver]:
    """One busy sandbox, sped up, whose members the tests break and mend."""
    sandbox = first_start.create("orders")
    sandbox.act("SetRate", rate=FAST)
    sandbox.wait_until(lambda seen: len(committed(seen, GROUP)) == 8, what="every queue has a stored offset")
    yield sandbox
    sandbox.act("SetRate", rate=1)


def state(label: str, *wanted: str) -> Callable[[dict[str, Any]], bool]:
    def look(seen: dict[str, Any]) -> bool:
        member = find_member(seen, label)
        return member is not None and member["state"] in wanted

    return look


def owners(seen: dict[str, Any]) -> dict[str, str | None]:
    """`broker-a:0` → the label of who owns it."""
    group = next(group for group in seen["groups"] if group["group"] == GROUP)
    labels = {member["client_id"]: member["actor"] for member in group["members"]}
    return {f"{q['broker']}:{q['queue_id']}": labels.get(q["owner"]) for q in group["queues"] if q["topic"] == TOPIC}


def shared_by(*labels: str) -> Callable[[dict[str, Any]], bool]:
    return lambda seen: set(owners(seen).values()) == set(labels)


def caused(sandbox: Driver, seq: int, kind: str) -> dict[str, Any]:
    """The first event of that type that names the action as its cause."""
    taken = sandbox.events(seq - 1)[0]
    assert (taken["type"], taken["seq"]) == ("ActionTaken", str(seq))
    return sandbox.wait_for(kind, seq, cause=str(seq))


def test_a_crash_leaves_queues_alone_until_the_broker_notices_and_a_restart_is_a_new_process(lab: Driver) -> None:
    old = lab.member("A")
    assert old is not None
    seq = lab.act("CrashActor", actor="A")
    event = caused(lab, seq, "MemberStateChanged")
    assert (event["state"], event["client_id"], event["group"]) == ("crashed", old["client_id"], GROUP)
    lab.wait_until(state("A", "crashed"))
    assert lab.post("CrashActor", actor="A").status_code == 409
    lab.wait_until(shared_by("B", "C"), what="the others take its queues")
    seq = lab.act("RestartActor", actor="A")
    caused(lab, seq, "MemberStateChanged")
    lab.wait_until(state("A", "running"))
    new = lab.member("A")
    assert new is not None
    assert new["client_id"] != old["client_id"]
    lab.wait_until(shared_by("A", "B", "C"), what="it gets its share again")


def test_a_clean_stop_hands_over_at_once(lab: Driver) -> None:
    client_id = find_member(lab.snapshot(), "B")["client_id"]  # type: ignore[index]
    seq = lab.act("StopActor", actor="B")
    lab.wait_for("MemberStateChanged", seq, client_id=client_id, state="stopped")
    lab.wait_until(shared_by("A", "C"), what="the others take its queues")
    lab.act("RestartActor", actor="B")
    lab.wait_until(shared_by("A", "B", "C"))


def test_a_hang_keeps_the_connection_until_the_broker_drops_the_silent_one(lab: Driver) -> None:
    seq = lab.act("HangActor", actor="C")
    assert caused(lab, seq, "MemberStateChanged")["state"] == "hung"
    lab.wait_until(state("C", "hung"))
    refused = lab.post("StopActor", actor="C")
    assert refused.status_code == 409
    assert "Resume the" in refused.json()["hint"]
    seq = lab.act("ResumeActor", actor="C")
    assert caused(lab, seq, "MemberStateChanged")["state"] == "running"
    lab.wait_until(state("C", "running"))
    assert lab.post("ResumeActor", actor="C").status_code == 409


def test_a_new_member_gets_its_share_and_a_removed_one_gives_it_back(lab: Driver) -> None:
    seq = lab.act("StartConsumer", group=GROUP)
    lab.wait_until(shared_by("A", "B", "C", "D"), what="four share eight queues")
    assert caused(lab, seq, "MemberStateChanged")["group"] == GROUP
    lab.act("RemoveActor", actor="D")
    lab.wait_until(lambda seen: find_member(seen, "D") is None, what="its card goes")
    lab.wait_until(shared_by("A", "B", "C"))


def test_another_strategy_divides_the_queues_another_way(lab: Driver) -> None:
    lab.wait_until(shared_by("A", "B", "C"))
    before = owners(lab.snapshot())
    seq = lab.act("SetStrategy", group=GROUP, strategy="AVG_BY_CIRCLE")
    reported = lab.wait_for("QueuesAssigned", seq, group=GROUP, strategy="AVG_BY_CIRCLE")
    assert reported["topic"] in (TOPIC, f"%RETRY%{GROUP}")
    plan = lab.ask("plan-rebalance", group=GROUP, topic=TOPIC, strategy="AVG_BY_CIRCLE").json()
    lab.wait_until(lambda seen: owners(seen) != before and None not in owners(seen).values(), what="queues move")
    wanted = {queue: plan["labels"][client] for client, rows in plan["after"].items() for queue in rows}
    lab.wait_until(lambda seen: owners(seen) == wanted, what="as the preview said")
    lab.act("SetStrategy", group=GROUP, strategy="AVG")
    lab.wait_until(lambda seen: owners(seen) == before, what="and back")


def test_slow_work_makes_lag_and_quick_work_ends_it(lab: Driver) -> None:
    for label in "ABC":
        lab.act("ChangeActor", actor=label, work_ms=[60_000, 60_000])
    lab.act("SendMessages", topic=TOPIC, count=600)

    def lag(seen: dict[str, Any]) -> int:
        return stored(seen, TOPIC) - sum(n for queue, n in committed(seen, GROUP).items() if queue.startswith(TOPIC))

    lab.wait_until(lambda seen: lag(seen) > 500, what="lag")
    for label in "ABC":
        lab.act("ChangeActor", actor=label, work_ms=[0, 2])
    lab.wait_until(lambda seen: lag(seen) < 300, what="it is worked off")


def test_a_burst_is_stored_and_names_its_cause(lab: Driver) -> None:
    lab.act("CreateTopic", topic="burst", write_queues=2, read_queues=2)
    seq = lab.act("SendMessages", topic="burst", count=50, queue="broker-a:1")
    lab.wait_until(lambda seen: stored(seen, "burst") == 50, what="fifty messages")
    assert int(queues_of(lab.snapshot(), "burst")["broker-a:1"]["max"]) == 50
    assert lab.events(seq - 1)[0]["fields"]["count"] == 50


def test_a_reset_and_its_undo_are_in_the_snapshot_and_in_the_journal(first_start: Server) -> None:
    archive = first_start.create("empty")
    archive.act("CreateTopic", topic="log", write_queues=2, read_queues=2)
    archive.act("SendMessages", topic="log", count=120)
    archive.wait_until(lambda seen: stored(seen, "log") == 120)
    wish: dict[str, Any] = {"group": "readers", "topic": "log", "target": "offset", "method": "offline"}
    archive.act("ResetOffsets", **wish, value=60, confirm="readers")
    plan = archive.ask("plan-reset", **wish, value=17).json()
    assert (plan["refused"], plan["delivered_again"]) == (None, 2 * (60 - 17))
    expected = [
        {"queue": row["queue"], "committed": int(row["committed"]), "target": int(row["target"])}
        for row in plan["rows"]
    ]
    seq = archive.act("ResetOffsets", **wish, value=17, expected=expected, reason="a test")
    reported = caused(archive, seq, "OffsetsReset")
    assert (reported["reset_id"], reported["reason"], reported["skipped"]) == (f"r{seq}", "a test", "0")
    assert {int(row[2]) for row in reported["rows"]} == {17}
    assert set(committed(archive.snapshot(), "readers").values()) == {17}
    undo = archive.act("UndoReset", reset_id=f"r{seq}")
    assert {int(row[2]) for row in caused(archive, undo, "OffsetsReset")["rows"]} == {60}
    assert set(committed(archive.snapshot(), "readers").values()) == {60}


def test_a_broker_is_killed_and_started_and_nothing_is_lost(lab: Driver) -> None:
    before = stored(lab.snapshot(), TOPIC)
    seq = lab.act("KillBroker", broker="broker-b")
    assert caused(lab, seq, "BrokerStopped")["how"] == "killed"
    seen = lab.snapshot()
    assert {broker["broker"]: broker["state"] for broker in seen["brokers"]} == {
        "broker-a": "running",
        "broker-b": "killed",
    }
    lab.wait_until(lambda seen: find_queues_of(seen, "broker-a") > 0, what="the other one goes on")
    seq = lab.act("StartBroker", broker="broker-b")
    assert caused(lab, seq, "RecoveryDone")["kind"] == "abnormal"
    lab.wait_until(lambda seen: stored(seen, TOPIC) >= before, what="all is there again")
    lab.wait_until(shared_by("A", "B", "C"), what="its queues have owners again")


def find_queues_of(seen: dict[str, Any], broker: str) -> int:
    return sum(int(queue["max"]) for name, queue in queues_of(seen, TOPIC).items() if name.startswith(broker))
