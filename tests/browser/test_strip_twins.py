"""The strip: the browser's drawing and the server's are the same numbers, for any numbers."""

import itertools
import json
import math
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from playwright.sync_api import Page

from queueviz.boards.strip_plan import StripOptions, plan_strip
from queueviz.boards.strip_scale import scale, window_for
from queueviz.templatetags import formats

HUGE = 2**63 - 1
CAPTIONS = {"min": "min", "next": "next pull", "pinned": "order-77812 held 96 s", "beyond": "committed beyond max",
            "below": "committed, deleted since", "none": "no stored offset"}  # fmt: skip
PLAN = """async ([module, cases]) => {
    const { planStrip } = await import(module);
    return cases.map(([row, options]) => planStrip(row, options));
}"""


def module(base_url: str, page: Page, name: str) -> str:
    """The address of a module as the page imports it: its name carries a hash."""
    listing = page.evaluate("performance.getEntriesByType('resource').map((entry) => entry.name)")
    return next(str(url) for url in listing if re.search(rf"/js/{name}\.", url))


def options_of(given_options: dict[str, Any]) -> StripOptions:
    names = {"width", "height", "window", "k", "track", "compact", "selected", "now_ms", "pin_ms", "silent", "local",
             "held", "target", "captions"}  # fmt: skip
    return StripOptions(**{name: value for name, value in given_options.items() if name in names},
                        planned="target" in given_options)  # fmt: skip


def as_plan(row: dict[str, Any], given_options: dict[str, Any]) -> dict[str, Any]:
    plan = plan_strip(row, options_of(given_options))
    paths = {name: path for name, path in plan.paths.items() if path}
    return {"paths": paths, "texts": {name: list(label) for name, label in plan.texts.items()}}


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
    return {"min": str(low), "max": str(high), "committed": _text(committed), "in_memory": _text(memory), **real,
            "next_pull": _text(follows), "cells": cells, "cells_from": _text(memory) if cells else None,
            "owner": owner, "oldest": dice.choice([None, pinned]),
            "flow_control": dice.choice([None, None, "count"])}  # fmt: skip


def _text(value: int | None) -> str | None:
    return None if value is None else str(value)


def any_options(dice: random.Random) -> dict[str, Any]:
    width = dice.choice([542, 180, 900])
    return {"width": width, "height": dice.choice([50, 40, 56]), "window": dice.choice([50, 100, 2_000]), "k": 1,
            "compact": width < 260, "selected": dice.random() < 0.5, "now_ms": dice.choice([0, 96_000]),
            "silent": dice.random() < 0.2, "local": dice.random() < 0.2, "held": dice.choice([None, 0.3, 1.0]),
            "captions": CAPTIONS}  # fmt: skip


def test_recorded_strips_are_drawn_as_recorded(fixture: Callable[[str], Any]) -> None:
    for case in fixture("strips"):
        assert as_plan(case["row"], case["options"]) == case["plan"], case["name"]


def test_browser_and_server_draw_the_same(page: Page, base_url: str, fixture: Callable[[str], Any]) -> None:
    dice = random.Random(7)
    cases = [[case["row"], case["options"]] for case in fixture("strips")]
    cases += [[any_row(dice), any_options(dice)] for _ in range(400)]
    page.goto(f"{base_url}/")
    page.locator("#conn").wait_for()
    drawn = page.evaluate(PLAN, [module(base_url, page, "strip_plan"), cases])
    for (row, given_options), plan in zip(cases, drawn, strict=True):
        wanted = as_plan(row, given_options)
        assert {name: path for name, path in plan["paths"].items() if path} == wanted["paths"], row
        assert plan["texts"] == wanted["texts"], row


def test_browser_and_server_write_numbers_alike(page: Page, base_url: str, fixture: Callable[[str], Any]) -> None:
    cases = fixture("formats")
    page.goto(f"{base_url}/")
    page.locator("#conn").wait_for()
    script = """async ([module, cases]) => {
        const format = await import(module);
        return cases.map(([name, value]) => format[name](value));
    }"""
    written = page.evaluate(script, [module(base_url, page, "format"), [[name, value] for name, value, _ in cases]])
    for (name, value, wanted), got in zip(cases, written, strict=True):
        own = getattr(formats, {"bytes": "byte_count"}.get(name, name))(value)
        assert (got, own) == (wanted, wanted), (name, value)


