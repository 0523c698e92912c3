"""A line for who comes to a sandbox alone, until it is dismissed."""

import html
from typing import Any

import pytest
from django.test import Client

from queueviz.pages.first_steps import FIRST_STEPS
from sandbox.cluster.templates import TEMPLATES
from tests.web.engine_calls import start
from tests.web.fake_port import FakePort
from tests.web.test_incident_pages import write as write_incident

pytestmark = pytest.mark.django_db(transaction=True)


def board(client: Client, slug: str) -> str:
    return html.unescape(client.get(f"/s/{slug}/").content.decode())


def test_every_template_has_one_and_a_lab_that_shows_why() -> None:
    assert FIRST_STEPS.keys() == TEMPLATES.keys()
    assert all(step.lab is not None for step in FIRST_STEPS.values())


def test_the_owner_sees_it_until_this_browser_dismisses_it(real_engine: Any) -> None:
    owner = Client()
    orders, empty = start(owner, "orders"), start(owner, "empty")
    line = str(FIRST_STEPS["orders"].text)
    assert line in board(owner, orders)
    assert line not in board(Client(), orders), "who may not act is not asked to"

    for template in ("orders", "no such template"):
        answer = owner.post("/first-steps/dismiss/", {"template": template, "next": f"/s/{orders}/"})
        assert answer["Location"] == f"/s/{orders}/"
    assert line not in board(owner, orders)
    assert str(FIRST_STEPS["empty"].text) in board(owner, empty)


def test_the_landing_leads_into_the_first_lab_or_to_a_board_to_look_at(real_engine: Any) -> None:
    page = Client().get("/").content.decode()
    assert 'action="/labs/lag-and-throughput/"' in page
    assert 'formaction="/incidents/one-queue-stuck/"' in page, "a symptom opens its incident"
    assert "Just look" in page


def test_an_incident_has_a_question_of_its_own(visitor: Client, port: FakePort, mine: str) -> None:
    assert 'class="banner tip"' in board(visitor, mine)
    write_incident(mine)
    assert 'class="banner tip"' not in board(visitor, mine)


def test_a_lab_has_a_question_of_its_own(real_engine: Any) -> None:
    owner = Client()
    answer = owner.post("/labs/lag-and-throughput/")
    slug = str(answer["Location"]).split("/")[2]
    assert "Back to the lab" in board(owner, slug)
    assert 'class="banner tip"' not in board(owner, slug)
