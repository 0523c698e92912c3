"""The store, ended at every moment: by a kill, and by a power cut."""

from collections import defaultdict
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import pytest

from sandbox.kernel.chance import Chance
from sandbox.kernel.errors import Locked, StoreFull
from sandbox.message import record
from sandbox.sim.disk import SimDisk
from sandbox.store.config import ASYNC_FLUSH
from sandbox.store.disk import FileDisk
from sandbox.store.message_store import MessageStore
from sandbox.store.results import GetMessageStatus, PutMessageStatus, RecoveryReport
from sandbox.store_audit.one_process import verify
from tests.sim.store_world import SMALL, START_MS, Moment, Sent, StoreWorld, inbound

LATER_MS = START_MS + 60_000
POWER_CUTS = 4  # seeds tried at each moment


def work(world: StoreWorld) -> None:
    """A short life: two topics, single messages and batches, log, queue and index files that fill up."""
    store = world.opened()
    for turn in range(9):
        batch = [inbound("T", turn % 2, 4 * turn + i) for i in range(3 if turn % 4 == 3 else 1)]
        world.put(store, batch)
        world.put(store, [inbound("U", 0, 4 * turn + 3, body_bytes=100)])
    world.loop.run_for(70.0)  # every flush service, and the checkpoint
    world.put(store, [inbound("T", 0, 100)])
    store.close()


@lru_cache
def life() -> tuple[list[Sent], list[Moment]]:
    world = StoreWorld()
    moments = world.watch(lambda: work(world))
    assert world.acknowledged == world.sent
    return world.sent, moments


def read_back(store: MessageStore) -> dict[tuple[str, int], list[bytes]]:
    """All bodies, queue by queue, as a consumer would pull them."""
    found: dict[tuple[str, int], list[bytes]] = defaultdict(list)
    for name in store.queues():
        offset = store.min_offset(*name)
        while (got := store.get_message(*name, offset, 32, None)).status is GetMessageStatus.FOUND:
            assert got.records, f"{name} at {offset}: found, but nothing"
            for message in record.decode_all(got.records):
                assert message.queue_offset == offset
                found[name].append(message.body)
                offset += 1
        assert offset == store.max_offset(*name)
    return found


def assert_whole(world: StoreWorld, sent: list[Sent], safe: int) -> None:
    """The first `safe` messages are all there, in place; later ones whole or not at all; then life goes on."""
    store = world.store()
    store.load()
    bodies = read_back(store)
    for message in sent[:safe]:
        name = (message.topic, message.queue_id)
        assert bodies[name][message.queue_offset] == message.body, message
        found = [record.decode(raw) for raw in store.query(message.topic, message.key, 32, 0, 2**62).records]
        assert message.body in [one.body for one in found], message
    promised = {(message.topic, message.queue_id, message.queue_offset): message.body for message in sent}
    for (topic, queue_id), queue in bodies.items():
        for offset, body in enumerate(queue):
            assert promised.get((topic, queue_id, offset), body) == body
    store.start()
    assert world.put(store, [inbound("T", 0, 999)]) is PutMessageStatus.PUT_OK
    assert read_back(store)["T", 0][-1] == inbound("T", 0, 999).body


def reopened(disk: SimDisk) -> StoreWorld:
    return StoreWorld(disk, start_ms=LATER_MS)


def check_files(world: StoreWorld, root: Path) -> None:
    verdict = verify(world.copy_out(root), index_slots=world.config.index_slots)
    assert [finding for finding in verdict.findings if finding.severity == "error"] == []


def test_the_life_has_moments_of_every_kind() -> None:
    sent, moments = life()
    assert len(sent) == 23
    assert len(moments) > 150
    names = {name.split("/")[0] for moment in moments for name in moment.disk.image()}
    assert names == {"abort", "checkpoint", "commitlog", "consumequeue", "index", "lock"}
    last = moments[-1].disk
    assert len(last.names("commitlog")) >= 3
    assert len(last.names("consumequeue/T/1")) >= 2
    assert len(last.names("index")) >= 2


