"""Apache's name server and broker go and come back, and our clients go on where they were."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from sandbox import Message, connect
from sandbox.kernel.errors import BrokerRefused, RemotingError, SandboxError
from tests.interop.clients import Unavailable
from tests.interop.ours.stage import FIRST, Seen, sender, until
from tests.interop.servers import APACHE_4, APACHE_5, apache_server


@pytest.mark.apache
@pytest.mark.parametrize("release", [APACHE_4, APACHE_5], ids="apache-{}".format)
def test_clients_go_on_when_the_broker_is_back(release: str, tmp_path: Path) -> None:
    store, seen, tried = tmp_path / "store", Seen(), 0
    with ExitStack() as clients, ExitStack() as broker:
        try:
            was = broker.enter_context(apache_server(release, store=store))
        except Unavailable as why:
            pytest.skip(f"apache-{release}: {why}")
        was.create_topic("comes-back")
        cluster = clients.enter_context(connect(was.namesrv))
        producer = sender(cluster, "our-steady-senders")
        member = cluster.push_consumer(seen, "our-steady-readers", topics=["comes-back"], from_where=FIRST)
        for i in range(4):
            producer.send(Message.make("comes-back", f"before {i}".encode()))
        seen.wait(4)

        broker.close()
        with pytest.raises(RemotingError):
            cluster.admin.names.cluster()
        with pytest.raises(SandboxError):
            producer.send(Message.make("comes-back", b"lost"), timeout_ms=3_000)

        back = broker.enter_context(apache_server(release, store=store, at=was))

        def is_sent() -> bool:
            nonlocal tried
            tried += 1
            try:
                producer.send(Message.make("comes-back", f"after {tried}".encode()), timeout_ms=3_000)
            except SandboxError:
                return False
            return True

        until(is_sent)
        until(lambda: f"after {tried}" in seen.bodies)
        assert seen.bodies.count(f"after {tried}") == 1
        assert "lost" not in seen.bodies
        members = cluster.admin.groups.members(back.broker, "our-steady-readers").connections
        assert [row.client_id for row in members] == [member.client_id]
        clients.close()  # while the broker still runs
        with connect(back.namesrv) as looking, pytest.raises(BrokerRefused):
            looking.admin.groups.members(back.broker, "our-steady-readers")
