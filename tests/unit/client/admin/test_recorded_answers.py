"""An administrator understands what Apache's 4.9.8 answered when it was recorded."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.client.admin import Admin
from sandbox.kernel.clock import ScaledClock
from sandbox.kernel.errors import BrokerRefused, UnreadableAnswer
from sandbox.message.queue import MessageQueue
from sandbox.remoting.channel import Channel
from sandbox.remoting.command import RemotingCommand
from sandbox.sim.loop import SimLoop
from sandbox.transport.loopback import LoopbackNetwork

FRAMES = [
    json.loads(line)
    for line in (Path(__file__).parents[3] / "golden" / "wire" / "json.jsonl").read_text("utf-8").splitlines()
]
ADDRESS = "127.0.0.2:10911"
TOPIC, GROUP = "WireTopic", "GID_wire"


def queue(queue_id: int) -> MessageQueue:
    return MessageQueue(TOPIC, "broker-a", queue_id)


class Recorded:
    """Answers every request with the first recorded answer to it that has that code."""

    def __init__(self) -> None:
        self.code = 0
        self.body: bytes | None = None  # instead of the recorded one

    def connected(self, channel: Channel) -> None: ...

    def disconnected(self, channel: Channel) -> None: ...

    def handle(self, commands: list[RemotingCommand], channel: Channel) -> None:
        for command in commands:
            row = next(
                row
                for row in FRAMES
                if row["kind"] == "response" and (row["request_code"], row["code"]) == (command.code, self.code)
            )
            header, recorded = row["header"], bytes.fromhex(row["body_hex"] or "")
            channel.send(
                command.reply(
                    self.code,
                    header.get("extFields"),
                    recorded if self.body is None else self.body,
                    remark=header.get("remark"),
                )
            )


class Stage:
    def __init__(self) -> None:
        self.loop = SimLoop()
        network = LoopbackNetwork(self.loop)
        self.server = Recorded()
        network.listen(ADDRESS, self.server)
        self.admin = Admin([ADDRESS], clock=ScaledClock(self.loop, start_ms=0), connector=network.connector("10.0.8.8"))

    def ask(self, question: Any) -> Any:
        return self.loop.run(question)


@pytest.fixture
def stage() -> Iterator[Stage]:
    made = Stage()
    yield made
    made.loop.close()


def test_brokers_with_numbers_for_keys(stage: Stage) -> None:
    assert stage.ask(stage.admin.names.masters()) == {"broker-a": ADDRESS}


def test_offsets_with_queues_for_keys(stage: Stage) -> None:
    ends = stage.ask(stage.admin.topics.stats(ADDRESS, TOPIC))
    assert {mq: (row.min_offset, row.max_offset) for mq, row in ends.items()} == {
        queue(0): (0, 6),
        queue(1): (0, 3),
        queue(2): (0, 6),
        queue(3): (0, 4),
    }
    places = stage.ask(stage.admin.groups.stats(ADDRESS, GROUP, TOPIC))
    assert {mq: (row.consumer_offset, row.pull_offset) for mq, row in places.items()} == {
        queue(0): (0, None),
        queue(1): (0, None),
        queue(2): (6, None),
        queue(3): (3, None),
    }


def test_what_a_java_member_holds(stage: Stage) -> None:
    held = stage.ask(stage.admin.groups.queues_in_memory(ADDRESS, GROUP, "127.0.0.1@c1"))
    row = held[queue(0)]
    assert (row.cached_count, row.cached_min_offset, row.cached_max_offset, row.committed_offset) == (5, 0, 4, 0)
    assert row.last_pull_ms > 1_795_000_000_000
    info = stage.ask(stage.admin.groups.running_info(ADDRESS, GROUP, "127.0.0.1@c1"))
    assert info.properties["consumerGroup"] == GROUP
    assert {sub.topic for sub in info.subscriptions} == {TOPIC, f"%RETRY%{GROUP}"}


def test_what_java_members_would_commit(stage: Stage) -> None:
    assert stage.ask(stage.admin.groups.offsets_in_memory(ADDRESS, GROUP, TOPIC)) == {
        "127.0.0.1@c1": {queue(0): 0, queue(1): 3},
        "127.0.0.1@c2": {queue(2): 6, queue(3): 4},
    }


def test_members_producers_groups_and_tables(stage: Stage) -> None:
    admin = stage.admin
    members = stage.ask(admin.groups.members(ADDRESS, GROUP)).connections
    assert [(row.client_id, row.language, row.version) for row in members] == [
        ("127.0.0.1@c1", "JAVA", 409),
        ("127.0.0.1@c2", "JAVA", 409),
    ]
    assert [row.client_id for row in stage.ask(admin.groups.producers(ADDRESS, "PID_wire"))] == ["127.0.0.1@prod"]
    assert stage.ask(admin.topics.groups(ADDRESS, TOPIC)) == (GROUP, "GID_wire_bcast", "GID_wire_pull")
    assert stage.ask(admin.brokers.subscription_groups(ADDRESS)).groups["GID_wire_order"].retry_max_times == 16
    assert stage.ask(admin.brokers.consumer_offsets(ADDRESS)).offsets["WireOrder@GID_wire_order"] == {0: 1}
    assert stage.ask(admin.brokers.runtime(ADDRESS)).version == "V4_9_8"


def test_where_a_reset_sent_a_group(stage: Stage) -> None:
    assert stage.ask(stage.admin.offsets.reset_by_time(ADDRESS, GROUP, TOPIC, 0)) == {
        queue(0): 0,
        queue(1): 3,
        queue(2): 6,
        queue(3): 3,
    }


def test_units_of_a_queue(stage: Stage) -> None:
    found = stage.ask(stage.admin.messages.queue_entries(ADDRESS, queue(0), 0))
    assert (found.min_offset, found.max_offset, found.entries[1].physical_offset) == (0, 6, 798)


@pytest.mark.parametrize(
    ("code", "question"),
    [
        (206, lambda admin: admin.groups.members(ADDRESS, GROUP)),
        (17, lambda admin: admin.topics.stats(ADDRESS, TOPIC)),
        (1, lambda admin: admin.offsets.reset_by_time(ADDRESS, GROUP, TOPIC, 0)),
        (1, lambda admin: admin.groups.running_info(ADDRESS, GROUP, "nobody")),
    ],
)
def test_a_refusal_keeps_code_and_remark(stage: Stage, code: int, question: Any) -> None:
    stage.server.code = code
    with pytest.raises(BrokerRefused) as refused:
        stage.ask(question(stage.admin))
    assert refused.value.code == code
    assert refused.value.remark


@pytest.mark.parametrize("body", [b"", b"{", b'{"offsetTable":{"T":1}}', b"\xff\xfe", b"[1]"])
def test_an_answer_of_another_kind_is_an_error_of_its_own(stage: Stage, body: bytes) -> None:
    stage.server.body = body
    question = stage.admin.groups.stats(ADDRESS, GROUP, TOPIC)
    if not body:
        assert stage.ask(question) == {}  # nothing to report
        return
    with pytest.raises(UnreadableAnswer, match="GET_CONSUME_STATS"):
        stage.ask(question)
