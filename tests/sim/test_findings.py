"""Findings of a sandbox in virtual time: each opens when its trouble is there, says the cause, and closes after it."""

import re
from collections.abc import Callable

import pytest

from sandbox.findings.finding import Checked
from tests.sim.finding_stage import FindingStage


@pytest.fixture
def stage(staged: Callable[..., FindingStage]) -> FindingStage:
    return staged()


def test_a_healthy_group_has_no_finding(stage: FindingStage) -> None:
    stage.member("A")
    stage.member("B")
    stage.producer(10)
    stage.run(300)
    assert stage.opened == []
    assert stage.checked("consumers_too_slow").holds


def test_members_that_are_always_at_work_are_too_slow(stage: FindingStage) -> None:
    stage.member("A", threads=1, work_ms=[80, 120])
    stage.member("B", threads=1, work_ms=[80, 120])
    stage.producer(10)
    stage.run(60)
    stage.act("ChangeActor", actor="A", work_ms=[300, 400])
    stage.run(100)
    [opened] = stage.opened
    assert (opened.code, opened.subject) == ("consumers_too_slow", "svc")
    assert opened.at_s < 110
    assert "The 1 thread of A is always at work. A message takes about 0.3 s." in opened.text
    assert "broker-a:0 alone gets more than A finishes: more threads help, another member does not." in opened.text
    stage.act("ChangeActor", actor="A", work_ms=[10, 20])
    stage.run(100)
    assert stage.codes == []


def test_members_stay_too_slow_until_the_lag_is_nearly_gone(stage: FindingStage) -> None:
    """Seen on a board: the finding closed while 1,300 messages waited, because a little less arrived for a minute."""
    stage.member("A", threads=1, work_ms=[300, 300])
    stage.producer(10)
    stage.run(120)
    assert stage.codes == ["consumers_too_slow"]
    stage.act("ChangeActor", actor="shop", rate_per_s=2)
    stage.run(90)
    assert stage.codes == ["consumers_too_slow"]
    text = stage.text(stage.tracker.open[0])
    assert text.startswith("The lag falls: over 30 s, 2 messages arrived per second, and members finished 3.3.")
    assert "At this pace the lag is gone in" in text
    assert stage.closed == []
    stage.act("ChangeActor", actor="A", work_ms=[10, 10])
    stage.run(120)
    assert stage.codes == []


def test_that_members_keep_up_is_unknown_while_the_lag_rises(stage: FindingStage) -> None:
    """Seen on a board: "Healthy" while the lag rose from 22 to 228."""
    stage.member("A", threads=1, work_ms=[10, 10])
    stage.producer(10)
    stage.run(60)
    assert stage.checked("consumers_too_slow") == Checked(1, 1)
    stage.act("ChangeActor", actor="A", work_ms=[300, 300])
    stage.run(20)
    assert stage.codes == []
    assert stage.checked("consumers_too_slow") == Checked(0, 1)


def test_a_remedy_says_if_the_threads_of_a_new_member_are_too_few(staged: Callable[..., FindingStage]) -> None:
    stage = staged(queues=8)
    for actor in ("A", "B"):
        stage.member(actor, threads=1, work_ms=[500, 500])
    stage.producer(11)
    stage.run(120)
    remedy = stage.only("consumers_too_slow").finding.remedy
    assert remedy is not None
    assert remedy.does is not None
    assert remedy.does.sentence == "joins_few"
    assert remedy.does.values == {"group": "svc", "members": 3, "queues": 8, "threads": 3, "needed": 6}


