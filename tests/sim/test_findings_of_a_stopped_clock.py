"""The line "What is wrong" while the clock is stopped: it is true at that moment, and leaves no trace in the run."""

from collections.abc import Callable
from typing import Any

from sandbox.cluster.actors.redelivery import CRASH, HAND_OVER
from tests.sim.finding_stage import FindingStage

Staged = Callable[..., FindingStage]


def stop(stage: FindingStage) -> None:
    stage.act("SetRate", rate=0)


def shown(stage: FindingStage) -> dict[str, str]:
    """Return the texts of the findings that pages show, by code."""
    data: Any = stage.world.read("findings").data
    return {row["code"]: row["text"] for row in data["findings"]}


def rows(stage: FindingStage) -> list[Any]:
    board: Any = stage.world.read("board/svc/orders").data
    return list(board["queues"].values())


def is_locked_by(stage: FindingStage, row: Any, client: str) -> bool:
    lock, now_ms = row["lock"], stage.world.cluster.clock.now_ms()
    return lock is not None and lock["holder"].startswith(client) and lock["expires_at_ms"] > now_ms


def found(stage: FindingStage) -> list[object]:
    return [entry.event for entry in stage.world.cluster.journal.since(0) if "Finding" in type(entry.event).__name__]


def test_deleted_messages_are_an_error_at_the_moment_of_the_stop(staged: Staged) -> None:
    stage = staged(queues=1, preset="teaching")
    stage.member("A", threads=1, work_ms=[120, 120])
    stage.act("SendMessages", topic="orders", count=37)
    stage.run(12)
    stage.act("StopActor", actor="A")
    stage.run(4)
    stage.act("SendMessages", topic="orders", count=320, body_bytes=800)
    stage.world.run(1)
    stage.act("AgeFiles", broker="broker-a", hours=2)
    stage.act("CleanFiles", broker="broker-a")
    stop(stage)
    log = stage.world.cluster.nodes.masters()[0].running.store
    lost = log.min_offset("orders", 0) - 37
    assert lost > 0
    assert shown(stage)["behind_min"].endswith(f"{lost} messages were deleted unread.")


def test_members_that_differ_are_named_before_their_holding_time_is_over(staged: Staged) -> None:
    stage = staged()
    stage.member("A")
    stage.run(30)
    stage.member("B", expression="paid")
    stage.world.run(1.5)
    assert "subscriptions_differ" not in shown(stage), "the clock runs: it may pass"
    stop(stage)
    assert "subscriptions_differ" in shown(stage)
    stage.act("SetRate", rate=1)
    stage.world.run(2.5)
    assert "subscriptions_differ" in shown(stage), "what was shown stays while it holds"
    assert "subscriptions_differ" not in stage.codes, "the journal waits for the holding time"
    stage.act("StopActor", actor="B")
    stage.run(30)
    stage.member("C", expression="paid")
    stage.world.run(1.5)
    assert "subscriptions_differ" not in shown(stage), "it ended, so it waits again"


def test_a_lock_that_is_free_again_is_not_said_to_be_held(staged: Staged) -> None:
    stage = staged(queues=2)
    for actor in ("left", "right"):
        stage.member(actor, listener="orderly", threads=1, work_ms=[150, 250])
    stage.producer(6)
    stage.run(40)
    stage.act("CrashActor", actor="left")
    stage.run(20)
    held = shown(stage)["lock_held_by_gone_member"]
    assert "right waits for" in held
    left = stage.world.cluster.actors.get("left").client_id
    while any(is_locked_by(stage, row, left) for row in rows(stage)):
        stage.world.run(0.2)
    stop(stage)
    assert "lock_held_by_gone_member" in stage.codes, "the journal closes it after its holding time"
    assert "lock_held_by_gone_member" not in shown(stage)


def test_an_action_while_the_clock_stands_is_seen_at_once(staged: Staged) -> None:
    stage = staged()
    stage.member("A")
    stage.producer(4)
    stage.run(30)
    stop(stage)
    assert shown(stage) == {}
    stage.act("KillBroker", broker="broker-a")
    assert "broker_down" in shown(stage)
    stage.act("StartBroker", broker="broker-a")
    assert "broker_down" not in shown(stage)


def test_messages_that_came_again_are_all_counted_and_only_those_of_the_crash(staged: Staged) -> None:
    stage = staged(queues=4)
    for actor in ("left", "right"):
        stage.member(actor, threads=2, work_ms=[300, 300])
    stage.run(25)
    stage.act("SendMessages", topic="orders", count=40)
    stage.world.run(0.8)
    stage.act("StopActor", actor="left")
    stage.run(20)
    stage.act("RestartActor", actor="left")
    stage.run(26)
    stage.act("SendMessages", topic="orders", count=40)
    stage.world.run(1.7)
    stage.act("CrashActor", actor="right")
    causes = stage.world.cluster.actors.group_stats["svc"].again_by_cause
    while causes[CRASH] < 4:
        stage.world.run(0.1)
    stop(stage)
    assert causes[HAND_OVER] > 0, "the clean stop interrupted messages"
    assert shown(stage)["delivered_again"].startswith(f"{causes[CRASH]} messages were delivered again within the last")


def test_who_reads_the_findings_of_a_stopped_clock_changes_nothing(staged: Staged) -> None:
    def play(*, reads: bool) -> list[object]:
        stage = staged(queues=2, seed=7)
        for actor in ("A", "B"):
            stage.member(actor)
        stage.producer(5)
        stage.run(21)
        stop(stage)
        stage.act("CrashActor", actor="A")
        if reads:
            shown(stage)
        stage.act("SetRate", rate=1)
        stage.run(60)
        return found(stage)

    assert play(reads=True) == play(reads=False)
