"""Waits of a put for its replication."""

from sandbox.store.results import PutMessageStatus
from tests.unit.store.replicas import Pair

OK = PutMessageStatus.PUT_OK
NO_SLAVE = PutMessageStatus.SLAVE_NOT_AVAILABLE
TOO_LATE = PutMessageStatus.FLUSH_SLAVE_TIMEOUT
NOT_FLUSHED = PutMessageStatus.FLUSH_DISK_TIMEOUT


def synchronous(**config: object) -> Pair:
    """A master that waits, and a slave that follows it."""
    pair = Pair(replication="SYNC_MASTER", **config)
    pair.follow()
    pair.pass_s(5.1)
    return pair


def test_a_sync_master_answers_when_the_slave_has_it() -> None:
    pair = synchronous()
    assert pair.put_and_wait() == [(0.0, OK)]
    assert pair.slave is not None
    assert pair.slave.max_physical_offset == pair.master.max_physical_offset


def test_without_a_slave_a_sync_master_says_so_at_once_and_keeps_the_message() -> None:
    pair = synchronous()
    pair.stop_slave()
    assert pair.put_and_wait() == [(0.0, NO_SLAVE)]
    assert pair.master.max_offset("orders", 0) == 1


def test_with_a_cut_link_a_sync_master_waits_three_seconds_and_keeps_the_message() -> None:
    pair = synchronous()
    pair.cut()
    answers = pair.put_and_wait()
    assert answers == []
    pair.pass_s(2.99)
    assert answers == []
    pair.pass_s(0.02)
    assert answers == [(3.0, TOO_LATE)]
    assert pair.master.max_offset("orders", 0) == 1


def test_after_the_dead_link_was_given_up_there_is_no_slave() -> None:
    pair = synchronous()
    pair.cut()
    pair.pass_s(26)
    assert pair.put_and_wait() == [(0.0, NO_SLAVE)]


def test_a_slave_that_has_just_connected_counts_though_it_says_nothing_yet() -> None:
    pair = Pair(replication="SYNC_MASTER")
    pair.follow()
    answers = pair.put_and_wait()
    pair.pass_s(3.1)
    assert answers == [(3.0, TOO_LATE)]


def test_a_slave_too_far_behind_counts_as_none() -> None:
    pair = synchronous(ha_fall_behind_max_bytes=600)
    pair.cut()
    assert pair.put_and_wait() == []
    pair.put(3)
    assert pair.put_and_wait() == [(0.0, NO_SLAVE)]


def test_an_async_master_never_waits() -> None:
    pair = Pair()
    assert pair.put_and_wait() == [(0.0, OK)]


def test_puts_are_answered_in_their_order() -> None:
    pair = synchronous()
    pair.cut()
    first = pair.put_and_wait()
    pair.pass_s(1)
    second = pair.put_and_wait()
    pair.pass_s(2.1)
    assert (first, second) == ([(3.0, TOO_LATE)], [])
    pair.pass_s(1)
    assert second == [(3.0, TOO_LATE)]


def test_a_sync_flush_and_a_slave_are_waited_for_together() -> None:
    pair = synchronous(flush="SYNC_FLUSH")
    assert pair.put_and_wait() == [(0.0, OK)]
    assert pair.master.flushed_offset == pair.master.max_physical_offset


def test_when_both_fail_the_slave_s_status_counts() -> None:
    pair = synchronous(flush="SYNC_FLUSH")
    pair.cut()
    pair.disks[0].broken_sync = True
    answers = pair.put_and_wait()
    pair.pass_s(3.1)
    assert answers == [], "the disk may still make it"
    pair.pass_s(2)
    assert answers == [(5.0, TOO_LATE)]


def test_when_only_the_flush_fails_its_status_counts() -> None:
    pair = synchronous(flush="SYNC_FLUSH")
    pair.disks[0].broken_sync = True
    answers = pair.put_and_wait()
    pair.pass_s(5.1)
    assert answers == [(5.0, NOT_FLUSHED)]