@pytest.mark.parametrize("work_ms", [300, 150, 50])
def test_the_forecast_comes_true_or_is_not_made(stage: FindingStage, work_ms: int) -> None:
    """Seen on a board: "gone in 13 m 49 s", 30 s before the lag was 0, because the rates were those of a minute ago."""
    stage.member("A", threads=1, work_ms=[300, 300])
    stage.producer(10)
    stage.run(120)
    stage.act("ChangeActor", actor="shop", rate_per_s=1)
    stage.run(60)
    stage.act("ChangeActor", actor="A", work_ms=[work_ms, work_ms])
    stage.run(4)  # a member commits every 5 s
    forecasts: list[tuple[float, float]] = []
    while (stage.view.groups["svc"].lag or 0) > 5:
        stage.run(2)
        for each in stage.world.sandbox.findings.watch.shown[0]:
            left = [said.values["left_ms"] for said in each.finding.says if said.sentence == "drains"]
            forecasts += [(stage.now_s, int(str(left_ms)) / 1000) for left_ms in left]
    assert forecasts or work_ms == 50, "the last minute is the end of it"
    wrong = [(stage.now_s - at_s, left_s) for at_s, left_s in forecasts if not 0.5 < left_s / (stage.now_s - at_s) < 2]
    assert wrong == []


def test_members_that_just_came_are_counted_and_no_time_of_a_message_is_computed_over_them(stage: FindingStage) -> None:
    """Seen on a board: "3 threads of 3 members, about 750 ms", of five members that take 500 ms for a message."""
    for actor in ("A", "B"):
        stage.member(actor, threads=1, work_ms=[500, 500])
    stage.producer(11)
    stage.run(90)
    text = stage.text(stage.only("consumers_too_slow"))
    assert "All 2 threads of 2 members are always at work. A message takes about 0.5 s." in text
    stage.member("C", threads=1, work_ms=[500, 500])
    for _ in range(10):
        stage.run(2)
        text = stage.text(stage.only("consumers_too_slow"))
        assert "2 of 3 members are always at work" in text or "All 3 threads of 3 members" in text
        assert "A message takes" not in text
    stage.run(40)
    text = stage.text(stage.only("consumers_too_slow"))
    assert "All 3 threads of 3 members are always at work. A message takes about 0.5 s." in text


def test_lag_between_two_commits_does_not_grow(staged: Callable[..., FindingStage]) -> None:
    """Found by seed 120: a lite pull commits every 5 s, so that its lag rises and falls by what arrives meanwhile."""
    stage = staged(queues=10, seed=120)
    for actor in "PQR":
        stage.member(actor, kind="lite_pull", work_ms=[100, 232])
    stage.producer(10)
    stage.run(400)
    assert stage.opened == []


@pytest.mark.parametrize("kind", ["pull", "lite_pull"])
def test_a_group_that_finishes_exactly_what_arrives_is_not_too_slow(stage: FindingStage, kind: str) -> None:
    stage.member("A", kind=kind, work_ms=[124, 124])
    stage.run(10)
    stage.act("SendMessages", topic="orders", count=300, key="burst-{n}")
    stage.producer(8)
    stage.run(400)
    assert stage.opened == []


@pytest.mark.parametrize("work_ms", [150, 200, 400])
def test_a_pull_that_finishes_less_than_what_arrives_is_too_slow(stage: FindingStage, work_ms: int) -> None:
    stage.member("A", kind="pull", work_ms=[work_ms, work_ms])
    stage.producer(8)
    stage.run(120)
    rates = stage.only("consumers_too_slow").finding.says[0].values
    assert rates["in_per_s"] == pytest.approx(8, abs=0.1)
    assert rates["out_per_s"] == pytest.approx(1000 / work_ms, abs=0.5)


def test_an_unfinished_message_holds_the_committed_offset(stage: FindingStage) -> None:
    stage.member("A", threads=4)
    stage.run(10)
    stage.act("ChangeActor", actor="A", slow_key="order-4", slow_ms=300_000)
    stage.act("SendMessages", topic="orders", count=30, key="order-{n}")
    stage.run(60)
    [opened] = stage.opened
    assert (opened.code, opened.subject.partition(":")[0]) == ("offset_pinned", "broker-a")
    assert re.search("order-4 is unfinished for 1[56] s in A", opened.text)
    assert "messages behind it are done and would be delivered again after a crash." in opened.text
    assert opened.at_s <= 10 + 15 + 4, "as soon as it can be known"


