"""The message page: bytes, position, copies, deliveries, and the state in each group."""

from pathlib import Path
from typing import Any

from sandbox.cluster.config import HostConfig
from sandbox.control.limits import SandboxLimits
from sandbox.journal.events import MessageConsumedOnce, MessageDeadLettered, MessagesStored
from sandbox.simulation.world import World
from tests.beginnings import world_with
from tests.seed.stage import Caller, broker_address
from tests.sim.fault_stage import refusal

GROUP = "order-svc"
world = world_with({"orders": 1})


def consumer(
    world: World, group: str = GROUP, *, expression: str = "*", work_ms: tuple[int, int] = (10, 10), **fields: Any
) -> None:
    world.act("StartConsumer", group=group, subscriptions=[["orders", expression]], work_ms=list(work_ms), **fields)
    world.run(25)


def send(world: World, *keys: str, seconds: float = 1, **fields: Any) -> None:
    world.act(
        "SendMessages",
        topic="orders",
        rows=[{"key": key, "tag": "paid", "body": f"body of {key}"} for key in keys],
        **fields,
    )
    world.run(seconds)


def record(world: World, key: str, topic: str = "orders") -> dict[str, Any]:
    row = world.ask("find-messages", topic=topic, key=key)["rows"][0]
    return world.ask("read-record", broker=row["broker"], physical_offset=row["physical_offset"])


def life(world: World, key: str, topic: str = "orders") -> dict[str, Any]:
    found: dict[str, Any] = record(world, key, topic)["life"]
    return found


def group(world: World, key: str, name: str = GROUP) -> dict[str, Any]:
    return next(row for row in life(world, key)["groups"] if row["group"] == name)


def state(world: World, key: str, name: str = GROUP) -> str:
    return str(group(world, key, name)["state"])


# Bytes and places.


def test_every_byte_of_a_record_belongs_to_a_field_and_fields_say_what_they_hold(world: World) -> None:
    send(world, "k-1")
    found = record(world, "k-1")
    raw, parts = bytes.fromhex(found["hex"]), found["parts"]
    outer = [part for part in parts if part["depth"] == 0]
    assert [part["end"] for part in outer] == [*(part["start"] for part in outer[1:]), len(raw)]
    assert outer[0]["start"] == 0
    values = {part["name"]: part["value"] for part in parts}
    assert values["TOTALSIZE"] == str(len(raw)) == str(found["bytes"])
    assert (values["MAGICCODE"], values["TOPIC"], values["BODYLEN"]) == ("DAA320A7", "orders", "11")
    assert (values["KEYS"], values["TAGS"]) == ("k-1", "paid")
    at = {part["name"]: raw[part["start"] : part["end"]] for part in parts}
    assert (at["BODY"], at["TOPIC"], at["KEYS"]) == (b"body of k-1", b"orders", b"KEYS\x01k-1")


def test_a_record_says_where_its_entry_and_its_index_entries_lie(world: World) -> None:
    send(world, "k-0", "k-1")
    found = record(world, "k-1")
    entry = world.ask("read-entry", topic="orders", broker="broker-a", queue_id=0, offset=1)
    assert (found["entry"]["position"], found["entry"]["file"]) == ("20", "0" * 20)
    assert found["entry"]["hex"] == entry["hex"]
    assert found["entry"]["physical_offset"] == found["physical_offset"]
    walk = world.ask("walk-index", topic="orders", key="k-1")
    [step] = [step for file in walk["files"] for step in file["chain"] if step["verdict"] == "match"]
    [unique, key] = found["index"]
    assert (unique["unique"], key["unique"], key["key"]) == (True, False, "k-1")
    assert (key["no"], key["position"]) == (step["no"], step["position"])


def test_a_compressed_body_is_shown_as_it_was_sent(world: World) -> None:
    world.act("SendMessages", topic="orders", count=1, key="big", body="a" * 6_000)
    world.run(1)
    message = record(world, "big")["message"]
    assert (message["compression"], message["body_bytes"], message["body"]) == ("zlib", 6_000, "a" * 4_096)
    assert message["stored_body_bytes"] < 100
    assert message["flags"] == ["compressed"]


# How far a group is.


def test_a_message_waits_is_buffered_worked_on_finished_and_committed(world: World) -> None:
    consumer(world, work_ms=(2_000, 2_000), threads=1)
    send(world, "k-0", "k-1", seconds=0.5)
    assert (state(world, "k-0"), state(world, "k-1")) == ("processing", "buffered")
    [working] = group(world, "k-0")["deliveries"]
    assert (working["actor"], working["outcome"], working["ended_ms"]) == ("A", None, None)
    assert group(world, "k-1")["deliveries"] == []
    world.run(2)
    assert (state(world, "k-0"), state(world, "k-1")) == ("finished", "processing")
    world.run(15)
    assert (state(world, "k-0"), state(world, "k-1")) == ("committed", "committed")


