"""Custom headers: as recorded from a real broker, and as tolerant as Java."""

import json
from pathlib import Path
from typing import Any

import pytest

from sandbox.remoting import headers
from sandbox.remoting.fields import Malformed
from sandbox.remoting.headers import (
    CreateTopicHeader,
    DeleteGroupHeader,
    PullHeader,
    QueueHeader,
    SendHeader,
    SendResponseHeader,
    UnregisterClientHeader,
)

WIRE = Path(__file__).parents[2] / "golden" / "wire"
FRAMES = [json.loads(line) for line in (WIRE / "json.jsonl").read_text("utf-8").splitlines()]

REQUESTS: dict[int, Any] = {
    10: SendHeader,
    310: SendHeader,
    320: SendHeader,
    325: SendHeader,
    11: PullHeader,
    12: headers.QueryMessageHeader,
    14: headers.QueryOffsetHeader,
    15: headers.UpdateOffsetHeader,
    17: CreateTopicHeader,
    29: headers.SearchOffsetHeader,
    30: QueueHeader,
    31: QueueHeader,
    32: QueueHeader,
    33: headers.ViewMessageHeader,
    35: UnregisterClientHeader,
    36: headers.SendBackHeader,
    37: headers.EndTransactionHeader,
    38: headers.GroupHeader,
    40: headers.GroupHeader,
    103: headers.RegisterBrokerHeader,
    104: headers.UnregisterBrokerHeader,
    105: headers.RouteHeader,
    202: headers.TopicHeader,
    203: headers.GroupHeader,
    205: headers.BrokerNameHeader,
    207: DeleteGroupHeader,
    208: headers.ConsumeStatsHeader,
    215: headers.TopicHeader,
    216: headers.DeleteTopicInNamesrvHeader,
    220: headers.ResetOffsetHeader,
    221: headers.TopicGroupHeader,
    222: headers.ResetOffsetHeader,
    223: headers.TopicGroupHeader,
    300: headers.TopicHeader,
    303: headers.TopicGroupHeader,
    307: headers.RunningInfoHeader,
    327: headers.BrokerNameHeader,
}
RESPONSES: dict[int, Any] = {
    10: SendResponseHeader,
    310: SendResponseHeader,
    320: SendResponseHeader,
    11: headers.PullResponseHeader,
    12: headers.QueryMessageResponseHeader,
    14: headers.OffsetResponseHeader,
    29: headers.OffsetResponseHeader,
    30: headers.OffsetResponseHeader,
    31: headers.OffsetResponseHeader,
    32: headers.TimestampResponseHeader,
}
EXTRAS = {"ReqT", "MSG_REGION", "TRACE_ON"}  # beside the header's own fields (spec remoting 1.4, 2.2)


def ext_of(frame: dict[str, Any]) -> dict[str, str]:
    return frame["header"].get("extFields") or {}


@pytest.mark.parametrize("code", REQUESTS)
def test_a_recorded_request_header_is_read_and_written_again(code: int) -> None:
    recorded = [f for f in FRAMES if f["code"] == code and f["kind"] == "request"]
    if code == 10:  # one was sent without its fields on purpose
        recorded = [f for f in recorded if len(ext_of(f)) > 1]
    assert recorded
    for frame in recorded:
        header = REQUESTS[code].from_ext(ext_of(frame))
        again = header.to_v1_ext() if code == 10 else header.to_ext()
        recorded_ext = {k: v for k, v in ext_of(frame).items() if v and k not in EXTRAS}
        assert {k: v for k, v in again.items() if v} == recorded_ext


@pytest.mark.parametrize("code", RESPONSES)
def test_a_recorded_response_header_is_read_and_written_again(code: int) -> None:
    recorded = [f for f in FRAMES if f.get("request_code") == code and f["code"] == 0]
    assert recorded
    for frame in recorded:
        again = RESPONSES[code].from_ext(ext_of(frame)).to_ext()
        assert again == {k: v for k, v in ext_of(frame).items() if k not in EXTRAS}


