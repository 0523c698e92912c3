"""Whatever comes in, every served code answers with words of its own: no handler ever fails with an exception."""

import pytest

from sandbox.broker.acl_config import AclConfig
from sandbox.journal.events import HandlerFailed
from sandbox.kernel.chance import Chance
from sandbox.tools.codes_page import served
from tests.unit.broker.stage import NAME_SERVER, Stage

CODES = {
    node: sorted(int(code) for code, nodes in served().items() if node in nodes) for node in ("broker", "name server")
}
FIELDS = [
    "a",
    "b",
    "c",
    "d",
    "e",
    "f",
    "g",
    "h",
    "i",
    "j",
    "k",
    "l",
    "m",
    "accessKey",
    "secretKey",
    "whiteRemoteAddress",
    "topicPerms",
    "groupPerms",
    "globalWhiteAddrs",
    "topic",
    "group",
    "consumerGroup",
    "producerGroup",
    "groupName",
    "clientID",
    "clientId",
    "clientAddr",
    "srcGroup",
    "destGroup",
    "queueId",
    "offset",
    "queueOffset",
    "commitOffset",
    "maxMsgNums",
    "maxNum",
    "key",
    "beginTimestamp",
    "endTimestamp",
    "timestamp",
    "isForce",
    "isOrder",
    "sysFlag",
    "suspendTimeoutMillis",
    "subscription",
    "subVersion",
    "expressionType",
    "msgId",
    "statsName",
    "statsKey",
    "index",
    "count",
    "compareGroup",
    "filterGroups",
    "defaultTopic",
    "defaultTopicQueueNums",
    "bornTimestamp",
    "flag",
    "properties",
    "reconsumeTimes",
    "readQueueNums",
    "writeQueueNums",
    "perm",
    "topicFilterType",
    "topicSysFlag",
    "delayLevel",
    "originTopic",
    "tranStateTableOffset",
    "commitLogOffset",
    "commitOrRollback",
    "namespace",
    "value",
    "brokerName",
    "brokerAddr",
    "clusterName",
    "brokerId",
    "haServerAddr",
    "cluster",
    "compressed",
    "bodyCrc32",
]
VALUES = [
    "orders",
    "g",
    "%RETRY%g",
    "0",
    "1",
    "-1",
    "8",
    "32",
    "true",
    "",
    "TBW102",
    "TOPIC_PUT_NUMS",
    str(2**31 - 1),
    str(2**63 - 1),
    str(-(2**63)),
    str(2**70),
    "7F00000200002A9F0000000000000000",
    "a=b,c",
    "中",
    "x" * 300,
    "\x00",
    "MSG_TYPE\x01reply\x02REPLY_TO_CLIENT\x01x",
    "DELAY\x013",
    "TRAN_MSG\x01true\x02PGROUP\x01P",
    "10.0.0.{1",
]
BODIES = [
    None,
    b"",
    b"\xff\x00",
    b"{}",
    b"[]",
    b"null",
    b"{",
    b"1",
    b"x" * 70_000,
    b'{"clientID":"c","consumerDataSet":[{"groupName":"g"}]}',
    b'{"groupName":"g","retryQueueNums":"x"}',
    b'{"groupName":"g","retryQueueNums":1e30}',
    b'{"mqSet":[{}],"clientId":"c","consumerGroup":"g"}',
    b"brokerPermission=6\nx=\\u12",
    b"transactionCheckMax=999999999999999999999999999999",
    b"traceOn=",
    b'{"counter":"x"}',
    b'{"topicConfigSerializeWrapper":{"topicConfigTable":{"T":{"perm":"x"}}}}',
]


def any_ext(luck: Chance) -> dict[str, str] | None:
    """No field, few, or all; each with something it may mean, or may not."""
    share = luck.choice([0.0, 0.2, 0.9, 1.0])
    ext = {name: luck.choice(VALUES) for name in FIELDS if luck.random() < share}
    return ext or luck.choice([None, {}])


@pytest.mark.parametrize("node", list(CODES))
@pytest.mark.parametrize("seed", range(12))
def test_every_code_answers_whatever_it_is_asked(node: str, seed: int) -> None:
    luck = Chance(seed)
    stage = Stage(acl=AclConfig((), ("*",)))
    stage.topic("orders", 2)
    stage.client().send("orders")
    for code in CODES[node] * 5:
        client = stage.client() if node == "broker" else stage.client(address=NAME_SERVER)
        ext, body = any_ext(luck), luck.choice(BODIES)
        opaque = client.post(code, ext, body)
        stage.settle()
        assert [event.remark for event in stage.events(HandlerFailed)] == [], (code, ext, body)
        if opaque in client.answers:
            assert client.answers[opaque].code >= 0
