"""From form fields to what `control` parses."""

from urllib.parse import urlencode

import pytest
from django.http import QueryDict

from queueviz.access.rate_limits import KEPT_BUCKETS, Rate
from queueviz.form_fields import fields_of
from sandbox.control.actions import ExpectedQueue, ResetOffsets, StartConsumer, parse_action
from sandbox.kernel.errors import ActionRefused


def form(text: str) -> QueryDict:
    return QueryDict(text)


def test_empty_fields_are_left_out_and_so_is_the_csrf_token() -> None:
    assert fields_of(form("csrfmiddlewaretoken=x&action=CrashActor&actor=A&room=")) == {
        "action": "CrashActor",
        "actor": "A",
    }


def test_several_values_make_a_list() -> None:
    assert fields_of(form("queues=broker-a:0&queues=broker-a:1"))["queues"] == ["broker-a:0", "broker-a:1"]
    assert fields_of(form("queues[]=broker-a:0"))["queues"] == ["broker-a:0"]
    assert fields_of(form("work_ms=50&work_ms=400"))["work_ms"] == ["50", "400"]


def test_a_form_parses_to_the_same_action_as_json() -> None:
    by_form = parse_action(
        fields_of(
            form(
                "action=StartConsumer&group=g&subscriptions=%5B%7B%22topic%22%3A%22t%22%7D%5D&copies=2&work_ms=50&work_ms=60"
            )
        )
    )
    by_json = parse_action(
        {"action": "StartConsumer", "group": "g", "subscriptions": [{"topic": "t"}], "copies": 2, "work_ms": [50, 60]}
    )
    assert by_form == by_json
    assert isinstance(by_form, StartConsumer)


def test_a_reset_form_carries_what_was_shown() -> None:
    shown = '[{"queue": "broker-a:0", "committed": "15291", "target": "0"}]'
    action = parse_action(
        fields_of(
            form(
                urlencode(
                    {"action": "ResetOffsets", "group": "g", "topic": "t", "target": "earliest", "expected": shown}
                )
            )
        )
    )
    assert isinstance(action, ResetOffsets)
    assert action.expected == (ExpectedQueue("broker-a:0", 15_291, 0),)


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def test_a_rate_lets_a_burst_through_and_then_its_pace() -> None:
    clock = Clock()
    rate = Rate(10, 10, what="actions", now=clock)
    assert [rate.admits("a") for _ in range(11)] == [True] * 10 + [False]
    assert rate.admits("b"), "others are not held"
    clock.now_s = 0.1
    assert [rate.admits("a"), rate.admits("a")] == [True, False]
    clock.now_s = 60
    assert [rate.admits("a") for _ in range(11)] == [True] * 10 + [False]


def test_a_rate_forgets_who_was_not_seen_for_longest() -> None:
    rate = Rate(1, 1, what="actions", now=Clock())
    for n in range(KEPT_BUCKETS + 10):
        rate.admits(str(n))
    assert len(rate) == KEPT_BUCKETS


def test_a_refusal_says_how_long_to_wait() -> None:
    rate = Rate(0.5, 1, what="presses", now=Clock())
    rate.demand("a")
    with pytest.raises(ActionRefused) as refused:
        rate.demand("a")
    assert refused.value.status == 429
    assert refused.value.values["wait_s"] == "2"