V2 = {"a": "PG", "b": "T", "c": "TBW102", "d": "4", "e": "-1", "f": "0", "g": "1700000000000", "h": "0"}


def test_a_send_needs_its_first_eight_letters_only() -> None:
    header = SendHeader.from_ext(V2)
    assert header == SendHeader("PG", "T", "TBW102", 4, -1, 0, 1_700_000_000_000, 0)
    assert (header.properties, header.reconsume_times, header.batch, header.broker) == ("", 0, False, None)


@pytest.mark.parametrize(("m", "batch"), [("true", True), ("TRUE", True), ("1", False), ("yes", False), ("", False)])
def test_only_true_is_true(m: str, batch: bool) -> None:
    assert SendHeader.from_ext({**V2, "m": m}).batch is batch


@pytest.mark.parametrize(
    ("j", "times"),
    [("3", 3), ("+3", 3), ("three", 0), ("1_0", 0), (" 5", 0), ("9" * 5000, 0), ("2147483648", 0), ("", 0), ("-", 0)],
)
def test_a_number_java_cannot_read_counts_as_missing(j: str, times: int) -> None:
    whole = {**V2, "e": "1", "i": "", "j": j, "k": "false", "m": "false", "n": "broker-a"}
    assert SendHeader.from_ext(whole).reconsume_times == times


@pytest.mark.parametrize(
    ("header", "ext", "field"),
    [
        (SendHeader, {"topic": "T"}, "producerGroup"),
        (SendHeader, {k: v for k, v in V2.items() if k != "e"}, "e"),
        (SendHeader, {**V2, "g": str(2**63)}, "g"),
        (SendHeader, {**V2, "f": str(2**31), "i": "", "j": "0", "k": "", "m": "", "n": ""}, "f"),
        (PullHeader, {"consumerGroup": "G", "topic": "T"}, "queueId"),
        (QueueHeader, None, "topic"),
        (SendResponseHeader, {"MSG_REGION": "DefaultRegion"}, "msgId"),
        (CreateTopicHeader, {"topic": "T", "readQueueNums": "4"}, "writeQueueNums"),
    ],
)
def test_what_is_needed_and_missing_is_refused_with_code_1(header: Any, ext: dict[str, str], field: str) -> None:
    with pytest.raises(Malformed, match=f"header field {field} is missing or cannot be read") as refused:
        header.from_ext(ext)
    assert refused.value.code == 1


def test_an_empty_group_is_no_group_to_leave() -> None:
    header = UnregisterClientHeader.from_ext({"clientID": "c", "producerGroup": "", "consumerGroup": "CG"})
    assert header == UnregisterClientHeader("c", None, "CG")


def test_the_5x_name_of_a_flag_is_known() -> None:
    assert DeleteGroupHeader.from_ext({"groupName": "G", "cleanOffset": "true"}).remove_offset


def test_a_producers_limit_of_redeliveries_travels_as_l() -> None:
    header = SendHeader.from_ext(V2)._replace(max_reconsume_times=3, batch=True, broker="broker-a")
    assert header.to_ext()["l"] == "3"
    assert SendHeader.from_ext(header.to_ext()) == header
    assert SendHeader.from_ext(header.to_v1_ext()) == header


def test_the_question_about_a_transaction_is_read_as_it_was_written() -> None:
    asked = headers.CheckTransactionHeader(4, 1_348_762, "KEY", "KEY", "7F00000100002A9F0000000000149490")
    assert asked.to_ext() == {
        "tranStateTableOffset": "4",
        "commitLogOffset": "1348762",
        "msgId": "KEY",
        "transactionId": "KEY",
        "offsetMsgId": "7F00000100002A9F0000000000149490",
    }
    assert headers.CheckTransactionHeader.from_ext(asked.to_ext()) == asked
