"""Settings of brokers and groups, and questions about places."""

from pathlib import Path

import pytest

from sandbox.control.channel_names import ChannelUnknown
from sandbox.journal.events import BrokerConfigChanged, GroupChanged, QueueTaken
from sandbox.kernel.errors import ActionRefused
from sandbox.queries.snapshot_cache import cache_of
from sandbox.simulation.world import World
from tests.beginnings import world_with

GROUP = "order-svc"
world = world_with({"orders": 2})


def test_the_locks_life_changes_at_once_and_survives_a_restart_of_the_broker(world: World) -> None:
    world.act("ChangeBroker", broker="broker-a", changes={"lock_max_live_ms": 5_000})
    world.act("StartConsumer", group=GROUP, subscriptions=[["orders", "*"]], listener="orderly")
    world.run(5)
    assert world.read(f"locks/{GROUP}").data["lives"]["broker_ms"] == 5_000
    world.act("KillBroker", broker="broker-a")
    world.act("StartBroker", broker="broker-a")
    assert world.read(f"locks/{GROUP}").data["lives"]["broker_ms"] == 5_000
    assert len(world.entries(BrokerConfigChanged)) == 1


def test_file_sizes_can_be_changed_before_the_first_message_only(world: World) -> None:
    world.act("ChangeBroker", broker="broker-a", changes={"commit_log_file_bytes": 128 * 1024})
    world.act("SendMessages", topic="orders", count=3)
    world.run(2)
    assert set(world.read("store/broker-a").data["files"]) == {f"{0:020}"}
    assert world.read("store/broker-a").data["log"]["file_bytes"] == str(128 * 1024)
    for changes, status in (({"commit_log_file_bytes": 64 * 1024}, 409), ({"index_slots": 1}, 422), ({"what": 1}, 422)):
        with pytest.raises(ActionRefused) as refusal:
            world.act("ChangeBroker", broker="broker-a", changes=changes)
        assert refusal.value.status == status
    world.act("ChangeBroker", broker="broker-a", changes={"flush": "SYNC_FLUSH"})
    world.act("SendMessages", topic="orders", count=3)
    world.run(2)
    assert world.snapshot()["brokers"][0]["flush"] == "SYNC_FLUSH"
    assert sum(int(queue["max"]) for queue in world.snapshot()["topics"][0]["queues"]) == 6
    world.sleep()
    world.wake()
    assert world.snapshot()["brokers"][0]["flush"] == "SYNC_FLUSH", "and it is remembered"


def test_a_topic_no_one_reads_shows_its_ends_and_nothing_of_an_offset(world: World) -> None:
    world.act("SendMessages", topic="orders", count=10)
    world.run(2)
    board = world.read("board//orders").data
    assert {name: (row["min"], row["max"]) for name, row in board["queues"].items()} == {
        "broker-a:0": ("0", "5"),
        "broker-a:1": ("0", "5"),
    }
    for field in ("committed", "in_memory", "next_pull", "owner", "assigned", "lock"):
        assert {row[field] for row in board["queues"].values()} == {None}, field
    assert {board["header"][field] for field in ("group", "lag", "strategy", "model", "out_per_s")} == {None}
    assert board["members"] == {}
    with pytest.raises(ChannelUnknown):
        world.read("board//nothing")


def test_a_group_without_permission_does_not_progress(world: World) -> None:
    world.act("StartConsumer", group=GROUP, subscriptions=[["orders", "*"]], work_ms=[1])
    world.run(3)
    world.act("ChangeGroup", group=GROUP, changes={"consume_enable": False})
    world.act("SendMessages", topic="orders", count=10)
    world.run(20)
    assert int(world.read(f"board/{GROUP}/orders").data["header"]["lag"]) > 0
    world.act("ChangeGroup", group=GROUP, changes={"consume_enable": "true"})
    world.run(20)
    assert world.read(f"board/{GROUP}/orders").data["header"]["lag"] == "0"
    assert [e.event.changes for e in world.entries(GroupChanged)][-1] == {"consumeEnable": True}
    with pytest.raises(ActionRefused) as refusal:
        world.act("ChangeGroup", group=GROUP, changes={"retry_max_times": 99})
    assert refusal.value.field == "retry_max_times"


