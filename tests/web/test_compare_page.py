"""One action different, on its pages: the form, the wait, the table."""

from typing import Any

import pytest
from django.test import Client

from queueviz.boards.run_comparison import instead_of, lines_of
from queueviz.links import reruns
from queueviz.pages import compare
from tests.web.fake_port import FakePort

CRASH = {
    "seq": "7",
    "at_ms": 7,
    "type": "ActionTaken",
    "cause": None,
    "action": "CrashActor",
    "fields": {"actor": "A"},
    "by": "owner",
}


def figures(again: int, wait_ms: int | None, lag: int | None) -> dict[str, Any]:
    wait = wait_ms and {"ms": str(wait_ms), "queue": "t/b/0", "who": "b#2", "holder": "a#1", "open": False}
    return {"delivered_again": again, "lost": 0, "longest_lock_wait": wait and {**wait, "ms": wait_ms}, "lag": lag}


def test_the_form_offers_other_ends_of_the_same_member(visitor: Client, mine: str, port: FakePort) -> None:
    port.rows = [CRASH]
    page = visitor.get(f"/s/{mine}/compare/?seq=7").content.decode()
    assert [name for name in ("StopActor", "HangActor", "CrashActor", "KillBroker") if f'value="{name}"' in page] == [
        "StopActor",
        "HangActor",
    ]
    assert visitor.get(f"/s/{mine}/compare/?seq=8").status_code == 404


def test_what_is_offered_has_the_fields_of_the_action() -> None:
    assert instead_of("CrashActor", {"actor": "A"}, "StopActor") == {"action": "StopActor", "actor": "A"}
    assert instead_of("KillBroker", {"broker": "b", "broker_id": 1}, "PowerCut") == {
        "action": "PowerCut",
        "broker": "b",
        "broker_id": 1,
    }
    assert instead_of("CrashActor", {"actor": "A"}, "PowerCut") is None


def test_the_table_says_what_is_worse_and_leaves_open_what_is_not_known() -> None:
    sides = {
        "before": {"figures": figures(0, None, 16), "names": {"a#1": "A"}},
        "after": {"figures": figures(7, 61_000, None), "names": {"b#2": "B"}},
    }
    again, lost, wait, lag = lines_of(sides)
    assert (again.before, again.after, again.difference, again.worse) == ("0", "7", "+7", 1)
    assert (lost.difference, lost.why) == ("0", "none in either run")
    assert wait.why == "t/b/0: B was refused the lock while A held it"
    assert (lag.after, lag.difference, lag.worse) == ("–", "–", 0)


def test_a_play_that_is_cancelled_ends_its_process(
    visitor: Client, mine: str, port: FakePort, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compare, "COMPARE", "sandbox.simulation.compare_that_is_not_there")
    port.rows = [CRASH]
    address = visitor.post(f"/s/{mine}/compare/", {"seq": "7"})["Location"]
    play = reruns.find(mine, address.split("/")[-2])
    play.over.wait(20)
    assert play.state == "failed"
    assert b"The run did not finish." in visitor.get(address).content
    endless = reruns.Play(mine, "test", ["http.server", "0", "--bind", "127.0.0.1"], {})
    reruns.begin(endless)
    assert b"<progress" in visitor.get(f"/s/{mine}/compare/{endless.id}/").content
    visitor.post(f"/s/{mine}/compare/{endless.id}/")
    assert endless.state == "cancelled"


def test_another_sandbox_s_play_is_not_found(visitor: Client, mine: str) -> None:
    play = reruns.Play("other", "test", [], {})
    reruns._plays[play.id] = play
    assert visitor.get(f"/s/{mine}/compare/{play.id}/").status_code == 404
    del reruns._plays[play.id]
