"""A broker in a process of its own, for Spark to read and to write."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from sandbox.notebook.remote import connect
from tests.server.test_headless_broker import SMALL, free_ports, running


@contextmanager
def broker_with(topics: Mapping[str, int], home: Path) -> Iterator[str]:
    """The address of one with these topics and so many queues of each; its store is `home / "store"`."""
    settings = home / "broker.conf"
    settings.write_text(SMALL)
    address = f"127.0.0.1:{free_ports()}"
    with running(home, "--store", home / "store", "--listen", address, "--properties", settings):
        with connect(address) as remote:
            for topic, queues in topics.items():
                remote.admin.topics.create(address, topic, queues=queues)
        yield address