def test_the_forecast_of_a_start_is_where_a_new_member_starts(world: World) -> None:
    world.act("SendMessages", topic="orders", count=10)
    world.run(2)
    forecast = {
        n: world.ask("start-offset", group=GROUP, topic="orders", broker="broker-a", queue_id=n) for n in (0, 1)
    }
    assert {answer["trace"][0] for answer in forecast.values()} == {"zero_in_memory"}
    world.act("StartConsumer", group=GROUP, subscriptions=[["orders", "*"]], work_ms=[1])
    world.run(12)
    taken = {entry.event.queue_id: entry.event for entry in world.entries(QueueTaken) if entry.event.topic == "orders"}
    assert {n: str(event.start_offset) for n, event in taken.items()} == {n: a["offset"] for n, a in forecast.items()}
    assert {n: list(event.trace) for n, event in taken.items()} == {n: a["trace"] for n, a in forecast.items()}
    again = world.ask("start-offset", group=GROUP, topic="orders", broker="broker-a", queue_id=0)
    assert again["trace"] == ["stored"]


@pytest.mark.seed("0.9")
def test_places_in_the_log_are_found_and_named(world: World) -> None:
    world.act("SendMessages", topic="orders", count=10)
    world.run(1)
    place = world.ask("locate", broker="broker-a", physical_offset=1_048_576 + 1_003)
    assert (place["file"], place["position"], place["exists"]) == (f"{1_048_576:020}", "1003", False)
    large = world.ask("locate", broker="broker-a", physical_offset=1_073_742_827, file_bytes=1 << 30)
    assert (large["file"], large["file_number"], large["position"]) == ("00000000001073741824", "2", "1003")
    assert large["exists"] is None, "nobody has files of that size here"
    tape = world.read("store/broker-a").data["records"]
    assert len(tape) == 10
    physical = list(tape)[4]
    record = world.ask("read-record", broker="broker-a", physical_offset=physical)
    assert record["message"]["keys"] == tape[physical]["key"]
    assert len(bytes.fromhex(record["hex"])) == tape[physical]["bytes"]
    with pytest.raises(ActionRefused) as refusal:
        world.ask("read-record", broker="broker-a", physical_offset=int(physical) + 1)
    assert refusal.value.status == 404
    route = world.ask("route", topic="orders")
    assert route["route"]["queueDatas"][0]["readQueueNums"] == 2
    file = world.ask("offset-file", owner="broker-a")
    assert file["content"] == {"offsetTable": {}}


def test_the_tape_keeps_the_last_records_over_file_ends(tmp_path: Path) -> None:
    with World(tmp_path, preset="teaching") as world:
        world.act("CreateTopic", topic="orders", write_queues=1, read_queues=1)
        for _ in range(6):
            world.act("SendMessages", topic="orders", count=60, body_bytes=900)
            world.run(3)
        data = world.read("store/broker-a").data
        offsets = [int(row["queue_offset"]) for row in data["records"].values()]
        assert offsets == list(range(360 - 64, 360))
        cache_of(world.cluster).tapes.clear()
        fresh = [int(row["queue_offset"]) for row in world.read("store/broker-a").data["records"].values()]
        assert fresh == offsets


def test_a_card_shows_the_thresholds_its_process_runs_with(world: World) -> None:
    world.act("StartConsumer", group=GROUP, subscriptions=[["orders", "*"]], copies=2)
    world.run(3)
    world.act("ChangeBroker", broker="broker-a", changes={"pull_threshold_for_queue": 50})
    world.act("RestartActor", actor="B")
    world.run(3)
    members = world.read(f"board/{GROUP}/orders").data["members"].values()
    assert {member["actor"]: member["limits"]["count"] for member in members} == {"A": 1_000, "B": 50}
