"""The page What if?: three modes with choices, the wait, the results."""

from typing import Any

import pytest
from django.test import Client

from queueviz.boards.action_texts import action_text
from queueviz.boards.run_comparison import ActionEvent, instead_of, lines_of, names_of
from queueviz.links import reruns
from queueviz.models import Course, Sandbox
from queueviz.pages import what_if, what_if_comparison, what_if_seeds
from sandbox.control.actions import CrashActor, StopActor
from sandbox.simulation.claims import CLAIMS
from tests.web.fake_port import CRASH_TAKEN, FakePort

BROKEN: dict[str, Any] = {
    "claim": "no-duplicates-after-a-crash",
    "seeds": 200,
    "tried": [(seed, int(seed < 197)) for seed in range(200)],
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
        "drawn": 5,
        "recipe": "abc",
        "acts": [{"at_ms": 33_761, "action": "CrashActor", "fields": {"actor": "A"}}],
    },
}
HELD = {**BROKEN, "tried": [(seed, 0) for seed in range(200)], "held": 200, "broken": 0, "counterexample": None}
SO_FAR = {**BROKEN, "tried": [(0, 0), (1, 2)], "held": 1, "broken": 1, "looked_at": 9}


@pytest.fixture(autouse=True)
def no_plays_of_other_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reruns, "_plays", type(reruns._plays)())


def figures(
    again: int, wait_ms: int | None, lag: int | None, *, gap_ms: int = 0, old_ms: int = 0, left: int = 0
) -> dict[str, Any]:
    where = {"queue": "t/b/0", "group": "g"}
    messages = {"oldest": {"ms": old_ms, "offset": 5, **where}, "delivered": 44 - left, "stored": 44, "unknown": None}
    wait = wait_ms and {"ms": str(wait_ms), "queue": "t/b/0", "who": "b#2", "holder": "a#1", "open": False}
    return {
        "delivered_again": again,
        "lost": 0,
        "longest_lock_wait": wait and {**wait, "ms": wait_ms},
        "lag": lag,
        "unread": {"queues": int(gap_ms > 0), "longest_ms": gap_ms, **where},
        "messages": messages,
    }


def side(again: int) -> dict[str, Any]:
    return {
        "first": {**CRASH_TAKEN, "seq": "8"},
        "at_ms": 90_007,
        "seq": "900",
        "figures": figures(again, None, 4),
        "board": None,
        "names": {},
        "recording": None,
    }


def play_of(slug: str, kind: str, order: dict[str, Any], state: str, **results: Any) -> str:
    """Return the address of a play in this state."""
    play = reruns.Play(slug, kind, [], order)
    play.state, play.result, play.partial = state, results.get("result"), results.get("partial")
    reruns._plays[play.id] = play
    return f"/s/{slug}/what-if/{play.id}/"


def seeds(visitor: Client, slug: str, state: str = "done", **results: Any) -> str:
    order = {"claim": "no-duplicates-after-a-crash", "seeds": 200}
    return visitor.get(play_of(slug, "claim", order, state, **results)).content.decode()


def test_the_page_offers_the_actions_of_the_run_up_to_an_event_in_words(
    visitor: Client, mine: str, port: FakePort
) -> None:
    port.rows = [
        {**CRASH_TAKEN, "seq": str(seq), "by": by} for seq, by in ((3, "template"), (7, "owner"), (9, "owner"))
    ]
    page = visitor.get(f"/s/{mine}/what-if/?at=8").content.decode()
    assert [seq for seq in (3, 7, 9) if f'<option value="{seq}"' in page] == [7]
    assert [seq for seq in (3, 7, 9) if f'type="checkbox" name="seq" value="{seq}"' in page] == [7]
    assert f"{action_text('CrashActor', {'actor': 'A'})}, #7" in page
    assert 'data-others="StopActor HangActor"' in page
    assert "Only the template" not in page
    port.rows.append({**CRASH_TAKEN, "seq": "8", "action": "SetRate", "fields": {"rate": 0}})
    assert '<option value="8"' not in visitor.get(f"/s/{mine}/what-if/").content.decode()
    assert '<option value="9"' in visitor.get(f"/s/{mine}/what-if/").content.decode()


