"""Skipped and reconsumed messages in a reset's fact."""

import pytest

from sandbox.commands.reset.targets import reset_fact
from sandbox.message.queue import MessageQueue


@pytest.mark.parametrize(
    ("before", "after", "skipped", "replayed"),
    [
        (10, 30, 20, 0),
        (30, 10, 0, 20),
        (10, 10, 0, 0),
        (None, 30, 30, 0),  # nothing was consumed: nothing is consumed again
        (None, 0, 0, 0),
    ],
)
def test_a_reset_counts_what_it_skips_and_what_is_consumed_again(
    before: int | None, after: int, skipped: int, replayed: int
) -> None:
    queue = MessageQueue("orders", "broker-a", 0)
    fact = reset_fact("r", "g", "test", {queue: before}, {queue: after}, reason="", by="")
    assert (fact.skipped, fact.replayed) == (skipped, replayed)


def test_queues_are_counted_one_by_one() -> None:
    first, second = (MessageQueue("orders", "broker-a", number) for number in (0, 1))
    fact = reset_fact("r", "g", "test", {first: 10, second: 30}, {first: 30, second: 10}, reason="", by="")
    assert (fact.skipped, fact.replayed) == (20, 20)
    assert [row[0] for row in fact.rows] == [first.key, second.key]
