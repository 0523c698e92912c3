"""A slave's log grows like its master's."""

import pytest

from sandbox.journal.events import CommitLogRolled, MessagesStored, ReplicationChanged
from sandbox.message import record
from sandbox.store.results import PutMessageStatus
from tests.unit.store.replicas import Pair, log_bytes, queue_bytes
from tests.unit.store.stores import message


def joined(**config: object) -> Pair:
    """A master with one message and a slave that has it."""
    pair = Pair(**config)
    pair.put()
    pair.follow()
    pair.pass_s(5.1)
    assert pair.slave is not None
    assert pair.slave.max_physical_offset == pair.master.max_physical_offset
    return pair


def test_a_fresh_slave_is_silent_for_five_seconds() -> None:
    pair = Pair()
    pair.put()
    slave = pair.follow()
    pair.pass_s(4.99)
    assert slave.max_physical_offset == 0
    pair.pass_s(0.02)
    assert slave.max_physical_offset == pair.master.max_physical_offset > 0


@pytest.mark.parametrize("count", [1, 15, 60])
def test_log_and_queues_of_a_slave_that_was_there_from_the_beginning_equal_the_master_s(count: int) -> None:
    pair = joined()
    for number in range(count):
        pair.put(queue_id=number % 3)
        pair.pass_s(0.13)
    assert pair.slave is not None
    assert log_bytes(pair.slave) == log_bytes(pair.master)
    assert queue_bytes(pair.slave) == queue_bytes(pair.master)
    assert pair.slave.query("orders", "k2", 32, 0, 1 << 50).records == (
        pair.master.query("orders", "k2", 32, 0, 1 << 50).records
    )


def test_a_new_slave_begins_with_the_last_file_and_copies_no_history() -> None:
    pair = Pair()
    pair.put(40)
    slave = pair.follow()
    pair.pass_s(6)
    start = pair.master.log.files.files[-1].base
    assert slave.min_physical_offset == start > 0
    assert log_bytes(slave) == log_bytes(pair.master, start)
    queue = slave.queue("orders", 0)
    assert queue.max_offset == 40
    first = slave.unit("orders", 0, queue.min_offset)
    assert first is not None
    assert first.physical_offset >= start
    assert slave.get_message("orders", 0, queue.min_offset, 32, None).count == 40 - queue.min_offset


def test_an_idle_link_looks_for_news_every_tenth_of_a_second() -> None:
    pair = joined()
    assert pair.slave is not None
    before = pair.slave.max_physical_offset
    pair.put()
    pair.loop.run_until_idle()
    assert pair.slave.max_physical_offset == before
    pair.pass_s(0.1)
    assert pair.slave.max_physical_offset == pair.master.max_physical_offset


def test_a_slave_takes_no_puts() -> None:
    pair = joined()
    assert pair.slave is not None
    assert pair.slave.put_message(message()).status is PutMessageStatus.SERVICE_NOT_AVAILABLE
    assert pair.slave.put_messages([message()]).status is PutMessageStatus.SERVICE_NOT_AVAILABLE


def test_a_message_is_reported_to_the_journal_once_and_a_rolled_file_by_each() -> None:
    pair = joined()
    for _ in range(25):
        pair.put()
        pair.pass_s(0.2)
    assert sum(event.count for event in pair.events(MessagesStored)) == 26
    assert [(event.broker_id, event.file) for event in pair.events(CommitLogRolled)] == [
        (0, "00000000000000004096"),
        (1, "00000000000000004096"),
    ]


def test_after_a_cut_the_slave_goes_on_where_it_was() -> None:
    pair = joined()
    pair.cut()
    pair.put(5)
    pair.pass_s(40)
    assert pair.slave is not None
    missing = pair.master.max_physical_offset - pair.slave.max_physical_offset
    assert missing > 0
    pair.heal()
    pair.pass_s(16)  # at most 5 s until it speaks and learns that its link is dead, then 5 s of silence
    assert log_bytes(pair.slave) == log_bytes(pair.master)
    assert queue_bytes(pair.slave) == queue_bytes(pair.master)


