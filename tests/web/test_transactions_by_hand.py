"""Transactions on the pages: a producer that makes them, and people who end them."""

from typing import Any

import pytest
from django.test import Client

from tests.web.engine_calls import HTMX, act, events, start
from tests.web.patience import until

pytestmark = pytest.mark.django_db(transaction=True)


def test_open_transactions_are_listed_and_ended_by_hand(real_engine: Any) -> None:
    client = Client()
    slug = start(client, "empty")
    act(client, slug, action="CreateTopic", topic="orders", write_queues=4, read_queues=4)
    assert "transactional" in client.get(f"/s/{slug}/part/ask/?form=producer").content.decode()
    act(client, slug, action="SetRate", rate=60)
    started = client.post(
        f"/s/{slug}/actions/",
        {"action": "StartProducer", "actor": "shop", "topic": "orders", "rate_per_s": "2", "transactional": "true"},
        headers=HTMX,
    )
    assert started.status_code == 204
    act(client, slug, action="ChangeActor", actor="shop", handler="silent")
    asked = f"/s/{slug}/ask/transactions/"
    assert asked in client.get(f"/s/{slug}/part/ask/?form=transactions").content.decode()
    rows = until(lambda: client.get(f"/api/sandboxes/{slug}/ask/transactions").json().get("rows"))
    shown = client.get(asked, headers=HTMX).content.decode()
    assert rows[0]["transaction_id"] in shown
    assert 'value="rollback"' in shown
    form = {"action": "EndTransaction", "transaction_id": rows[0]["transaction_id"], "outcome": "rollback"}
    assert client.post(f"/s/{slug}/actions/", form, headers=HTMX).status_code == 204
    ended = until(
        lambda: [
            event
            for event in events(client, slug)
            if event["type"] == "TransactionEnded" and event["transaction_id"] == form["transaction_id"]
        ]
    )
    assert ended[0]["outcome"] == "rollback"
    again = client.post(f"/s/{slug}/actions/", form, headers=HTMX)
    assert (again.status_code, "has already ended" in again.content.decode()) == (409, True)
