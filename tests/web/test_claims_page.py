"""Test a claim, on its pages: the list, the wait, the verdict with its counterexample."""

from typing import Any

import pytest
from django.test import Client

from queueviz.links import reruns
from queueviz.pages import claim_tests
from sandbox.control.actions import CrashActor
from sandbox.simulation.claims import CLAIMS
from tests.web.fake_port import FakePort

FALLEN = {
    "claim": "no-duplicates-after-a-crash",
    "seeds": 200,
    "held": 3,
    "broken": 197,
    "looked_at": 900,
    "virtual_s": 24_000,
    "took_s": 120.0,
    "workers": 2,
    "distribution": {"median": 7, "low": 3, "high": 12, "most": 15},
    "counterexample": {
        "seed": "4",
        "sentence": "",
        "cases": 2,
        "values": {"place": "orders/broker-a/2 @24", "before": "A", "after": "B"},
        "until_ms": 123_761,
        "acts": [{"at_ms": 33_761, "action": "CrashActor", "fields": {"actor": "A"}}],
    },
}
HELD = {**FALLEN, "held": 200, "broken": 0, "counterexample": None}


def shown(visitor: Client, slug: str, result: dict[str, Any] | None, state: str = "done") -> str:
    play = reruns.Play(slug, "claim", [], {"claim": "no-duplicates-after-a-crash"})
    play.state, play.result = state, result
    reruns._plays[play.id] = play
    return visitor.get(f"/s/{slug}/claims/{play.id}/").content.decode()


def test_every_claim_has_words() -> None:
    assert set(claim_tests.CLAIMS) == set(claim_tests.CASES) == set(CLAIMS)


def test_a_claim_that_falls_is_shown_with_its_shortest_run(visitor: Client, mine: str) -> None:
    page = shown(visitor, mine, FALLEN)
    assert "contradicted in 197 of 200 runs" in page
    assert "median 7, 90 % between 3 and 12 of 200 runs" in page
    assert "orders/broker-a/2 @24: A finished the message, B received it again" in page
    assert "seed 4" in page
    assert "CrashActor" in page


def test_a_claim_that_held_says_of_how_many_cases(visitor: Client, mine: str) -> None:
    assert "The claim held in all 200 runs; 900 cases" in shown(visitor, mine, HELD)
    assert "no case in these runs could contradict it" in shown(visitor, mine, {**HELD, "looked_at": 0})


def test_one_that_runs_shows_how_far_it_is_and_can_be_cancelled(visitor: Client, mine: str) -> None:
    assert "<progress" in shown(visitor, mine, None, "running")
    assert "The run was cancelled." in shown(visitor, mine, None, "cancelled")


def test_choosing_one_begins_a_play_of_this_sandbox(
    visitor: Client, mine: str, port: FakePort, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[reruns.Play] = []
    monkeypatch.setattr(reruns, "begin", lambda play: begun.append(play) or play)
    assert visitor.get(f"/s/{mine}/claims/").content.count(b'name="claim"') == len(CLAIMS)
    visitor.post(f"/s/{mine}/claims/", {"claim": "order-per-key"})
    assert begun[0].order["claim"] == "order-per-key"
    assert begun[0].order["directory"].endswith(f"sandboxes/{mine}")
    assert visitor.post(f"/s/{mine}/claims/", {"claim": "x"}).status_code == 422


def test_the_counterexample_is_opened_as_a_sandbox_of_one_s_own(visitor: Client, mine: str, port: FakePort) -> None:
    play = reruns.Play(mine, "claim", [], {})
    play.state, play.result = "done", FALLEN
    reruns._plays[play.id] = play
    answer = visitor.post(f"/s/{mine}/claims/{play.id}/")
    assert answer["Location"].endswith("/branching/")
    order = port.branched[0]
    assert (order.seed, order.until_ms, [(one.at_ms, one.action) for one in order.done]) == (
        "4",
        123_761,
        [(33_761, CrashActor(actor="A"))],
    )
    assert visitor.get(answer["Location"]).status_code == 200
    play.result = HELD
    assert visitor.post(f"/s/{mine}/claims/{play.id}/").status_code == 409
