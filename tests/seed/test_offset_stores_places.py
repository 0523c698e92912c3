"""Places of offsets: tables by topic, group and queue, and files that other JSON parsers cannot read."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.client.config import ConsumeFromWhere, MessageModel, PushConsumerConfig
from sandbox.cluster.client_files import ClientFiles
from sandbox.journal.events import OffsetsPersisted, QueueTaken
from sandbox.kernel.loose_json import loads
from sandbox.message.queue import MessageQueue
from sandbox.simulation.world import World
from tests.golden.golden_stores import MANIFEST
from tests.seed.stage import Caller, application, broker_address, files_of, member

TABLE = "config/consumerOffset.json"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with World(tmp_path, "orders") as made:
        made.act("StopActor", actor="shop")
        made.run(1)
        yield made


def broadcasting(group: str = "radio", **more: Any) -> PushConsumerConfig:
    return PushConsumerConfig(group=group, model=MessageModel.BROADCASTING, **more)


def local_table(text: bytes) -> dict[str, int]:
    """Queue such as orders/broker-a/0 → offset, from a local file however its keys are written."""
    rows = [(loads(key), offset) for key, offset in loads(text)["offsetTable"].items()]
    return {f"{key['topic']}/{key['brokerName']}/{key['queueId']}": offset for key, offset in rows}


@pytest.mark.seed("2.1")
def test_progress_is_kept_by_topic_group_and_queue_of_each_broker(world: World) -> None:
    world.act("CreateTopic", topic="payments", write_queues=2, read_queues=2)
    reported = {
        (group, topic, broker, queue_id): 10 * number
        for number, (group, topic, broker, queue_id) in enumerate(
            [
                (group, topic, broker, queue_id)
                for group in ("clerks", "audit")
                for topic in ("orders", "payments")
                for broker in ("broker-a", "broker-b")
                for queue_id in (0, 1)
            ],
            start=1,
        )
    }
    callers = {broker: Caller(world, broker_address(world, broker)) for broker in ("broker-a", "broker-b")}
    for (group, topic, broker, queue_id), offset in reported.items():
        callers[broker].commit(group, topic, queue_id, offset)
    for group in ("clerks", "audit"):
        for topic in ("orders", "payments"):
            rows = world.read(f"board/{group}/{topic}").data["queues"]
            assert {key: row["committed"] for key, row in rows.items() if key[-1] in "01"} == {
                f"{broker}:{queue_id}": str(offset)
                for (whose, what, broker, queue_id), offset in reported.items()
                if (whose, what) == (group, topic)
            }
    world.run(15)
    for broker, caller in callers.items():
        table = loads(files_of(world, broker)[TABLE])["offsetTable"]
        mine = {key: offsets for key, offsets in table.items() if key.endswith(("@clerks", "@audit"))}
        assert mine == {
            f"{topic}@{group}": {str(queue_id): reported[group, topic, broker, queue_id] for queue_id in (0, 1)}
            for group in ("clerks", "audit")
            for topic in ("orders", "payments")
        }, "of its own queues only"
        assert caller.stored_offset("clerks", "orders", 0) == reported["clerks", "orders", broker, 0]


@pytest.mark.seed("2.3", "D23")
def test_a_local_file_lies_below_the_given_directory_by_client_and_group(world: World, tmp_path: Path) -> None:
    """The directory given takes the place of `~/.rocketmq_offsets`, that name included."""
    given = tmp_path / "kept" / "here"
    radio = member(world, application(world, "DEFAULT", files=ClientFiles(given)), broadcasting(), "orders")
    world.run(2)
    world.act("SendMessages", topic="orders", count=8)
    world.run(14)
    [file] = [path for path in given.rglob("*") if path.is_file()]
    assert file == given / "10.0.9.8@DEFAULT" / "radio" / "offsets.json"
    first = file.read_bytes()
    assert local_table(first) == {f"orders/{broker}/{n}": 1 for broker in ("broker-a", "broker-b") for n in range(4)}
    assert [
        entry.event.entries for entry in world.entries(OffsetsPersisted) if entry.event.owner == radio.client_id
    ] == [8]
    world.act("SendMessages", topic="orders", count=8)
    world.run(10)
    assert set(local_table(file.read_bytes()).values()) == {2}
    assert file.with_name("offsets.json.bak").read_bytes() == first, "the former content stays beside it"
    assert {path.name for path in file.parent.iterdir()} == {"offsets.json", "offsets.json.bak"}


def begun(world: World, files: ClientFiles, *topics: str) -> dict[str, int]:
    """Return the start offset of a broadcasting member with these files, by queue; without a record it is the first."""
    reader = member(
        world,
        application(world, "DEFAULT", files=files),
        broadcasting(from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET),
        *topics,
    )
    world.run(2)
    world.environment.sim.run(reader.shutdown())
    return {
        MessageQueue(event.topic, event.broker, event.queue_id).key: event.start_offset
        for entry in world.entries(QueueTaken)
        if (event := entry.event).client_id == reader.client_id
    }


@pytest.mark.seed("2.4", "D24")
@pytest.mark.golden
def test_the_file_of_a_real_broadcasting_client_is_gone_on_from(world: World, tmp_path: Path) -> None:
    text = (MANIFEST / "broadcast_local_offsets.json").read_bytes()
    assert b'"offsetTable":{{\n\t\t\t"brokerName":"broker-a",' in text, "its keys are objects"
    world.act("CreateTopic", topic="GoldenPull", write_queues=4, read_queues=4, scope="broker-a")
    for number in range(4):
        world.act("SendMessages", topic="GoldenPull", queue=f"broker-a:{number}", count=5)
    files = ClientFiles(tmp_path / "real")
    files.write("10.0.9.8@DEFAULT/radio/offsets.json", text)
    assert begun(world, files, "GoldenPull") == {f"GoldenPull/broker-a/{number}": 2 for number in range(4)}
