"""A board as a picture: well-formed, with title and event; one that moves does so three times, in its budget."""

import random
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.drawings.modules import Modules
from tests.drawings.test_strip import any_row

SVG = "{http://www.w3.org/2000/svg}"
TEXTS = {
    "title": 'Lag <of> "orders" & more',
    "event": "event #{seq}",
    "desc": "8 queues, lag 12",
    "css": ".s path { fill: none }",
    "patterns": '<pattern id="p-del"/>',
}
STILL = "({ still }, frame, texts) => still(frame, texts)"
MOVING = "({ moving }, frames, texts) => { try { return moving(frames, texts); } catch (why) { return why.message; } }"


def frame(number: int, dice: random.Random, queues: int = 8) -> dict[str, Any]:
    rows = {f"broker-a:{place}": any_row(dice) for place in range(queues)}
    members = {"10.0.0.11@4021#1": {"letter": "A", "colour": 0, "state": dice.choice(["running", "crashed"])}}
    return {
        "seq": 18_402 + number,
        "at_ms": 1_795_000_000_000 + number * 100,
        "board": {"queues": rows, "members": members},
    }


def walking(count: int, queues: int = 8) -> list[dict[str, Any]]:
    """Offsets that rise as they do on a board, a frame each 100 ms."""
    frames = []
    for number in range(count):
        rows = {
            f"broker-a:{place}": {
                "min": "0",
                "max": str(1_000 + (number + place) // 3),
                "committed": str(990 + (number + place) // 5),
                "in_memory": str(990 + (number + place) // 4),
                "next_pull": str(1_000 + (number + place) // 3),
                "cells": f"{1 + number % 3}p{1 + number % 4}b",
                "cells_from": str(990 + (number + place) // 4),
                "owner": "a",
                "oldest": None,
                "flow_control": None,
            }
            for place in range(queues)
        }
        members = {"a": {"letter": "A", "colour": 0, "state": "running"}}
        frames.append(
            {
                "seq": number * 7,
                "at_ms": 1_795_000_000_000 + number * 100,
                "board": {"queues": rows, "members": members},
            }
        )
    return frames


def read(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(text)


def test_a_still_names_title_event_and_every_queue(modules: Modules) -> None:
    for seed in range(30):
        drawn = read(modules("still", STILL, frame(seed, random.Random(seed)), TEXTS))
        words = [node.text for node in drawn.iter(f"{SVG}text")]
        assert drawn.findtext(f"{SVG}title") == TEXTS["title"]
        assert any(f"event #18\u2009{402 + seed}" in (word or "") for word in words)
        assert {f"q{place}" for place in range(8)} <= set(words)
        assert list(drawn.iter(f"{SVG}animate")) == []
        assert list(drawn.iter(f"{SVG}script")) == []


def test_what_is_unknown_is_a_dash_and_draws_no_offset(modules: Modules) -> None:
    nothing = frame(0, random.Random(1), queues=1)
    nothing["board"]["queues"]["broker-a:0"] |= {
        "committed": None,
        "in_memory": None,
        "next_pull": None,
        "owner": None,
        "assigned": None,
        "cells": None,
        "oldest": None,
    }
    drawn = read(modules("still", STILL, nothing, TEXTS))
    assert [node.text for node in drawn.iter(f"{SVG}text") if node.get("class") == "lag"] == ["–"]
    assert [node for node in drawn.iter(f"{SVG}path") if node.get("class") in ("pin", "memory")] == []


def test_a_picture_of_thirty_seconds_moves_three_times_and_stays_in_its_budget(modules: Modules) -> None:
    text = modules("still", MOVING, walking(301), TEXTS)
    drawn = read(text)
    steps = list(drawn.iter(f"{SVG}animate"))
    assert len(text.encode()) <= 100_000
    assert len(steps) > 40
    assert {step.get("repeatCount") for step in steps} == {"3"}
    assert {step.get("dur") for step in steps} == {"31000ms"}
    for step in steps:
        times = [float(share) for share in step.get("keyTimes", "").split(";")]
        assert len(times) == len(step.get("values", "").split(";"))
        assert times[0] == 0
        assert times == sorted(set(times))
        assert times[-1] < 1


def test_at_each_moment_one_value_of_a_text_is_shown(modules: Modules) -> None:
    drawn = read(modules("still", MOVING, walking(40, queues=2), TEXTS))
    clocks = [node for node in drawn.iter(f"{SVG}text") if node.get("class") == "when"]
    moments = sorted({share for node in clocks for share in node[0].get("keyTimes", "").split(";")}, key=float)
    for moment in moments:
        shown = [node for node in clocks if _at(node[0], float(moment)) == "visible"]
        assert len(shown) == 1


def test_a_picture_that_moves_says_what_happened(modules: Modules) -> None:
    frames = [
        {**frame, "fact": "A crashed" if number >= 20 else ""} for number, frame in enumerate(walking(40, queues=2))
    ]
    drawn = read(modules("still", MOVING, frames, TEXTS))
    facts = {node.text: node[0] for node in drawn.iter(f"{SVG}text") if node.get("class") == "fact"}
    assert (_at(facts["A crashed"], 0), _at(facts["A crashed"], 0.9)) == ("hidden", "visible")


def _at(step: ElementTree.Element, moment: float) -> str:
    times = [float(share) for share in step.get("keyTimes", "").split(";")]
    return step.get("values", "").split(";")[max(place for place, time in enumerate(times) if time <= moment)]


@pytest.mark.parametrize(("frames", "why"), [(walking(303), "too long"), (walking(300, queues=200), "too many queues")])
def test_what_is_too_long_or_too_much_is_refused(modules: Modules, frames: list[dict[str, Any]], why: str) -> None:
    assert modules("still", MOVING, frames, TEXTS) == why
