"""Frames that Hypothesis makes up: any header, any body, a few lies."""

import json

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests.robustness.frames import framed

EXAMPLES = 400
CODES = st.sampled_from(
    [
        10,
        11,
        12,
        13,
        14,
        15,
        17,
        21,
        22,
        29,
        30,
        31,
        33,
        34,
        35,
        36,
        37,
        38,
        41,
        42,
        43,
        100,
        101,
        103,
        104,
        105,
        106,
        200,
        203,
        207,
        208,
        222,
        300,
        304,
        305,
        307,
        309,
        310,
        314,
        315,
        320,
        321,
        322,
        323,
        324,
        325,
    ]
) | st.integers(-(2**33), 2**33)
NAMES = st.sampled_from(
    [
        *"abcdefghijklm",
        "topic",
        "group",
        "consumerGroup",
        "producerGroup",
        "queueId",
        "offset",
        "queueOffset",
        "maxMsgNums",
        "commitOffset",
        "sysFlag",
        "suspendTimeoutMillis",
        "subscription",
        "subVersion",
        "expressionType",
        "key",
        "maxNum",
        "beginTimestamp",
        "endTimestamp",
        "timestamp",
        "msgId",
        "clientID",
        "clientAddr",
        "brokerName",
        "brokerAddr",
        "clusterName",
        "brokerId",
        "haServerAddr",
        "compressed",
        "defaultTopic",
        "defaultTopicQueueNums",
        "properties",
        "bornTimestamp",
        "reconsumeTimes",
        "readQueueNums",
        "writeQueueNums",
        "perm",
        "topicFilterType",
        "delayLevel",
        "originMsgId",
        "statsName",
        "statsKey",
        "namespace",
        "value",
    ]
) | st.text(max_size=8)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
ATOM = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
VALUE = st.recursive(ATOM, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4))
HEADER = st.fixed_dictionaries(
    {"code": CODES, "extFields": st.dictionaries(NAMES, VALUE, max_size=12) | VALUE},
    optional={
        "flag": st.integers(-5, 5) | VALUE,
        "opaque": st.integers(-(2**31), 2**31 - 1) | VALUE,
        "language": st.sampled_from(["JAVA", "GO", "?"]) | VALUE,
        "version": st.integers(0, 500) | VALUE,
        "remark": VALUE,
    },
)
BODY = st.binary(max_size=300) | VALUE.map(lambda value: json.dumps(value).encode())
FRAME = st.builds(
    framed,
    HEADER.map(lambda header: json.dumps(header).encode()) | st.binary(max_size=60),
    BODY,
    kind=st.sampled_from([0, 0, 0, 1, 2, 255]),
)
STREAM = st.lists(FRAME | st.binary(max_size=40), min_size=1, max_size=4).map(b"".join)


def generated(number: int) -> list[bytes]:
    """So many streams of a few frames each; the same for the same number."""
    found: list[bytes] = []

    @seed(number)
    @settings(
        max_examples=EXAMPLES,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(STREAM)
    def collect(stream: bytes) -> None:
        found.append(stream)

    collect()
    return found
