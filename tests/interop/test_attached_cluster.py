"""The engine's view of Apache's cluster, with a group of Apache's Java clients, against what Apache's mqadmin prints.

A snapshot has the offsets `consumerProgress` has; and what the reset's preview shows is what `consumerProgress` shows
afterwards, online and offline.
"""

import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, NamedTuple

import pytest

from sandbox.commands.reset.undo import UndoPoint
from sandbox.control.actions import parse_action
from sandbox.control.questions import parse_question
from sandbox.control.readings import Reading
from sandbox.control.rights import Actor
from sandbox.hosting.port import EnginePort
from sandbox.kernel.errors import ActionRefused
from tests.interop.attached_engine import WITHIN_S, attached_engine
from tests.interop.clients import CLIENTS, TOOLS, Unavailable
from tests.interop.conftest import printed
from tests.interop.peer import Order, Peer
from tests.interop.servers import APACHE_4, APACHE_5, PATIENT, Server, apache_server

SLUG = "k.real"
SLOW_MS = 300_000
QUEUES = 4
NUMBERS = itertools.count(1)
JAVA = {APACHE_4: "java-4.9.8", APACHE_5: "java-5.3.3"}
Progress = dict[str, tuple[int, int]]  # queue → broker's end, group's offset


class Scene(NamedTuple):
    server: Server
    port: EnginePort
    tools: Peer
    member: Peer

    @property
    def is_4(self) -> bool:
        return self.server.name.endswith(APACHE_4)

    def progress(self, topic: str, group: str) -> Progress:
        """As Apache's tool prints it: topic, broker, queue, broker's offset, consumer's offset, …"""
        rows = [line.split() for line in printed(self.tools, f"consumerProgress -g {group}").splitlines()]
        return {f"{row[1]}:{row[2]}": (int(row[3]), int(row[4])) for row in rows if row and row[0] == topic}

    def ask(self, name: str, **fields: Any) -> dict[str, Any]:
        return self.port.ask(SLUG, parse_question(name, fields)).result(WITHIN_S)

    def act(self, action: str, *, undo: UndoPoint | None = None, **fields: Any) -> int:
        typed = parse_action({"action": action, **fields})
        return self.port.act(SLUG, typed, Actor("operator", "ada"), undo=undo).result(WITHIN_S)

    def board(self, topic: str, group: str) -> dict[str, Any]:
        [reading] = self.port.read([f"board/{SLUG}/{group}/{topic}"]).result(WITHIN_S)
        assert isinstance(reading, Reading), reading
        return reading.data