def test_a_run_without_actions_has_only_the_seeds(visitor: Client, mine: str) -> None:
    page = visitor.get(f"/s/{mine}/what-if/").content.decode()
    assert "Only the template" in page
    assert page.count(">Run</button>") == 1


@pytest.mark.parametrize("at", ["", "x", "-1", "\u0663", "9" * 19])
def test_an_event_number_that_is_none_is_refused(visitor: Client, mine: str, at: str) -> None:
    assert visitor.get(f"/s/{mine}/what-if/", {"at": at}).status_code == 422


def test_old_addresses_lead_to_this_page(visitor: Client, mine: str) -> None:
    for old, new in (
        ("branch/?at=8", "what-if/?at=8"),
        ("compare/?seq=7", "what-if/?at=7"),
        ("compare/abc/", "what-if/abc/"),
        ("claims/", "what-if/"),
        ("claims/abc/", "what-if/abc/"),
    ):
        answer = visitor.get(f"/s/{mine}/{old}")
        assert (answer.status_code, answer["Location"]) == (302, f"/s/{mine}/{new}")


def test_an_action_that_cannot_be_changed_is_refused(visitor: Client, mine: str, port: FakePort) -> None:
    port.rows = [CRASH_TAKEN]
    address = f"/s/{mine}/what-if/"
    assert visitor.post(address, {"mode": "leave-out", "seq": "8"}).status_code == 404
    assert visitor.post(address, {"mode": "do-instead", "seq": "7", "instead": "PowerCut"}).status_code == 422


def test_an_action_in_place_of_another_has_its_fields() -> None:
    assert instead_of("CrashActor", {"actor": "A"}, "StopActor") == {"action": "StopActor", "actor": "A"}
    assert instead_of("KillBroker", {"broker": "b", "broker_id": 1}, "PowerCut") == {
        "action": "PowerCut",
        "broker": "b",
        "broker_id": 1,
    }
    assert instead_of("CrashActor", {"actor": "A"}, "PowerCut") is None


def done(action: str, **fields: Any) -> ActionEvent:
    return {**CRASH_TAKEN, "action": action, "fields": fields}


def test_runs_are_named_by_what_was_done() -> None:
    crash = done("CrashActor", actor="A")
    assert names_of([crash], None) == ("A crashed", "without the crash of A")
    assert names_of([crash], {"action": "StopActor", "actor": "A"}) == ("A crashed", "A stopped cleanly")
    assert names_of([done("KillBroker", broker="b", broker_id=1)], None)[1] == "without the kill of b.1"
    text = action_text("RestartActor", {"actor": "A"})
    assert names_of([done("RestartActor", actor="A")], None) == (f"with: {text}", f"without: {text}")


def test_runs_without_several_actions_are_named_by_the_first_two() -> None:
    crash, kill = done("CrashActor", actor="A"), done("KillBroker", broker="b")
    assert names_of([crash, kill], None) == ("A crashed, b was killed", "without the crash of A, without the kill of b")
    assert names_of([crash, kill, crash], None)[0] == "A crashed, b was killed and 1 more"


