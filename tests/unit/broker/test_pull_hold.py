"""Parked pulls: who wakes them, and when."""

import pytest

from sandbox.broker.pull_hold import HeldPull, PullRequestHoldService
from sandbox.message.filter import TagFilter, parse_tags
from sandbox.message.queue import MessageQueue
from sandbox.message.string_hash import tags_code
from tests.unit.broker.world import FakeChannel, Time


class Stage:
    """A hold service over queues whose ends the test sets; answered pulls are noted with their time."""

    def __init__(self) -> None:
        self.time = Time()
        self.ends: dict[tuple[str, int], int] = {}
        self.answered: list[tuple[str, float]] = []
        self.hold = PullRequestHoldService(self.time.clock, lambda t, q: self.ends.get((t, q), 0), scan_ms=5_000)
        self.hold.start()

    def park(
        self,
        name: str,
        *,
        offset: int = 0,
        patience_ms: int = 15_000,
        wanted: TagFilter | None = None,
        channel: FakeChannel | None = None,
    ) -> None:
        now_ms = self.time.clock.now_ms()
        self.hold.suspend(
            HeldPull(
                group="g",
                mq=MessageQueue("T", "b", 0),
                client_id=name,
                offset=offset,
                wanted=wanted,
                channel=channel or FakeChannel(),
                since_ms=now_ms,
                due_ms=now_ms + patience_ms,
                retry=self._answer,
            )
        )

    def arrive(self, next_offset: int, code: int = 0) -> None:
        self.ends["T", 0] = next_offset
        self.hold.notify_message_arriving("T", 0, next_offset, code)

    def _answer(self, pull: HeldPull) -> None:
        self.answered.append((pull.client_id, self.time.clock.monotonic()))


@pytest.fixture
def stage() -> Stage:
    return Stage()


def test_a_held_pull_is_answered_by_the_message_it_waited_for(stage: Stage) -> None:
    stage.park("c1")
    stage.time.pass_s(4)
    stage.arrive(1)
    assert stage.answered == [("c1", 4.0)]
    assert stage.hold.held == []


def test_a_message_before_the_asked_offset_wakes_no_one(stage: Stage) -> None:
    stage.park("c1", offset=5)
    stage.arrive(5)
    assert stage.answered == []


def test_patience_ends_with_the_next_scan_and_not_before(stage: Stage) -> None:
    stage.time.pass_s(0.01)
    stage.park("c1", patience_ms=3_000)
    stage.time.pass_s(4.98)
    assert stage.answered == []
    stage.time.pass_s(0.02)
    assert stage.answered == [("c1", pytest.approx(5.0))]


def test_fifteen_seconds_can_become_twenty(stage: Stage) -> None:
    stage.time.pass_s(0.01)
    stage.park("c1")
    stage.time.pass_s(30)
    assert stage.answered == [("c1", pytest.approx(20.0))]


def test_a_message_with_another_tag_keeps_the_pull_parked_until_the_scan(stage: Stage) -> None:
    stage.park("c1", wanted=parse_tags("A"))
    stage.time.pass_s(1)
    stage.arrive(1, code=tags_code("B"))
    assert stage.answered == []
    stage.time.pass_s(4)
    assert stage.answered == [("c1", pytest.approx(5.0))]


def test_one_matching_message_of_a_turn_is_enough(stage: Stage) -> None:
    stage.park("c1", wanted=parse_tags("A"))
    stage.ends["T", 0] = 2
    stage.hold.notify_message_arriving("T", 0, 1, tags_code("B"))
    stage.hold.notify_message_arriving("T", 0, 2, tags_code("A"))
    assert [name for name, _ in stage.answered] == ["c1"]


def test_pulls_are_woken_in_the_order_they_came(stage: Stage) -> None:
    stage.park("c2")
    stage.park("c1")
    stage.arrive(1)
    assert [name for name, _ in stage.answered] == ["c2", "c1"]


def test_a_closed_connection_takes_its_parked_pulls_along(stage: Stage) -> None:
    gone = FakeChannel()
    stage.park("c1", channel=gone)
    stage.park("c2")
    stage.hold.drop(gone)
    assert [pull.client_id for pull in stage.hold.held] == ["c2"]
    stage.arrive(1)
    assert [name for name, _ in stage.answered] == ["c2"]