def test_who_is_done_before_an_older_one_is_not_committed(world: World) -> None:
    consumer(world)
    world.act("ChangeActor", actor="A", slow_key="slow", slow_ms=60_000)
    send(world, "slow", "quick", seconds=10)
    assert (state(world, "slow"), state(world, "quick")) == ("processing", "finished_ahead")
    assert [row["outcome"] for row in group(world, "quick")["deliveries"]] == ["SUCCESS"]


def test_each_delivery_has_its_times_its_thread_and_its_result(world: World) -> None:
    consumer(world, work_ms=(300, 300))
    send(world, "k-0", seconds=10)
    [delivery] = group(world, "k-0")["deliveries"]
    assert delivery["ended_ms"] - delivery["started_ms"] == 300
    assert (delivery["actor"], delivery["thread"], delivery["outcome"]) == ("A", 1, "SUCCESS")
    [pull] = group(world, "k-0")["pulls"]
    assert (pull["actor"], pull["what"]) == ("A", "pulled")
    assert group(world, "k-0")["given"] is True
    reported = life(world, "k-0")
    assert (reported["complete"], reported["skipped"]) == (True, False)
    stored = [str(entry.seq) for entry in world.entries(MessagesStored) if entry.event.topic == "orders"]
    assert reported["chain"][0]["seq"] == stored[0]


def test_groups_are_reported_each_for_itself(world: World) -> None:
    consumer(world)
    send(world, "k-0", seconds=10)
    world.act("SendMessages", topic="orders", rows=[{"key": "k-1", "tag": "paid", "body": "x"}])
    world.act("StartConsumer", group="late", subscriptions=[["orders", "*"]], from_where="CONSUME_FROM_FIRST_OFFSET")
    world.act("StopActor", actor="A")
    world.run(30)
    world.act("SendMessages", topic="orders", rows=[{"key": "k-2", "tag": "paid", "body": "x"}])
    world.run(10)
    assert (state(world, "k-2"), state(world, "k-2", "late")) == ("waiting", "committed")
    assert state(world, "k-0", "late") == "committed"


def test_a_message_whose_tag_no_one_wants_is_passed_over(world: World) -> None:
    consumer(world, expression="open")
    send(world, "k-0", seconds=2)
    reported = group(world, "k-0")
    assert (reported["subscribed"], reported["given"], reported["expression"]) == (False, False, "open")
    assert (reported["deliveries"], reported["state"]) == ([], "waiting"), "a held pull waits on at such a tag"
    world.run(20)
    assert state(world, "k-0") == "committed", "the pull that was held has gone past it"
    assert group(world, "k-0")["deliveries"] == []


def test_a_group_that_never_read_the_queue_has_no_place_in_it(world: World) -> None:
    send(world, "k-0")
    assert life(world, "k-0")["groups"] == []
    world.act("StartConsumer", group="new", subscriptions=[["orders", "*"]])
    assert state(world, "k-0", "new") == "no_offset", "its member has not started yet"


def test_broadcasting_is_reported_member_by_member(world: World) -> None:
    consumer(world, model="BROADCASTING", copies=2)
    send(world, "k-0", seconds=5)
    reported = group(world, "k-0")
    assert len({place["member"] for place in reported["places"]}) == 2
    assert {place["state"] for place in reported["places"]} == {"committed"}
    assert sorted(row["actor"] for row in reported["deliveries"]) == ["A", "B"]


def test_of_a_broker_that_is_down_no_one_knows_how_far_a_group_is(tmp_path: Path) -> None:
    with World(tmp_path, "orders") as world:  # two brokers
        world.run(40)
        row = world.ask("find-messages", topic="orders", queue="broker-b:0")["rows"][0]
        world.act("KillBroker", broker="broker-b")
        answer = world.read(f"messages?id={row['msg_id']}").data
        assert (answer["record"], answer["why"]["code"]) == (None, "broker_down")


# Second chances.


def bury(world: World) -> None:
    """Let a member refuse it through all sixteen levels: nearly five hours."""
    consumer(world)
    world.act("ChangeActor", actor="A", handler="reject poison")
    send(world, "poison", seconds=1)
    world.act("SetRate", rate=60)
    world.run(310)
    assert len(world.entries(MessageDeadLettered)) == 1


