"""The drawing of a plan: every line and lane of the columns, every place of the ring."""

import math
from typing import Any

from tests.drawings.modules import Modules

TURN = 2**32


def line(label: str, queue: str = "", *, moved: bool = False) -> dict[str, Any]:
    return {"label": label, "me": f"me-{label}", "queue": queue, "short": queue, "moved": moved, "count": 1}


def test_each_queue_that_stays_in_the_columns_has_a_lane_and_moves_lie_above(modules: Modules) -> None:
    before = [line("A"), line("A", "q0", moved=True), line("A", "q1"), line("A", "q2", moved=True)]
    after = [line("A"), line("A", "q1"), line("B"), line("B", "q0", moved=True), line("B", "q3", moved=True)]
    drawn = modules(
        "plan_picture", "({ columnsOf }, columns) => columnsOf(columns)", {"before": before, "after": after}
    )
    assert [(lane["queue"], lane["d"]) for lane in drawn["lanes"]] == [
        ("q1", "M112 53C200 53 200 33 288 33"),
        ("q0", "M112 33C200 33 200 73 288 73"),
    ]
    assert (drawn["width"], drawn["height"]) == (400, 106)
    names = [text["said"] for text in drawn["texts"] if text["name"].startswith("pq")]
    assert names == ["q0", "q1", "q2", "q1", "q0", "q3"]
    assert [text["said"] for text in drawn["texts"] if text["name"].startswith("pm")] == ["A", "A", "B"]


def test_a_plan_on_the_ring_draws_every_place_and_every_queue(modules: Modules) -> None:
    places = [[TURN // 40 * n + 7, f"M{n % 4}", f"me-{n % 4}"] for n in range(40)]
    queues = [[TURN // 8 * n, f"q{n}", n == 3] for n in range(8)]
    drawn = modules("plan_picture", "({ ringOf }, ring) => ringOf(ring)", {"places": places, "queues": queues})
    assert len(drawn["dots"]) == 40
    assert len(drawn["arrows"]) == 8
    assert all(math.isclose(math.dist(dot["at"], (150, 150)), 118, abs_tol=0.1) for dot in drawn["dots"])
    assert [arrow["short"] for arrow in drawn["arrows"] if arrow["moved"]] == ["q3"]


def test_a_queue_behind_the_last_place_goes_over_twelve_to_the_first(modules: Modules) -> None:
    ring = {"places": [[TURN // 4, "A", "me-0"], [TURN // 2, "B", "me-1"]], "queues": [[TURN // 4 * 3, "q0", False]]}
    [arrow] = modules("plan_picture", "({ ringOf }, ring) => ringOf(ring)", ring)["arrows"]
    assert (arrow["me"], arrow["tick"]) == ("me-0", [32, 150])
    assert arrow["d"] == "M41 150A109 109 0 0 1 259 150"