def test_a_kill_at_any_write_loses_nothing_that_was_put(tmp_path: Path) -> None:
    sent, moments = life()
    for number, moment in enumerate(moments):
        disk = moment.disk.copy(Chance(number))
        disk.kill()
        world = reopened(disk)
        assert_whole(world, sent, moment.put)
        if number % 10 == 0:
            check_files(world, tmp_path / str(number))


def test_a_power_cut_at_any_write_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    sent, moments = life()
    for number, moment in enumerate(moments):
        for seed in range(POWER_CUTS):
            disk = moment.disk.copy(Chance(f"{number}/{seed}"))
            disk.power_cut()
            world = reopened(disk)
            assert_whole(world, sent, moment.acknowledged)
            if number % 10 == 0:
                check_files(world, tmp_path / f"{number}-{seed}")


def test_the_kernel_may_write_back_what_it_likes_before_the_power_goes() -> None:
    sent, moments = life()
    for number, moment in enumerate(moments):
        disk = moment.disk.copy(Chance(number))
        disk.write_back(0.3)
        disk.write_back(0.3)
        disk.power_cut()
        assert_whole(reopened(disk), sent, moment.acknowledged)


def recovered(disk: SimDisk) -> tuple[list[bytes], dict[str, bytes], RecoveryReport]:
    """Records and queue files after one recovery, seen by the process after the next kill, and what it reported."""
    store = reopened(disk).store()
    report = store.load()
    records = [
        bytes(view[found.physical_offset - file.base :][: found.size])
        for file, view, found in store.log.walk(store.min_physical_offset, check_crc=True)
    ]
    disk.kill()
    return records, {name: data for name, data in disk.image().items() if name.startswith("consumequeue/")}, report


def test_recovering_again_changes_no_record_and_no_queue() -> None:
    for number, moment in enumerate(life()[1]):
        disk = moment.disk.copy(Chance(number))
        disk.power_cut()
        records, queues, _ = recovered(disk)
        for _ in range(2):
            again_records, again_queues, report = recovered(disk)
            assert again_records == records
            assert again_queues == queues
            assert report.truncated_bytes <= record.BLANK_BYTES  # a blank before a file that is gone is written again


def test_a_recovery_may_itself_be_ended_at_any_write() -> None:
    sent, moments = life()
    for number in range(0, len(moments), 25):
        disk = moments[number].disk.copy(Chance(number))
        disk.power_cut()
        world = reopened(disk)
        for inner, ended in enumerate(world.watch(lambda world=world: world.store().load())):
            for end in (SimDisk.kill, SimDisk.power_cut):
                again = ended.disk.copy(Chance(f"{number}/{inner}"))
                end(again)
                assert_whole(reopened(again), sent, moments[number].acknowledged)


def test_a_clean_stop_needs_no_repair() -> None:
    sent, moments = life()
    disk = moments[-1].disk.copy(Chance(1))
    disk.power_cut()
    store = reopened(disk).store()
    report = store.load()
    assert (report.kind, report.truncated_bytes) == ("normal", 0)
    assert sum(len(bodies) for bodies in read_back(store).values()) == len(sent)


def test_a_second_process_on_the_same_store_is_refused() -> None:
    world = StoreWorld()
    first = world.opened()
    with pytest.raises(Locked, match="lock"):
        world.store().load()
    assert world.put(first, [inbound("T", 0, 1)]) is PutMessageStatus.PUT_OK
    first.close()
    world.opened()


def test_a_second_process_on_the_same_directory_is_refused(tmp_path: Path) -> None:
    world = StoreWorld()
    world.disk = FileDisk(tmp_path)  # type: ignore[assignment]
    first = world.opened()
    with pytest.raises(Locked, match="already open"):
        world.store().load()
    first.close()
    world.opened().close()


