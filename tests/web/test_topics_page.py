"""The Topics page: brackets, stranded messages, and the three steps of shrinking."""

from typing import Any

import pytest
from django.test import Client

from sandbox.control.readings import Reading
from tests.web.fake_port import FakePort

pytestmark = pytest.mark.django_db


def queue(number: int, use: str, *, waiting: int | None = 0, high: int = 40) -> dict[str, Any]:
    return {
        "broker": "broker-a",
        "queue_id": number,
        "min": "0",
        "max": str(high),
        "rate_per_s": 1.0,
        "use": use,
        "waiting": {"order-svc": None if waiting is None else str(waiting)},
    }


def put(port: FakePort, slug: str, *queues: dict[str, Any], write: int = 4, read: int = 4) -> None:
    row = {
        "topic": "orders",
        "kind": "normal",
        "groups": ["order-svc"],
        "queues": list(queues),
        "brokers": [
            {
                "broker": "broker-a",
                "write_queues": write,
                "read_queues": read,
                "permission": 6,
                "how": "automatic",
                "down": None,
            }
        ],
    }
    port.boards[f"topics/{slug}"] = Reading(1, 1, 1.0, "7f3a", {"topics": [row]})


def sheet(client: Client, slug: str, to: str = "") -> str:
    return client.get(f"/s/{slug}/part/topic/?topic=orders&to={to}").content.decode()


def test_a_topic_says_who_made_it_and_what_may_be_done(visitor: Client, port: FakePort, mine: str) -> None:
    put(port, mine, *(queue(n, "rw") for n in range(4)))
    page = visitor.get(f"/s/{mine}/topics/").content.decode()
    assert "auto-created by first message (TBW102)" in page
    assert "RW" in page


def test_a_sleeping_sandbox_shows_what_it_last_knew(visitor: Client, port: FakePort, mine: str) -> None:
    page = visitor.get(f"/s/{mine}/topics/").content.decode()  # the fake's snapshot, and no reading
    assert "orders" in page
    assert "15\u2009306" in page


def test_topics_are_found_by_a_part_of_their_name(visitor: Client, port: FakePort, mine: str) -> None:
    put(port, mine, queue(0, "rw"))
    for path in ("topics/", "part/topics/"):
        assert 'id="topic-orders"' in visitor.get(f"/s/{mine}/{path}?q=DERS").content.decode()
        page = visitor.get(f"/s/{mine}/{path}?q=mails").content.decode()
        assert 'id="topic-orders"' not in page
        assert "No topic name contains mails." in page


def test_messages_no_one_can_read_are_named_queue_by_queue(visitor: Client, port: FakePort, mine: str) -> None:
    put(port, mine, queue(0, "rw"), queue(1, "wo", waiting=12), queue(2, "none", waiting=None, high=7), read=1, write=2)
    text = " ".join(sheet(visitor, mine).split())
    assert "Stranded messages" in text
    assert "broker-a:1</span> 12 messages not readable" in text
    assert "broker-a:2</span> 7 messages not readable" in text


def test_finished_messages_are_not_stranded(visitor: Client, port: FakePort, mine: str) -> None:
    put(port, mine, queue(0, "rw"), queue(1, "none", waiting=0), read=1, write=1)
    assert "Stranded messages" not in sheet(visitor, mine)


@pytest.mark.seed("3.12")
def test_shrinking_asks_for_the_write_count_first_and_warns_before_the_read_count(
    visitor: Client, port: FakePort, mine: str
) -> None:
    put(port, mine, queue(0, "rw"), queue(1, "rw"), queue(2, "rw", waiting=5), queue(3, "rw", waiting=6))
    text = sheet(visitor, mine, "2")
    assert "11 waiting in 2 queues" in text
    assert "Set anyway" in text
    put(port, mine, queue(0, "rw"), queue(1, "rw"), queue(2, "ro"), queue(3, "ro"), write=2)
    text = sheet(visitor, mine, "2")
    assert "no messages waiting" in text
    assert "Set anyway" not in text


def test_a_queue_no_group_has_committed_counts_whole(visitor: Client, port: FakePort, mine: str) -> None:
    put(port, mine, queue(0, "rw"), queue(1, "rw", waiting=None, high=9))
    assert "9 waiting in 1 queue" in sheet(visitor, mine, "1")


def test_a_topic_that_is_gone_says_so(visitor: Client, port: FakePort, mine: str) -> None:
    put(port, mine, queue(0, "rw"))
    assert "This topic no longer exists." in visitor.get(f"/s/{mine}/part/topic/?topic=other").content.decode()


@pytest.mark.parametrize("to", ["", "0", "abc", "-3", "99999999999999999999"])
def test_any_wish_for_a_smaller_count_gets_an_answer(visitor: Client, port: FakePort, mine: str, to: str) -> None:
    put(port, mine, queue(0, "rw"))
    assert visitor.get(f"/s/{mine}/part/topic/?topic=orders&to={to}").status_code == 200
