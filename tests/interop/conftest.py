"""Other people's clients against a broker process, a scenario a test; at the end a table of clients and scenarios.

    script/test interop [--client java-4.9.8] [--against ours|apache] [pytest arguments]
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.interop.clients import CLIENTS, TOOLS, Client, Unavailable
from tests.interop.peer import Peer
from tests.interop.servers import Server, apache_server, our_server
from tests.interop.table import Table

TABLE = Table()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--against", choices=("ours", "apache"), default="ours", help="whose broker the clients meet")
    parser.addoption("--client", action="append", metavar="NAME", help="only this client; may be given again")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marked `interop`, and left out of a run that does not name this folder or the mark."""
    ours = [item for item in items if Path(__file__).parent in item.path.parents]
    for item in ours:
        item.add_marker(pytest.mark.interop)
    asked = any("interop" in str(argument) for argument in [*config.args, config.option.markexpr])
    if ours and not asked:
        config.hook.pytest_deselected(items=ours)
        items[:] = [item for item in items if item not in ours]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "client" in metafunc.fixturenames:
        wanted = metafunc.config.getoption("--client", None)
        chosen = [client for client in CLIENTS if not wanted or client.name in wanted]
        metafunc.parametrize("client", chosen, ids=str, scope="session", indirect=True)


@pytest.fixture(scope="session")
def client(request: pytest.FixtureRequest) -> Client:
    chosen: Client = request.param
    return chosen


@pytest.fixture(scope="session")
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    if request.config.getoption("--against") == "apache":
        with apache_server() as made:
            yield made
    else:
        with our_server() as made:
            yield made


Start = Callable[[Client], Peer]
Mqadmin = Callable[[str], str]


@pytest.fixture(scope="session")
def start(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Start:
    """A process of a client; who asks ends it.  Skips when the client cannot be had here."""

    missing: dict[str, str] = {}  # tried once, and not again for every scenario

    def make(client: Client) -> Peer:
        try:
            command = [] if client.name in missing else client.build()
        except Unavailable as why:
            missing[client.name] = str(why)
        if client.name in missing:
            pytest.skip(f"{client}: {missing[client.name]}")
        return Peer(client.name, command, tmp_path_factory.mktemp(client.name), namesrv=server.namesrv)

    return make


@pytest.fixture(scope="session")
def session_peer(client: Client, start: Start) -> Iterator[Peer]:
    with start(client) as made:
        yield made


@pytest.fixture
def peer(request: pytest.FixtureRequest, client: Client) -> Iterator[Peer]:
    """The client's process, if it can do what the scenario is about: the mark `needs`."""
    mark = request.node.get_closest_marker("needs")
    missing = set(mark.args if mark else ()) - client.can
    if missing:
        pytest.skip(f"{client} has no {', '.join(sorted(missing))}")
    made: Peer = request.getfixturevalue("session_peer")
    yield made
    made.stop_orders()


@pytest.fixture(scope="session")
def mqadmin(start: Start) -> Iterator[Mqadmin]:
    """Apache's tools, for what clients cannot do themselves."""
    with start(TOOLS) as made:
        yield lambda line: printed(made, line)


def printed(peer: Peer, line: str) -> str:
    """What a command line of mqadmin, without `-n`, prints."""
    return str(peer.do("mqadmin", line=line).of("printed")[0]["text"])


class Names(NamedTuple):
    """Names nobody else uses."""

    topic: str
    group: str


@pytest.fixture
def names(request: pytest.FixtureRequest, client: Client, server: Server) -> Names:
    """A topic there is, of four queues, and a group there is not."""
    word = f"{request.node.originalname.removeprefix('test_')}-{client.name.replace('.', '_')}"
    return Names(server.create_topic(f"t-{word}"), f"g-{word}")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if "tests/interop" in report.nodeid:
        TABLE.add(report)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for line in TABLE.lines():
        terminalreporter.write_line(line)
