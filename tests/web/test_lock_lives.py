"""The Locks page says what comes first, and lets each of a lock's three numbers be set for itself."""

from typing import Any

import pytest
from django.test import Client

from tests.web.engine_calls import HTMX, act, start
from tests.web.test_fault_dialog import Forms

pytestmark = pytest.mark.django_db(transaction=True)


def payments() -> tuple[Client, str]:
    client = Client()
    return client, start(client, "payments")


@pytest.mark.seed("4.31")
@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "RocketMQ puts order before availability: an unlocked queue is not consumed"),
        ("zh-hans", "RocketMQ 把顺序放在可用性之前：未加锁的队列不会被消费"),
    ],
)
def test_the_locks_page_says_that_order_comes_before_availability(real_engine: Any, language: str, said: str) -> None:
    client, slug = payments()
    page = client.get(f"/s/{slug}/locks/", headers={"Accept-Language": language}).content.decode()
    assert said in page


@pytest.mark.seed("4.32", "D42")
def test_the_dialog_sets_the_broker_s_number_and_the_client_s_two_apart(real_engine: Any) -> None:
    client, slug = payments()
    assert 'data-ask="locks"' in client.get(f"/s/{slug}/locks/").content.decode()

    def lives() -> dict[str, str]:
        html = client.get(f"/s/{slug}/part/ask/?form=locks&group=payment-fifo").content.decode()
        found = Forms(html).found
        assert [set(form.fields) for form in found] == [
            {"action", "broker", "changes.lock_max_live_ms"},
            {"action", "broker", "changes.client_lock_interval_ms", "changes.client_lock_max_live_ms"},
        ]
        return {
            name.removeprefix("changes."): value
            for form in found
            for name, value in form.fields.items()
            if name.startswith("changes.")
        }

    usual = {"lock_max_live_ms": "60000", "client_lock_interval_ms": "20000", "client_lock_max_live_ms": "30000"}
    assert lives() == usual
    form = {"action": "ChangeBroker", "broker": "broker-a", "changes.lock_max_live_ms": "45000"}
    assert client.post(f"/s/{slug}/actions/", form, headers=HTMX).status_code == 204
    assert lives() == usual | {"lock_max_live_ms": "45000"}
    form = {
        "action": "ChangeBroker",
        "broker": "broker-a",
        "changes.client_lock_interval_ms": "8000",
        "changes.client_lock_max_live_ms": "12000",
    }
    assert client.post(f"/s/{slug}/actions/", form, headers=HTMX).status_code == 204
    assert lives() == usual | {"lock_max_live_ms": "45000"}, "members that run keep theirs"
    act(client, slug, action="RestartActor", actor="A")
    assert lives() == {
        "lock_max_live_ms": "45000",
        "client_lock_interval_ms": "8000",
        "client_lock_max_live_ms": "12000",
    }
    refused = client.post(f"/s/{slug}/actions/", form | {"changes.client_lock_interval_ms": "1"}, headers=HTMX)
    assert refused.status_code == 422
    assert "client_lock_interval_ms must be between" in refused.content.decode()
