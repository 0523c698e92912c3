"""The Store page: where the log stands, entries that point into it, and a record byte by byte."""

import re
from typing import Any

import pytest
from django.test import Client

from queueviz.boards.store import entries, figures
from tests.web.fake_port import FakePort

pytestmark = pytest.mark.django_db


def seen(page: Any) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", page.content.decode()))


def record(queue_id: int, offset: int) -> dict[str, Any]:
    return {
        "bytes": 200,
        "topic": "orders",
        "queue_id": queue_id,
        "queue_offset": str(offset),
        "tags": None,
        "key": f"k{offset}",
        "kind": "normal",
    }


def test_what_only_memory_has_is_the_end_of_the_log_less_what_was_flushed() -> None:
    log = {"min": "0", "max": "9007199254741993", "flushed": "9007199254740993", "replicated": None, "memory": "0"}
    assert figures({"log": log})["loose"] == "1000", "exact beyond 2^53"
    assert figures({"log": log})["behind"] is None, "nobody follows"
    assert figures(None) is None


def test_entries_of_the_chosen_queue_come_newest_first() -> None:
    records = {"0": record(0, 0), "200": record(1, 0), "1000": record(0, 1)}
    assert [(row["at"], row["queue_offset"]) for row in entries(records, "orders/0")] == [("1000", "1"), ("0", "0")]
    assert entries(records, None) == []


def test_a_broker_that_does_not_run_says_where_its_files_are(visitor: Client, port: FakePort, mine: str) -> None:
    page = visitor.get(f"/s/{mine}/store/")
    assert page.status_code == 200
    assert "is not running. Its files remain" in seen(page)


@pytest.fixture
def living(real_engine: Any, client: Client) -> tuple[Client, str]:
    """Two hundred messages with keys on the engine itself."""
    answer = client.post("/new/", {"template": "index"})
    return client, str(answer["Location"]).split("/")[2]


def test_the_page_names_files_marks_and_checkpoint(living: tuple[Client, str]) -> None:
    client, slug = living
    said = seen(client.get(f"/s/{slug}/store/"))
    for name in ("commitlog/", "00000000000000000000", "consumequeue/", "topics.json", "checkpoint", "abort"):
        assert name in said, name


def test_a_record_is_shown_with_its_sum_its_entry_and_its_fields(living: tuple[Client, str]) -> None:
    client, slug = living
    page = client.get(f"/s/{slug}/store/")
    at = page.context["entries"][0]["at"]
    said = seen(client.get(f"/s/{slug}/ask/read-record/", {"broker": "broker-a", "physical_offset": at}))
    for name in ("MAGICCODE", "PHYSICALOFFSET", "Queue entry", "× 20", "Full history"):
        assert name in said, name


def test_a_position_where_no_record_begins_is_refused_in_words(living: tuple[Client, str]) -> None:
    client, slug = living
    answer = client.get(f"/s/{slug}/ask/read-record/", {"broker": "broker-a", "physical_offset": "7"})
    assert answer.status_code == 422
    assert "No record begins at" in seen(answer)


def test_the_table_says_where_the_log_stands(living: tuple[Client, str]) -> None:
    client, slug = living
    said = seen(client.get(f"/s/{slug}/part/store/"))
    assert "Log begins at 0" in said
    assert "Newest entries" in said
