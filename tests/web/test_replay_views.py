"""Views other than the Board at an event: executed again beside the server, and drawn by their own templates."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from queueviz.boards import BOARDS, replay
from queueviz.links import past_sandboxes
from queueviz.links.past_sandboxes import LIMITS, Moment
from queueviz.pages import replay as replay_page
from sandbox.kernel.errors import ActionRefused
from tests.web.fake_port import SNAPSHOT, FakePort
from tests.web.patience import until

JSON, HTMX = "application/json", {"HX-Request": "true"}
WAIT_S = 60
STARTED = 300  # events: past the instant in which everything starts, with timers that write none
AT = 18_000
VIEWS = [board.name for board in BOARDS.values() if board.replayed]
RESULT: dict[str, Any] = {"seq": AT, "state": "live", "snapshot": {**SNAPSHOT, "sandbox": {}}, "channels": {}}


@pytest.fixture(autouse=True)
def _none_kept() -> Iterator[None]:
    yield
    past_sandboxes._moments.clear()


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, mine: str) -> Moment:
    """The one that every page is given; no process makes it."""
    found = Moment(mine, AT)
    monkeypatch.setattr(past_sandboxes, "find", lambda slug, at, admit: found)
    return found


def path_of(view: str, slug: str, client: str = "A") -> str:
    return f"/s/{slug}/clients/{client}/" if view == "client" else f"/s/{slug}/{BOARDS[view].path}"


def test_these_views_follow() -> None:
    assert sorted(VIEWS) == ["client", "index", "locks", "rebalance", "store", "topology"]


@pytest.mark.parametrize("view", VIEWS)
def test_while_it_is_executed_the_page_says_how_far(visitor: Client, mine: str, made: Moment, view: str) -> None:
    made.state, made.progress = "running", 0.43
    page = visitor.get(f"{path_of(view, mine)}?at={AT}")
    assert page.status_code == 202
    assert "Re-executing, 43 %" in page.content.decode()
    assert f'hx-get="{path_of(view, mine)}?at={AT}"' in page.content.decode()


def test_one_that_ends_while_its_page_is_drawn_is_waited_for(
    visitor: Client, mine: str, made: Moment, monkeypatch: pytest.MonkeyPatch
) -> None:
    made.state = "running"

    def present(*args: Any) -> Any:
        made.result, made.state = RESULT, "done"
        return replay.present(*args)

    monkeypatch.setattr(replay_page, "present", present)
    page = visitor.get(f"/s/{mine}/locks/?at={AT}")
    assert (page.status_code, made.state) == (202, "done")
    assert f'hx-get="/s/{mine}/locks/?at={AT}"' in page.content.decode()
    assert "could not be re-executed" not in page.content.decode()


def test_a_page_that_waits_is_loaded_again_once_it_is_there(visitor: Client, mine: str, made: Moment) -> None:
    made.state, made.result = "done", RESULT
    assert visitor.get(f"/s/{mine}/locks/?at={AT}", headers=HTMX)["HX-Refresh"] == "true"


@pytest.mark.parametrize("view", VIEWS)
def test_in_the_past_nothing_is_done_and_no_link_leaves_it(visitor: Client, mine: str, made: Moment, view: str) -> None:
    made.state, made.result = "done", RESULT
    page = visitor.get(f"{path_of(view, mine)}?at={AT}")
    text = page.content.decode()
    assert page.status_code == 200
    assert not any(page.context["can"].values())
    assert 'id="r-line"' in text
    assert 'id="rail"' not in text
    assert "data-rate" not in text
    assert f'href="/s/{mine}/journal/?at={AT}"' in text
    assert page.context["live"]["replay"]["at"] == AT
    assert page.context["live"]["rate"] == 0


def test_choosing_among_many_groups_stays_at_the_event(visitor: Client, mine: str, made: Moment) -> None:
    groups = [{**SNAPSHOT["groups"][0], "group": f"group-{number}"} for number in range(9)]
    made.state, made.result = "done", {**RESULT, "snapshot": {**RESULT["snapshot"], "groups": groups}}
    text = visitor.get(f"/s/{mine}/rebalance/?at={AT}").content.decode()
    assert 'class="chooser"' in text
    assert f'name="at" value="{AT}"' in text.partition('class="chooser"')[2].partition("</form>")[0]


def test_the_reason_why_it_cannot_be_executed_again_is_said(visitor: Client, mine: str, made: Moment) -> None:
    made.state = "failed"
    made.refused = {
        "message": "At event {seq} this run cannot be replayed.",
        "values": {"seq": AT, "why": "kill"},
    }
    page = visitor.get(f"/s/{mine}/locks/?at={AT}")
    assert page.status_code == 200
    assert "At event 18000 this run cannot be replayed. (the server was killed)" in page.content.decode()


def test_an_event_that_is_not_there_starts_no_process(visitor: Client, mine: str) -> None:
    answer = visitor.get(f"/s/{mine}/locks/?at=99999")
    assert (answer.status_code, b"Event 99999 does not exist" in answer.content) == (422, True)
    assert not past_sandboxes._moments


def test_a_visit_to_the_past_wakes_no_sandbox(visitor: Client, mine: str, port: FakePort, made: Moment) -> None:
    port.sandboxes[mine] = "asleep"
    visitor.get(f"/s/{mine}/locks/?at={AT}")
    assert port.sandboxes[mine] == "asleep"


class Held(Moment):
    """Waits for its turn as long as the test likes."""

    def run(self) -> None:
        return None


def test_only_so_many_wait_and_each_is_begun_once(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    monkeypatch.setattr(past_sandboxes, "Moment", Held)
    begun: list[int] = []
    for at in [*range(LIMITS.moments_waiting), 0]:
        past_sandboxes.find("box", at, lambda at=at: begun.append(at))
    assert begun == [*range(LIMITS.moments_waiting)]
    with pytest.raises(ActionRefused) as refused:
        past_sandboxes.find("box", 99, lambda: None)
    assert refused.value.status == 503


def test_one_that_is_not_asked_for_any_more_is_given_up(settings: Any) -> None:
    times = iter([0.0, LIMITS.moment_unasked_s + 1])
    left = Moment("box", 1, now=lambda: next(times))
    left.run()
    assert left.state == "cancelled"


def test_one_that_failed_is_begun_again_by_who_asks_again(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    monkeypatch.setattr(past_sandboxes, "Moment", Held)
    first = past_sandboxes.find("box", 1, lambda: None)
    first.state = "failed"
    assert past_sandboxes.find("box", 1, lambda: None) is first
    assert past_sandboxes.find("box", 1, lambda: None) is not first


@pytest.mark.django_db(transaction=True)
def test_each_view_at_an_event_is_what_it_was_then(real_engine: Any) -> None:
    """The live page is read while the clock of the sandbox is stopped; later the page is asked for that event."""
    client = Client()
    slug = client.post("/api/sandboxes", {"template": "payments"}, content_type=JSON).json()["slug"]

    def act(**fields: Any) -> int:
        return int(client.post(f"/api/sandboxes/{slug}/actions", fields, content_type=JSON).json()["seq"])

    until(lambda: int(client.get(f"/api/sandboxes/{slug}").json()["seq"]) > STARTED)
    act(action="CrashActor", actor="A")
    act(action="SetRate", rate=0)
    pages = {view: client.get(path_of(view, slug, "B")) for view in VIEWS}
    live = {
        view: {name: first["data"] for name, first in page.context["live"]["first"].items()}
        for view, page in pages.items()
    }
    at = client.get(f"/api/sandboxes/{slug}").json()["seq"]
    act(action="SetRate", rate=20)
    act(action="RestartActor", actor="A")
    assert client.get(f"{path_of('locks', slug)}?at={at}").status_code == 202
    assert past_sandboxes._moments[slug, int(at)].over.wait(WAIT_S)
    for view in VIEWS:
        past = client.get(f"{path_of(view, slug, 'B')}?at={at}")
        assert past.status_code == 200, view
        then = {name: first["data"] for name, first in past.context["live"]["first"].items()}
        assert differing(then, live[view]) == {}, view
        assert live[view], view


def differing(then: Any, live: Any, path: str = "") -> dict[str, tuple[Any, Any]]:
    """Return the values that differ, by their path, so that a failure names them alone."""
    if isinstance(then, dict) and isinstance(live, dict):
        keys = {**then, **live}
        pairs = [differing(then.get(key), live.get(key), f"{path}/{key}") for key in keys]
        return {name: pair for each in pairs for name, pair in each.items()}
    return {} if then == live else {path: (then, live)}
