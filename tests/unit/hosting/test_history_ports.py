"""Ports of sandboxes that begin with one history: each opens its own, and finds what the history has stored."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.cluster.config import HostConfig
from sandbox.control.actions import parse_action
from sandbox.control.questions import FindMessages
from sandbox.control.rights import Actor
from sandbox.hosting.engine import Engine
from sandbox.hosting.port import EnginePort
from sandbox.hosting.repeatable_ranges import line_of
from sandbox.simulation.history import make_history
from tests import ports

CONFIG = HostConfig(first_port=ports.OF_ENGINES, history_s=10)
OWNER = Actor("owner", "otter")


@pytest.fixture
def port(tmp_path: Path) -> Iterator[EnginePort]:
    make_history(tmp_path, "payments", "sandbox", CONFIG)
    engine = Engine(tmp_path, CONFIG).start()
    yield engine.port
    engine.stop()


def test_two_open_their_ports_at_once_and_know_their_old_messages(port: EnginePort, tmp_path: Path) -> None:
    for slug in ("one", "two"):
        port.create(slug, "payments", history=True).result(10)
    found = port.ask("one", FindMessages(queue="broker-a:3", topic="payments", offset=0)).result(10)
    [first] = found["rows"]
    opened = [port.open_listener(slug).result(10)["name_servers"] for slug in ("one", "two")]
    assert opened[0] != opened[1]
    [again] = port.ask("one", FindMessages(id=first["msg_id"])).result(10)["rows"]
    assert again["unique_key"] == first["unique_key"]
    port.act("one", parse_action({"action": "SendMessages", "topic": "payments", "count": 4}), OWNER).result(10)
    assert [stretch.why for stretch in line_of(tmp_path / "sandboxes" / "one").stretches] == [
        "ports",
        "beginning not kept",
    ]
    port.close_listener("one").result(10)
    [broker] = port.snapshot("one").result(10)["brokers"]
    assert [broker["address"]] == opened[0], "which are its addresses from then on"