def test_several_actions_are_left_out_in_one_run(
    visitor: Client, mine: str, port: FakePort, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[reruns.Play] = []
    monkeypatch.setattr(reruns, "begin", lambda play: begun.append(play) or play)
    port.rows = [{**CRASH_TAKEN, "seq": str(seq)} for seq in (7, 9, 11)]
    address = f"/s/{mine}/what-if/"
    assert visitor.post(address, {"mode": "leave-out", "seq": ["9", "7", "9"]}).status_code == 302
    assert begun[0].order == {"seqs": [7, 9], "instead": None}
    assert visitor.post(address, {"mode": "leave-out"}).status_code == 422
    assert visitor.post(address, {"mode": "do-instead", "seq": ["7", "9"], "instead": "StopActor"}).status_code == 422
    assert visitor.post(address, {"mode": "leave-out", "seq": ["7"] * 51}).status_code == 422
    visitor.post(f"/s/{mine}/branch/", {"at": "9", "seq": ["7", "9"], "instead": ""})
    assert port.branched[-1].changes == {7: None, 9: None}


def test_the_table_marks_the_worse_and_leaves_unknown_numbers_open() -> None:
    sides = {
        "before": {"figures": figures(0, None, 16), "names": {"a#1": "A"}},
        "after": {"figures": figures(7, 61_000, None), "names": {"b#2": "B"}},
    }
    twice, _unread, _oldest, _delivered, lost, lag, wait = lines_of(sides)
    assert (twice.name, twice.before, twice.after, twice.worse) == ("Delivered twice", "0", "7", 1)
    assert (lost.worse, lost.why) == (0, "none in either run")
    assert wait.why == "t/b/0: B was refused the lock while A held it"
    assert (lag.after, lag.known, lag.worse) == ("–", False, 0)
    sides["after"]["figures"] = figures(7, None, None)
    assert lines_of(sides)[-1].name == lag.name, "no lock was refused"


def test_the_table_has_queues_without_a_reader_the_oldest_message_and_those_delivered() -> None:
    sides: dict[str, Any] = {
        "before": {"figures": figures(0, None, 0, gap_ms=20_000, old_ms=22_000), "names": {}},
        "after": {"figures": figures(0, None, 0, old_ms=1_600, left=2), "names": {}},
    }
    unread, oldest, delivered = lines_of(sides)[1:4]
    assert unread[:4] == ("Queues without a reader", "1, up to 20 s", "0", -1)
    assert unread.why == "the longest: t/b/0, read by g"
    assert oldest[:4] == ("Oldest unconsumed message", "22 s", "1.6 s", -1)
    assert oldest.why == "its highest age: t/b/0 @5, read by g"
    assert delivered[:4] == ("Delivered at least once", "44 of 44", "42 of 44", 1)
    nothing = {"oldest": None, "delivered": None, "stored": None, "unknown": "lost"}
    sides["after"]["figures"] |= {"unread": None, "messages": nothing}
    for line in lines_of(sides)[1:4]:
        assert (line.after, line.known, line.worse) == ("–", False, 0)
        assert line.why.startswith("unknown: ")


def test_the_result_stands_above_the_boards_with_the_runs_names(visitor: Client, mine: str, port: FakePort) -> None:
    port.rows = [CRASH_TAKEN]
    result = {
        "actions": [CRASH_TAKEN],
        "same_until": 6,
        "begins_ms": 30_000,
        "ends_ms": 90_000,
        "before": side(3),
        "after": side(1),
    }
    page = visitor.get(play_of(mine, "compare", {"seqs": [7], "instead": None}, "done", result=result)).content.decode()
    assert page.index("Delivered twice") < page.index('class="pair"')
    assert page.count("without the crash of A") >= 3
    assert "Result, 90 s later" in page


def test_the_changed_run_continues_in_a_sandbox(visitor: Client, mine: str, port: FakePort) -> None:
    port.rows = [CRASH_TAKEN]
    for instead, changes in (("", {7: None}), ("StopActor", {7: StopActor(actor="A")})):
        answer = visitor.post(f"/s/{mine}/branch/", {"at": "7", "seq": "7", "instead": instead})
        assert answer["Location"].endswith("/branching/")
        assert port.branched[-1].changes == changes


def test_a_play_that_is_cancelled_ends_its_process(
    visitor: Client, mine: str, port: FakePort, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(what_if_comparison, "COMPARE", "sandbox.simulation.compare_that_is_not_there")
    port.rows = [CRASH_TAKEN]
    address = visitor.post(f"/s/{mine}/what-if/", {"mode": "leave-out", "seq": "7"})["Location"]
    play = reruns.find(mine, address.split("/")[-2])
    play.over.wait(20)
    assert play.state == "failed"
    assert b"The run did not finish." in visitor.get(address).content
    endless = reruns.Play(mine, "test", ["http.server", "0", "--bind", "127.0.0.1"], {})
    reruns.begin(endless)
    assert b"<progress" in visitor.get(f"/s/{mine}/what-if/{endless.id}/").content
    visitor.post(f"/s/{mine}/what-if/{endless.id}/")
    assert endless.state == "cancelled"


def test_another_sandbox_s_play_is_not_found(visitor: Client, mine: str) -> None:
    address = play_of("other", "test", {}, "running")
    assert visitor.get(address.replace("/other/", f"/{mine}/")).status_code == 404


def test_every_claim_has_words() -> None:
    assert set(what_if_seeds.CLAIMS) == set(what_if_seeds.CASES) == set(CLAIMS)


def test_a_claim_that_does_not_hold_is_shown_with_its_shortest_run(visitor: Client, mine: str) -> None:
    page = seeds(visitor, mine, result=BROKEN)
    assert "Not always." in page
    assert "200 of 200 seeds run" in page
    assert "median 7, 90 % between 3 and 12 of 200 runs" in page
    assert "orders/broker-a/2 @24: A finished the message, B received it again" in page
    assert "seed 4" in page
    assert action_text("CrashActor", {"actor": "A"}) in page
    assert "Actions: 1 of 5 are needed." in page


def test_a_claim_that_held_says_of_how_many_cases(visitor: Client, mine: str) -> None:
    page = seeds(visitor, mine, result=HELD)
    assert "Holds in all runs." in page
    assert "900 cases were checked." in page
    assert "no case in these runs could contradict" in seeds(visitor, mine, result={**HELD, "looked_at": 0})


def test_the_first_counterexample_is_shown_while_the_other_seeds_run(visitor: Client, mine: str) -> None:
    page = seeds(visitor, mine, "running", partial=SO_FAR)
    assert "2 of 200 seeds run" in page
    assert "Not always." in page
    assert "orders/broker-a/2 @24" in page
    assert [page.count(f'class="{cell}"') - 1 for cell in ("holds", "broken")] == [1, 1]  # without the legend
    assert page.count('class="waits"') == 198
    assert 'hx-trigger="every 1s"' in page


@pytest.mark.parametrize(
    ("tried", "state", "text"),
    [
        (4, "running", None),
        (50, "running", "about 6 min left"),
        (199, "running", "less than 1 min left"),
        (200, "running", None),
        (50, "cancelled", None),
    ],
)
def test_the_time_left_is_computed_from_the_seeds_tried(
    visitor: Client, mine: str, tried: int, state: str, text: str | None
) -> None:
    partial = {**SO_FAR, "tried": [(seed, 0) for seed in range(tried)], "took_s": 120.0}
    page = seeds(visitor, mine, state, partial=partial)
    heading = page[page.index('id="over-seeds"') : page.index("</h2>", page.index('id="over-seeds"'))]
    assert f"{tried} of 200 seeds run" in heading
    assert ("min left" in page) == (text is not None)
    assert (text or "") in heading


@pytest.mark.parametrize("kind", ["claim", "compare"])
def test_one_that_ends_while_its_page_is_drawn_is_waited_for(
    visitor: Client, mine: str, port: FakePort, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    address = play_of(mine, kind, {"claim": BROKEN["claim"], "seeds": 200}, "running")
    play, choices = reruns._plays[address.split("/")[-2]], what_if._choices

    def ends(*args: Any) -> Any:
        play.state = "done"
        return choices(*args)

    monkeypatch.setattr(what_if, "_choices", ends)
    page = visitor.get(address).content.decode()
    assert play.state == "done"
    assert f'hx-get="{address}"' in page
    assert "did not finish" not in page


def test_a_stop_keeps_the_results(visitor: Client, mine: str) -> None:
    page = seeds(visitor, mine, "cancelled", partial=SO_FAR)
    assert "The results of the finished runs are kept." in page
    assert "orders/broker-a/2 @24" in page
    assert "hx-trigger" not in page


def test_a_poll_answers_with_the_results_alone(visitor: Client, mine: str) -> None:
    address = play_of(mine, "claim", {"claim": "order-per-key", "seeds": 20}, "running")
    part = visitor.get(address, headers={"HX-Request": "true"}).content.decode()
    assert part.lstrip().startswith("<section")
    assert "0 of 20 seeds run" in part


def test_a_claim_begins_a_play_of_this_sandbox(
    visitor: Client, mine: str, port: FakePort, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[reruns.Play] = []
    monkeypatch.setattr(reruns, "begin", lambda play: begun.append(play) or play)
    address = f"/s/{mine}/what-if/"
    visitor.post(address, {"mode": "seeds", "claim": "order-per-key", "seeds": "50"})
    assert (begun[0].order["claim"], begun[0].order["seeds"]) == ("order-per-key", 50)
    assert str(begun[0].order["directory"]).endswith(f"sandboxes/{mine}")
    assert visitor.post(address, {"mode": "seeds", "claim": "x"}).status_code == 422
    assert visitor.post(address, {"mode": "seeds", "claim": "order-per-key", "seeds": "9000"}).status_code == 422


def test_the_counterexample_is_opened_as_a_sandbox_of_one_s_own(visitor: Client, mine: str, port: FakePort) -> None:
    answer = visitor.post(play_of(mine, "claim", {}, "cancelled", partial=SO_FAR), {"open": "1"})
    assert answer["Location"].endswith("/branching/")
    order = port.branched[0]
    assert (order.seed, order.until_ms, [(done.at_ms, done.action) for done in order.done]) == (
        "4",
        123_761,
        [(33_761, CrashActor(actor="A"))],
    )
    assert visitor.get(answer["Location"]).status_code == 200
    assert visitor.post(play_of(mine, "claim", {}, "done", result=HELD), {"open": "1"}).status_code == 409


def test_the_counterexample_is_saved_as_a_test(visitor: Client, mine: str, port: FakePort) -> None:
    address = play_of(mine, "claim", {"claim": BROKEN["claim"], "seeds": 200}, "running", partial=SO_FAR)
    page = visitor.get(address).content.decode()
    name = "test_no_duplicates_after_a_crash_seed_4.py"
    assert f'href="{address}test.py"' in page
    assert f"python -m pytest {name}" in page
    answer = visitor.get(f"{address}test.py")
    assert answer["Content-Disposition"] == f'attachment; filename="{name}"'
    program = answer.content.decode()
    compile(program, name, "exec")
    assert 'RECIPE = "abc"' in program
    assert "assert len(cases) == 2" in program
    held = play_of(mine, "claim", {"claim": BROKEN["claim"], "seeds": 200}, "done", result=HELD)
    assert visitor.get(f"{held}test.py").status_code == 409


def test_a_counterexample_of_custom_settings_has_no_test(visitor: Client, mine: str, port: FakePort) -> None:
    result = {**BROKEN, "counterexample": {**BROKEN["counterexample"], "recipe": None}}
    address = play_of(mine, "claim", {"claim": BROKEN["claim"], "seeds": 200}, "done", result=result)
    assert "It cannot be saved as a test" in visitor.get(address).content.decode()
    assert visitor.get(f"{address}test.py").status_code == 409


def test_no_test_is_saved_while_the_lab_of_a_course_is_in_progress(
    visitor: Client, mine: str, port: FakePort, course: Course
) -> None:
    port.answers["lab"] = {"lab": "members-and-queues", "exam": False, "finished": False}
    Sandbox.objects.filter(slug=mine).update(course=course)
    assert visitor.get(f"{play_of(mine, 'claim', {}, 'done', result=BROKEN)}test.py").status_code == 409
