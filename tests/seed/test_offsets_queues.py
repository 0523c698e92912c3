"""Offsets of queues: how they count, where a queue begins and ends, and what an offset outside of it is answered."""

import pytest

from sandbox.journal.events import MessagesConsumed, OffsetCommitted, QueueDropped, QueueTaken
from sandbox.remoting.bodies import ConsumeStats, TopicStats
from sandbox.remoting.codes import RequestCode, ResponseCode
from sandbox.remoting.headers import ConsumeStatsHeader, PullHeader, PullResponseHeader, TopicHeader, UpdateOffsetHeader
from sandbox.simulation.world import World
from tests.beginnings import world_with
from tests.seed.stage import Caller, WireLog

GROUP = "order-svc"
FILE_BYTES = 64 * 1024
BODY = b"x" * 536  # a record of 655 bytes: a hundred fill a log file, and what is left takes no other
world = world_with({"orders": 2}, changes={"commit_log_file_bytes": FILE_BYTES}, seconds=1)


def lose_the_first_hundred(world: World, caller: Caller) -> None:
    """120 messages in queue 0, of which retention takes the first log file's hundred."""
    for _ in range(120):
        caller.send("orders", 0, BODY)
    world.act("AgeFiles", broker="broker-a", hours=1_000)
    world.act("CleanFiles", broker="broker-a")


def statistics(caller: Caller) -> dict[int, tuple[int, int]]:
    """Queue → min and max offset, as `topicStatus` is answered (request 202)."""
    answer = caller.ask(RequestCode.GET_TOPIC_STATS_INFO, TopicHeader("orders").to_ext())
    return {
        queue_id: (row.min_offset, row.max_offset)
        for (_, _, queue_id), row in TopicStats.decode(answer.body).queues.items()
    }


@pytest.mark.seed("0.1")
def test_a_queue_counts_its_messages_from_0_whatever_the_others_get(caller: Caller) -> None:
    sent = [caller.send("orders", queue_id) for queue_id in (0, 0, 1, 0, 1, 0, 0)]
    assert [answer.queue_offset for answer in sent if answer.queue_id == 0] == [0, 1, 2, 3, 4]
    assert [answer.queue_offset for answer in sent if answer.queue_id == 1] == [0, 1]
    assert caller.pull(GROUP, "orders", 0, 0).offsets == [0, 1, 2, 3, 4]
    caller.commit(GROUP, "orders", 0, 5)
    assert caller.send("orders", 0).queue_offset == 5, "consuming takes nothing out of a queue"


@pytest.mark.seed("0.2", "D5")
def test_max_offset_is_one_more_than_the_newest_message_has(world: World, caller: Caller) -> None:
    assert statistics(caller) == {0: (0, 0), 1: (0, 0)}
    newest = [caller.send("orders", 1).queue_offset for _ in range(5)][-1]
    assert newest == 4
    assert statistics(caller) == {0: (0, 0), 1: (0, 5)}
    asked = caller.ask(RequestCode.GET_MAX_OFFSET, {"topic": "orders", "queueId": "1"})
    assert asked.ext == {"offset": "5"}
    assert caller.pull(GROUP, "orders", 1, 4).offsets == [4]
    at_max = caller.pull(GROUP, "orders", 1, 5)
    assert (at_max.code, at_max.offsets) == (ResponseCode.PULL_NOT_FOUND, []), "nothing is there yet"
    row = world.snapshot()["topics"][0]["queues"][1]
    assert (row["min"], row["max"]) == ("0", "5"), "and the board has the same"


@pytest.mark.seed("0.4", "D11")
def test_the_broker_names_the_right_offset_and_the_client_moves_there_after_ten_seconds(
    world: World, caller: Caller
) -> None:
    lose_the_first_hundred(world, caller)
    caller.commit(GROUP, "orders", 0, 2)
    assert caller.stored_offset(GROUP, "orders", 0) == 2, "a question corrects nothing"
    assert caller.pull(GROUP, "orders", 0, 2).code == 21
    assert caller.stored_offset(GROUP, "orders", 0) == 2, "nor does a pull that was sent away"
    wire = WireLog(world)
    world.act("StartConsumer", group=GROUP, subscriptions=[["orders", "*"]], work_ms=[1])
    world.run(9)
    [refused] = [frame for frame in wire.answers(RequestCode.PULL_MESSAGE) if frame.command.code == 21]
    assert PullResponseHeader.from_ext(refused.command.ext).next_offset == 100
    assert caller.stored_offset(GROUP, "orders", 0) == 2, "the table is as it was until the client speaks"
    world.run(30)
    commits = [
        (frame.at_ms, UpdateOffsetHeader.from_ext(frame.command.ext))
        for frame in wire.requests(RequestCode.UPDATE_CONSUMER_OFFSET)
    ]
    first_ms = next(at_ms for at_ms, header in commits if (header.queue_id, header.commit_offset) == (0, 100))
    assert 9_900 <= first_ms - refused.at_ms <= 10_100
    [dropped] = [e for e in world.entries(QueueDropped) if e.event.reason == "illegal_offset"]
    taken = [e for e in world.entries(QueueTaken) if (e.event.topic, e.event.queue_id) == ("orders", 0)]
    assert [e.event.start_offset for e in taken] == [2, 100]
    assert taken[0].at_ms < dropped.at_ms < taken[1].at_ms
    assert [o for e in world.entries(MessagesConsumed) for o in e.event.offsets] == list(range(100, 120))