def test_a_hung_member_hangs_on_after_its_heartbeats_expire(stage: FindingStage) -> None:
    stage.member("A")
    stage.member("B")
    stage.run(60)
    stage.act("HangActor", actor="B")
    stage.run(60)
    [opened] = stage.opened
    assert opened.code == "member_hung"
    assert opened.text.startswith("B has sent no heartbeat for ")
    assert stage.checked("member_hung").known == 1
    stage.run(120)
    assert stage.codes == ["member_hung"]
    text = stage.text(stage.only("member_hung"))
    assert text.startswith("B hangs for 3 min, and no broker lists it any more.")
    assert "waits" not in text, "A has its queues"
    assert stage.checked("member_hung") == Checked(1, 2)
    stage.act("ResumeActor", actor="B")
    stage.run(40)
    assert stage.codes == []
    assert stage.checked("member_hung").holds


def test_unfinished_messages_of_a_removed_process_go_to_the_next_owners(stage: FindingStage) -> None:
    stage.member("A")
    stage.member("B", work_ms=[5_000, 6_000])
    stage.producer(5)
    stage.run(60)
    stage.act("HangActor", actor="B")
    stage.run(180)
    text = stage.text(stage.only("member_hung"))
    assert "Other members have its queues, and were given the " in text


def test_checks_of_a_broker_that_is_down_are_unknown(stage: FindingStage) -> None:
    stage.member("A", listener="orderly")
    stage.producer(5)
    stage.run(60)
    codes = [
        "lock_table_lost",
        "lock_held_by_gone_member",
        "offset_pinned",
        "slave_serves",
        "writes_refused",
        "permission",
        "paused",
        "behind_min",
        "beyond_max",
        "offset_unknown",
        "queue_without_reader",
        "uneven_assignment",
        "consumers_too_slow",
        "same_client_id",
        "member_hung",
        "member_gone_not_expelled",
        "dead_letters_grow",
        "retrying",
        "poison_message",
        "half_message_open",
        "delay_waiting",
    ]
    assert [code for code in codes if not stage.checked(code).holds] == []
    stage.act("KillBroker", broker="broker-a")
    stage.run(20)
    assert [code for code in codes if stage.checked(code).holds] == []
    text = stage.text(stage.only("broker_down"))
    assert text.endswith("These queues accept no message.")
    assert text.startswith(
        "broker-a has no master (killed): svc cannot renew the locks of broker-a:0, broker-a:1, broker-a:2;"
    )


def test_members_beyond_the_number_of_queues_have_none(stage: FindingStage) -> None:
    stage.member("A")
    stage.act("StartConsumer", group="svc", copies=3)
    stage.run(60)
    [opened] = stage.opened
    assert opened.code == "more_members_than_queues"
    assert opened.text.endswith("There are 3 queues for 4 members.")


def test_a_broker_without_a_master_explains_the_queues_that_wait(stage: FindingStage) -> None:
    stage.member("A")
    stage.producer(5)
    stage.run(30)
    stage.act("KillBroker", broker="broker-a")
    stage.run(20)
    assert stage.codes == ["broker_down"]
    assert stage.opened[0].text.startswith(
        "broker-a has no master (killed): svc cannot read broker-a:0, broker-a:1, broker-a:2;"
    )


def test_messages_that_a_crash_repeats_are_counted_with_the_reason(stage: FindingStage) -> None:
    stage.member("A")
    stage.member("B")
    stage.producer(20)
    stage.run(33)
    stage.act("CrashActor", actor="A")
    stage.run(30)
    [text] = [line.text for line in stage.opened if line.code == "delivered_again"]
    assert text.endswith("A member crashed between the end of processing and the commit of the offset.")
    stage.run(90)
    assert stage.codes == []
