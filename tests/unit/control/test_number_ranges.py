"""Every number that comes from outside has a range: in actions and questions, recipes, recordings, times shown."""

import types
from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Any, Union, get_args, get_origin

import orjson
import pytest

from queueviz.templatetags import formats
from sandbox.control.actions import BY_NAME as ACTIONS
from sandbox.control.branch_orders import Came, RunOrder
from sandbox.control.fields import Between, hints_of
from sandbox.control.limits import HostLimits, RecordingLimits
from sandbox.control.questions import BY_NAME as QUESTIONS
from sandbox.control.recipe_text import pack, unpack
from sandbox.kernel.calendar_text import FIRST_MS, LAST_MS
from sandbox.kernel.errors import ActionRefused, BadRecording
from sandbox.recording.chunk import unpack_keyframe
from sandbox.recording.frame import About
from sandbox.recording.head import pack_head, read_head
from sandbox.recording.part import pack_part

LIMITS = HostLimits()
RECIPE = RunOrder(
    template="orders",
    preset="sandbox",
    seed="7",
    wall_ms=1_795_000_000_000,
    memory_bytes=2**34,
    first_port=20_000,
    conditions="abc",
    until=450,
    until_ms=1_795_000_095_000,
    came=(
        Came(40, 9_000, "CrashActor", {"actor": "A"}),
        Came(70, 12_000, None, {"limit": "topics", "value": 33, "allowed": 32, "who": "x"}),
        Came(90, 15_000, "idle", None, 1_795_000_090_000, 60_000),
    ),
)
AT_0 = (2**53, 2**62, -1, 1.5, True, None, "7")


def without_range(hint: Any, name: str) -> Iterator[str]:
    origin = get_origin(hint)
    if origin is Annotated:
        inner, *rules = get_args(hint)
        if not any(isinstance(rule, Between) for rule in rules):
            yield from without_range(inner, name)
    elif origin in (Union, types.UnionType, tuple):
        for one in get_args(hint):
            yield from without_range(one, name)
    elif isinstance(hint, type) and hasattr(hint, "_fields"):
        for field, one in hints_of(hint).items():
            yield from without_range(one, f"{name}.{field}")
    elif hint in (int, float):
        yield name


def test_each_number_of_an_action_or_question_has_a_range() -> None:
    found = [
        name
        for kinds in (ACTIONS, QUESTIONS)
        for kind in kinds.values()
        for field, hint in hints_of(kind).items()
        for name in without_range(hint, f"{kind.__name__}.{field}")
    ]
    assert found == []


def packed(change: Any) -> str:
    """The text of a recipe whose list was changed."""
    given = _list_of(RECIPE)
    change(given)
    return _text_of(given)


def _list_of(order: RunOrder) -> list[Any]:
    from base64 import urlsafe_b64decode
    from zlib import decompress

    text = pack(order, LIMITS)
    found: list[Any] = orjson.loads(decompress(urlsafe_b64decode(text + "=" * (-len(text) % 4)), -15))
    return found


def _text_of(given: list[Any]) -> str:
    from base64 import urlsafe_b64encode
    from zlib import compressobj

    packer = compressobj(9, wbits=-15)
    return urlsafe_b64encode(packer.compress(orjson.dumps(given)) + packer.flush()).decode().rstrip("=")


def set_at(*path: int | str, value: Any) -> Any:
    def change(given: Any) -> None:
        for step in path[:-1]:
            given = given[step]
        given[path[-1]] = value

    return change


NUMBERS = {
    "wall_ms": (4,),
    "memory_bytes": (5,),
    "first_port": (6,),
    "until": (8,),
    "lasts_ms": (9,),
    "turn": (10, 0, 0),
    "ms": (10, 0, 1),
    "limit's value": (10, 1, 3, "value"),
    "limit's allowed": (10, 1, 3, "allowed"),
    "woken_ms": (10, 2, 3),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_recipe_whose_number_is_beyond_its_range_is_no_recipe(name: str) -> None:
    assert unpack(packed(lambda given: None), LIMITS) == RECIPE
    for value in AT_0:
        if name == "woken_ms" and value is None:
            continue
        with pytest.raises(ActionRefused) as refused:
            unpack(packed(set_at(*NUMBERS[name], value=value)), LIMITS)
        assert refused.value.status == 422, value


def test_a_recipe_at_the_ends_of_the_ranges_is_one() -> None:
    for order in (
        replace(RECIPE, wall_ms=0, until_ms=0, came=()),
        replace(RECIPE, first_port=65_535),
        replace(RECIPE, wall_ms=4_102_444_800_000, until_ms=4_102_444_800_000, came=()),
    ):
        assert unpack(pack(order, LIMITS), LIMITS) == order


def head_of(**sums: Any) -> bytes:
    line = {"channels": [], "frames": 1, "facts": 0, "seq": [0, 0], "at_ms": [5, 5], **sums}
    pace_ms = line.pop("pace_ms", 100)
    return pack_head(About("1", None, None, None, pace_ms), line, [(0, 5, 1, 1, 1)], 1, RecordingLimits())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("seq", [5, 4]),
        ("at_ms", [5, 4]),
        ("at_ms", [0, LAST_MS + 1]),
        ("pace_ms", 0),
        ("pace_ms", 2**40),
        ("frames", 0),
        ("frames", 2**40),
        ("facts", 2**50),
        ("frames", True),
    ],
)
def test_a_recording_s_first_line_beyond_its_ranges_is_refused_in_words(name: str, value: Any) -> None:
    whole = head_of()
    assert read_head(whole, len(whole) + 4, RecordingLimits()).frames == 1
    changed = head_of(**{name: value})
    with pytest.raises(BadRecording, match="Export it again"):
        read_head(changed, len(changed) + 4, RecordingLimits())


@pytest.mark.parametrize("field", ["seq", "at_ms"])
@pytest.mark.parametrize("value", [-1, 2**53, True, 1.5])
def test_a_keyframe_s_numbers_have_a_range(field: str, value: Any) -> None:
    with pytest.raises(BadRecording):
        unpack_keyframe(pack_part({"seq": 0, "at_ms": 0, "state": {}, field: value}), RecordingLimits())


@pytest.mark.parametrize("shown", [formats.clock, formats.moment, formats.second])
def test_a_time_of_any_size_is_shown(shown: Any) -> None:
    """A client of one's own sends messages with any time of birth."""
    beyond = (LAST_MS + 1, FIRST_MS - 1, 2**53, 2**63 - 1, -(2**63), str(2**60))
    assert [shown(ms) for ms in beyond] == [f"{formats.number(ms)} ms" for ms in beyond]
    for ms in (FIRST_MS, LAST_MS, 0):
        assert "ms" not in shown(ms)
    assert formats.clock(LAST_MS, 840) == f"{formats.number(LAST_MS)} ms"
