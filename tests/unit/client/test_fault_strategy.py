"""Which broker a producer chooses next."""

from sandbox.client.fault_strategy import FaultStrategy, not_available_ms
from sandbox.kernel.chance import Chance
from sandbox.message.queue import MessageQueue

QUEUES = [MessageQueue("T", broker, i) for broker in ("a", "b", "c") for i in range(2)]


class Now:
    ms = 0

    def __call__(self) -> int:
        return self.ms


def test_the_table_of_pauses_is_rocketmqs() -> None:
    assert [not_available_ms(ms) for ms in (49, 50, 100, 550, 1_000, 2_000, 3_000, 15_000)] == [
        0,
        0,
        0,
        30_000,
        60_000,
        120_000,
        180_000,
        600_000,
    ]


def test_a_retry_avoids_the_broker_that_just_failed() -> None:
    strategy = FaultStrategy(Chance(1), Now(), enabled=False)
    assert all(strategy.select(QUEUES, "a").broker != "a" for _ in range(12))


def test_with_one_broker_a_retry_has_no_choice() -> None:
    strategy = FaultStrategy(Chance(1), Now(), enabled=False)
    assert strategy.select(QUEUES[:2], "a").broker == "a"


def test_a_slow_broker_is_left_alone_until_its_pause_is_over() -> None:
    now = Now()
    strategy = FaultStrategy(Chance(1), now, enabled=True)
    strategy.learn("b", 600, failed=False)
    assert {strategy.select(QUEUES, None).broker for _ in range(12)} == {"a", "c"}
    now.ms = 30_000
    assert {strategy.select(QUEUES, None).broker for _ in range(12)} == {"a", "b", "c"}


def test_a_failed_send_counts_as_thirty_seconds() -> None:
    strategy = FaultStrategy(Chance(1), Now(), enabled=True)
    strategy.learn("a", 3, failed=True)
    assert strategy.available_from_ms["a"] == 600_000


def test_when_all_are_avoided_the_better_half_is_used() -> None:
    strategy = FaultStrategy(Chance(1), Now(), enabled=True)
    for broker, latency_ms in (("a", 5_000), ("b", 600), ("c", 20_000)):
        strategy.learn(broker, latency_ms, failed=False)
    assert {strategy.select(QUEUES, None).broker for _ in range(6)} == {"b"}