@pytest.mark.seed("0.16", "0.2", "0.4")
def test_every_answer_to_a_pull_says_where_the_queue_begins_and_ends_and_where_to_go_on(
    world: World, caller: Caller
) -> None:
    lose_the_first_hundred(world, caller)
    caller.send("orders", 0, BODY, TAGS="vip")
    wire = WireLog(world)
    for offset, count, expression in (
        (105, 3, "*"),
        (100, 32, "*"),
        (121, 32, "*"),
        (100, 32, "none"),
        (0, 32, "*"),
        (500, 32, "*"),
    ):
        caller.pull(GROUP, "orders", 0, offset, count=count, expression=expression)
    assert [PullHeader.from_ext(f.command.ext).queue_offset for f in wire.requests(11)] == [105, 100, 121, 100, 0, 500]
    reported = [((f.command.ext or {})["nextBeginOffset"], f.command.code) for f in wire.answers(11)]
    assert reported == [("108", 0), ("121", 0), ("121", 19), ("121", 20), ("100", 21), ("121", 21)]
    assert {((f.command.ext or {})["minOffset"], (f.command.ext or {})["maxOffset"]) for f in wire.answers(11)} == {
        ("100", "121")
    }


@pytest.mark.seed("0.35")
def test_lag_is_what_max_is_ahead_of_the_group_and_nothing_keeps_a_commit_below_max(
    world: World, caller: Caller
) -> None:
    for _ in range(10):
        caller.send("orders", 0)
    caller.commit(GROUP, "orders", 0, 4)

    def progress() -> tuple[int, int]:
        answer = caller.ask(RequestCode.GET_CONSUME_STATS, ConsumeStatsHeader(GROUP).to_ext())
        row = ConsumeStats.decode(answer.body).queues["orders", "broker-a", 0]
        return row.broker_offset, row.consumer_offset

    assert progress() == (10, 4)
    assert world.read(f"board/{GROUP}/orders").data["header"]["lag"] == "6"
    caller.commit(GROUP, "orders", 0, 999)
    assert progress() == (10, 999), "a commit is not compared with the queue"
    assert caller.stored_offset(GROUP, "orders", 0) == 999
    assert [(e.event.previous, e.event.offset) for e in world.entries(OffsetCommitted)] == [(None, 4), (4, 999)]
    too_far = caller.pull(GROUP, "orders", 0, 999)
    assert (too_far.code, too_far.header.next_offset) == (21, 10), "who reads from there is sent back to the end"


@pytest.mark.seed("0.35")
def test_a_group_at_work_never_passes_max_and_its_lag_ends_at_0(world: World, caller: Caller) -> None:
    world.act("StartConsumer", group=GROUP, subscriptions=[["orders", "*"]], work_ms=[300, 900], threads=2)
    world.act("StartProducer", actor="shop", topic="orders", rate_per_s=4)
    world.run(12)
    lags: list[int] = []
    for _ in range(60):
        world.run(0.5)
        board = world.read(f"board/{GROUP}/orders").data
        rows = board["queues"].values()
        assert all(int(row["committed"]) <= int(row["max"]) for row in rows)
        lags.append(int(board["header"]["lag"]))
        assert lags[-1] == sum(int(row["max"]) - int(row["committed"]) for row in rows)
    assert max(lags) > 0
    world.act("ChangeActor", actor="shop", rate_per_s=0)
    world.run(60)
    assert world.read(f"board/{GROUP}/orders").data["header"]["lag"] == "0"


@pytest.mark.seed("0.41")
def test_what_all_groups_have_consumed_stays_until_retention_takes_its_file(world: World, caller: Caller) -> None:
    sent = 120
    for _ in range(sent):
        caller.send("orders", 0, BODY)
    for group in ("first", "second"):
        world.act(
            "StartConsumer",
            group=group,
            subscriptions=[["orders", "*"]],
            work_ms=[1],
            from_where="CONSUME_FROM_FIRST_OFFSET",
        )
    world.run(60)
    assert {caller.stored_offset(group, "orders", 0) for group in ("first", "second")} == {sent}
    assert statistics(caller)[0] == (0, sent), "a minute after everybody has them"
    assert caller.pull("late", "orders", 0, 0, count=32).offsets == list(range(32)), "for any other group"
    world.act("AgeFiles", broker="broker-a", hours=1_000)
    world.act("CleanFiles", broker="broker-a")
    assert statistics(caller)[0] == (100, sent), "only age takes them, a log file at a time"
    assert {caller.stored_offset(group, "orders", 0) for group in ("first", "second")} == {sent}
