"""Messages found by id, key, place and time, and followed as they arrive."""

from pathlib import Path
from typing import Any

import pytest

from sandbox.cluster.config import HostConfig
from sandbox.control.limits import SandboxLimits
from sandbox.kernel.errors import ActionRefused
from sandbox.queries.message_tail import LOOKED_AT, ROWS_KEPT, ROWS_PER_S, TAILS
from sandbox.queries.snapshot_cache import cache_of
from sandbox.simulation.world import BEGIN_MS, World
from tests.beginnings import world_with

ROWS = [
    {"key": f"k-{number}", "tag": "paid" if number % 2 else "open", "body": f"message {number}"} for number in range(8)
]


world = world_with({"orders": 2})


def send(world: World, **fields: Any) -> None:
    world.act("SendMessages", topic="orders", **({"rows": ROWS} | fields))
    world.run(1)


def find(world: World, **fields: Any) -> dict[str, Any]:
    return world.ask("find-messages", **fields)


def refused(world: World, **fields: Any) -> ActionRefused:
    with pytest.raises(ActionRefused) as found:
        find(world, **fields)
    return found.value


def keys(rows: list[dict[str, Any]]) -> list[str]:
    return [row["keys"] for row in rows]


def followed(world: World, query: str = "topic=orders") -> dict[str, Any]:
    return world.read(f"messages?{query}").data


def test_one_message_is_found_by_offset_id_by_unique_key_and_by_its_place(world: World) -> None:
    send(world)
    row = find(world, topic="orders", key="k-3")["rows"][0]
    ways = [
        find(world, id=row["msg_id"]),
        find(world, id=f"  {row['unique_key']} "),
        find(world, topic="orders", queue=f"broker-a:{row['queue_id']}", offset=row["queue_offset"]),
    ]
    assert [way["by"] for way in ways] == ["id", "id", "place"]
    for way in ways:
        [found] = way["rows"]
        assert {name: found[name] for name in row} == row
        assert (found["body"], found["properties"]["TAGS"]) == ("message 3", "paid")
        assert way["cursor"] is None


def test_of_a_key_only_equal_ones_are_found(world: World) -> None:
    """`order#Aa` and `order#BB` have one hash code, so the broker's search gives both (case C19)."""
    send(world, rows=[{"key": "Aa", "body": "one"}, {"key": "BB", "body": "two"}, {"key": "Aa", "body": "three"}])
    answer = find(world, topic="orders", key="Aa")
    assert keys(answer["rows"]) == ["Aa", "Aa"]
    assert not answer["more"]


def test_a_search_by_time_and_tag_looks_at_what_was_stored_then(world: World) -> None:
    send(world)
    world.run(60)
    send(world, rows=[{"key": "late", "tag": "paid", "body": "x"}])
    assert sorted(keys(find(world, topic="orders", tag="paid", to_ms=BEGIN_MS + 30_000)["rows"])) == [
        "k-1",
        "k-3",
        "k-5",
        "k-7",
    ]
    late = find(world, topic="orders", tag="paid", from_ms=BEGIN_MS + 30_000)
    assert keys(late["rows"]) == ["late"]
    assert keys(find(world, topic="orders", queue="broker-a:0", tag="open")["rows"]) == keys(
        [row for row in find(world, topic="orders", tag="open")["rows"] if row["queue_id"] == 0]
    )


def test_one_answer_looks_at_so_many_entries_and_says_where_to_go_on(tmp_path: Path) -> None:
    limits = SandboxLimits(scan_entries=3, scan_ms=10_000)
    with World(tmp_path, config=HostConfig(sandbox_limits=limits)) as world:
        world.act("CreateTopic", topic="orders", write_queues=2, read_queues=2)
        send(world)
        answers = [find(world, topic="orders", tag="paid")]
        while answers[-1]["cursor"]:
            answers.append(find(world, topic="orders", tag="paid", cursor=answers[-1]["cursor"]))
    assert [answer["scanned"] for answer in answers] == [3, 3, 2]
    assert [answer["scanned_in_all"] for answer in answers] == [3, 6, 8]
    assert {answer["of"] for answer in answers} == {8}
    found = [key for answer in answers for key in keys(answer["rows"])]
    assert sorted(found) == ["k-1", "k-3", "k-5", "k-7"]
    assert answers[-1]["found_in_all"] == len(found)