def test_a_refused_message_waits_for_its_level_before_it_is_tried_again(world: World) -> None:
    consumer(world)
    world.act("ChangeActor", actor="A", handler="reject poison")
    send(world, "poison", seconds=1)
    reported = group(world, "poison")
    chain = life(world, "poison")["chain"]
    assert [step["what"] for step in chain] == ["stored", "delayed"]
    assert (reported["state"], chain[1]["delivered"], chain[1]["delay_level"]) == ("delayed", False, 3)
    assert chain[1]["due_ms"] - chain[1]["store_ms"] == 10_000
    world.run(15)
    chain = life(world, "poison")["chain"]
    assert [step["what"] for step in chain] == ["stored", "delayed", "retry", "delayed"]
    assert [step["here"] for step in chain] == [True, False, False, False]


def test_copies_are_chained_up_to_the_dead_letter_whichever_one_looks_at(world: World) -> None:
    bury(world)
    chain = life(world, "poison")["chain"]
    whats = [step["what"] for step in chain]
    assert whats == ["stored", *["delayed", "retry"] * 16, "dead_letter"]
    assert [step["reconsume_times"] for step in chain if step["what"] in ("stored", "retry")] == list(range(17))
    reported = group(world, "poison")
    assert reported["state"] == "dead_letter"
    assert [row["outcome"] for row in reported["deliveries"]] == ["LATER"] * 17
    assert [chain[row["step"]]["what"] for row in reported["deliveries"]] == ["stored", *["retry"] * 16]
    dead = life(world, "poison", f"%DLQ%{GROUP}")
    assert [step["what"] for step in dead["chain"]] == whats
    assert dead["chain"][-1]["here"]


def test_a_delayed_message_and_a_half_one_are_shown_with_what_they_become(world: World) -> None:
    send(world, "later", delay_level=3, seconds=2)
    [waiting] = life(world, "later", "SCHEDULE_TOPIC_XXXX")["chain"]
    assert (waiting["what"], waiting["to"], waiting["delivered"]) == ("delayed", "orders", False)
    assert waiting["group"] is None
    world.run(10)
    assert [step["what"] for step in life(world, "later")["chain"]] == ["delayed", "stored"]
    world.act("StartProducer", topic="orders", rate_per_s=5, key="tx-{n}", transactional=True)
    world.run(3)
    assert [step["what"] for step in life(world, "tx-1")["chain"]] == ["half", "stored"]


# What is not known.


def test_what_the_journals_memory_no_longer_holds_is_not_made_up(world: World) -> None:
    consumer(world)
    send(world, "k-0", seconds=10)
    world.sleep()
    world.wake()
    world.run(30)
    reported = life(world, "k-0")
    [of_group] = reported["groups"]
    assert (reported["complete"], of_group["deliveries"], of_group["state"]) == (False, [], "committed")
    assert of_group["given"] is True, "the ledger outlives sleep"
    assert reported["known_from_ms"] > reported["chain"][0]["store_ms"]
    assert reported["chain"][0]["seq"] is None


def test_of_a_client_that_is_not_ours_only_pulls_and_commits_are_known(world: World) -> None:
    send(world, "k-0")
    caller = Caller(world, broker_address(world))
    assert caller.pull("strangers", "orders", 0, 0).offsets == [0]
    reported = group(world, "k-0", "strangers")
    assert (reported["state"], reported["given"], reported["deliveries"]) == ("pulled", None, [])
    [pull] = reported["pulls"]
    assert (pull["what"], pull["actor"]) == ("pulled", None)
    caller.commit("strangers", "orders", 0, 1)
    assert state(world, "k-0", "strangers") == "committed"


def test_details_the_valve_kept_back_are_said_to_be_missing(tmp_path: Path) -> None:
    limits = SandboxLimits(flow_events_per_s=5)
    with World(tmp_path, config=HostConfig(sandbox_limits=limits)) as world:
        world.act("CreateTopic", topic="orders", write_queues=1, read_queues=1)
        consumer(world)
        world.act("SendMessages", topic="orders", count=200, key="k-{n}")
        world.run(15)
        world.act("SendMessages", topic="orders", count=1, key="after")
        world.run(3)
        assert life(world, "k-150")["skipped"]
        assert not life(world, "after")["skipped"]


# Once more.


def place(world: World, key: str) -> dict[str, Any]:
    row = world.ask("find-messages", topic="orders", key=key)["rows"][0]
    return {"topic": row["topic"], "broker": row["broker"], "queue_id": row["queue_id"], "offset": row["queue_offset"]}


