"""A cluster that wants signatures and speaks TLS is attached with its keys, and refused in words without them."""

import ssl
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from sandbox import Message, connect
from sandbox.attached.settings import AttachedSettings
from sandbox.control.actions import parse_action
from sandbox.control.questions import parse_question
from sandbox.control.rights import Actor
from sandbox.hosting.engine import Engine
from sandbox.hosting.port import EnginePort
from sandbox.pipeline.sources.cluster import ClusterReader
from sandbox.pipeline.sources.cluster_link import NotForUs
from sandbox.pipeline.sources.cluster_options import asked_of
from tests.certificates import write_certificate
from tests.interop.clients import Unavailable
from tests.interop.ours.stage import FIRST, Seen, sender, until
from tests.interop.servers import APACHE_4, PROPERTIES, Server, apache_server, our_server

KEYS = ("the-host-key", "the host's secret")
ACCOUNTS = f"accounts:\n  - {{accessKey: {KEYS[0]}, secretKey: {KEYS[1]}, admin: true}}\n"
GROUP, TOPIC = "guarded-readers", "guarded-orders"
WITHIN_S = 30.0


class Scene(NamedTuple):
    server: Server
    port: EnginePort

    def attach(self, settings: AttachedSettings) -> dict[str, Any]:
        """Its snapshot's `sandbox` row after the first look: the same settings again would change nothing."""
        self.port.detach("k.guarded").result(WITHIN_S)
        self.port.attach("k.guarded", settings).result(WITHIN_S)
        return dict(self.snapshot()["sandbox"])

    def snapshot(self) -> dict[str, Any]:
        return dict(self.port.snapshot("k.guarded").result(WITHIN_S))

    def offsets(self) -> list[Any]:
        [group] = [row for row in self.snapshot()["groups"] if row["group"] == GROUP]
        return [row["committed"] for row in group["queues"] if row["topic"] == TOPIC]


@pytest.fixture(scope="module", params=["ours", pytest.param(f"apache-{APACHE_4}", marks=pytest.mark.apache)])
def scene(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    certificate = write_certificate(tmp_path_factory.mktemp("tls") / "node.pem")
    with ExitStack() as ends:
        ends.enter_context(pytest.MonkeyPatch.context()).setenv("SSL_CERT_FILE", str(certificate))
        try:
            server = ends.enter_context(
                our_server(accounts=ACCOUNTS, certificate=certificate)
                if request.param == "ours"
                else apache_server(
                    APACHE_4, properties={**PROPERTIES, "aclEnable": "true"}, accounts=ACCOUNTS, certificate=certificate
                )
            )
        except Unavailable as why:
            pytest.skip(str(why))
        fill(server, certificate)
        engine = Engine(tmp_path_factory.mktemp("home")).start()
        ends.callback(engine.stop)
        yield Scene(server, engine.port)


def fill(server: Server, certificate: Path) -> None:
    """A topic of two queues with 20 messages, and a group that has consumed them; all of it signed and encrypted."""
    trusting = ssl.create_default_context(cafile=str(certificate))
    with connect(server.namesrv, access_key=KEYS[0], secret_key=KEYS[1], tls=trusting) as cluster:
        cluster.admin.topics.create(server.broker, TOPIC, queues=2)
        until(lambda: cluster.admin.names.route(TOPIC))
        producer, seen = sender(cluster, "guarded-givers"), Seen()
        for n in range(20):
            producer.send(Message.make(TOPIC, f"body {n}".encode()))
        cluster.push_consumer(seen, GROUP, topics=[TOPIC], from_where=FIRST)
        seen.wait(20)


def test_with_its_keys_and_a_trusted_certificate_it_is_seen_and_a_group_goes_back(scene: Scene) -> None:
    row = scene.attach(AttachedSettings((scene.server.namesrv,), *KEYS, tls=True))
    assert (row["state"], row["trouble"]) == ("live", None)
    until(lambda: None not in scene.offsets())  # its first answers may have come without them
    assert sum(map(int, scene.offsets())) == 20
    plan = scene.port.ask(
        "k.guarded",
        parse_question("plan-reset", {"group": GROUP, "topic": TOPIC, "target": "earliest", "method": "offline"}),
    ).result(WITHIN_S)
    expected = [{"queue": row["queue"], "committed": row["committed"], "target": row["target"]} for row in plan["rows"]]
    action = parse_action(
        {
            "action": "ResetOffsets",
            "group": GROUP,
            "topic": TOPIC,
            "target": "earliest",
            "method": "offline",
            "expected": expected,
            "confirm": GROUP,
        }
    )
    scene.port.act("k.guarded", action, Actor("operator", "ada")).result(WITHIN_S)
    until(lambda: scene.offsets() == ["0", "0"])


def test_without_its_keys_it_says_what_the_brokers_say(scene: Scene) -> None:
    for keys in (None, None), (KEYS[0], "not its secret"):
        row = scene.attach(AttachedSettings((scene.server.namesrv,), *keys, tls=True))
        assert row["state"] == "live", "name servers tell everybody"
        assert "Broker broker-a does not report everything" in (row["trouble"] or "")


def test_an_untrusted_certificate_is_reported(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    row = scene.attach(AttachedSettings((scene.server.namesrv,), *KEYS, tls=True))
    assert row["state"] == "unreachable"
    assert "certificate" in (row["trouble"] or "")


def test_the_pipeline_reads_it_with_its_keys_and_says_what_it_says_without(scene: Scene) -> None:
    def rows(**keys: str) -> int:
        reader = ClusterReader(asked_of({"names": scene.server.namesrv, "subscribe": TOPIC, "tls": "true", **keys}))
        return sum(batch.num_rows for partition in reader.partitions() for batch in reader.read(partition))

    assert rows(accessKey=KEYS[0], secretKey=KEYS[1]) == 20
    with pytest.raises(NotForUs, match=f"broker-a refuses reads of queue broker-a:0 of topic {TOPIC}: "):
        rows(accessKey=KEYS[0], secretKey="not its secret")
