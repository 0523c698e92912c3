"""Sentences of a board: dead letters, no open transaction, no lock, a sandbox that cannot be opened."""

import html
from typing import Any

import pytest
from django.template import Context, Template
from django.template.loader import render_to_string
from django.test import Client

from queueviz.boards.page import Place
from queueviz.boards.retry_queues import side_queues
from tests.web.engine_calls import HTMX, start


def test_dead_letters_are_counted_from_the_snapshot() -> None:
    queue = {"broker": "broker-a", "queue_id": 0, "min": "0", "max": "3"}
    snapshot = {"groups": [{"group": "g", "subscription": []}], "topics": [{"topic": "%DLQ%g", "queues": [queue]}]}
    (dead,) = side_queues(Place("s", snapshot), {})
    assert (dead.kind, dead.short, dead.waiting) == ("dead", "q0", 3)


def test_a_sandbox_that_cannot_be_opened_says_why_and_offers_a_way_on() -> None:
    state = {"sandbox": {"failed": "its journal is damaged"}}
    around = {"snapshot": state, "can": {"act": True, "share": True}, "sandbox": {"slug": "s"}, "root": "/s/s/"}
    banner = render_to_string("queueviz/partials/failed.html", around)
    assert 'role="alert"' in banner
    assert "The sandbox cannot be opened: its journal is damaged." in banner
    assert 'action="/s/s/keep/wake/"' in banner
    assert 'href="/s/s/settings/"' in banner


def test_while_a_master_is_down_redelivered_on_crash_says_whose_offsets_it_is_counted_from() -> None:
    said = Template("{% load strips %}{{ header|risk_words }}")
    assert said.render(Context({"header": {"redelivered_notes": []}})) == ""
    assert html.unescape(said.render(Context({"header": {"redelivered_notes": ["slave", "unknown"]}}))) == (
        "from the slave's offsets; excluding queues of a master that is down"
    )


def test_a_crash_of_which_nothing_is_known_is_not_called_harmless() -> None:
    plan = {"again": 0, "queues": [], "notes": ["unknown"]}
    page = render_to_string("queueviz/partials/ask_plan_crash.html", {"answer": plan})
    assert "redeliveries from its queues are unknown" in page
    assert "No messages would be redelivered" not in page


@pytest.mark.django_db(transaction=True)
def test_a_board_without_transactions_and_orderly_consumers_says_so(real_engine: Any) -> None:
    client = Client()
    slug = start(client, "orders")
    assert b"Only orderly consumers lock queues" in client.get(f"/s/{slug}/locks/").content
    shown = html.unescape(client.get(f"/s/{slug}/ask/transactions/", headers=HTMX).content.decode())
    assert "No transaction is open." in shown


@pytest.mark.django_db(transaction=True)
def test_the_filter_by_properties_is_switched_on_in_the_settings(real_engine: Any) -> None:
    client = Client()
    slug = start(client, "orders")
    on = """value='{"property_filter":true}' selected"""
    assert on not in " ".join(client.get(f"/s/{slug}/settings/").content.decode().split())
    form = {"action": "ChangeBroker", "broker": "broker-a", "changes": '{"property_filter":true}'}
    assert client.post(f"/s/{slug}/actions/", form, headers=HTMX).status_code == 204
    assert on in " ".join(client.get(f"/s/{slug}/settings/").content.decode().split())
