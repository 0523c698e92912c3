"""Bodies and headers that a real broker sent, read and written again by ours: nothing is lost, nothing is added."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sandbox.kernel import loose_json
from sandbox.remoting import bodies, headers

pytestmark = pytest.mark.golden

RECORDED = Path(__file__).parent / "wire" / "json.jsonl"


def recorded(code: int) -> list[bytes]:
    rows = [json.loads(line) for line in RECORDED.read_text("utf-8").splitlines()]
    asked = {row["seq"] for row in rows if row["kind"] != "response" and row["code"] == code}
    return [row["body_text"].encode() for row in rows if row.get("request_seq") in asked and row.get("body_text")]


def plain(text: bytes) -> Any:
    """The value, with every text that is a queue used as key in one form."""
    return _canonical(loose_json.loads(text))


def _canonical(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            (loose_json.canonical(json.loads(key)) if key.startswith("{") else key): _canonical(inner)
            for key, inner in value.items()
        }
    return [_canonical(inner) for inner in value] if isinstance(value, list) else value


def both_ways(body: Any) -> Callable[[bytes], bytes]:
    return lambda data: body.decode(data).encode()


@pytest.mark.parametrize(
    ("code", "again"),
    [
        (303, both_ways(bodies.ConsumeTimeSpans)),
        (315, both_ways(bodies.StatsData)),
        (317, both_ways(bodies.ConsumeStatsList)),
        (321, both_ways(bodies.QueueEntries)),
        (208, both_ways(bodies.ConsumeStats)),
    ],
)
def test_a_recorded_body_comes_out_as_it_went_in(code: int, again: Callable[[bytes], bytes]) -> None:
    found = recorded(code)
    assert found
    for data in found:
        assert plain(again(data)) == plain(data)


@pytest.mark.parametrize(
    ("code", "header"),
    [
        (303, headers.TopicGroupHeader),
        (315, headers.StatsHeader),
        (317, headers.AllConsumeStatsHeader),
        (321, headers.QueueEntriesHeader),
        (326, headers.PushReplyHeader),
    ],
)
def test_a_recorded_header_comes_out_as_it_went_in(code: int, header: Any) -> None:
    rows = [json.loads(line) for line in RECORDED.read_text("utf-8").splitlines()]
    found = [row["header"]["extFields"] for row in rows if row["kind"] != "response" and row["code"] == code]
    assert found
    for ext in found:
        assert header.from_ext(ext).to_ext() == ext
