"""INVOKE_BROKER_TO_RESET_OFFSET, as 4.9 carries it out."""

import pytest

from sandbox.kernel.errors import BrokerRefused
from sandbox.message.queue import MessageQueue
from sandbox.remoting.bodies import ResetOffsetBody
from sandbox.remoting.codes import RequestCode
from sandbox.remoting.command import Language, RemotingCommand
from tests.unit.broker.stage import Client, Stage


class Reset:
    """Two queues with five messages each, one a second; the group has committed 3 in both."""

    def __init__(self) -> None:
        self.stage = Stage()
        self.stage.topic("orders", 2)
        self.admin = self.stage.client()
        self.times: list[int] = []
        for _ in range(5):
            self.times.append(self.stage.time.clock.now_ms())
            for queue in (0, 1):
                self.admin.send("orders", queue=queue)
            self.stage.pass_s(1)

    def commit(self, *queues: int) -> None:
        for queue in queues:
            self.stage.broker.consumer_offsets.commit("g", "orders", queue, 3, "timer")

    def member(self, *, version: int = 409) -> Client:
        client = self.stage.client()
        client.heartbeat("c1", "g", "orders", client_version=version)
        client.requests.clear()
        return client

    def to(self, timestamp_ms: int, *, force: bool = True, language: int = Language.JAVA) -> RemotingCommand:
        ext = {"topic": "orders", "group": "g", "timestamp": str(timestamp_ms), "isForce": "true" if force else "false"}
        self.admin.channel.send(RemotingCommand(222, ext, opaque=77_000, language=language))
        self.stage.settle()
        return self.admin.answers[77_000]


@pytest.fixture
def reset() -> Reset:
    return Reset()


def offsets(c: RemotingCommand) -> dict[int, int]:
    return {queue[2]: offset for queue, offset in ResetOffsetBody.decode(c.body).offsets.items()}


def test_every_member_is_notified_one_way_and_the_admin_gets_the_table(reset: Reset) -> None:
    reset.commit(0, 1)
    member = reset.member()
    answer = reset.to(reset.times[1])
    assert (answer.code, answer.remark, offsets(answer)) == (0, "not set any response code", {0: 1, 1: 1})
    [reported] = member.requests
    assert reported.code == RequestCode.RESET_CONSUMER_CLIENT_OFFSET
    assert reported.is_oneway
    assert reported.ext == {"topic": "orders", "group": "g", "timestamp": str(reset.times[1]), "isForce": "false"}
    assert offsets(reported) == {0: 1, 1: 1}


def test_the_brokers_own_table_stays_as_it_is(reset: Reset) -> None:
    reset.commit(0, 1)
    reset.member()
    reset.to(reset.times[0])
    assert reset.stage.broker.consumer_offsets.get("g", "orders", 0) == 3


def test_minus_one_is_the_end(reset: Reset) -> None:
    reset.commit(0, 1)
    reset.member()
    assert offsets(reset.to(-1)) == {0: 5, 1: 5}


def test_without_force_a_group_only_goes_back(reset: Reset) -> None:
    reset.commit(0, 1)
    reset.member()
    assert offsets(reset.to(-1, force=False)) == {0: 3, 1: 3}
    assert offsets(reset.to(reset.times[2], force=False)) == {0: 2, 1: 2}


def test_a_queue_without_committed_offset_refuses_the_reset(reset: Reset) -> None:
    reset.commit(0)
    reset.member()
    answer = reset.to(-1)
    assert (answer.code, answer.remark) == (1, "THe consumer group <g> not exist")


def test_a_group_that_is_offline_is_206(reset: Reset) -> None:
    reset.commit(0, 1)
    assert reset.to(-1).code == 206


def test_an_unknown_topic_is_code_1(reset: Reset) -> None:
    answer = reset.admin.call(222, {"topic": "none", "group": "g", "timestamp": "-1", "isForce": "true"})
    assert (answer.code, answer.remark) == (
        1,
        "[reset-offset] reset offset failed, no topic in this broker. topic=none",
    )


def test_a_member_too_old_to_understand_refuses_the_reset(reset: Reset) -> None:
    reset.commit(0, 1)
    reset.member(version=27)
    assert reset.to(-1).code == 1


def test_an_admin_that_speaks_cpp_makes_members_get_the_list_form(reset: Reset) -> None:
    reset.commit(0, 1)
    member = reset.member()
    answer = reset.to(-1, language=Language.CPP)
    assert member.requests[0].body is not None
    assert b'"offsetTable":[' in member.requests[0].body
    assert answer.body is not None
    assert b'"offsetTable":{' in answer.body


def test_the_same_steps_are_there_for_who_sits_in_the_process(reset: Reset) -> None:
    reset.commit(0, 1)
    with pytest.raises(BrokerRefused, match="not online"):
        reset.stage.broker.reset_offsets("g", "orders", -1)
    member = reset.member()
    assert reset.stage.broker.reset_offsets("g", "orders", -1)[MessageQueue("orders", "broker-a", 0)] == 5
    reset.stage.settle()
    assert len(member.requests) == 1
