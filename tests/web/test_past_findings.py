"""The Board, its line and What is wrong at a past event: the findings that were open then."""

from typing import Any

import pytest
from django.test import Client

from queueviz.links import replay_state
from tests.web.fake_port import SNAPSHOT, FakePort
from tests.web.markup import compact

NOW_MS = int(SNAPSHOT["at_ms"])
RATES = ["rates", {"window_ms": 30_000, "in_per_s": 19.0, "out_per_s": 12.0}]


def opened(seq: int, **more: Any) -> dict[str, Any]:
    return {
        "type": "FindingOpened",
        "seq": str(seq),
        "at_ms": NOW_MS - 20_000,
        "cause": None,
        "code": "consumers_too_slow",
        "severity": "warning",
        "kind": "group",
        "subject": "order-svc",
        "group": "order-svc",
        "topic": "",
        "since_ms": NOW_MS - 40_000,
        "because_of": "",
        "says": [RATES],
        "marks": ["in_out", "lag"],
        "touches": ["group order-svc"],
        **more,
    }


def down(seq: int) -> dict[str, Any]:
    return opened(
        seq,
        code="broker_down",
        severity="error",
        kind="broker",
        subject="broker-a",
        group="",
        says=[["down", {"broker": "broker-a", "state": "killed"}]],
        touches=["broker broker-a", "group order-svc"],
    )


def closed(seq: int) -> dict[str, Any]:
    fact = opened(seq)
    return {
        **{name: fact[name] for name in ("seq", "at_ms", "cause", "code", "kind", "subject", "group", "topic")},
        "type": "FindingClosed",
        "lasted_ms": 9_000,
        "how": "ended",
    }


def event(seq: int) -> dict[str, Any]:
    return {"type": "MemberJoined", "seq": str(seq), "at_ms": NOW_MS - 8_000, "cause": None, "group": "order-svc"}


def board(visitor: Client, slug: str, at: int) -> str:
    return compact(visitor.get(f"/s/{slug}/?at={at}").content.decode())


def line(visitor: Client, slug: str, at: int) -> str:
    answer = visitor.get(f"/s/{slug}/part/finding/?group=order-svc&topic=orders&at={at}")
    assert answer.status_code == 200
    return compact(answer.content.decode())


@pytest.fixture
def facts(port: FakePort) -> list[dict[str, Any]]:
    port.rows = [opened(18_100), event(18_200), closed(18_300), event(18_402)]
    return port.rows


def test_the_board_has_the_line_of_its_event(visitor: Client, mine: str, facts: list[dict[str, Any]]) -> None:
    page = board(visitor, mine, 18_200)
    assert 'class="card find warning" id="finding"' in page
    assert "Over 30 s, 19.0 messages arrived per second, and members finished 12.0." in page
    assert "values of #18 100, where it opened 12 s ago" in page.replace("\u2009", " ")
    assert "[&quot;in_out&quot;, &quot;lag&quot;]" in page


def test_the_line_of_the_past_changes_nothing_and_asks_for_nothing_by_itself(
    visitor: Client, mine: str, facts: list[dict[str, Any]]
) -> None:
    text = line(visitor, mine, 18_200)
    assert "data-needs-live" not in text
    assert "every" not in text
    assert f'href="/s/{mine}/findings/?at=18200#' in text


def test_a_finding_is_open_from_its_event_to_its_end(visitor: Client, mine: str, facts: list[dict[str, Any]]) -> None:
    for at, is_open in ((18_099, False), (18_100, True), (18_299, True), (18_300, False)):
        assert ("Over 30 s" in line(visitor, mine, at)) is is_open
    assert "opened at this event" in line(visitor, mine, 18_100)


def test_without_an_open_finding_the_past_is_unknown_not_healthy(
    visitor: Client, mine: str, facts: list[dict[str, Any]]
) -> None:
    text = line(visitor, mine, 18_402)
    assert "No finding is open at this event." in text
    assert 'aria-label="Unknown"' in text
    assert "Healthy" not in text


def test_the_cause_stands_before_its_consequence_although_it_opened_later(
    visitor: Client, mine: str, port: FakePort
) -> None:
    port.rows = [opened(18_100), down(18_200)]
    text = line(visitor, mine, 18_300)
    assert "<b>broker-a has no master (killed).</b>" in text
    assert "Because of it: Over 30 s" in text


def test_what_is_wrong_in_the_past_has_the_findings_of_its_event(
    visitor: Client, mine: str, facts: list[dict[str, Any]]
) -> None:
    page = compact(visitor.get(f"/s/{mine}/findings/?at=18200").content.decode())
    assert "Over 30 s, 19.0 messages arrived" in page
    assert "1 warning" in page
    assert "part/findings/" not in page
    assert f'href="/s/{mine}/?group=order-svc&amp;at=18200"' in page
    assert "No finding is open at this event." in compact(visitor.get(f"/s/{mine}/findings/?at=18402").content.decode())


def test_an_event_that_does_not_exist_has_no_findings_page(
    visitor: Client, mine: str, facts: list[dict[str, Any]]
) -> None:
    assert visitor.get(f"/s/{mine}/findings/?at=99999").status_code == 422


def test_a_line_of_the_past_counts_as_a_question_about_the_past(
    visitor: Client, mine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay_state.STATES, "_now", lambda: 0.0)
    codes = [visitor.get(f"/s/{mine}/part/finding/?at=18200").status_code for _ in range(40)]
    assert (codes[0], codes[-1]) == (200, 429)


def test_where_the_search_ends_early_the_line_says_from_which_event_on_it_knows(
    visitor: Client, mine: str, port: FakePort
) -> None:
    port.rows = [
        row for seq in range(10_000, 14_400, 2) for row in (opened(seq), {**closed(seq + 1), "seq": str(seq + 1)})
    ]
    assert "No finding since event #" in line(visitor, mine, 14_399)
