"""Sandboxes with an initial history, and the process that makes one beside the server."""

from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from queueviz import engine
from queueviz.sandboxes import initial_histories
from sandbox.journal.event_filter import EventFilter, Term
from tests.web.fake_port import FakePort

WITHIN_S = 240  # a limit, not a measure: the process is behind all else on the machine


@pytest.fixture(autouse=True)
def _none_made_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(initial_histories, "_makings", {})


def slug_of(address: str) -> str:
    return address.split("/s/")[1].split("/")[0]


def test_sandboxes_of_the_pages_and_of_programs_begin_with_one(visitor: Client, port: FakePort) -> None:
    page = visitor.post("/new/", {"template": "orders"})["Location"]
    program = visitor.post("/api/sandboxes", {"template": "orders"}, content_type="application/json").json()["slug"]
    plain = visitor.post("/api/sandboxes", {"history": False}, content_type="application/json").json()["slug"]
    assert [port.with_history[slug] for slug in (slug_of(page), program, plain)] == [True, True, False]


def test_a_lab_begins_with_what_it_says(visitor: Client, port: FakePort) -> None:
    visitor.post("/labs/crash-and-stop/")
    assert list(port.with_history.values()) == [False]


def test_no_process_is_started_unless_asked_for(visitor: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(initial_histories, "Making", None)
    visitor.post("/new/", {"template": "orders"})
    assert initial_histories.wish("orders", "sandbox") is None


def test_the_first_sandbox_waits_for_none_and_the_second_begins_with_it(settings: Any, real_engine: Any) -> None:
    engine.stop()
    settings.QUEUEVIZ_HISTORY_S = 5
    visitor = Client()
    slugs = []
    for _ in range(2):
        slugs.append(slug_of(visitor.post("/new/", {"template": "orders"})["Location"]))
        if making := initial_histories.wish("orders", "sandbox"):
            assert making.over.wait(WITHIN_S)
            assert making.result is True
    assert initial_histories.wish("orders", "sandbox") is None
    woken = EventFilter("facts", (Term("sandboxwoken"),))
    begun = [engine.port().look_back(slug, woken).result(5).rows for slug in slugs]
    assert [[row["reason"] for row in rows] for rows in begun] == [[], ["history"]]
    for language, said in (("en", "prepared history up to"), ("zh-hans", "之前为预先准备的历史")):
        pages = [visitor.get(f"/s/{slug}/", HTTP_ACCEPT_LANGUAGE=language).content.decode() for slug in slugs]
        assert [said in page for page in pages] == [False, True]


def test_what_failed_is_not_tried_again_at_once(settings: Any, tmp_path: Path) -> None:
    settings.QUEUEVIZ_HISTORY_S = 5
    (tmp_path / "histories").write_text("a file where the directory should be")
    making = initial_histories.wish("orders", "sandbox")
    assert making is not None
    assert making.over.wait(WITHIN_S)
    assert making.state == "failed"
    assert initial_histories.wish("orders", "sandbox") is making


def test_templates_without_one_are_not_made(settings: Any) -> None:
    settings.QUEUEVIZ_HISTORY_S = 5
    assert [initial_histories.wish(template, "sandbox") for template in ("empty", "index", "unknown")] == [None] * 3


def test_the_history_of_the_demo_is_made_before_the_server_listens(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.QUEUEVIZ_HISTORY_S = 5
    monkeypatch.setattr(initial_histories, "FIRST_WITHIN_S", WITHIN_S)
    lines: list[str] = []
    initial_histories.make_first(lines.append)
    assert lines == ["Playing the first minutes of the demo …"]
    assert initial_histories.wish(*initial_histories.FIRST) is None, "it is there"
    initial_histories.make_first(lines.append)
    assert len(lines) == 1, "the next start waits for nothing"


def test_a_history_that_takes_too_long_does_not_stop_the_server_from_listening(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.QUEUEVIZ_HISTORY_S = 5
    monkeypatch.setattr(initial_histories, "FIRST_WITHIN_S", 0.0)
    initial_histories.make_first(lambda line: None)
    making = initial_histories.wish(*initial_histories.FIRST)
    assert making is not None, "it is still being made"
    assert making.over.wait(WITHIN_S)
    assert making.result is True


def test_the_first_sandbox_of_another_template_begins_with_one_too(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.QUEUEVIZ_HISTORY_S = 5
    monkeypatch.setattr(initial_histories, "TEMPLATES", ("empty", "retries"))
    initial_histories.make_others()
    making = initial_histories.wish("retries", "sandbox")
    assert making is not None
    assert making.over.wait(WITHIN_S)
    assert initial_histories.wish("retries", "sandbox") is None, "it is there"
