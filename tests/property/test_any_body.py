"""Whatever comes as a body or a header is read or refused with Malformed; nothing else ever escapes."""

from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from sandbox.remoting import bodies, headers
from sandbox.remoting.fields import Malformed

BODIES: list[Any] = [getattr(bodies, name) for name in bodies.__all__ if hasattr(getattr(bodies, name), "decode")]
HEADERS: list[Any] = [getattr(headers, name) for name in headers.__all__]

KEYS = [
    "clientID",
    "consumerDataSet",
    "producerDataSet",
    "groupName",
    "subscriptionDataSet",
    "topic",
    "subString",
    "tagsSet",
    "codeSet",
    "subVersion",
    "consumeType",
    "mqSet",
    "clientId",
    "consumerGroup",
    "brokerName",
    "queueId",
    "offsetTable",
    "brokerDatas",
    "brokerAddrs",
    "queueDatas",
    "perm",
    "readQueueNums",
    "writeQueueNums",
    "dataVersion",
    "counter",
    "topicConfigTable",
    "topicConfigSerializeWrapper",
    "table",
    "topicList",
    "consumerIdList",
    "$ref",
    "0",
    '{"brokerName":"b","queueId":0,"topic":"T"}',
]
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["$", "$.mqSet[0]", "TAG", "7"])
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=8)


def read_or_refuse(body: Any, data: bytes) -> None:
    try:
        value = body.decode(data)
    except Malformed as refused:
        assert refused.code == 1  # noqa: PT017  whichever way it goes, this must hold
        return
    value.encode()


@given(st.sampled_from(BODIES), OBJECTS)
def test_any_object_is_a_body_or_refused(body: Any, value: dict[str, object]) -> None:
    read_or_refuse(body, orjson.dumps(value))


@given(st.sampled_from(BODIES), st.binary(max_size=60))
def test_any_bytes_are_a_body_or_refused(body: Any, data: bytes) -> None:
    read_or_refuse(body, data)


NAMES = [
    "consumerGroup",
    "topic",
    "queueId",
    "queueOffset",
    "maxMsgNums",
    "sysFlag",
    "commitOffset",
    "subVersion",
    "suspendTimeoutMillis",
    "offset",
    "group",
    "delayLevel",
    "timestamp",
    *"abcdefghijklmn",
]
TEXTS = st.sampled_from(["0", "-1", "true", "", "2147483648", "9" * 30, "T", "１", "²"]) | st.text(max_size=4)


@given(st.sampled_from(HEADERS), st.none() | st.dictionaries(st.sampled_from(NAMES), TEXTS, max_size=16))
def test_any_fields_are_a_header_or_refused(header: Any, ext: dict[str, str] | None) -> None:
    try:
        value = header.from_ext(ext)
    except Malformed:
        return
    assert header.from_ext(value.to_ext()) == value
