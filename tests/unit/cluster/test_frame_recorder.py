"""Frames on links someone looks at: kept with their bytes, joined, bounded, and forgotten when no one looks."""

from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from sandbox.cluster.frame_recorder import KEEP_S, ROWS_PER_S
from sandbox.journal.events import CommandExchanged
from sandbox.kernel.errors import ActionRefused
from sandbox.remoting.frame import FrameDecoder
from sandbox.simulation.world import World
from tests.beginnings import world_of, world_with
from tests.seed.stage import WireLog

LINK = "A~broker-a"
world = world_of("orders", seconds=3)
quiet = world_with({"T": 1})  # no one is there


def frames(world: World, link: str = LINK) -> list[dict[str, Any]]:
    return list(world.ask("frames", link=link)["frames"])


def read(world: World, link: str = LINK) -> dict[str, Any]:
    return dict(world.read(f"wire/{quote(link, safe='')}").data)


def look_for(world: World, seconds: float, link: str = LINK) -> None:
    """Keep a view open, as the hub does."""
    for _ in range(round(seconds)):
        read(world, link)
        world.run(1)


def is_of(frame: dict[str, Any], name: str, *, answer: bool) -> bool:
    return frame["name"] == name and (frame["kind"] == "answer") is answer


def test_nothing_is_heard_before_someone_looks_nor_ten_seconds_after(tmp_path: Path) -> None:
    with World(tmp_path, "orders") as world:
        network = world.cluster.network
        world.run(3)
        assert network.tap is None
        assert frames(world) == []
        assert network.tap is not None
        world.run(5)
        assert frames(world) != []
        seen = len(world.entries(CommandExchanged))
        assert seen > 0
        world.run(KEEP_S + 1.5)
        assert network.tap is None
        reported = len(world.entries(CommandExchanged))
        world.run(5)
        assert len(world.entries(CommandExchanged)) == reported
        assert frames(world) == []


def test_the_links_are_the_open_connections_by_their_names(world: World) -> None:
    links = world.read("wire/").data["links"]
    clients = ("A", "B", "C", *(actor.label for actor in world.cluster.actors.producers()))
    servers = ("broker-a", "broker-b", "ns-1")
    assert set(links) == {f"{a}~{b}" for a in clients for b in servers} | {"broker-a~ns-1", "broker-b~ns-1"}
    assert {row["connections"] for row in links.values()} == {1}
    assert {row["seen"] for row in links.values()} == {None}
    assert world.cluster.network.tap is None


def test_an_answer_is_joined_with_its_request(tmp_path: Path) -> None:
    with World(tmp_path, "orders", latency_ms=(10, 10)) as world:
        world.run(3)
        look_for(world, 6)
        found = {frame["no"]: frame for frame in frames(world)}
        answers = [frame for frame in found.values() if frame["kind"] == "answer" and frame["pair"] in found]
        assert answers
        for answer in answers:
            request = found[answer["pair"]]
            assert (request["pair"], request["opaque"], request["name"]) == (
                answer["no"],
                answer["opaque"],
                answer["name"],
            )
            assert request["there"] is not answer["there"]
            assert request["took_ms"] == answer["took_ms"] == answer["at_ms"] - request["at_ms"]
            assert (request["code"], request["status"]) == (answer["code"], answer["status"])


def test_the_bytes_are_the_frame_itself(world: World) -> None:
    frames(world)
    world.run(5)
    for frame in frames(world):
        one = world.ask("frames", link=LINK, no=frame["no"])["frame"]
        raw = bytes.fromhex(one["hex"])
        assert len(raw) == one["bytes"] == one["kept"]
        [command] = FrameDecoder().feed(raw)
        assert (command.opaque, command.is_response) == (one["opaque"], one["kind"] == "answer")
        assert one["fields"][0]["value"] == str(len(raw) - 4)
        if one["body"] is not None:
            assert raw[-one["body"]["bytes"] :] == command.body


@pytest.mark.seed("0.16")
def test_an_answered_pull_shows_next_min_and_max_offset(world: World) -> None:
    look_for(world, 6)
    pulls = [frame for frame in frames(world) if is_of(frame, "PULL_MESSAGE", answer=True) and frame["code"] == 0]
    fields = {field["name"]: field["value"] for field in pulls[-1]["fields"]}
    assert {"nextBeginOffset", "minOffset", "maxOffset", "suggestWhichBrokerId"} <= set(fields)
    records = pulls[-1]["body"]["records"]
    assert int(fields["nextBeginOffset"]) == int(records[-1]["offset"]) + 1 <= int(fields["maxOffset"])


def test_a_new_member_is_seen_asking_for_the_stored_offset(tmp_path: Path) -> None:
    with World(tmp_path, latency_ms=(10, 10)) as world:
        world.act("CreateTopic", topic="T", write_queues=1, read_queues=1)
        world.act("StartConsumer", group="G", actor="A", subscriptions=[{"topic": "T", "expression": "*"}])
        world.run_until(lambda: LINK in world.read("wire/").data["links"], within_s=1, step_s=0.005)
        frames(world)
        world.run(1)
        asked = [frame for frame in frames(world) if is_of(frame, "QUERY_CONSUMER_OFFSET", answer=False)]
        topics = [field["value"] for frame in asked for field in frame["fields"] if field["name"] == "topic"]
        assert sorted(topics) == ["%RETRY%G", "T"]
        assert {frame["status"] for frame in asked} == {"SUCCESS"}


