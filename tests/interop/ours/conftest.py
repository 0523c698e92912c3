"""Our clients against three brokers: ours, Apache's 4.9 and Apache's 5.x.

What came of it is read from the commit log's files, by a reader of its own, from frames written by hand, and from what
Apache's mqadmin prints.
"""

from collections.abc import Iterator

import pytest

from sandbox import connect
from sandbox.notebook.remote import Remote
from tests.interop.each_server import EACH, server_or_skip
from tests.interop.ours.stage import QUICK, Scene


@pytest.fixture(scope="session", params=EACH)
def scene(request: pytest.FixtureRequest) -> Iterator[Scene]:
    with server_or_skip(request.param, properties=QUICK) as server:
        yield Scene(server)


@pytest.fixture
def cluster(scene: Scene) -> Iterator[Remote]:
    """Clients of one test, gone after it."""
    with connect(scene.server.namesrv) as made:
        yield made


@pytest.fixture
def topic(scene: Scene, request: pytest.FixtureRequest) -> str:
    """A new topic with four queues."""
    return scene.server.create_topic("our-" + request.node.originalname.removeprefix("test_").replace("_", "-"))
