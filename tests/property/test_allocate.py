"""One owner per queue, whatever the numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.client.allocate import strategy
from sandbox.message.queue import MessageQueue

FAIR = ["AVG", "AVG_BY_CIRCLE"]
ALL = [*FAIR, "CONSISTENT_HASH", "MACHINE_ROOM_NEARBY-AVG", "MACHINE_ROOM_NEARBY-AVG_BY_CIRCLE", "MACHINE_ROOM"]


def world(brokers: int, per_broker: int) -> list[MessageQueue]:
    return sorted(MessageQueue("T", f"r{b % 3}-b@{b}", i) for b in range(brokers) for i in range(per_broker))


@pytest.mark.seed("3.1")
@given(
    st.sampled_from(ALL),
    st.integers(1, 4),
    st.integers(1, 16),
    st.lists(st.text("abr0123-#@", min_size=1), min_size=1, max_size=9, unique=True),
)
def test_every_queue_has_exactly_one_owner(name: str, brokers: int, per_broker: int, clients: list[str]) -> None:
    mqs = world(brokers, per_broker)
    members = sorted(f"r1-{c}" for c in clients)
    chosen = strategy(name, rooms=[f"r{b % 3}-b" for b in range(brokers)])
    owned = [mq for cid in members for mq in chosen.allocate("G", cid, mqs, members)]
    assert sorted(owned) == mqs


@given(st.sampled_from(FAIR), st.integers(1, 40), st.integers(1, 12))
def test_no_one_has_two_queues_more_than_another(name: str, queues: int, clients: int) -> None:
    mqs = world(1, queues)
    members = [f"c{i:02}" for i in range(clients)]
    shares = [len(strategy(name).allocate("G", cid, mqs, members)) for cid in members]
    assert max(shares) - min(shares) <= 1


@given(st.sampled_from(ALL), st.integers(1, 10))
def test_a_client_outside_the_group_owns_nothing(name: str, clients: int) -> None:
    members = [f"r0-c{i}" for i in range(clients)]
    assert strategy(name, rooms=["r0-b"]).allocate("G", "r0-x", world(1, 8), members) == []


@pytest.mark.seed("3.40")
@given(st.integers(2, 8), st.integers(1, 24))
def test_with_consistent_hash_only_the_leavers_queues_move(clients: int, queues: int) -> None:
    mqs = world(1, queues)
    members = [f"c{i}" for i in range(clients)]
    chosen = strategy("CONSISTENT_HASH")
    before = {cid: set(chosen.allocate("G", cid, mqs, members)) for cid in members}
    after = {cid: set(chosen.allocate("G", cid, mqs, members[1:])) for cid in members[1:]}
    assert all(before[cid] <= after[cid] for cid in members[1:])
