"""Places of progress: the broker's table and its file."""

from pathlib import Path

import pytest

from sandbox.kernel.loose_json import loads
from sandbox.simulation.world import World
from tests.golden.golden_stores import unpack
from tests.seed.stage import Caller, broker_address, disk_of, files_of

QUEUE_COUNT = 2
TABLE = "config/consumerOffset.json"

OF_THE_ARTICLE = """
{
    "offsetTable": {
        "test-topic@test-group": {
            "0": 88526,
            "1": 88528
        }
    }
}
"""


def restarted_with(world: World, table: bytes) -> Caller:
    """Restart the broker with this file in place of its own."""
    world.act("StopBroker", broker="broker-a")
    disk_of(world).write(TABLE, table)
    world.act("StartBroker", broker="broker-a")
    return Caller(world, broker_address(world))


@pytest.mark.seed("0.14", "2.5")
def test_the_broker_reads_the_table_of_the_article_and_writes_it_again(world: World) -> None:
    caller = restarted_with(world, OF_THE_ARTICLE.encode())
    assert [caller.stored_offset("test-group", "test-topic", n) for n in (0, 1)] == [88_526, 88_528]
    caller.commit("test-group", "test-topic", 1, 88_530)
    world.run(20)
    written = loads(files_of(world)[TABLE])
    assert written == {"offsetTable": {"test-topic@test-group": {"0": 88_526, "1": 88_530}}}


@pytest.mark.seed("0.14", "2.5")
@pytest.mark.golden
def test_the_broker_reads_the_table_a_real_broker_wrote(world: World, tmp_path: Path) -> None:
    text = (unpack("basic-clean", tmp_path / "golden") / TABLE).read_bytes()
    assert b'"GoldenBasic@GID_golden_push":{0:12,1:12,2:12,3:13' in text, "its queue ids have no quotes"
    caller = restarted_with(world, text)
    assert [caller.stored_offset("GID_golden_push", "GoldenBasic", n) for n in range(4)] == [12, 12, 12, 13]
    assert [caller.stored_offset("GID_golden_orderly", "GoldenOrder", n) for n in range(4)] == [8, 8, 4, 4]
    assert caller.stored_offset("GID_golden_retry", "%RETRY%GID_golden_retry", 0) == 3
    rows = loads(text)["offsetTable"]
    assert world.ask("offset-file", owner="broker-a")["content"] == {"offsetTable": rows}, "all eight rows"


@pytest.mark.seed("0.15")
@pytest.mark.parametrize("end", ["StopBroker", "KillBroker"])
def test_a_restarted_broker_knows_the_offsets_by_topic_and_group(world: World, caller: Caller, end: str) -> None:
    world.act("CreateTopic", topic="payments", write_queues=1, read_queues=1)
    reported = {
        ("order-svc", "orders", 0): 5,
        ("order-svc", "orders", 1): 7,
        ("audit", "orders", 0): 3,
        ("order-svc", "payments", 0): 11,
    }
    for (group, topic, queue_id), offset in reported.items():
        caller.commit(group, topic, queue_id, offset)
    world.run(11)
    assert set(loads(files_of(world)[TABLE])["offsetTable"]) == {
        "orders@order-svc",
        "orders@audit",
        "payments@order-svc",
    }
    world.act(end, broker="broker-a")
    world.act("StartBroker", broker="broker-a")
    caller = Caller(world, broker_address(world))
    assert {key: caller.stored_offset(*key) for key in reported} == reported
    assert caller.stored_offset("audit", "orders", 1) == 0, "nobody's: what a new group is told, not a neighbour's"
