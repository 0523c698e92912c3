"""The Board at an event: what its page is given, what it refuses, and the views that cannot show the past."""

import pytest
from django.test import Client

from queueviz import engine
from queueviz.boards import BOARDS, TABS
from queueviz.boards.player_texts import PLAYER_WORDS
from queueviz.links import replay_state
from queueviz.models import Sandbox
from queueviz.templatetags.pages import tabs
from sandbox.journal.events.life import STRETCH_ENDS
from sandbox.kernel.errors import ActionRefused
from tests.web.fake_port import FakePort


def test_the_page_is_given_the_state_and_no_channel(visitor: Client, mine: str) -> None:
    page = visitor.get(f"/s/{mine}/?at=18402")
    live = page.context["live"]
    assert (live["channels"], live["first"], live["replay"]["state"]["seq"]) == ({}, {}, "18402")
    assert live["replay"]["state"]["keyframe"] == "18000"


def test_in_the_past_no_one_may_do_anything_but_branch(visitor: Client, mine: str) -> None:
    page = visitor.get(f"/s/{mine}/?at=18402")
    text = page.content.decode()
    assert not any(page.context["can"].values())
    assert 'id="rail"' not in text
    assert 'id="add"' not in text
    assert "data-rate" not in text
    assert f'action="/s/{mine}/branch/"' in text
    assert 'name="at" value="18402"' in text


def test_a_visit_to_the_past_wakes_no_sandbox(visitor: Client, mine: str, port: FakePort) -> None:
    port.sandboxes[mine] = "asleep"
    assert visitor.get(f"/s/{mine}/?at=18402").status_code == 200
    assert port.sandboxes[mine] == "asleep"


@pytest.mark.parametrize("at", ["", "x", "-1", "1.5", "\u0663", "9" * 19])
def test_what_is_no_event_s_number_is_a_sentence(visitor: Client, mine: str, at: str) -> None:
    answer = visitor.get(f"/s/{mine}/", {"at": at})
    assert (answer.status_code, b"An event must be a number." in answer.content) == (422, True)


def test_an_event_that_is_not_kept_is_a_sentence(visitor: Client, mine: str, port: FakePort) -> None:
    port.refuse["state_at"] = ActionRefused(
        422,
        "Event {at} does not exist: the newest is {newest}.",
        "Choose an event between {oldest} and {newest}.",
        at=9,
        oldest=0,
        newest=7,
    )
    answer = visitor.get(f"/s/{mine}/?at=9")
    assert (answer.status_code, b"Event 9 does not exist: the newest is 7." in answer.content) == (422, True)


@pytest.mark.parametrize(
    "tab",
    [tab.name for tab in TABS if tab.name not in ("board", "journal") and not tab.replayed and tab.past is None],
)
def test_a_view_that_cannot_show_the_past_says_so(visitor: Client, mine: str, tab: str) -> None:
    page = visitor.get(f"/s/{mine}/{BOARDS[tab].path}?at=18402").content.decode()
    assert "This view cannot show the past yet." in page
    assert f'href="/s/{mine}/?at=18402"' in page
    assert f'href="/s/{mine}/{BOARDS[tab].path}"' in page


def test_the_line_is_given_its_stretches_and_the_first_event_with_a_state(visitor: Client, mine: str) -> None:
    answer = visitor.get(f"/api/sandboxes/{mine}/stretches").json()
    assert answer == {
        "keyframe": "12",
        "stretches": [
            {"from": "0", "to": "9000", "reproducible": True, "why": "kill"},
            {"from": "10000", "to": "18402", "reproducible": False, "why": "beginning not kept"},
        ],
    }


def test_only_who_may_see_a_sandbox_sees_its_stretches(visitor: Client, anonymous: Client, mine: str) -> None:
    Sandbox.objects.update(visibility=Sandbox.Visibility.PRIVATE)
    assert anonymous.get(f"/api/sandboxes/{mine}/stretches").status_code == 404
    assert visitor.get(f"/api/sandboxes/{mine}/stretches").status_code == 200


def test_every_tab_of_the_past_leads_to_the_past(visitor: Client, mine: str) -> None:
    for path in ("", "journal/", "locks/", "topics/"):
        page = visitor.get(f"/s/{mine}/{path}?at=18402").content.decode()
        assert all(f'href="/s/{mine}/{tab.path}?at=18402"' in page for tab in tabs())
    assert f'href="/s/{mine}/journal/"' in visitor.get(f"/s/{mine}/").content.decode()


def test_the_page_counts_as_a_question_about_the_past(
    visitor: Client, mine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay_state.STATES, "_now", lambda: 0.0)
    codes = [visitor.get(f"/s/{mine}/?at=18402").status_code for _ in range(40)]
    assert codes[0] == 200
    assert codes[-1] == 429


def test_a_group_of_the_past_is_shown_by_the_real_engine(real_engine: object, client: Client) -> None:
    slug = client.post("/new/", {"template": "orders"})["Location"].split("/")[2]
    newest = int(engine.answer(engine.port().state_at(slug)).seq)
    page = client.get(f"/s/{slug}/?at={newest}")
    live = page.context["live"]
    assert (live["group"], live["topic"], live["replay"]["state"]["seq"]) == ("order-svc", "orders", str(newest))


def test_every_reason_why_a_run_cannot_be_repeated_has_a_word() -> None:
    assert {f"stretch.{why}" for why in STRETCH_ENDS} <= set(PLAYER_WORDS)
