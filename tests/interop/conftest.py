"""Other people's clients against a broker process, a scenario a test; at the end a table of clients and scenarios.

    script/test interop [--client java-4.9.8] [--against ours|apache] [pytest arguments]

Before the first test the clients are built, which takes the network, and then the tests go where there is none.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.interop import own_network
from tests.interop.clients import CLIENTS, TOOLS, Client
from tests.interop.peer import Peer
from tests.interop.prepare import prepare
from tests.interop.servers import Server, apache_server, our_server
from tests.interop.table import Table

HERE = Path(__file__).parent
TABLE = Table([client.name for client in CLIENTS])
MISSING = pytest.StashKey[Mapping[str, str]]()  # clients that cannot be had here, and why
MISSING_KEY = "interop_missing"
OPEN_TO_ALL = "Apache's broker listens on all addresses, and no network namespace can be made here"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--against", choices=("ours", "apache"), default="ours", help="whose broker the clients meet")
    parser.addoption("--client", action="append", metavar="NAME", help="only this client; may be given again")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "apache: starts Apache's broker, which listens on all addresses of the machine")


def is_asked(config: pytest.Config) -> bool:
    return any("interop" in str(argument) for argument in [*config.args, config.option.markexpr])


def pytest_sessionstart(session: pytest.Session) -> None:
    """Prepare the clients once; workers receive the result from the process that starts them."""
    config = session.config
    reported = getattr(config, "workerinput", None)
    if reported is not None:
        config.stash[MISSING] = reported.get(MISSING_KEY, {})
    elif is_asked(config) and not config.option.collectonly:
        config.stash[MISSING] = prepare()
        own_network.enter()


def pytest_configure_node(node: Any) -> None:
    node.workerinput[MISSING_KEY] = dict(node.config.stash.get(MISSING, {}))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marked `interop`, and left out of a run that does not name this folder or the mark."""
    ours = [item for item in items if HERE in item.path.parents]
    open_to_all = not own_network.is_private() and "CI" not in os.environ
    for item in ours:
        item.add_marker(pytest.mark.interop)
        if open_to_all and item.get_closest_marker("apache"):
            item.add_marker(pytest.mark.skip(OPEN_TO_ALL))
    if ours and not is_asked(config):
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
def start(request: pytest.FixtureRequest, server: Server, tmp_path_factory: pytest.TempPathFactory) -> Start:
    """A process of a client; who asks ends it.  Skips when the client cannot be had here."""
    missing = request.config.stash.get(MISSING, {})

    def make(client: Client) -> Peer:
        if client.name in missing:
            pytest.skip(f"{client}: {missing[client.name]}")
        return Peer(client.name, client.build(), tmp_path_factory.mktemp(client.name), namesrv=server.namesrv)

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
    """Return the output of an mqadmin command line without `-n`."""
    return str(peer.do("mqadmin", line=line).of("printed")[0]["text"])


class Names(NamedTuple):
    """Unique names."""

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


def pytest_sessionfinish(session: pytest.Session) -> None:
    if not hasattr(session.config, "workerinput") and TABLE.broken() and not session.config.getoption("--client"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for line in TABLE.lines():
        terminalreporter.write_line(line)
    for sentence in [] if config.getoption("--client") else TABLE.broken():
        terminalreporter.write_line(sentence, red=True)