@pytest.fixture(
    scope="module",
    params=[pytest.param(APACHE_4, marks=pytest.mark.apache), pytest.param(APACHE_5, marks=pytest.mark.apache)],
)
def scene(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with ExitStack() as ends:
        try:
            server = ends.enter_context(apache_server(request.param, properties=PATIENT))
            java = next(client for client in CLIENTS if client.name == JAVA[request.param])
            tools, member = (
                ends.enter_context(
                    Peer(client.name, client.build(), tmp_path_factory.mktemp("peer"), namesrv=server.namesrv)
                )
                for client in (TOOLS, java)
            )
        except Unavailable as why:
            pytest.skip(str(why))
        port = ends.enter_context(attached_engine(server, SLUG, tmp_path_factory.mktemp("home")))
        # A broker in its first second has counted nothing yet and answers with an exception: the next round asks again.
        until(lambda: port.snapshot(SLUG).result(WITHIN_S)["sandbox"]["trouble"] is None)
        yield Scene(server, port, tools, member)


class Group(NamedTuple):
    """A topic of four queues with 24 messages, the later half of them after `middle_ms`; a group that has them all."""

    scene: Scene
    topic: str
    name: str
    middle_ms: int

    def members(self, **more: object) -> list[Order]:
        """Two, which have divided the queues between them."""
        started = [
            self.scene.member.order("consume", topic=self.topic, group=self.name, name=f"m{number}", **more)
            for number in range(2)
        ]
        until(
            lambda: (
                sorted(member["queues"] or 0 for member in self.board()["members"].values()) == [2, 2]
                and all(row["owner"] for row in self.board()["queues"].values())
            )
        )
        return started

    def slow_members(self) -> list[Order]:
        """Start members with listeners so slow that a test can see their targets.

        The messages end the pulls of the first member, which the broker still holds: a 5.3 broker would notify one of
        them of the reset, whose connection is closed, and forget it.
        """
        self.send()
        return self.members(work_ms=SLOW_MS)

    def send(self) -> None:
        self.scene.member.do("send", topic=self.topic, count=2 * QUEUES)

    def board(self) -> dict[str, Any]:
        try:
            return self.scene.board(self.topic, self.name)
        except AssertionError:
            return {"members": {}, "queues": {}}  # the group is not known yet

    def stop(self, members: list[Order]) -> None:
        for member in members:
            member.stop()
        until(lambda: not self.plan(target="latest", method="offline")["online"])

    def plan(self, **wish: Any) -> dict[str, Any]:
        return self.scene.ask("plan-reset", group=self.name, topic=self.topic, **wish)

    def apply(self, shown: dict[str, Any], **wish: Any) -> int:
        expected = [
            {"queue": row["queue"], "committed": row["committed"], "target": row["target"]}
            for row in shown["rows"]
            if row["selected"]
        ]
        return self.scene.act(
            "ResetOffsets", group=self.name, topic=self.topic, confirm=self.name, expected=expected, **wish
        )

    def offsets(self) -> dict[str, int]:
        return {queue: offset for queue, (_, offset) in self.scene.progress(self.topic, self.name).items()}


def until(condition: Callable[[], bool], seen: Callable[[], object] = lambda: "") -> None:
    """Poll until brokers and members are done, as they do not report it; a timeout shows `seen`."""
    end_s = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end_s, seen()
        time.sleep(0.3)


@pytest.fixture
def group(scene: Scene, request: pytest.FixtureRequest) -> Group:
    word = f"{next(NUMBERS)}-{request.node.originalname.removeprefix('test_').replace('_', '-')[:30]}"
    topic, name = scene.server.create_topic(f"k-{word}", queues=QUEUES), f"g-{word}"
    scene.member.do("send", topic=topic, count=12)
    time.sleep(0.5)
    middle_ms = int(time.time() * 1000)
    time.sleep(0.5)
    scene.member.do("send", topic=topic, count=12)
    first = scene.member.order("consume", topic=topic, group=name)
    first.wait("received", 24)
    # Who stops in the middle of a message does not commit it; a member that goes on commits every five seconds.
    until(lambda: set(scene.progress(topic, name).values()) == {(6, 6)}, lambda: scene.progress(topic, name))
    first.stop()
    return Group(scene, topic, name, middle_ms)


def targets(shown: dict[str, Any]) -> dict[str, int]:
    return {row["queue"]: int(row["target"]) for row in shown["rows"] if row["selected"]}


def test_the_snapshot_has_what_consumer_progress_prints(scene: Scene, group: Group) -> None:
    members = group.members()
    snapshot = scene.port.snapshot(SLUG).result(WITHIN_S)
    assert snapshot["sandbox"]["state"] == "live"
    assert snapshot["sandbox"]["trouble"] is None
    [broker] = snapshot["brokers"]
    assert broker["version"] == (APACHE_4 if scene.is_4 else APACHE_5)
    assert int(broker["log"]["max"]) > 0
    board = group.board()
    drawn_offsets = {queue: (int(row["max"]), int(row["committed"])) for queue, row in board["queues"].items()}
    assert drawn_offsets == scene.progress(group.topic, group.name)
    [drawn] = [row for row in snapshot["groups"] if row["group"] == group.name]
    assert {(row["topic"], row["committed"]) for row in drawn["queues"]} == {(group.topic, "6")}
    [topic] = [row for row in snapshot["topics"] if row["topic"] == group.topic]
    assert {row["max"] for row in topic["queues"]} == {"6"}
    assert not [row["topic"] for row in snapshot["topics"] if row["topic"] in ("TBW102", "broker-a", "DefaultCluster")]
    group.stop(members)


def test_members_are_as_they_say_they_are(scene: Scene, group: Group) -> None:
    members = group.members()
    ids = {member.wait("started")[0]["client_id"] for member in members}
    board = group.board()
    assert set(board["members"]) == ids
    for row in board["members"].values():
        assert (row["language"], row["release"]) == ("JAVA", "4.9.8" if scene.is_4 else "5.3.3")
        assert (row["kind"], row["queues"], row["threads"]) == ("push", 2, 2)
        assert row["limits"]["count"] == 1_000
        assert abs(row["since_ms"] - time.time() * 1000) < 3_600_000, "a time, in milliseconds"
    assert board["header"]["strategy"] == "AVG"
    assert board["header"]["listener"] == "concurrent"
    assert {queue: row["owner"] for queue, row in board["queues"].items()} == {
        queue: row["assigned"] for queue, row in board["queues"].items()
    }
    group.stop(members)


def test_locks_of_an_orderly_group_are_known_from_their_holders(scene: Scene, group: Group) -> None:
    members = group.members(orderly="yes")
    [reading] = scene.port.read([f"locks/{SLUG}/{group.name}"]).result(WITHIN_S)
    assert isinstance(reading, Reading)
    locks = {queue: row["lock"] for queue, row in reading.data["queues"].items() if row["topic"] == group.topic}
    owners = {queue: row["owner"] for queue, row in group.board()["queues"].items()}
    assert {queue: lock and lock["holder"] for queue, lock in locks.items()} == owners
    assert all(lock["trusted_until_ms"] > reading.at_ms for lock in locks.values())
    group.stop(members)


@pytest.mark.parametrize("target", ["time", "latest"])
def test_online_the_preview_is_what_consumer_progress_shows(scene: Scene, group: Group, target: str) -> None:
    members = group.slow_members()
    wish: dict[str, Any] = {"target": target, "method": "online"}
    if target == "time":
        wish["value"] = group.middle_ms
    shown = group.plan(**wish)
    assert (shown["refused"], shown["method"], shown["online_members"]) == (None, "online", 2)
    before = group.offsets()
    assert set(targets(shown).values()) <= ({8} if target == "latest" else {2, 3})  # the nearest message, by time
    group.apply(shown, **wish)
    group.send()  # else a pull that is held at the broker comes back empty later, and its member commits where it ended
    until(lambda: group.offsets() == targets(shown))
    assert targets(shown) != before
    time.sleep(12)
    assert group.offsets() == targets(shown)
    rows = scene.port.entries(SLUG, 0, 1_000, facts_only=True, longs_as_text=False).result(WITHIN_S).rows
    [reset] = [row for row in rows if row["type"] == "OffsetsReset" and row["group"] == group.name]
    assert reset["method"] == ("online" if scene.is_4 else "server")
    assert {row[0].split("/", 1)[1].replace("/", ":"): row[2] for row in reset["rows"]} == targets(shown)
    group.stop(members)


WISHES: list[dict[str, Any]] = [
    {"target": "earliest"},
    {"target": "offset", "value": 2},
    {"target": "shift", "value": -1},
    {"target": "offset", "value": 3, "queues": ["broker-a:1", "broker-a:2"]},
]


@pytest.mark.parametrize("wish", WISHES, ids=["earliest", "offset", "shift", "two-queues"])
def test_online_elsewhere_4_9_goes_offline_and_5_writes_it_down(
    scene: Scene, group: Group, wish: dict[str, Any]
) -> None:
    members = group.slow_members()
    shown = group.plan(method="online", **wish)
    if scene.is_4:
        assert (shown["method"], shown["refused"]) == ("offline", shown["instead"])
        assert f"broker-a ({APACHE_4})" in shown["instead"]["message"]
        with pytest.raises(ActionRefused) as refused:
            group.apply(shown, method="online", **wish)
        assert refused.value.status == 409
        group.stop(members)
        shown = group.plan(method="online", **wish)
    assert shown["refused"] is None
    before = group.offsets()
    group.apply(shown, method="online", **wish)
    assert group.offsets() == before | targets(shown)
    if not scene.is_4:
        group.send()
        time.sleep(12)  # members hear of it with their next pulls, and nothing they commit takes it back
        assert group.offsets() == before | targets(shown)
        group.stop(members)


def test_offline_the_preview_is_what_consumer_progress_shows(scene: Scene, group: Group) -> None:
    seen = group.offsets()
    for wish in ({"target": "time", "value": group.middle_ms}, *WISHES, {"target": "latest"}):
        shown = group.plan(method="offline", **wish)
        assert (shown["refused"], shown["method"]) == (None, "offline")
        seq = group.apply(shown, method="offline", **wish)
        assert group.offsets() == seen | targets(shown)
        found = scene.port.entries(SLUG, seq, 10, facts_only=True, longs_as_text=False).result(WITHIN_S)
        point = UndoPoint.of(next(row for row in found.rows if row["type"] == "OffsetsReset"))
        scene.act("UndoReset", reset_id=point.reset_id, confirm=group.name, undo=point)
        assert group.offsets() == seen


def test_messages_are_found_in_every_way(scene: Scene, group: Group) -> None:
    sent = scene.member.do("send", topic=group.topic, count=1, key="the-key-").of("sent")[0]
    [by_key] = scene.ask("find-messages", topic=group.topic, key="the-key-0")["rows"]
    [by_unique] = scene.ask("find-messages", topic=group.topic, id=sent["msg_id"])["rows"]
    [by_id] = scene.ask("find-messages", id=by_key["msg_id"])["rows"]
    [by_place] = scene.ask(
        "find-messages", topic=group.topic, queue=f"broker-a:{by_key['queue_id']}", offset=int(by_key["queue_offset"])
    )["rows"]
    assert {row["physical_offset"] for row in (by_key, by_unique, by_id, by_place)} == {by_key["physical_offset"]}
    times = scene.ask("find-messages", topic=group.topic, from_ms=group.middle_ms)
    assert len(times["rows"]) >= 13
    record = scene.ask("read-record", broker="broker-a", physical_offset=int(by_key["physical_offset"]))
    assert record["message"]["keys"] == "the-key-0"
    walked = scene.ask("walk-index", topic=group.topic, key="the-key-0")
    assert (len(walked["found"]), walked["told"]) == (1, False)
    with pytest.raises(ActionRefused):
        scene.ask("read-record", broker="broker-a", physical_offset=int(by_key["physical_offset"]) + 1)


def test_every_other_action_is_refused(scene: Scene, group: Group) -> None:
    with pytest.raises(ActionRefused) as refused:
        scene.act("SendMessages", topic=group.topic, count=1)
    assert refused.value.status == 403