def fill_up(world: StoreWorld, store: MessageStore) -> PutMessageStatus:
    world.disk.fill()
    status = PutMessageStatus.PUT_OK
    for number in range(500, 700):
        status = world.put(store, [inbound("T", 0, number)])
        if status is not PutMessageStatus.PUT_OK:
            break
    return status


def test_a_full_disk_refuses_clearly_and_loses_nothing() -> None:
    world = StoreWorld()
    store = world.opened()
    for number in range(10):
        world.put(store, [inbound("T", 0, number)])
    assert fill_up(world, store) in (PutMessageStatus.CREATE_MAPEDFILE_FAILED, PutMessageStatus.SERVICE_NOT_AVAILABLE)
    world.disk.capacity_bytes = None
    world.disk.kill()
    again = StoreWorld(world.disk, start_ms=LATER_MS)
    assert_whole(again, world.sent, len(world.sent))


def test_a_store_goes_on_once_there_is_room_again() -> None:
    world = StoreWorld()
    store = world.opened()
    world.put(store, [inbound("T", 0, 1)])
    assert fill_up(world, store) is not PutMessageStatus.PUT_OK
    world.disk.capacity_bytes = None
    world.loop.run_for(120)  # the disk is looked at every 10 s
    store.dispatch()
    assert world.put(store, [inbound("T", 0, 2)]) is PutMessageStatus.PUT_OK
    assert read_back(store)["T", 0] == [message.body for message in world.sent]


def test_a_disk_that_is_full_from_the_start_says_so_when_the_store_opens() -> None:
    world = StoreWorld()
    world.disk.capacity_bytes = 0
    with pytest.raises(StoreFull, match="No space left"):
        world.opened()


def test_nothing_is_acknowledged_by_a_disk_that_cannot_flush() -> None:
    world = StoreWorld()
    store = world.opened()
    world.put(store, [inbound("T", 0, 1)])
    world.disk.broken_sync = True
    world.put(store, [inbound("T", 0, 2)])
    world.loop.run_for(10)
    assert [message.key for message in world.acknowledged] == ["U0001"]
    assert not store.writable


def test_a_queue_of_many_unflushed_files_is_whole_after_a_power_cut() -> None:
    """More files than a recovery looks at by habit, all written within one flush interval."""
    world = StoreWorld(config=replace(SMALL, consume_queue_file_entries=3))
    store = world.opened()
    for number in range(24):
        world.put(store, [inbound("T", 0, number)])
    for seed in range(40):
        disk = world.disk.copy(Chance(seed))
        disk.power_cut()
        assert_whole(StoreWorld(disk, world.config, start_ms=LATER_MS), world.sent, 24)


def test_what_a_killed_process_left_unflushed_is_flushed_by_the_next_one() -> None:
    world = StoreWorld()
    store = world.opened()
    for number in range(9):
        world.put(store, [inbound("T", number % 2, number)])
    store.crash()
    world.disk.kill()
    world.opened().close()
    for seed in range(20):
        disk = world.disk.copy(Chance(seed))
        disk.power_cut()
        assert_whole(reopened(disk), world.sent, 9)


def test_index_entries_of_lost_records_do_not_stand_in_the_way_of_new_ones(tmp_path: Path) -> None:
    """An index file that filled up was flushed at once; the log was not, and lost its end."""
    world = StoreWorld(config=replace(SMALL, index_entries=4, flush=ASYNC_FLUSH))
    store = world.opened()
    world.put(store, [inbound("T", 0, 1)])
    world.loop.run_for(20)  # everything is flushed
    for number in range(2, 8):
        world.put(store, [inbound("T", 0, number)])
    for seed in range(20):
        disk = world.disk.copy(Chance(seed))
        disk.power_cut()
        again = StoreWorld(disk, world.config, start_ms=LATER_MS)
        assert_whole(again, world.sent, 1)
        check_files(again, tmp_path / str(seed))
