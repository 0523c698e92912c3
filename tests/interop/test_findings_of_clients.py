"""Findings of a real cluster: troubles that real clients make on Apache's broker, and on ours beside it.

All troubles are made at the same time, each in a group and topic of its own, beside a healthy group.  The page of an
attached cluster reads the engine's channel; `manage.py findings` looks by itself.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, NamedTuple

import pytest

from sandbox.control.readings import Reading
from sandbox.hosting.port import EnginePort
from tests.interop.attached_engine import WITHIN_S, attached_engine
from tests.interop.clients import CLIENTS, TOOLS, Unavailable
from tests.interop.peer import Peer
from tests.interop.servers import APACHE_5, PATIENT, ROOT, Server, apache_server, our_server

SLUG = "k.findings"
PATIENCE_S = 150.0
LOOK_S = 90
ENDLESS = 1_000_000
HEALTHY = "healthy"
OURS = "ours"
Pairs = set[tuple[str, str]]  # code; group, topic or subject


class Scene(NamedTuple):
    server: Server
    port: EnginePort
    clients: tuple[Peer, Peer]  # two processes

    def topic(self, name: str, **changed: int) -> str:
        queues = {"readQueueNums": 4, "writeQueueNums": 4, "perm": 6} | changed
        fields = {"topic": name, "defaultTopic": "TBW102", "topicFilterType": "SINGLE_TAG", "topicSysFlag": "0"}
        answer = self.server.ask(17, fields | {"order": "false"} | {key: str(each) for key, each in queues.items()})
        assert answer["code"] == 0, answer
        return name

    def members(self, name: str, count: int = 1, **more: object) -> None:
        for _ in range(count):
            self.clients[1].order("consume", topic=name, group=name, **more).wait("started")

    def producer(self, name: str, **more: object) -> None:
        self.clients[0].order("send", topic=name, count=ENDLESS, every_ms=200, **more)

    def findings(self) -> list[dict[str, Any]]:
        [reading] = self.port.read([f"findings/{SLUG}"]).result(WITHIN_S)
        assert isinstance(reading, Reading), reading
        return list(reading.data["findings"])


def too_slow(scene: Scene, name: str) -> None:
    scene.members(scene.topic(name), work_ms=4_000)
    scene.producer(name)


def too_many_members(scene: Scene, name: str) -> None:
    scene.members(scene.topic(name), count=5)
    scene.producer(name)


def one_key(scene: Scene, name: str) -> None:
    scene.members(scene.topic(name))
    scene.producer(name, how="selector", keys=1)


def one_slow_message(scene: Scene, name: str) -> None:
    scene.members(scene.topic(name), slow_key="stuck0", slow_ms=600_000)
    scene.clients[0].do("send", topic=name, how="selector", keys=1, key="stuck")
    scene.producer(name)


def two_expressions(scene: Scene, name: str) -> None:
    scene.members(scene.topic(name), expression="paid")
    scene.members(name)
    scene.producer(name)


def one_id(scene: Scene, name: str) -> None:
    scene.topic(name)
    for client in scene.clients:
        client.order("consume", topic=name, group=name, instance="twin").wait("started")
    scene.producer(name)


def no_write_permission(scene: Scene, name: str) -> None:
    scene.members(scene.topic(name))
    scene.clients[0].do("send", topic=name, count=4)
    scene.topic(name, perm=4)


def dead_letters(scene: Scene, name: str) -> None:
    scene.members(scene.topic(name), fail="always", max_reconsume=0)
    scene.producer(name)


def commits_too_much(scene: Scene, name: str) -> None:
    """A broker 5.3 takes commits of groups only that it knows."""
    reader = scene.clients[1].order("consume", topic=scene.topic(name), group=name)
    scene.clients[0].do("send", topic=name, count=8)
    reader.wait("received", 8)
    reader.stop()
    fields = {"consumerGroup": name, "topic": name, "queueId": "0", "commitOffset": "100000"}
    assert scene.server.ask(15, fields)["code"] == 0


def fewer_readable_queues(scene: Scene, name: str) -> None:
    scene.members(scene.topic(name, readQueueNums=2))
    scene.producer(name)


TROUBLES = {
    "consumers_too_slow": too_slow,
    "more_members_than_queues": too_many_members,
    "hot_queue": one_key,
    "offset_pinned": one_slow_message,
    "subscriptions_differ": two_expressions,
    "same_client_id": one_id,
    "permission": no_write_permission,
    "dead_letters_grow": dead_letters,
    "beyond_max": commits_too_much,
    "queue_without_reader": fewer_readable_queues,
}


@pytest.fixture(
    scope="module",
    params=[OURS, pytest.param(APACHE_5, marks=pytest.mark.apache)],
)
def scene(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """A cluster with all troubles, and the group `healthy`."""
    with ExitStack() as ends:
        try:
            server = ends.enter_context(
                our_server() if request.param == OURS else apache_server(APACHE_5, properties=PATIENT)
            )
            java = next(client for client in CLIENTS if client.name == "java-5.3.3")
            senders, members = (
                ends.enter_context(
                    Peer(client.name, client.build(), tmp_path_factory.mktemp("peer"), namesrv=server.namesrv)
                )
                for client in (TOOLS, java)
            )
        except Unavailable as error:
            pytest.skip(str(error))
        port = ends.enter_context(attached_engine(server, SLUG, tmp_path_factory.mktemp("home")))
        scene = Scene(server, port, (senders, members))
        scene.members(scene.topic(HEALTHY))
        scene.producer(HEALTHY)
        for code, make in TROUBLES.items():
            make(scene, code)
        yield scene


def test_real_clients_troubles_are_the_findings_of_their_groups(scene: Scene) -> None:
    """The page's findings, as they come; and those of the command, which looks at the same time."""
    command = [sys.executable, "manage.py", "findings", "--name-server", scene.server.namesrv, "--json"]
    expected, by_page, end_s = {(code, code) for code in TROUBLES}, Pairs(), time.monotonic() + PATIENCE_S
    with subprocess.Popen([*command, "--seconds", str(LOOK_S)], cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        while not expected <= by_page and time.monotonic() < end_s:
            by_page |= by_subject(scene.findings())
            time.sleep(1)
        rows = json.loads(process.communicate()[0])["findings"]
    print("\n".join(f"{row['severity']} {row['code']} {row['group'] or row['topic']}: {row['text']}" for row in rows))
    by_command = by_subject(rows)
    assert (expected - by_page, expected - by_command) == (set(), set()), "page, command"
    assert not [each for each in by_page | by_command if each[1] == HEALTHY]
    assert process.returncode == 1, "errors are among them"


def by_subject(rows: list[dict[str, Any]]) -> Pairs:
    return {(row["code"], row["group"] or row["topic"] or row["subject"]) for row in rows}