@pytest.mark.seed("3.17")
def test_a_send_is_shown_with_its_letters_spelled_out(quiet: World) -> None:
    quiet.act("StartProducer", actor="P", topic="T", rate_per_s=2)
    quiet.run(2)
    look_for(quiet, 3, "P~broker-a")
    send = next(frame for frame in frames(quiet, "P~broker-a") if is_of(frame, "SEND_MESSAGE_V2", answer=False))
    means = {field["means"]: field["value"] for field in send["fields"] if field["means"]}
    assert (means["producerGroup"], means["topic"], means["queueId"]) == ("PG_P", "T", "0")
    assert send["body"]["kind"] in ("text", "json")
    assert send["status"] == "SUCCESS"


def test_of_a_long_frame_only_the_head_is_kept(quiet: World) -> None:
    quiet.act("SendMessages", topic="T", count=1)
    quiet.run(1)
    frames(quiet, "console~broker-a")
    quiet.act("SendMessages", topic="T", count=32, body_bytes=1_000, batch=True)
    quiet.run(1)
    send = next(frame for frame in frames(quiet, "console~broker-a") if frame["name"] == "SEND_BATCH_MESSAGE")
    assert send["bytes"] > 32_000
    assert send["kept"] == quiet.cluster.limits.wire_frame_bytes
    assert (send["body"]["whole"], send["body"]["bytes"] > 32_000) == (False, True)
    assert len(send["hex"]) == 2 * 512


@pytest.mark.seed("3.18", "D1")
def test_a_compressed_body_is_shown_as_it_was_before(quiet: World) -> None:
    quiet.act("StartProducer", actor="P", topic="T", rate_per_s=2, body_bytes=4_096)
    quiet.run(2)
    look_for(quiet, 2, "P~broker-a")
    send = next(frame for frame in frames(quiet, "P~broker-a") if is_of(frame, "SEND_MESSAGE_V2", answer=False))
    assert send["body"]["kind"] == "compressed"
    assert send["body"]["bytes"] < 1_000
    assert len(send["body"]["text"].rstrip("…")) == 4_000


def test_only_the_last_fifty_are_kept(quiet: World) -> None:
    quiet.act("StartProducer", actor="P", topic="T", rate_per_s=60)
    quiet.run(2)
    look_for(quiet, 4, "P~broker-a")
    kept = frames(quiet, "P~broker-a")
    assert len(kept) == quiet.cluster.limits.wire_frames == 50
    assert [frame["no"] for frame in kept] == list(range(kept[0]["no"], kept[0]["no"] + 50))
    with pytest.raises(ActionRefused) as refused:
        quiet.ask("frames", link="P~broker-a", no=1)
    assert refused.value.status == 404


def test_a_moving_view_gets_twenty_rows_a_second_and_a_count(quiet: World) -> None:
    quiet.act("StartProducer", actor="P", topic="T", rate_per_s=100)
    quiet.run(2)
    look_for(quiet, 5, "P~broker-a")
    data = read(quiet, "P~broker-a")
    link = data["link"]
    assert link["seen"] > 900
    assert link["seen"] - link["rest"] <= ROWS_PER_S * 6
    numbers = list(data["frames"])
    for no in numbers:  # what is shown can be opened
        assert quiet.ask("frames", link="P~broker-a", no=int(no))["frame"]["no"] == int(no)


def test_links_are_recorded_within_a_limit(world: World) -> None:
    links = list(world.read("wire/").data["links"])
    most = world.cluster.limits.wire_links
    assert len(links) > most
    for link in links[:most]:
        world.ask("frames", link=link)
    with pytest.raises(ActionRefused) as refused:
        world.ask("frames", link=links[most])
    assert refused.value.status == 429
    world.run(KEEP_S + 1.5)
    world.ask("frames", link=links[most])


def test_who_listened_before_goes_on_hearing_and_is_alone_again_afterwards(world: World) -> None:
    log = WireLog(world)
    tap = world.cluster.network.tap
    frames(world)
    world.run(3)
    assert len(log.frames) > 0
    assert frames(world) != []
    world.run(KEEP_S + 1.5)
    assert world.cluster.network.tap == tap
    heard = len(log.frames)
    world.run(3)
    assert len(log.frames) > heard


def test_who_listens_later_replaces_us_only_until_the_next_look(world: World) -> None:
    frames(world)
    log = WireLog(world)
    before = len(frames(world))
    world.run(3)
    assert len(log.frames) > 0
    assert len(frames(world)) > before


def test_two_taps_that_hand_on_to_each_other_hear_each_command_once(world: World) -> None:
    network = world.cluster.network
    frames(world)
    ours, heard = network.tap, []

    def handing_on(sender: str, receiver: str, command: Any) -> None:
        heard.append(command)
        assert ours is not None
        ours(sender, receiver, command)

    network.tap = handing_on
    frames(world)
    world.run(3)
    assert heard
    assert len({id(command) for command in heard}) == len(heard)
    numbers = [frame["no"] for frame in frames(world)]
    assert len(numbers) == len(set(numbers))


def test_a_link_that_is_not_open_is_refused(tmp_path: Path) -> None:
    with World(tmp_path, "orders") as world, pytest.raises(ActionRefused) as refused:
        world.ask("frames", link="A~nobody")
    assert refused.value.status == 404
    assert world.cluster.network.tap is None


def test_the_journal_reports_each_command_once(world: World) -> None:
    look_for(world, 5)
    reported = [entry.event for entry in world.entries(CommandExchanged)]
    assert all(isinstance(event, CommandExchanged) and event.link == LINK for event in reported)
    assert len(reported) == read(world)["link"]["seen"]
    answers = [event for event in reported if isinstance(event, CommandExchanged) and event.code is not None]
    assert answers
    assert {event.direction for event in answers if event.request_code == 11} == {"back"}