@pytest.mark.parametrize(
    ("fields", "status", "field"),
    [
        ({}, 422, "topic"),
        ({"topic": "orders", "offset": 0}, 422, "queue"),
        ({"topic": "orders", "queue": "broker-a", "offset": 0}, 422, "queue"),
        ({"topic": "orders", "queue": "broker-a:0", "offset": 99}, 404, "offset"),
        ({"topic": "orders", "queue": "broker-a:9", "offset": 0}, 404, "queue"),
        ({"topic": "orders", "queue": "broker-z:0", "offset": 0}, 404, "broker"),
        ({"topic": "orders", "queue": "broker-a:9"}, 404, "queue"),
        ({"topic": "orders", "cursor": "1:2"}, 422, "cursor"),
        ({"topic": "orders", "cursor": f"0:{10**30}:0:0"}, 422, "cursor"),
    ],
)
def test_what_cannot_be_looked_for_is_refused_beside_its_field(
    world: World, fields: dict[str, Any], status: int, field: str
) -> None:
    send(world)
    refusal = refused(world, **fields)
    assert (refusal.status, refusal.field) == (status, field)


def test_an_id_that_finds_nothing_says_why(world: World) -> None:
    send(world)
    row = find(world, topic="orders", key="k-0")["rows"][0]
    address = row["msg_id"][:16]

    def why(text: str) -> str:
        answer = world.read(f"messages?id={text}").data
        assert answer["record"] is None
        return str(answer["why"]["code"])

    assert why("order-1") == "not_indexed"
    assert why("00" * 16) == "other_broker"
    assert why(address + f"{1:016X}") == "no_record"
    assert why(address + f"{10**9:016X}") == "beyond_end"
    world.act("KillBroker", broker="broker-a")
    assert why(row["msg_id"]) == "broker_down"


def test_a_message_whose_file_was_deleted_is_not_there_any_more(tmp_path: Path) -> None:
    with World(tmp_path, preset="teaching") as world:
        world.act("CreateTopic", topic="orders", write_queues=1, read_queues=1)
        send(world, rows=(), count=200, body_bytes=2_000)  # log files of 64 KiB
        first = find(world, topic="orders")["rows"][0]["msg_id"]
        world.act("AgeFiles", broker="broker-a", hours=100)
        world.act("CleanFiles", broker="broker-a")
        world.run(5)
        assert world.read(f"messages?id={first}").data["why"]["code"] == "deleted"


# Following what arrives.


def test_who_begins_to_look_sees_the_last_messages_and_then_what_comes(world: World) -> None:
    send(world)
    before = followed(world)
    assert [before["seen"], before["rest"]] == [8, 0]
    assert list(before["rows"]) == [str(number) for number in range(1, 9)]
    send(world, rows=[{"key": "new", "body": "x"}])
    assert keys([followed(world)["rows"]["9"]]) == ["new"]


def test_more_than_twenty_a_second_are_counted_instead_of_shown(world: World) -> None:
    followed(world)
    world.act("SendMessages", topic="orders", count=70, rate_per_s=2_000)
    world.run(0.1)
    data = followed(world)
    assert [len(data["rows"]), data["seen"], data["rest"], data["unseen"]] == [ROWS_PER_S, 70, 70 - ROWS_PER_S, 0]


