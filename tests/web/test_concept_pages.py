"""Diagrams of the articles on the pages and in the JSON of a running sandbox."""

import re
from typing import Any
from urllib.parse import quote

import pytest
from django.test import Client

from queueviz.templatetags.pages import walk_end
from tests.web.engine_calls import act, start
from tests.web.markup import compact
from tests.web.patience import until

pytestmark = pytest.mark.django_db(transaction=True)


def text_of(client: Client, url: str) -> str:
    answer = client.get(url)
    assert answer.status_code == 200, url
    return compact(answer.content.decode())


@pytest.mark.seed("3.2")
def test_the_rail_of_every_page_shows_the_roles(real_engine: Any) -> None:
    client = Client()
    slug = start(client, "cluster")
    page = text_of(client, f"/s/{slug}/")
    for node in ("ns-ns-1", "ns-ns-2", "node-broker-a-0", "node-broker-a-1", "node-broker-b-0", "producer-shop"):
        assert f'id="{node}"' in page
    slave = page[page.index('id="node-broker-a-1"') :]
    assert "slave" in slave[:300]
    act(client, slug, action="KillBroker", broker="broker-b")
    dead = text_of(client, f"/s/{slug}/part/rail/")
    assert "killed" in dead[dead.index('id="node-broker-b-0"') :][:300]


@pytest.mark.seed("3.3")
def test_the_modules_of_a_broker_can_be_looked_into(real_engine: Any) -> None:
    client = Client()
    slug = start(client, "cluster")
    act(client, slug, action="SetRate", rate=20)
    act(client, slug, action="SendMessages", topic="seen", count=20, key="seen-{n}")

    def stored_and_replicated() -> Any:
        snapshot = client.get(f"/api/sandboxes/{slug}").json()
        ends = [
            int(queue["max"]) for topic in snapshot["topics"] if topic["topic"] == "seen" for queue in topic["queues"]
        ]
        return snapshot if sum(ends) == 20 and int(snapshot["brokers"][0]["log"]["replicated"] or 0) > 0 else None

    snapshot = until(stored_and_replicated)
    master, slave = snapshot["brokers"][:2]
    act(client, slug, action="SetRate", rate=0)
    board = client.get(f"/s/{slug}/?group=order-svc&topic=orders").context["live"]
    assert any(name.startswith(f"store/{slug}/") for name in board["first"]), "the store: the tape of the log"
    assert int(master["log"]["max"]) > 0
    assert text_of(client, f"/s/{slug}/index/").count("shelf"), "the index: its files"
    walk = text_of(client, f"/s/{slug}/ask/walk-index/?topic=seen&key=seen-7")
    assert "1 message found" in walk
    member = snapshot["groups"][0]["members"][0]["client_id"]
    assert member in text_of(client, f"/s/{slug}/clients/{quote(member, safe='')}/"), "the client manager: its clients"
    assert 0 < int(master["log"]["replicated"]) <= int(master["log"]["max"]), "replication: how far the slave has got"
    assert (slave["role"], int(slave["log"]["max"]) > 0) == ("slave", True)


@pytest.mark.seed("3.33")
def test_the_index_page_reckons_the_slot_of_any_key(real_engine: Any) -> None:
    client = Client()
    slug = start(client, "index")
    asked = {"topic": "orders", "key": "nobody-has-this"}

    def walked() -> Any:
        answer = client.get(f"/api/sandboxes/{slug}/ask/walk-index", asked).json()
        return answer if any(file["searched"] for file in answer.get("files", ())) else None

    def walked_beside_the_page() -> Any:
        answer = walked()
        page = text_of(client, f"/s/{slug}/ask/walk-index/?topic=orders&key=nobody-has-this").replace("\u2009", "")
        return (answer, page) if answer is not None and answer == walked() else None  # no file began in between

    answer, page = until(walked_beside_the_page)
    sums = re.findall(r"(\d+) mod (\d+) = (\d+)<br>40 \+ (\d+) × 4 =\s+(\d+)", page)
    assert [tuple(map(int, found)) for found in sums] == [
        (answer["hash"], 97, answer["hash"] % 97, file["slot"], 40 + file["slot"] * 4)
        for file in answer["files"]
        if file["searched"]
    ]


def test_the_index_page_offers_the_newest_keys_and_each_finds_its_messages(real_engine: Any) -> None:
    client = Client()
    slug = start(client, "index")

    def stored(topic: str) -> int:
        topics = client.get(f"/api/sandboxes/{slug}").json()["topics"]
        return sum(int(queue["max"]) for row in topics if row["topic"] == topic for queue in row["queues"])

    until(lambda: stored("orders") == 200)
    act(client, slug, action="CreateTopic", topic="refunds", write_queues=1, read_queues=1)
    rows = [{"key": "the-last-but-one", "body": "x"}, {"key": "two words", "body": "x"}]
    act(client, slug, action="SendMessages", topic="refunds", rows=rows)

    until(lambda: stored("refunds") == 2)
    keys = re.findall(r'data-key="([^"]+)" data-topic="([^"]+)"', text_of(client, f"/s/{slug}/index/"))
    assert keys[:2] == [("two", "refunds"), ("words", "refunds")], "each key of a message by itself"
    assert keys[2] == ("the-last-but-one", "refunds")
    assert len(keys) == len(set(keys)) == 12
    for key, topic in keys[:4]:
        found = client.get(f"/api/sandboxes/{slug}/ask/walk-index", {"topic": topic, "key": key}).json()
        assert found["found"], key


@pytest.mark.parametrize(
    ("entries", "said"),
    [(1, "the chain holds 1 entry, with another hash"), (2, "the chain holds 2 entries, all with another hash")],
)
def test_a_chain_s_entries_are_counted_right(entries: int, said: str) -> None:
    assert walk_end({"code": "only_other_hashes", "values": {"entries": entries}}) == f"Nothing found: {said}"