offsets = st.integers(0, HUGE)


@given(st.lists(offsets, min_size=2, max_size=8), offsets, st.integers(0, 10**6), st.sampled_from([160, 542, 1_400]))
def test_marks_stand_in_the_order_of_their_numbers(marks: list[int], low: int, span: int, width: int) -> None:
    high = min(HUGE, low + span)
    for window in (50, window_for([span])):
        drawn = scale(low=low, high=high, window=window, width=width, compact=width < 260)
        places = [drawn.x(mark) for mark in sorted(marks)]
        assert places == sorted(places)
        assert all(0 <= place <= width for place in places)


@given(st.randoms(use_true_random=False))
def test_no_label_touches_another_and_nothing_is_nan(dice: random.Random) -> None:
    row, given_options = any_row(dice), any_options(dice)
    plan = plan_strip(row, options_of(given_options))
    assert not any(re.search(r"nan|inf|e[+-]", path) for path in plan.paths.values())
    lines: dict[float, list[tuple[float, float]]] = {}
    for x, y, anchor, text in plan.texts.values():
        width = sum(2.2 if sign == formats.THIN else 6.15 for sign in text)
        lines.setdefault(y, []).append((x - width, x) if anchor == "end" else (x, x + width))
    for spans in lines.values():
        for (_, end), (begin, _) in zip(sorted(spans), sorted(spans)[1:], strict=False):
            assert begin >= end - 2


@given(st.lists(st.integers(0, 6_000), max_size=8))
def test_the_largest_lag_fills_about_half_of_a_window_of_20_to_5000(lags: list[int]) -> None:
    window, most = window_for(lags), max(lags, default=0)
    assert 20 <= window <= 5_000
    if 13 < most < 3_334:
        assert 0.4 <= most / window <= 2 / 3
    assert window_for(lags, widest=2**63) >= most, "a planned reset shows now and then in one picture"


LAGS = """async ([module, cases]) => {
    const { windowFor, nextWindow } = await import(module);
    return cases.map(([lags, every]) => {
        let state = null;
        const next = (lag, i) => (state = nextWindow(state, [0, lag], i * every[0], i * every[1])).size;
        return lags.map((lag, i) => [windowFor([lag]), next(lag, i)]);
    });
}"""


def any_lags(dice: random.Random) -> list[int]:
    """A lag four times a second for half a minute: at rest, to and fro, growing, or anything."""
    middle = dice.choice([0, 3, 12, 40, 700, 4_000, 2**53])
    return dice.choice([
        [middle] * 120,
        [middle * (i % 20) // 20 for i in range(120)],  # each commit takes it back
        [middle * i // 120 for i in range(120)],
        [dice.randint(0, 2 * middle) for _ in range(120)],
        [middle] * 60 + [middle // 10] * 60,
    ])  # fmt: skip


def test_a_window_follows_the_lag_and_does_not_jitter(page: Page, base_url: str) -> None:
    dice = random.Random(11)
    cases = [(any_lags(dice), dice.choice([(250, 250), (250, 5_000), (250, 62)])) for _ in range(200)]
    page.goto(f"{base_url}/")
    page.locator("#conn").wait_for()
    answers = page.evaluate(LAGS, [module(base_url, page, "scale"), cases])
    for (lags, (eye_ms, clock_ms)), drawn in zip(cases, answers, strict=True):
        assert [wanted for wanted, _ in drawn] == [window_for([lag]) for lag in lags], "the server's window"
        sizes = [size for _, size in drawn]
        assert sizes[0] == window_for(lags[:1]), "what the server drew first stays"
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
    """Write the recorded strips anew: `python -m tests.browser.test_strip_twins`."""
    path = Path(__file__).parent / "fixtures" / "strips.json"
    cases = json.loads(path.read_text("utf-8"))
    for case in cases:
        case["plan"] = as_plan(case["row"], case["options"])
    path.write_text(json.dumps(cases, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    record()