def test_a_cut_shorter_than_twenty_seconds_is_found_out_by_the_next_block() -> None:
    pair = joined()
    pair.cut()
    pair.put(3)
    pair.pass_s(2)
    pair.heal()
    pair.put()
    pair.pass_s(0.2)
    assert pair.slave is not None
    assert pair.slave.max_physical_offset < pair.master.max_physical_offset, "a hole is not written"
    pair.pass_s(5.1)
    assert log_bytes(pair.slave) == log_bytes(pair.master)


def test_a_killed_slave_goes_on_from_its_last_whole_message() -> None:
    pair = joined()
    pair.put(20)
    pair.pass_s(0.2)
    pair.stop_slave(kill=True)
    pair.put(10)
    slave = pair.follow()
    pair.pass_s(5.1)
    assert log_bytes(slave) == log_bytes(pair.master)
    assert queue_bytes(slave) == queue_bytes(pair.master)


def test_where_no_one_listens_the_slave_tries_again_after_five_seconds() -> None:
    pair = joined()
    pair.kill_master()
    pair.pass_s(2)
    pair.start_master()
    pair.put()
    pair.pass_s(2.9)
    assert pair.client is not None
    assert not pair.client.connected
    pair.pass_s(0.2)
    assert pair.client.connected
    pair.pass_s(5.1)
    assert pair.slave is not None
    assert log_bytes(pair.slave) == log_bytes(pair.master)


def test_the_journal_reports_when_a_slave_comes_falls_behind_and_is_lost() -> None:
    pair = joined(commit_log_file_bytes=1 << 20)
    pair.cut()
    pair.put(300)  # 60 KiB and more: two blocks
    pair.pass_s(2)
    connected, behind = pair.events(ReplicationChanged)
    assert (connected.broker, connected.slave_id, connected.state) == ("broker-a", 1, "connected")
    assert (behind.state, behind.behind_bytes > 32_768) == ("behind", True)
    pair.pass_s(30)
    lost = pair.events(ReplicationChanged)[-1]
    assert (lost.state, lost.slave_id) == ("lost", 1)
    pair.heal()
    pair.pass_s(20)
    assert pair.events(ReplicationChanged)[-1].state == "connected"
    assert [row.state for row in pair.master.ha.slaves()] == ["connected"]


def test_boards_can_read_how_far_slaves_are() -> None:
    pair = Pair()
    assert pair.master.replicated_offset is None
    pair.put()
    pair.follow()
    pair.pass_s(5.1)
    [row] = pair.master.ha.slaves()
    assert pair.master.replicated_offset == row.acked == pair.master.max_physical_offset
    assert (row.slave_id, row.behind_bytes, row.remote.partition(":")[0]) == (1, 0, "10.0.0.2")


def test_the_end_of_a_file_without_room_for_a_message_is_copied_as_it_is() -> None:
    pair = joined()
    while len(pair.master.log.files.files) < 2:
        pair.put()
    pair.pass_s(0.3)
    assert pair.slave is not None
    assert log_bytes(pair.slave) == log_bytes(pair.master)
    assert [file.end for file in pair.slave.log.files.files] == [file.end for file in pair.master.log.files.files]
    blank = next(file for file in pair.slave.log.files.files)
    assert record.examine(pair.slave.log.files.pool.view(blank), 0, blank.wrote, check_crc=True)


def test_a_slave_that_has_more_than_its_master_is_turned_away_until_the_master_has_as_much() -> None:
    pair = joined()
    pair.put(5)
    pair.pass_s(0.3)
    assert pair.slave is not None
    had = pair.slave.max_physical_offset
    pair.kill_master()
    pair.disks[0].power_cut()  # nothing of it was flushed yet
    pair.start_master()
    assert pair.master.max_physical_offset < had
    pair.pass_s(30)
    assert pair.slave.max_physical_offset == had
    while pair.master.max_physical_offset < had:
        pair.put()
    pair.put(2)
    pair.pass_s(16)
    assert pair.slave.max_physical_offset == pair.master.max_physical_offset, "lengths are all that is compared"
