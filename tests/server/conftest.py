"""Servers as people run them: real processes, real sockets, a data home of their own."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.server.server import Driver, Server, committed


@pytest.fixture(scope="package")
def first_start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server on a data home that did not exist before; all tests of this folder share it and stop nothing of it."""
    server = Server(tmp_path_factory.mktemp("server") / "home").start()
    yield server
    server.end()


@pytest.fixture
def server(first_start: Server) -> Iterator[Server]:
    """The shared server; whatever a test does to it, the log stays free of tracebacks."""
    before = len(first_start.log)
    yield first_start
    assert "Traceback" not in first_start.log[before:]


@pytest.fixture(scope="package")
def own_home(first_start: Server, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    """Makes data homes with the static files and the sorted flights ready, so that a second server starts at once."""

    def make() -> Path:
        home = tmp_path_factory.mktemp("server") / "home"
        home.mkdir()
        for name in ("static", "feeds"):
            if (first_start.home / name).is_dir():
                shutil.copytree(first_start.home / name, home / name)
        return home

    return make


@pytest.fixture
def own_server(own_home: Callable[[], Path]) -> Iterator[Server]:
    """A server of one's own, to stop, kill and start again."""
    server = Server(own_home()).start()
    yield server
    server.end()
    assert "Traceback" not in server.log


@pytest.fixture(scope="package")
def orders(first_start: Server) -> Driver:
    """A sandbox of the template `orders`; tests that break members make their own."""
    made = first_start.create("orders")
    made.wait_until(lambda seen: len(committed(seen, "order-svc")) >= 8, what="every queue has a stored offset")
    return made


@pytest.fixture(scope="package")
def workshop(first_start: Server) -> Driver:
    """A sandbox with a broker and nothing else."""
    return first_start.create("empty")
