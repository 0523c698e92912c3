"""The timeline: its unit is the event, and marks that would touch become one with a count."""

import random
from itertools import pairwise
from typing import Any

from tests.drawings.modules import Modules

GROUPED = "({ grouped }, facts, first, last, width) => grouped(facts, first, last, width)"
THERE_AND_BACK = (
    "({ xOf, seqAt }, seqs, first, last, width) =>"
    " seqs.map((seq) => seqAt(xOf(seq, first, last, width), first, last, width))"
)
MARKER_AT = "({ markerAt }, seqs, seq) => markerAt(seqs, seq)"
SPREAD = "({ spread }, xs, apart, width) => spread(xs, apart, width)"
NEAREST = "({ nearest }, seqs, seq, by) => nearest(seqs, seq, by)"


def facts(*seqs: int, mark: str = "move") -> list[dict[str, Any]]:
    return [{"seq": seq, "mark": mark} for seq in seqs]


def test_marks_that_would_touch_become_one_with_the_gravest_sign(modules: Modules) -> None:
    given = [{"seq": 100, "mark": "move"}, {"seq": 110, "mark": "bad"}, {"seq": 900, "mark": "lock"}]
    groups = modules("timeline_plan", GROUPED, given, 0, 1_000, 1_000)
    assert [(group["x"], group["mark"], len(group["facts"])) for group in groups] == [(100, "bad", 2), (900, "lock", 1)]


def test_groups_stand_apart_and_lose_no_fact(modules: Modules) -> None:
    for seed in range(20):
        dice = random.Random(seed)
        seqs = sorted(dice.randrange(5_000) for _ in range(dice.randrange(200)))
        groups = modules("timeline_plan", GROUPED, facts(*seqs), 0, 5_000, 844)
        places = [group["x"] for group in groups]
        assert all(b - a >= 30 for a, b in pairwise(places))
        assert [fact["seq"] for group in groups for fact in group["facts"]] == seqs


def test_every_event_has_a_place_of_its_own_where_there_is_room(modules: Modules) -> None:
    seqs = list(range(40, 240))
    assert modules("timeline_plan", THERE_AND_BACK, seqs, 40, 240, 1_000) == seqs
    assert modules("timeline_plan", THERE_AND_BACK, [7], 7, 7, 1_000) == [7]


def test_the_nearest_fact_before_and_after(modules: Modules) -> None:
    asked = [(5, -1), (5, 1), (1, -1), (9, 1), (4, 1)]
    found = [modules("timeline_plan", NEAREST, [1, 5, 9], seq, by) for seq, by in asked]
    assert found == [1, 9, None, None, 5]


def test_markers_stand_at_their_events_and_none_over_another(modules: Modules) -> None:
    assert modules("timeline_notes", SPREAD, [100, 300, 500], 14, 800) == [100, 300, 500]
    assert modules("timeline_notes", SPREAD, [100, 101, 102], 14, 800) == [100, 114, 128]
    assert modules("timeline_notes", SPREAD, [0, 798, 800], 14, 800) == [7, 779, 793]


def test_an_event_belongs_to_the_newest_marker_that_is_not_after_it(modules: Modules) -> None:
    found = [modules("replay_markers", MARKER_AT, [5, 9], seq) for seq in (3, 5, 7, 9, 40)]
    assert found == [None, 5, 5, 9, 9]
