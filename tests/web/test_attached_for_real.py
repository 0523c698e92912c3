"""A real cluster behind the pages: a sandbox with open ports plays it, the engine looks at it over TCP."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from queueviz.models import AuditRecord
from tests.web.clusters import account, browser_of, cluster
from tests.web.engine_calls import HTMX, JSON
from tests.web.patience import until

pytestmark = pytest.mark.django_db(transaction=True)


class Played:
    """The sandbox as its owner sees it, and the same as a cluster as an operator sees it."""

    def __init__(self) -> None:
        self.owner = Client()
        self.slug = str(self._post("/api/sandboxes", {"template": "orders"}, 201)["slug"])
        servers = self._post(f"/api/sandboxes/{self.slug}/listen", {})["name_servers"]
        user = account("ada")
        cluster(audience="everyone", title="Production", name_servers=";".join(servers), operators=(user,))
        self.operator = browser_of(user)

    def _post(self, path: str, body: dict[str, Any], status: int = 200) -> dict[str, Any]:
        answer = self.owner.post(path, body, content_type=JSON)
        assert answer.status_code == status, answer.content
        return dict(answer.json())

    def act(self, **fields: Any) -> None:
        self._post(f"/api/sandboxes/{self.slug}/actions", fields)

    def inside(self) -> dict[str, Any]:
        """Return the sandbox's own values."""
        return dict(self.owner.get(f"/api/sandboxes/{self.slug}").json())

    def outside(self) -> dict[str, Any]:
        """The known state of the cluster."""
        return dict(self.operator.get("/api/clusters/prod").json())


@pytest.fixture
def played(real_engine: Any) -> Iterator[Played]:
    made = Played()
    yield made
    made.owner.post(f"/api/sandboxes/{made.slug}/unlisten", {}, content_type=JSON)


def committed(snapshot: dict[str, Any], group: str = "order-svc") -> dict[str, str | None]:
    found = next((row for row in snapshot["groups"] if row["group"] == group), {"queues": []})
    return {
        f"{row['broker']}:{row['queue_id']}": row["committed"] for row in found["queues"] if row["topic"] == "orders"
    }


def members(snapshot: dict[str, Any]) -> int:
    return sum(len(group["members"]) for group in snapshot["groups"] if group["group"] == "order-svc")


def test_the_pages_show_what_the_cluster_reports_and_a_reset_does_what_was_previewed(played: Played) -> None:
    """Stopped members hold the offsets still, so that preview, reality and the sandbox's own word can be compared."""
    until(lambda: members(played.outside()) == 3)
    page = played.operator.get("/k/prod/?group=order-svc&topic=orders").content.decode()
    assert "RocketMQ 4.9.8" in page
    assert page.count('class="q ') >= 8
    assert 'data-group="order-svc"' in played.operator.get("/k/prod/groups/").content.decode()
    until(lambda: "3 nodes answer" in played.operator.get("/places/").content.decode())
    for actor in "ABC":
        played.act(action="StopActor", actor=actor)
    until(lambda: members(played.outside()) == 0)
    still = committed(played.inside())
    until(lambda: committed(played.outside()) == still)
    assert len(still) == 8

    asked = {"group": "order-svc", "topic": "orders", "target": "earliest", "method": "offline"}
    plan = played.operator.get("/api/clusters/prod/ask/plan-reset", asked).json()
    assert plan["refused"] is None
    assert {row["queue"]: row["committed"] for row in plan["rows"]} == still
    targets = {row["queue"]: row["target"] for row in plan["rows"]}
    assert set(targets.values()) == {"0"}

    wish = {"action": "ResetOffsets", **asked, "reason": "rehearsal"}
    untyped = played.operator.post("/k/prod/actions/", wish, headers=HTMX)
    assert untyped.status_code == 422
    assert committed(played.inside()) == still
    done = played.operator.post("/k/prod/actions/", {**wish, "confirm": "order-svc"}, headers=HTMX)
    assert done.status_code == 204, done.content
    assert committed(played.inside()) == targets, "the sandbox itself says so"
    until(lambda: committed(played.outside()) == targets)
    unnamed, first, last = AuditRecord.objects.filter(slug="k.prod").order_by("pk")
    assert (unnamed.what, first.what, last.what) == ("reset-refused", "reset", "reset-done")
    assert first.details["before"] == still
    assert {row[0].split("/", 1)[1]: str(row[2]) for row in last.details["result"]["rows"]} == {
        queue.replace(":", "/"): target for queue, target in targets.items()
    }
    journal = played.operator.get("/api/clusters/prod/events").content.decode()
    assert "OffsetsReset" in journal
    assert "operator ada" in journal


def test_a_cluster_that_goes_away_says_so(played: Played) -> None:
    until(lambda: played.outside()["sandbox"]["state"] == "live")
    played.owner.post(f"/api/sandboxes/{played.slug}/unlisten", {}, content_type=JSON)
    until(lambda: played.outside()["sandbox"]["state"] == "unreachable")
    page = played.operator.get("/k/prod/").content.decode()
    assert "Not reachable: No name server answers" in page
    refused = played.operator.get("/k/prod/ask/plan-reset/?group=order-svc&topic=orders", headers=HTMX)
    assert refused.status_code in (503, 502, 422)


def test_a_message_is_found_by_its_key_and_read_by_its_id(played: Played) -> None:
    until(lambda: any(topic["topic"] == "orders" for topic in played.outside()["topics"]))
    mine = f"/api/sandboxes/{played.slug}/ask/find-messages?topic=orders&from_ms=0"
    message = until(lambda: played.owner.get(mine).json().get("rows"))[0]
    asked = played.operator.get("/k/prod/ask/walk-index/", {"topic": "orders", "key": message["keys"]}, headers=HTMX)
    assert asked.status_code == 200
    assert f"/k/prod/messages/{message['msg_id']}/" in asked.content.decode()
    page = played.operator.get(f"/k/prod/messages/{message['msg_id']}/").content.decode()
    assert message["unique_key"] in page
    assert 'value="ResendMessage"' not in page
    assert 'value="ConsumeOnce"' not in page
    unknown = played.operator.get("/k/prod/messages/7F00000100006400000000000FFFFFFF/")
    assert unknown.status_code == 200
