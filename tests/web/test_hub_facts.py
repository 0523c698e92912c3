"""The facts channel: every fact once, in order, to everyone, however far each has read."""

from typing import Any

from sandbox.live.visible_parts import Sight
from tests.web.stage import FACTS, Stage, Tab


def _fact(seq: int, kind: str = "ActionTaken") -> dict[str, Any]:
    return {"seq": str(seq), "at_ms": seq, "type": kind, "cause": None}


def _facts_of(tab: Tab) -> list[int]:
    return [int(row["seq"]) for frame in tab.got if frame["k"] == "facts" for row in frame["rows"]]


def test_facts_after_a_seq_come_first_and_then_new_ones(stage: Stage) -> None:
    stage.port.rows = [_fact(n) for n in range(10)]
    tab = stage.tab(FACTS, after=4)
    stage.run_for(0.3)
    stage.port.rows.append(_fact(10))
    stage.port.ring("s")
    stage.run_for(0.3)
    assert _facts_of(tab) == [5, 6, 7, 8, 9, 10]


def test_a_score_that_one_viewer_is_not_shown_is_in_no_frame_while_that_viewer_watches(stage: Stage) -> None:
    def finished(seq: int) -> dict[str, Any]:
        return {**_fact(seq, "LabFinished"), "score": 93}

    stage.port.rows = [finished(0)]
    stage.port.show("lab/s", {"lab": {"score": 93}}, seq=1)
    teacher, student = (stage.tab("lab/s", FACTS, after=-1, sight=sight) for sight in (Sight.ALL, Sight.NO_SCORES))
    stage.run_for(0.3)
    stage.port.rows.append(finished(1))
    stage.port.ring("s")
    stage.run_for(0.3)
    assert "93" not in str(student.got)
    assert _facts_of(student) == [0, 1]
    stage.hub.forget(student.viewer)
    stage.port.rows.append(finished(2))
    stage.port.ring("s")
    stage.run_for(2)
    facts = [frame["rows"][-1]["score"] for frame in teacher.got if frame["k"] == "facts"]
    labs = [
        (frame["data"] if frame["k"] == "snap" else frame["set"])["lab"]["score"]
        for frame in teacher.got
        if frame["k"] in ("snap", "delta")
    ]
    assert (facts[-2:], labs[-2:]) == ([None, 93], [None, 93])


def test_without_a_seq_only_new_facts_come(stage: Stage) -> None:
    stage.port.rows = [_fact(n) for n in range(10)]
    tab = stage.tab(FACTS)
    stage.run_for(0.3)
    stage.port.rows.append(_fact(10))
    stage.port.ring("s")
    stage.run_for(0.3)
    assert _facts_of(tab) == [10]


def test_two_readers_at_different_places_each_hear_every_fact_once(stage: Stage) -> None:
    stage.port.rows = [_fact(n) for n in range(50)]
    first = stage.tab(FACTS, after=9)
    second = stage.tab(FACTS, after=39)
    for n in range(50, 60):
        stage.port.rows.append(_fact(n))
        stage.port.ring("s")
        stage.run_for(0.07)
    stage.run_for(1)
    assert _facts_of(first) == list(range(10, 60))
    assert _facts_of(second) == list(range(40, 60))


def test_who_was_away_for_long_hears_the_newest_facts_and_from_where_on_they_are_whole(stage: Stage) -> None:
    stage.port.rows = [_fact(n) for n in range(1_000)]
    tab = stage.tab(FACTS, after=10)
    stage.run_for(1)
    assert tab.got[0]["first"] == "1000"
    assert _facts_of(tab) == list(range(800, 1_000))


def test_the_two_hundred_newest_facts_come_whatever_happened_between(stage: Stage) -> None:
    between = ["PullAnswered", "OffsetsPersisted", "LifecycleStep"]
    stage.port.rows = [_fact(n, between[n % 3] if n % 50 else "ActionTaken") for n in range(20_000)]
    tab = stage.tab(FACTS, after=10)
    stage.run_for(1)
    assert _facts_of(tab) == list(range(10_000, 20_000, 50))


def test_a_history_without_facts_is_said_to_be_empty(stage: Stage) -> None:
    stage.port.rows = [_fact(n, "PullAnswered") for n in range(10)]
    tab = stage.tab(FACTS, after=0)
    stage.run_for(0.3)
    assert [frame["rows"] for frame in tab.got if frame["k"] == "facts"] == [[]]


def test_a_burst_of_facts_comes_in_frames_of_two_hundred(stage: Stage) -> None:
    tab = stage.tab(FACTS, after=-1)
    stage.port.rows = [_fact(n) for n in range(500)]
    stage.port.ring("s")
    stage.run_for(2)
    assert _facts_of(tab) == list(range(500))
    assert max(len(frame["rows"]) for frame in tab.got) == 200


def test_keyframes_are_not_sent(stage: Stage) -> None:
    tab = stage.tab(FACTS, after=-1)
    stage.port.rows = [_fact(0, "Keyframe"), _fact(1)]
    stage.port.ring("s")
    stage.run_for(0.3)
    assert _facts_of(tab) == [1]


def test_a_hidden_tab_still_hears_facts(stage: Stage) -> None:
    tab = stage.tab(FACTS, after=-1)
    stage.hub.hide(tab.viewer, hidden=True)
    stage.port.rows = [_fact(0)]
    stage.port.ring("s")
    stage.run_for(0.3)
    assert _facts_of(tab) == [0]
