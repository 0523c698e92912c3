"""Limits of queue numbers in requests, and invalid values."""

import pytest

from sandbox.broker.config import BrokerLimits
from sandbox.broker.topics import MAX_QUEUES
from sandbox.remoting.codes import RequestCode
from tests.unit.broker.stage import Stage


def create(stage: Stage, read: int, write: int) -> tuple[int, str | None]:
    ext = {"topic": "orders", "readQueueNums": str(read), "writeQueueNums": str(write), "perm": "6"}
    answer = stage.client().call(RequestCode.UPDATE_AND_CREATE_TOPIC, ext)
    return answer.code, answer.remark


def group(stage: Stage, body: bytes) -> tuple[int, str | None]:
    answer = stage.client().call(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, None, body)
    return answer.code, answer.remark


def test_a_topic_has_only_so_many_queues_whichever_client_asks() -> None:
    stage = Stage()
    assert create(stage, MAX_QUEUES, 1)[0] == 0
    assert create(stage, 1, 2**31 - 1) == (1, f"a topic has 0 to {MAX_QUEUES} queues, not {2**31 - 1}")
    assert create(stage, -1, 1) == (1, f"a topic has 0 to {MAX_QUEUES} queues, not -1")


def test_a_retry_topic_has_no_more_queues_than_any_other() -> None:
    body = b'{"groupName":"g","retryQueueNums":100}'
    assert group(Stage(), body)[0] == 0
    limited = Stage(limits=BrokerLimits(queues_per_topic=64))
    assert group(limited, body) == (1, "a retry topic has at most 64 queues, not 100")
    assert "g" not in limited.broker.subscription_groups.table


@pytest.mark.parametrize(
    "body",
    [
        b'{"groupName":"g","retryQueueNums":"x"}',
        b'{"groupName":"g","retryQueueNums":1.5}',
        b'{"groupName":"g","consumeEnable":1}',
        b'{"groupName":"g","retryMaxTimes":true}',
        b'{"retryQueueNums":1}',
        b"[]",
    ],
)
def test_a_group_of_other_values_than_rocketmqs_is_refused(body: bytes) -> None:
    stage = Stage()
    code, remark = group(stage, body)
    assert code == 1
    assert (remark or "").startswith("the body is no subscription group")
    assert "g" not in stage.broker.subscription_groups.table
