"""The strip: its drawing is what was recorded, and its marks and labels keep their order for any numbers."""

import itertools
import json
import math
import random
import re
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from queueviz.templatetags import formats
from tests.drawings.modules import Modules

HUGE = 2**63 - 1
CAPTIONS = {
    "min": "min",
    "next": "next pull",
    "pinned": "order-77812 held 96 s",
    "beyond": "committed beyond max",
    "below": "committed, then deleted",
    "none": "no stored offset",
}
PLANS = "({ planStrip }, cases) => cases.map(([row, options]) => planStrip(row, options))"


def plans(modules: Modules, cases: list[tuple[dict[str, Any], dict[str, Any]]]) -> list[dict[str, Any]]:
    drawn = modules("strip_plan", PLANS, cases)
    return [
        {"paths": {name: path for name, path in plan["paths"].items() if path}, "texts": plan["texts"]}
        for plan in drawn
    ]


def recorded(name: str) -> Any:
    return json.loads(Path(__file__).with_name(f"{name}.json").read_text("utf-8"))


def any_row(dice: random.Random) -> dict[str, Any]:
    """A queue row as the engine might send it, odd ones too."""
    low = dice.choice([0, 3, 12_477, 2**53 + 11, HUGE - 5_000])
    high = low + dice.choice([0, 1, 40, 300, 4_000])
    committed = dice.choice([None, low - 7 if low > 7 else low, low, dice.randint(low, high), high, high + 5])
    memory = None if committed is None else min(high, committed + dice.randint(0, 9))
    ahead = dice.randint(0, 30)
    follows = None if memory is None else dice.choice([None, memory, min(high, memory + ahead)])
    cells = dice.choice(["", "3d4p2b", "1p60d1p", "p", "5b"]) if memory is not None else None
    owner = dice.choice([None, "10.0.0.11@4021#1"])
    pinned = {"offset": str(committed), "key": "order-77812", "since_ms": 0} if committed is not None else None
    real = {"cached": None, "assigned": dice.choice([None, owner])} if dice.random() < 0.3 else {}  # of a real cluster
    return {
        "min": str(low),
        "max": str(high),
        "committed": _text(committed),
        "in_memory": _text(memory),
        **real,
        "next_pull": _text(follows),
        "cells": cells,
        "cells_from": _text(memory) if cells else None,
        "owner": owner,
        "oldest": dice.choice([None, pinned]),
        "flow_control": dice.choice([None, None, "count"]),
    }


def _text(value: int | None) -> str | None:
    return None if value is None else str(value)


def any_options(dice: random.Random) -> dict[str, Any]:
    width = dice.choice([542, 180, 900])
    return {
        "width": width,
        "height": dice.choice([50, 40, 56]),
        "window": dice.choice([50, 100, 2_000]),
        "k": 1,
        "compact": width < 260,
        "selected": dice.random() < 0.5,
        "now_ms": dice.choice([0, 96_000]),
        "pin_ms": 15_000,
        "silent": dice.random() < 0.2,
        "local": dice.random() < 0.2,
        "held": dice.choice([None, 0.3, 1.0]),
        "captions": CAPTIONS,
    }


def test_recorded_strips_are_drawn_as_recorded(modules: Modules) -> None:
    cases = recorded("strips")
    for case, plan in zip(cases, plans(modules, [(case["row"], case["options"]) for case in cases]), strict=True):
        assert plan == case["plan"], case["name"]


def test_browser_and_server_write_numbers_alike(modules: Modules) -> None:
    cases = recorded("formats")
    script = "(format, cases) => cases.map(([name, value]) => format[name](value))"
    written = modules("format", script, [[name, value] for name, value, _ in cases])
    for (name, value, wanted), got in zip(cases, written, strict=True):
        own = getattr(formats, {"bytes": "byte_count"}.get(name, name))(value)
        assert (got, own) == (wanted, wanted), (name, value)


CAPITAL_PX = 8  # the height of the labels' capitals
offsets = st.integers(0, HUGE)
PLACES = """({ scale, windowFor }, marks, min, max, span, width) => [50, windowFor([span])].map((window) => {
    const drawn = scale({ min: BigInt(min), max: BigInt(max), window, width, compact: width < 260 });
    return marks.map((mark) => drawn.x(BigInt(mark)));
})"""


@given(
    marks=st.lists(offsets, min_size=2, max_size=8),
    low=offsets,
    span=st.integers(0, 10**6),
    width=st.sampled_from([160, 542, 1_400]),
)
def test_marks_stand_in_the_order_of_their_numbers(
    modules: Modules, marks: list[int], low: int, span: int, width: int
) -> None:
    high = min(HUGE, low + span)
    ordered = [str(mark) for mark in sorted(marks)]
    for places in modules("scale", PLACES, ordered, str(low), str(high), span, width):
        assert places == sorted(places)
        assert all(0 <= place <= width for place in places)


