"""A lab and a client on the wire exclude each other: a run with one could not be repeated."""

from typing import Any

import pytest
from django.test import Client

from tests.web.engine_calls import JSON, start

LAB = "members-and-queues"
pytestmark = pytest.mark.django_db(transaction=True)


def test_no_port_opens_while_a_lab_is_in_progress(real_engine: Any) -> None:
    client = Client()
    slug = str(client.post(f"/labs/{LAB}/")["Location"]).split("/")[2]
    refused = client.post(f"/api/sandboxes/{slug}/listen", {}, content_type=JSON)
    assert refused.status_code == 409
    assert b"With an external client, it could not be replayed" in refused.content


def test_no_lab_begins_while_the_ports_are_open(real_engine: Any) -> None:
    client = Client()
    slug = start(client, "empty")
    assert client.post(f"/api/sandboxes/{slug}/listen", {}, content_type=JSON).status_code == 200
    begin = {"action": "StartLab", "lab": LAB}
    refused = client.post(f"/api/sandboxes/{slug}/actions", begin, content_type=JSON)
    assert refused.status_code == 409
    assert b"With an external client, the lab could not be replayed here" in refused.content