def test_a_burst_between_two_readings_is_counted_whole_and_not_read_whole(world: World) -> None:
    followed(world)
    followed(world, "topic=orders&tag=paid")
    count = LOOKED_AT + 100
    world.act("SendMessages", topic="orders", count=count, tag="paid")
    world.run(3)
    everything, paid = followed(world), followed(world, "topic=orders&tag=paid")
    assert everything["seen"] == everything["rest"] + ROWS_PER_S == count
    assert paid["seen"] + paid["unseen"] == count
    assert paid["unseen"] == 100


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("topic=orders&tag=open", ["k-0", "k-2", "k-4", "k-6"]),
        ("topic=orders&key=-3", ["k-3"]),
        ("key=k-5", ["k-5"]),
        ("topic=orders&tag=paid&key=k-7", ["k-7"]),
        ("topic=none", []),
        ("topic=orders&queue=broker-b%3A0", []),
    ],
)
def test_a_filter_lets_through_what_was_asked_for(world: World, query: str, expected: list[str]) -> None:
    send(world)
    assert sorted(keys(list(followed(world, query)["rows"].values()))) == expected
    send(world, rows=[{"key": "other", "tag": "other", "body": "x"}])
    assert len(followed(world, query)["rows"]) == len(expected)


def test_topics_of_the_broker_itself_are_followed_only_by_name(world: World) -> None:
    send(world, rows=[{"key": "later", "body": "x"}], delay_level=3)
    assert followed(world, "")["seen"] == 0
    assert followed(world, "topic=SCHEDULE_TOPIC_XXXX")["seen"] == 1


def test_what_is_kept_has_an_end(world: World) -> None:
    followed(world)
    for _ in range(8):
        send(world, rows=[{"key": str(number), "body": "x"} for number in range(ROWS_PER_S)])
        followed(world)
    assert len(followed(world)["rows"]) == ROWS_KEPT
    for number in range(3 * TAILS):
        followed(world, f"key={number}")
    assert len(cache_of(world.cluster).tails._tails) == TAILS
    assert followed(world)["seen"] == ROWS_PER_S, "it was forgotten, and begins again"


def test_a_log_that_begins_again_is_followed_from_its_beginning(world: World) -> None:
    send(world)
    followed(world)
    world.act("DeleteTopic", topic="orders")
    world.act("CreateTopic", topic="orders", write_queues=2, read_queues=2)
    world.run(1)
    send(world, rows=[{"key": "again", "body": "x"}])
    assert "again" in keys(list(followed(world)["rows"].values()))


def test_a_search_by_time_compares_a_field_of_json_bodies(world: World) -> None:
    bodies = ['{"customer":{"id":42}}', '{"customer":{"id":"42"}}', '{"customer":{"id":420}}', "customer 42"]
    long_body = '{"customer":{"id":42},"more":"' + "x" * 70_000 + '"}'
    rows = [{"key": f"c-{number}", "body": body} for number, body in enumerate([*bodies, long_body])]
    send(world, rows=rows)
    answer = find(world, topic="orders", field="/customer/id", value="42")
    assert sorted(keys(answer["rows"])) == ["c-0", "c-1"]
    assert answer["not_compared"] == 1, "a long body is not parsed, and not passed over in silence"
    assert sorted(keys(find(world, topic="orders", field="/customer/id")["rows"])) == ["c-0", "c-1", "c-2"]


@pytest.mark.parametrize("fields", [{"field": "customer.id"}, {"value": "42"}])
def test_a_field_is_a_path(world: World, fields: dict[str, str]) -> None:
    send(world)
    error = refused(world, topic="orders", **fields)
    assert (error.status, error.field) == (422, "field")


def test_a_search_in_parts_adds_up_the_bodies_that_were_not_compared(tmp_path: Path) -> None:
    limits = SandboxLimits(scan_entries=3, scan_ms=10_000)
    with World(tmp_path, config=HostConfig(sandbox_limits=limits)) as world:
        world.act("CreateTopic", topic="orders", write_queues=2, read_queues=2)
        send(world, rows=[{"key": f"c-{number}", "body": "[" * 66_000} for number in range(8)])
        answers = [find(world, topic="orders", field="/0")]
        while answers[-1]["cursor"]:
            answers.append(find(world, topic="orders", field="/0", cursor=answers[-1]["cursor"]))
    assert [answer["not_compared"] for answer in answers] == [3, 6, 8]