def test_a_copy_is_a_new_message_with_the_same_body_keys_tags_and_user_properties(world: World) -> None:
    send(world, "k-0")
    first = record(world, "k-0")["message"]
    world.act("ResendMessage", **place(world, "k-0"))
    world.run(1)
    rows = world.ask("find-messages", topic="orders", key="k-0")["rows"]
    assert len(rows) == 2
    copy = world.ask("find-messages", id=rows[1]["msg_id"])["rows"][0]
    assert [copy[name] for name in ("keys", "tags", "body")] == [first[name] for name in ("keys", "tags", "body")]
    assert copy["unique_key"] != first["unique_key"]
    assert copy["queue_offset"] == "1"


def test_a_copy_of_a_dead_letter_goes_to_the_topic_it_came_from(world: World) -> None:
    bury(world)
    world.act("SetRate", rate=1)
    dead = {"topic": f"%DLQ%{GROUP}", "broker": "broker-a", "queue_id": 0, "offset": 0}
    world.act("ResendMessage", **dead)
    world.run(1)
    copies = world.ask("find-messages", topic="orders", key="poison")["rows"]
    assert [row["reconsume_times"] for row in copies] == [0, 0]
    assert len(life(world, "poison", f"%DLQ%{GROUP}")["chain"]) == 34, "a copy is another message"


def test_a_big_body_is_sent_again_unpacked_and_packed(world: World) -> None:
    world.act("SendMessages", topic="orders", count=1, key="big", body="a" * 6_000)
    world.run(1)
    world.act("ResendMessage", **place(world, "big"))
    world.run(1)
    ids = [row["msg_id"] for row in world.ask("find-messages", topic="orders", key="big")["rows"]]
    bodies = [world.ask("find-messages", id=one)["rows"][0] for one in ids]
    assert [(row["body_bytes"], row["compression"]) for row in bodies] == [(6_000, "zlib")] * 2


def test_a_member_consumes_one_message_once_more_and_the_journal_says_how(world: World) -> None:
    consumer(world, work_ms=(200, 200))
    send(world, "k-0", seconds=10)
    committed = group(world, "k-0")["places"][0]["committed"]
    world.act("ConsumeOnce", **place(world, "k-0"), client_id="A")
    world.run(2)
    [reported] = [entry.event for entry in world.entries(MessageConsumedOnce)]
    assert (reported.group, reported.offset, reported.result) == (GROUP, 0, "CR_SUCCESS")
    assert (reported.took_ms, reported.remark) == (200, None)
    after = group(world, "k-0")
    assert [(row["outcome"], row["once"]) for row in after["deliveries"]] == [("SUCCESS", False), ("CR_SUCCESS", True)]
    assert after["places"][0]["committed"] == committed


def test_who_refuses_it_again_or_does_not_answer_is_reported_as_well(world: World) -> None:
    consumer(world)
    send(world, "k-0", seconds=10)
    world.act("ChangeActor", actor="A", handler="reject k-0")
    world.act("ConsumeOnce", **place(world, "k-0"), client_id="A")
    world.run(2)
    world.act("HangActor", actor="A")
    world.act("ConsumeOnce", **place(world, "k-0"), client_id="A")
    world.run(14)
    assert [entry.event.result for entry in world.entries(MessageConsumedOnce)] == ["CR_LATER", "CONSUME_MSG_TIMEOUT"]


def test_once_more_is_refused_for_a_message_that_is_gone_and_a_member_that_is_offline(world: World) -> None:
    consumer(world)
    send(world, "k-0", seconds=5)
    here = place(world, "k-0")
    gone = {**here, "offset": 99}
    for refused in (refusal(world, "ResendMessage", **gone), refusal(world, "ConsumeOnce", **gone, client_id="A")):
        assert (refused.status, refused.field) == (404, "offset")
    assert refusal(world, "ConsumeOnce", **here, client_id="nobody").field == "client_id"
    world.act("StopActor", actor="A")
    world.run(5)
    assert (offline := refusal(world, "ConsumeOnce", **here, client_id="A")).status == 409
    assert offline.field == "client_id"
    world.act("StartConsumer", actor="P", group="pullers", subscriptions=[["orders", "*"]], kind="pull")
    world.run(5)
    assert "no listener" in refusal(world, "ConsumeOnce", **here, client_id="P").args[0]


def test_nothing_of_the_brokers_own_topics_is_sent_again(world: World) -> None:
    world.act("StartProducer", topic="orders", rate_per_s=5, key="tx-{n}", transactional=True)
    world.run(3)
    half = world.ask("find-messages", topic="RMQ_SYS_TRANS_OP_HALF_TOPIC")["rows"][0]
    here = {name: half[name] for name in ("topic", "broker", "queue_id")} | {"offset": half["queue_offset"]}
    assert refusal(world, "ResendMessage", **here).status == 409
