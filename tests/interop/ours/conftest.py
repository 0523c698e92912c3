"""Our clients against three brokers: ours, Apache's 4.9 and Apache's 5.x.

What came of it is read from the commit log's files, by a reader of its own, from frames written by hand, and from what
Apache's mqadmin prints.
"""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from sandbox import connect
from sandbox.notebook.remote import Remote
from tests.interop.clients import Unavailable
from tests.interop.ours.stage import QUICK, Scene
from tests.interop.servers import APACHE_4, APACHE_5, apache_server, our_server


@pytest.fixture(scope="session", params=[
    "ours",
    pytest.param(f"apache-{APACHE_4}", marks=pytest.mark.apache),
    pytest.param(f"apache-{APACHE_5}", marks=pytest.mark.apache),
])
def scene(request: pytest.FixtureRequest) -> Iterator[Scene]:
    with ExitStack() as ends:
        try:
            name: str = request.param
            server = ends.enter_context(our_server() if name == "ours" else apache_server(name.partition("-")[2],
                                                                                          properties=QUICK))
        except Unavailable as why:
            pytest.skip(f"{request.param}: {why}")
        yield Scene(server)


@pytest.fixture
def cluster(scene: Scene) -> Iterator[Remote]:
    """Clients of one test, gone after it."""
    with connect(scene.server.namesrv) as made:
        yield made


@pytest.fixture
def topic(scene: Scene, request: pytest.FixtureRequest) -> str:
    """Of four queues, nobody else's."""
    return scene.server.create_topic("our-" + request.node.originalname.removeprefix("test_").replace("_", "-"))
