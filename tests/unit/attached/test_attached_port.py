"""A cluster attached through the engine's port, over real sockets: another engine's sandbox stands for it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.attached.settings import AttachedSettings
from sandbox.cluster.config import HostConfig
from sandbox.control.actions import parse_action
from sandbox.control.questions import parse_question
from sandbox.control.readings import Reading, Refusal
from sandbox.control.rights import Actor
from sandbox.hosting.engine import Engine
from sandbox.hosting.port import EnginePort
from sandbox.kernel.errors import ActionRefused
from tests.unit.hosting.test_listeners import free_port

SLUG, SANDBOX = "k.prod", "demo"
WITHIN_S = 20.0
OPERATOR = Actor("operator", "ada")


class Bell:
    def __init__(self) -> None:
        self.rung = 0

    def ring(self) -> None:
        self.rung += 1


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[EnginePort, tuple[str, ...]]]:
    """The port of the engine whose sandbox it is, and its name servers."""
    engine = Engine(tmp_path_factory.mktemp("cluster"), HostConfig(first_port=free_port(4), last_port=65_535)).start()
    engine.port.create(SANDBOX, "empty").result(WITHIN_S)
    for action in (
        {"action": "CreateTopic", "topic": "orders", "write_queues": 2, "read_queues": 2},
        {"action": "SendMessages", "topic": "orders", "count": 20},
    ):
        engine.port.act(SANDBOX, parse_action(action), Actor("owner", "otter")).result(WITHIN_S)
    while (
        sum(
            int(queue["max"])
            for topic in engine.port.snapshot(SANDBOX).result(WITHIN_S)["topics"]
            for queue in topic["queues"]
        )
        < 20
    ):
        pass  # the console's producer is still sending
    servers = engine.port.open_listener(SANDBOX).result(WITHIN_S)["name_servers"]
    yield engine.port, tuple(servers)
    engine.stop()


@pytest.fixture
def port(tmp_path: Path) -> Iterator[EnginePort]:
    """The port of the engine that reads it."""
    engine = Engine(tmp_path).start()
    yield engine.port
    assert engine.stop()


def ask(port: EnginePort, name: str, **fields: Any) -> dict[str, Any]:
    return port.ask(SLUG, parse_question(name, fields)).result(WITHIN_S)


def test_every_verb_takes_an_attached_clusters_slug(port: EnginePort, cluster: Any) -> None:
    _, servers = cluster
    row = port.attach(SLUG, AttachedSettings(servers)).result(WITHIN_S)
    assert (row["state"], row["template"], row["trouble"]) == ("live", "attached", None)
    assert port.wake(SLUG).result(WITHIN_S)["slug"] == SLUG
    assert port.status().result(WITHIN_S)["attached"][SLUG]["state"] == "live"
    snapshot = port.snapshot(SLUG).result(WITHIN_S)
    assert [topic["topic"] for topic in snapshot["topics"]] == ["orders"]
    assert sum(int(queue["max"]) for queue in snapshot["topics"][0]["queues"]) == 20
    topology, unknown = port.read([f"topology/{SLUG}", f"store/{SLUG}/broker-a"]).result(WITHIN_S)
    assert isinstance(topology, Reading)
    assert (topology.epoch, unknown) == (snapshot["epoch"], Refusal("unknown"))
    assert len(ask(port, "find-messages", topic="orders", from_ms=0)["rows"]) == 20
    bell = Bell()
    port.subscribe(SLUG, bell).result(WITHIN_S)
    port.unsubscribe(SLUG, bell).result(WITHIN_S)


def test_a_reset_goes_through_the_port_and_is_written_down(port: EnginePort, cluster: Any) -> None:
    theirs, servers = cluster
    port.attach(SLUG, AttachedSettings(servers)).result(WITHIN_S)
    bell = Bell()
    port.subscribe(SLUG, bell).result(WITHIN_S)
    wish = {"group": "readers", "topic": "orders", "target": "offset", "value": 4, "method": "offline"}
    shown = ask(port, "plan-reset", **wish)
    expected = [{name: row[name] for name in ("queue", "committed", "target")} for row in shown["rows"]]
    action = parse_action({"action": "ResetOffsets", "confirm": "readers", "expected": expected, **wish})
    seq = port.act(SLUG, action, OPERATOR).result(WITHIN_S)
    rows = port.entries(SLUG, 0, 100, facts_only=True).result(WITHIN_S).rows
    assert [(row["type"], row["cause"]) for row in rows] == [("ActionTaken", None), ("OffsetsReset", str(seq))]
    assert bell.rung >= 2
    content = theirs.ask(SANDBOX, parse_question("offset-file", {"owner": "broker-a"})).result(WITHIN_S)["content"]
    assert content["offsetTable"]["orders@readers"] == {"0": 4, "1": 4}


def test_a_detached_cluster_is_unknown(port: EnginePort, cluster: Any) -> None:
    _, servers = cluster
    port.attach(SLUG, AttachedSettings(servers)).result(WITHIN_S)
    port.detach(SLUG).result(WITHIN_S)
    port.detach(SLUG).result(WITHIN_S)  # twice is no error
    for verb in (
        lambda: port.snapshot(SLUG),
        lambda: port.wake(SLUG),
        lambda: port.entries(SLUG, 0, 1),
        lambda: port.ask(SLUG, parse_question("route", {"topic": "orders"})),
        lambda: port.subscribe(SLUG, Bell()),
    ):
        with pytest.raises(ActionRefused) as refused:
            verb().result(WITHIN_S)  # type: ignore[attr-defined]
        assert refused.value.status == 404
    assert port.read([f"topology/{SLUG}"]).result(WITHIN_S) == [Refusal("unknown")]


def test_no_one_there_is_no_error(port: EnginePort) -> None:
    address = f"127.0.0.1:{free_port()}"
    row = port.attach(SLUG, AttachedSettings((address,))).result(WITHIN_S)
    assert row["state"] == "unreachable"
    assert address in row["trouble"]
    with pytest.raises(ActionRefused) as refused:
        ask(port, "plan-reset", group="g", topic="t", target="latest")
    assert refused.value.status == 503


def test_a_plain_cluster_asked_over_tls_is_unreachable(port: EnginePort, cluster: Any) -> None:
    _, servers = cluster
    row = port.attach(SLUG, AttachedSettings(servers, tls=True)).result(WITHIN_S)
    assert row["state"] == "unreachable"
    assert port.attach(SLUG, AttachedSettings(servers)).result(WITHIN_S)["state"] == "live"
