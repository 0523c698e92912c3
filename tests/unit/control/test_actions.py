"""Forms and JSON become typed actions, or a sentence about what is wrong."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.control.actions import (
    BY_NAME,
    CrashActor,
    ExpectedQueue,
    ResetOffsets,
    SendMessages,
    SetRate,
    StartConsumer,
    Subscription,
    fields_of,
    parse_action,
)
from sandbox.control.questions import BY_NAME as QUESTIONS
from sandbox.control.questions import WalkIndex, parse_question
from sandbox.control.rights import VERBS, can
from sandbox.kernel.errors import ActionRefused


def refusal(**given: object) -> ActionRefused:
    with pytest.raises(ActionRefused) as caught:
        parse_action(given)
    return caught.value


def test_json_becomes_a_typed_action() -> None:
    assert parse_action({"action": "CrashActor", "actor": "A"}) == CrashActor(actor="A")


def test_form_text_becomes_numbers_lists_and_shapes() -> None:
    action = parse_action(
        {
            "action": "StartConsumer",
            "group": "g",
            "copies": "2",
            "work_ms": "10, 20",
            "subscriptions": '[{"topic": "orders", "expression": "a || b"}]',
        }
    )
    assert action == StartConsumer(
        group="g", copies=2, work_ms=(10, 20), subscriptions=(Subscription("orders", "a || b"),)
    )


def test_an_empty_form_field_means_not_given() -> None:
    assert parse_action(
        {
            "action": "SetRate",
            "rate": "2",
        }
    ) == SetRate(rate=2.0)
    assert parse_action({"action": "SendMessages", "topic": "t", "count": ""}) == SendMessages(topic="t")


def test_the_expected_offsets_of_a_reset_keep_64_bits() -> None:
    action = parse_action(
        {
            "action": "ResetOffsets",
            "group": "g",
            "topic": "t",
            "target": "earliest",
            "expected": [{"queue": "b:0", "committed": str(2**53 + 1), "target": None}],
        }
    )
    assert isinstance(action, ResetOffsets)
    assert action.expected == (ExpectedQueue("b:0", 2**53 + 1, None),)


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"action": "Explode"}, "action"),
        ({"action": None}, "action"),
        ({"action": ["CrashActor"]}, "action"),
        ({"action": "CrashActor"}, "actor"),
        ({"action": "CrashActor", "actor": "A", "colour": "red"}, "colour"),
        ({"action": "CrashActor", "actor": 5}, "actor"),
        ({"action": "SetRate", "rate": "99"}, "rate"),
        ({"action": "SetRate", "rate": "nan"}, "rate"),
        ({"action": "SetRate", "rate": "1e999"}, "rate"),
        ({"action": "SetRate", "rate": True}, "rate"),
        ({"action": "SendMessages", "topic": "x" * 256}, "topic"),
        ({"action": "SendMessages", "topic": "t", "count": "1.5"}, "count"),
        ({"action": "SendMessages", "topic": "t", "rows": "[{"}, "rows"),
        ({"action": "SendMessages", "topic": "t", "key": "a\x01b"}, "key"),
        ({"action": "SendMessages", "topic": "t", "rows": [{"tag": "a\x02b"}]}, "rows.tag"),
        ({"action": "SendMessages", "topic": "t", "rows": [{"price": 1}]}, "rows"),
        ({"action": "StartConsumer", "group": "g", "listener": "lazy"}, "listener"),
        ({"action": "ChangeGroup", "group": "g", "changes": "[1]"}, "changes"),
    ],
)
def test_a_bad_field_is_named(given: dict[str, object], field: str) -> None:
    why = refusal(**given)
    assert (why.status, why.field) == (422, field)
    assert str(why).endswith(".")


def test_every_action_needs_a_known_right() -> None:
    assert {kind.verb for kind in BY_NAME.values()} <= set(VERBS)


def test_a_viewer_sees_and_an_owner_does_everything_but_grade() -> None:
    assert [verb for verb in VERBS if can("viewer", verb)] == ["see"]
    assert [verb for verb in VERBS if not can("owner", verb)] == ["grade"]


def test_the_journal_keeps_the_fields_of_an_action_but_not_thousands_of_rows() -> None:
    rows = [{"key": str(n)} for n in range(11)]
    assert fields_of(parse_action({"action": "SendMessages", "topic": "t", "rows": rows}))["rows"] == 11


def test_a_question_is_parsed_like_an_action() -> None:
    assert parse_question("walk-index", {"topic": "t", "key": "k"}) == WalkIndex(topic="t", key="k")
    with pytest.raises(ActionRefused) as caught:
        parse_question("meaning-of-life", {})
    assert caught.value.status == 404


words = st.text(max_size=8)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)


@given(name=st.sampled_from(sorted(BY_NAME)), values=st.data())
def test_whatever_comes_in_is_an_action_or_a_refusal(name: str, values: st.DataObject) -> None:
    fields = sorted(BY_NAME[name].__dataclass_fields__)
    given = {field: values.draw(json_values) for field in values.draw(st.lists(st.sampled_from(fields), unique=True))}
    try:
        assert isinstance(parse_action({"action": name, **given}), BY_NAME[name])
    except ActionRefused as why:
        assert why.status == 422  # noqa: PT017  # either outcome is right, another exception is not


@given(name=st.sampled_from(sorted(QUESTIONS)), given_fields=st.dictionaries(words, json_values, max_size=3))
def test_whatever_is_asked_is_a_question_or_a_refusal(name: str, given_fields: dict[str, object]) -> None:
    try:
        assert isinstance(parse_question(name, given_fields), QUESTIONS[name])
    except ActionRefused as why:
        assert why.status == 422  # noqa: PT017  # either outcome is right, another exception is not
