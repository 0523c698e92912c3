"""Our clients in a script or a notebook, at a broker that runs as a process of its own."""

import asyncio
import contextlib
import io
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox import Message, connect
from sandbox.kernel.errors import BrokerRefused, ClientError, ConnectFailed
from sandbox.message.queue import MessageQueue
from tests.server.server import until
from tests.server.test_headless_broker import SMALL, free_ports, running

PAGE = Path(__file__).parents[2] / "docs" / "notebook.md"
FIRST = "CONSUME_FROM_FIRST_OFFSET"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    home = tmp_path_factory.mktemp("connect")
    (home / "broker.conf").write_text(SMALL)
    port = free_ports()
    with running(
        home, "--store", home / "store", "--listen", f"127.0.0.1:{port}", "--properties", home / "broker.conf"
    ):
        yield f"127.0.0.1:{port}"


def test_the_page_prints_what_it_says(address: str) -> None:
    programs = re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    [(program, printed)] = [pair for pair in programs if "connect(" in pair[0]]
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(program.replace("127.0.0.1:9876", address), {})
    assert said.getvalue() == printed


def test_it_works_beside_the_loop_a_notebook_has(address: str) -> None:
    async def cell() -> int:
        with connect(address) as cluster:
            return int(cluster.producer("cells").send(Message.make("cells", b"one")).queue_offset)

    assert asyncio.run(cell()) == 0


def test_a_listener_that_says_false_gets_the_message_again_and_what_is_done_is_committed(address: str) -> None:
    given: list[tuple[str, int]] = []

    def listen(message: Message) -> bool:
        given.append((message.keys, message.reconsume_times))
        return message.keys != "again" or message.reconsume_times > 0

    with connect(address) as cluster:
        broker = cluster.admin.names.masters()["broker-a"]
        cluster.admin.topics.create(broker, "work", queues=1)
        cluster.push_consumer(listen, "workers", topics=["work"], from_where=FIRST)
        producer = cluster.producer("givers")
        for key in ("fine", "again"):
            producer.send(Message.make("work", b"body", keys=key))
        until(lambda: len(given) >= 3)
    assert sorted(given) == [("again", 0), ("again", 1), ("fine", 0)]
    with connect(address) as cluster:
        assert cluster.admin.offsets.committed(broker, "workers", MessageQueue("work", "broker-a", 0)) == 2


def test_listeners_of_one_consumer_work_beside_each_other(address: str) -> None:
    both = threading.Barrier(2, timeout=20)

    with connect(address) as cluster:
        consumer = cluster.push_consumer(
            lambda message: bool(both.wait() + 1), "pairs", topics=["pairs"], from_where=FIRST
        )
        producer = cluster.producer("pair-givers")
        for _ in range(2):
            producer.send(Message.make("pairs", b"one of two"))
        until(lambda: consumer.consumed == 2)
    assert not both.broken


def test_a_consumer_that_may_not_start_leaves_nothing_behind(address: str) -> None:
    with connect(address) as cluster:
        cluster.producer("tellers").send(Message.make("stories", b"once"))
        with pytest.raises(BrokerRefused):
            cluster.push_consumer(print, "choosers", topics={"stories": "price > 5"}, sql=True)
        broker = cluster.admin.names.masters()["broker-a"]
        with pytest.raises(BrokerRefused):
            cluster.admin.groups.members(broker, "choosers")


def test_waiting_on_the_loop_the_clients_live_on_is_refused(address: str) -> None:
    with connect(address) as cluster:
        producer = cluster.producer("impatient")

        async def coroutine() -> Any:
            return producer.send(Message.make("stories", b"twice"))

        with pytest.raises(ClientError, match="cannot wait"):
            cluster.run(coroutine())


def test_no_one_there_is_said_at_once() -> None:
    with connect("127.0.0.1:1") as cluster:
        with pytest.raises(ConnectFailed):
            cluster.admin.names.cluster()
        with pytest.raises(ClientError):
            cluster.producer("lonely").send(Message.make("stories", b"never"))


def test_nothing_runs_on_after_the_end(address: str) -> None:
    before = {thread.name for thread in threading.enumerate()}
    with connect(address) as cluster:
        producer = cluster.producer("passing")
        producer.send(Message.make("stories", b"thrice"))
    assert {thread.name for thread in threading.enumerate()} <= before
    with pytest.raises(ClientError):
        producer.send(Message.make("stories", b"late"))