@given(dice=st.randoms(use_true_random=False))
def test_labels_are_whole_and_apart_and_nothing_is_nan(modules: Modules, dice: random.Random) -> None:
    (plan,) = plans(modules, [(any_row(dice), any_options(dice))])
    assert not any(re.search(r"nan|inf|e[+-]", path, re.IGNORECASE) for path in plan["paths"].values())
    lines: dict[float, list[tuple[float, float]]] = {}
    for x, y, anchor, text in plan["texts"].values():
        width = sum(2.2 if sign == formats.THIN else 6.15 for sign in text)
        assert y >= CAPITAL_PX, text
        lines.setdefault(y, []).append((x - width, x) if anchor == "end" else (x, x + width))
    for spans in lines.values():
        for (_, end), (begin, _) in zip(sorted(spans), sorted(spans)[1:], strict=False):
            assert begin >= end - 2


WINDOWS = "({ windowFor }, lags) => [windowFor(lags), windowFor(lags, Infinity)]"


@given(lags=st.lists(st.integers(0, 6_000), max_size=8))
def test_the_largest_lag_fills_about_half_of_a_window_of_20_to_5000(modules: Modules, lags: list[int]) -> None:
    (window, endless), most = modules("scale", WINDOWS, lags), max(lags, default=0)
    assert 20 <= window <= 5_000
    if 13 < most < 3_334:
        assert 0.4 <= most / window <= 2 / 3
    assert endless >= most, "a planned reset shows now and then in one picture"


LAGS = """({ windowFor, nextWindow }, cases) => cases.map(([lags, every]) => {
    let state = null;
    const next = (lag, i) => (state = nextWindow(state, [0, lag], i * every[0], i * every[1])).size;
    return lags.map((lag, i) => [windowFor([lag]), next(lag, i)]);
})"""


def ladder(lag: int) -> int:
    """The window a lag asks for."""
    steps = (step * 10**power for power in range(3) for step in (20, 30, 50, 70, 100, 150))
    return next((step for step in steps if step < 5_000 and 2 * step >= 3 * lag), 5_000)


def any_lags(dice: random.Random) -> list[int]:
    """A lag four times a second for half a minute: at rest, to and fro, growing, or anything."""
    middle = dice.choice([0, 3, 12, 40, 700, 4_000, 2**53])
    return dice.choice(
        [
            [middle] * 120,
            [middle * (i % 20) // 20 for i in range(120)],  # each commit takes it back
            [middle * i // 120 for i in range(120)],
            [dice.randint(0, 2 * middle) for _ in range(120)],
            [middle] * 60 + [middle // 10] * 60,
        ]
    )


def test_a_window_follows_the_lag_and_does_not_jitter(modules: Modules) -> None:
    dice = random.Random(11)
    cases = [(any_lags(dice), dice.choice([(250, 250), (250, 5_000), (250, 62)])) for _ in range(200)]
    answers = modules("scale", LAGS, cases)
    for (lags, (eye_ms, clock_ms)), drawn in zip(cases, answers, strict=True):
        assert [wanted for wanted, _ in drawn] == [ladder(lag) for lag in lags]
        sizes = [size for _, size in drawn]
        assert sizes[0] == ladder(lags[0])
        assert all(lag <= size or size == 5_000 for lag, size in zip(lags, sizes, strict=True)), lags
        calm = math.ceil(5_000 / min(eye_ms, clock_ms))  # frames: of the viewer's time and of the sandbox's
        for i, (before, after) in enumerate(itertools.pairwise(sizes)):
            if after < before:
                quiet = lags[max(0, i + 1 - calm) : i + 2]
                assert i + 1 >= calm, lags
                assert max(quiet) <= min(after, 0.3 * before), lags
        turns = sum(before != after for before, after in itertools.pairwise(sizes))
        assert lags != sorted(lags) or turns <= 16, "a growing lag climbs the ladder once"


def record() -> None:
    """Write the recorded strips anew: `python -m tests.drawings.test_strip`."""
    node, cases = Modules("node"), recorded("strips")
    drawn = plans(node, [(case["row"], case["options"]) for case in cases])
    lines = [json.dumps(case | {"plan": plan}, ensure_ascii=False) for case, plan in zip(cases, drawn, strict=True)]
    Path(__file__).with_name("strips.json").write_text("[\n" + ",\n".join(lines) + "\n]\n", "utf-8")
    node.end()


if __name__ == "__main__":
    record()
