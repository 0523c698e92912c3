"""Offsets of groups: asked, committed, kept over restarts."""

from sandbox.journal.events import OffsetCommitted, OffsetsPersisted
from sandbox.remoting.codes import RequestCode
from tests.unit.broker.stage import Client, Stage, small_store

NOT_FOUND = "Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first"


def ask(client: Client, group: str = "g", queue: int = 0) -> tuple[int, str | None]:
    ext = {"consumerGroup": group, "topic": "orders", "queueId": str(queue)}
    answer = client.call(RequestCode.QUERY_CONSUMER_OFFSET, ext)
    return answer.code, (answer.ext or {}).get("offset", answer.remark)


def commit(client: Client, offset: int, *, group: str = "g", queue: int = 0) -> None:
    client.oneway(
        RequestCode.UPDATE_CONSUMER_OFFSET,
        {"consumerGroup": group, "topic": "orders", "queueId": str(queue), "commitOffset": str(offset)},
    )


def test_what_was_committed_is_answered(stage: Stage) -> None:
    client = stage.client()
    commit(client, 12)
    assert ask(client) == (0, "12")
    commit(client, 3)
    assert ask(client) == (0, "3")


def test_a_new_group_starts_at_zero_while_the_first_message_is_in_memory(stage: Stage) -> None:
    client = stage.client()
    client.send("orders")
    assert ask(client) == (0, "0")
    assert ask(client, queue=3) == (0, "0")


def test_a_new_group_learns_nothing_once_the_first_message_is_on_disk() -> None:
    stage = Stage(store=small_store(memory_bytes=10_000))
    stage.topic("orders")
    client = stage.client()
    for _ in range(6):
        client.send("orders", bytes(1_000))
    assert ask(client) == (22, NOT_FOUND)


def test_a_commit_of_a_member_is_its_timers_another_is_an_administrators(stage: Stage) -> None:
    member, admin = stage.client(), stage.client()
    member.heartbeat("c1", "g", "orders")
    commit(member, 1)
    commit(admin, 2)
    assert [(e.by, e.client_id) for e in stage.events(OffsetCommitted)] == [("timer", "c1"), ("admin", None)]


def test_offsets_are_written_down_every_five_seconds_the_first_time_after_ten(stage: Stage) -> None:
    client = stage.client()
    commit(client, 5)
    stage.pass_s(9.9)
    assert stage.events(OffsetsPersisted) == []
    stage.pass_s(0.2)
    assert [(e.owner, e.file, e.entries) for e in stage.events(OffsetsPersisted)] == [
        ("broker-a", "consumerOffset.json", 1)
    ]
    stage.pass_s(20)
    assert len(stage.events(OffsetsPersisted)) == 1
    commit(client, 6)
    stage.pass_s(5)
    assert len(stage.events(OffsetsPersisted)) == 2


def test_a_clean_stop_writes_the_last_offset_down(stage: Stage) -> None:
    commit(stage.client(), 5)
    stage.stop_broker()
    stage.start_broker()
    assert ask(stage.client()) == (0, "5")


def test_a_killed_broker_forgets_what_it_had_not_written(stage: Stage) -> None:
    client = stage.client()
    commit(client, 5)
    stage.pass_s(10.1)
    commit(client, 9)
    stage.stop_broker(kill=True)
    stage.disk.kill()
    stage.start_broker()
    assert ask(stage.client()) == (0, "5")


def test_the_whole_table_can_be_asked_for(stage: Stage) -> None:
    client = stage.client()
    commit(client, 5, queue=1)
    answer = client.call(RequestCode.GET_ALL_CONSUMER_OFFSET)
    assert answer.body == b'{"offsetTable":{"orders@g":{"1":5}}}'
