"""The page of one client, against a port with nothing behind it and against the engine."""

from typing import Any
from urllib.parse import quote

import pytest
from django.test import Client

from queueviz.boards.live_fields import ago, left, runs, shown
from tests.web.fake_port import FakePort

NOW_MS = 1_795_142_537_350
LOCK = {
    "why": "lock",
    "topic": None,
    "queue": "orders/broker-a/3",
    "until_ms": NOW_MS + 42_000,
    "again_ms": NOW_MS + 7_000,
    "holder": "10.0.0.12@4002#2",
    "holder_state": "crashed",
}


def test_a_wait_for_a_dead_owners_lock_is_a_sentence_with_two_countdowns() -> None:
    names = {"10.0.0.12@4002#2": "B"}
    assert shown(LOCK, "why", "wait", now_ms=NOW_MS, names=names) == "the queue lock of B, crashed"
    assert shown(LOCK, "until_ms", "left", now_ms=NOW_MS) == "42 s"
    assert shown(LOCK, "again_ms", "left", now_ms=NOW_MS + 6_001) == "1.0 s"


@pytest.mark.parametrize(("ms", "said"), [(-5, "now"), (0, "now"), (400, "400 ms"), (1_001, "2.0 s"), (61_500, "62 s")])
def test_a_countdown_never_says_less_than_is_left(ms: int, said: str) -> None:
    assert left(ms) == said


def test_an_age_never_says_more_than_has_passed() -> None:
    assert [ago(ms) for ms in (-3, 900, 1_999, 61_999)] == ["0 ms", "900 ms", "1.0 s", "61 s"]


def test_offset_runs_are_written_with_both_ends() -> None:
    assert runs([["1003", "1018"], ["1020", "1020"]], 3) == "1\u2009003–1\u2009018, 1\u2009020 and 3 more"
    assert runs([], 0) == "–"


def test_unknown_is_an_en_dash() -> None:
    for kind in ("number", "bytes", "ms", "clock", "left", "ago", "runs", "wait", "mark", "step.", "text", "yes"):
        assert shown({"x": None}, "x", kind, now_ms=NOW_MS) == "–", kind


def test_a_client_no_one_knows_gets_a_sentence(visitor: Client, mine: str, port: FakePort) -> None:
    page = visitor.get(f"/s/{mine}/clients/nobody/")
    assert page.status_code == 200
    assert b"No client here has this name" in page.content


def test_the_channel_of_a_client_is_asked_for_by_its_id(visitor: Client, mine: str, port: FakePort) -> None:
    client_id = "10.0.0.11@4001#1"
    page = visitor.get(f"/s/{mine}/clients/{quote(client_id)}/")
    assert f"client/{mine}/10.0.0.11%404001%231" in page.context["live"]["channels"]["client"]


@pytest.fixture
def living(real_engine: Any, client: Client) -> tuple[Client, str]:
    """A sandbox with orderly members on the engine itself."""
    answer = client.post("/new/", {"template": "payments"})
    return client, str(answer["Location"]).split("/")[2]


def test_the_page_of_a_member_shows_its_steps_timers_and_queues(living: tuple[Client, str]) -> None:
    client, slug = living
    page = client.get(f"/s/{slug}/clients/A/")
    text = page.content.decode()
    assert page.context["client"]["actor"] == "A"
    for said in ("renew queue locks", "runs, does nothing", "off: addresses are configured", "V4_9_8", "payment-fifo"):
        assert said in text, said
    assert page.context["timers"][2][0] == "commit"


def test_the_page_of_a_producer_shows_its_choice(living: tuple[Client, str]) -> None:
    client, slug = living
    text = client.get(f"/s/{slug}/clients/till/").content.decode()
    for said in ("key hash", "Repeated attempts", "4\u2009096"):
        assert said in text, said
    assert "Held queues" not in text
