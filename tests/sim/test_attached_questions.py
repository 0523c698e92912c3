"""Queries of a real cluster: messages by every way to find them, routes, assignment forecasts."""

from collections.abc import Iterator
from typing import Any

import pytest

from sandbox.kernel.errors import ActionRefused
from sandbox.simulation.world import World
from tests.sim.attached_stage import Office

TOPIC = "orders"


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    """200 messages with keys, on one broker of four queues."""
    with World(tmp_path_factory.mktemp("index"), "index") as world:
        world.run(5)
        world.act("StartConsumer", group="readers", subscriptions=[{"topic": TOPIC}], copies=2)
        world.run(25)
        made = Office(world)
        made.attach()
        yield made


def same(office: Office, name: str, *leave_out: str, **fields: Any) -> None:
    """The cluster's answer, without what only the sandbox knows, is the sandbox's own."""
    ours, theirs = office.ask(name, **fields), office.world.ask(name, **fields)
    for field in leave_out:
        ours.pop(field)
        theirs.pop(field)
    assert ours == theirs


def first(office: Office) -> dict[str, Any]:
    row: dict[str, Any] = office.world.ask("find-messages", topic=TOPIC, queue="broker-a:1", offset=3)["rows"][0]
    return row


def test_a_message_by_its_offset_id(office: Office) -> None:
    same(office, "find-messages", id=first(office)["msg_id"])


def test_a_message_by_its_unique_key(office: Office) -> None:
    unique = first(office)["unique_key"]
    [row] = office.ask("find-messages", topic=TOPIC, id=unique)["rows"]
    assert row["physical_offset"] == first(office)["physical_offset"]
    with pytest.raises(ActionRefused) as refused:
        office.ask("find-messages", id=unique)  # an index is one topic's
    assert refused.value.field == "topic"


def test_an_id_of_a_broker_that_is_not_the_clusters_is_not_followed(office: Office) -> None:
    strange = "0A090909" + "00002A9F" + "0000000000000000"
    assert office.ask("find-messages", topic=TOPIC, id=strange)["rows"] == []


def test_messages_by_key(office: Office) -> None:
    same(office, "find-messages", topic=TOPIC, key=first(office)["keys"])


def test_a_message_by_its_place(office: Office) -> None:
    same(office, "find-messages", topic=TOPIC, queue="broker-a:1", offset=3)
    with pytest.raises(ActionRefused) as refused:
        office.ask("find-messages", topic=TOPIC, queue="broker-a:1", offset=5_000)
    assert refused.value.status == 404


@pytest.mark.parametrize("more", [{}, {"queue": "broker-a:2"}, {"tag": "paid"}, {"tag": "nobody"}])
def test_messages_by_time_answer_by_answer(office: Office, more: dict[str, str]) -> None:
    def all_of(ask: Any) -> list[str]:
        found: list[str] = []
        cursor = None
        while True:
            answer = ask("find-messages", topic=TOPIC, from_ms=0, cursor=cursor, **more)
            found += [row["physical_offset"] for row in answer["rows"]]
            cursor = answer["cursor"]
            if cursor is None:
                return found

    assert all_of(office.ask) == all_of(office.world.ask)


def test_messages_until_a_time(office: Office) -> None:
    middle = int(first(office)["store_ms"])
    answer = office.ask("find-messages", topic=TOPIC, queue="broker-a:1", from_ms=0, to_ms=middle)
    assert all(row["store_ms"] <= middle for row in answer["rows"])
    assert answer["rows"]


def test_the_bytes_of_a_record(office: Office) -> None:
    place = int(first(office)["physical_offset"])
    same(office, "read-record", "position", "entry", "index", "life", broker="broker-a", physical_offset=place)
    answer = office.ask("read-record", broker="broker-a", physical_offset=place)
    assert (answer["position"], answer["entry"], answer["index"], answer["life"]["groups"]) == (None, None, None, None)


def test_no_record_begins_in_the_middle_of_one(office: Office) -> None:
    for offset in (int(first(office)["physical_offset"]) + 1, 2**40):
        with pytest.raises(ActionRefused) as refused:
            office.ask("read-record", broker="broker-a", physical_offset=offset)
        assert refused.value.status == 404


def test_the_entry_of_a_queue(office: Office) -> None:
    same(office, "read-entry", topic=TOPIC, broker="broker-a", queue_id=1, offset=3)


def test_of_an_index_walk_the_answer_is_known_and_the_stations_are_not(office: Office) -> None:
    key = first(office)["keys"]
    ours, theirs = (ask("walk-index", topic=TOPIC, key=key) for ask in (office.ask, office.world.ask))
    assert {row["physical_offset"] for row in ours["found"]} == {row["physical_offset"] for row in theirs["found"]}
    for field in ("text", "hash", "hash_signed"):
        assert ours[field] == theirs[field]
    assert (ours["files"], ours["told"], ours["scanned_instead"]) == ([], False, None)
    assert office.ask("walk-index", topic=TOPIC, key="nobody")["ended"]["code"] == "not_told"


def test_what_each_name_server_says_of_a_topic(office: Office) -> None:
    same(office, "route", topic=TOPIC)
    same(office, "route", topic=TOPIC, everywhere=True)
    unknown = office.ask("route", topic="nothing")
    assert (unknown["known"], unknown["code"]) == (False, 17)


def test_who_would_get_what_with_more_members(office: Office) -> None:
    ours = office.ask("plan-rebalance", group="readers", topic=TOPIC, members=3)
    theirs = office.world.ask("plan-rebalance", group="readers", topic=TOPIC, members=3)
    for field in ("before", "queues", "moves", "of", "strategy"):
        assert ours[field] == theirs[field]
    assert [len(mine) for mine in ours["after"].values()] == [len(mine) for mine in theirs["after"].values()]
    with pytest.raises(ActionRefused) as refused:
        office.ask("plan-rebalance", group="readers", topic=TOPIC, strategy="MACHINE_ROOM")
    assert refused.value.status == 422


def test_the_offset_file_as_the_broker_would_give_it_to_a_slave(office: Office) -> None:
    ours, theirs = (ask("offset-file", owner="broker-a") for ask in (office.ask, office.world.ask))
    own = {
        name: {str(number): offset for number, offset in row.items()}
        for name, row in theirs["content"]["offsetTable"].items()
    }
    assert ours["content"]["offsetTable"] == own
