"""A warm Spark process and its clients: who gets which report, and which process a command may use."""

import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from sandbox.pipeline.runs import kept_session, session_socket
from sandbox.pipeline.runs.clients import Clients
from sandbox.pipeline.runs.kept_session import KeptSession, session_in
from sandbox.pipeline.runs.launch import Order
from sandbox.pipeline.runs.session_socket import SOCKET, Listener, connected_to, listening_in


class Runner:
    """Executes nothing; it notes cancellations."""

    def __init__(self) -> None:
        self.cancelled: list[str] = []
        self.ended: list[str] = []
        self.is_cancelled = threading.Event()

    def cancel(self, run: str) -> None:
        self.cancelled.append(run)
        self.is_cancelled.set()

    def end(self, run: str) -> None:
        self.ended.append(run)


class Process:
    """The warm process, in this one: its listener, its clients and the lines that its parent gets."""

    def __init__(self, directory: Path, *, has_parent: bool) -> None:
        listener = listening_in(directory)
        assert listener is not None
        self.listener: Listener = listener
        self.to_parent: list[bytes] = []
        self.runner = Runner()
        self.clients = Clients(self.to_parent.append if has_parent else None)
        threading.Thread(target=self.clients.listen, args=(listener, self.runner), daemon=True).start()


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Process]:
    made = Process(tmp_path, has_parent=False)
    yield made
    made.listener.close()


def order(run: str) -> Order:
    return Order(run, "export", {}, {}, "/out", {})


def connected(directory: Path) -> KeptSession:
    session = session_in(directory)
    assert session is not None
    return session


def test_each_client_gets_the_reports_of_its_own_runs(kept: Process, tmp_path: Path) -> None:
    with connected(tmp_path) as one, connected(tmp_path) as two:
        one.order(order("r1"))
        assert kept.clients.next_order(None) == order("r1")
        two.order(order("r2"))
        assert kept.clients.next_order(None) == order("r2")
        for run in ("r2", "r1"):
            kept.clients.report({"run": run, "state": "starting"})
            kept.clients.report({"run": run, "state": "done", "tables": {}})
        for session, run in ((one, "r1"), (two, "r2")):
            reports = session.reports()
            assert [(r["run"], r["state"]) for r in (next(reports), next(reports))] == [
                (run, "starting"),
                (run, "done"),
            ]


def test_the_parent_gets_the_reports_of_every_run(tmp_path: Path) -> None:
    process = Process(tmp_path, has_parent=True)
    with connected(tmp_path) as session:
        session.order(order("r1"))
        process.clients.next_order(None)
        process.clients.report({"run": "r1", "state": "starting"})
        process.clients.report({"run": "r0", "state": "starting"})
    assert process.to_parent == [b'{"run":"r1","state":"starting"}\n', b'{"run":"r0","state":"starting"}\n']
    process.listener.close()


def test_a_client_that_ends_cancels_its_run_and_no_other(kept: Process, tmp_path: Path) -> None:
    with connected(tmp_path) as other:
        other.order(order("stays"))
        kept.clients.next_order(None)
        with connected(tmp_path) as session:
            session.order(order("done"))
            session.order(order("open"))
            kept.clients.next_order(None)
            kept.clients.next_order(None)
            session.cancel("stays")
            session.end("stays")
            kept.clients.report({"run": "done", "state": "done", "tables": {}})
        assert kept.runner.is_cancelled.wait(10)
        assert kept.runner.cancelled == ["open"]
        assert kept.runner.ended == []


def test_a_process_without_parent_ends_once_idle_and_without_clients(kept: Process, tmp_path: Path) -> None:
    with connected(tmp_path) as session:
        session.order(order("r1"))
        assert kept.clients.next_order(0.01) == order("r1")
        kept.clients.report({"run": "r1", "state": "done", "tables": {}})
    assert kept.clients.next_order(0.01) is None


def test_a_process_with_other_code_is_asked_to_leave(
    kept: Process, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connected(tmp_path).close()
    monkeypatch.setattr(kept_session, "code_mark", lambda: "newer")
    assert session_in(tmp_path) is None
    assert kept.clients.next_order(None) is None, "it ends after its orders"
    assert not (tmp_path / SOCKET).exists()


def test_the_socket_of_a_killed_process_is_replaced(tmp_path: Path) -> None:
    first = listening_in(tmp_path)
    assert first is not None
    assert listening_in(tmp_path) is None, "one process listens at a time"
    first._socket.close()  # as a kill does: the file stays
    assert (tmp_path / SOCKET).exists()
    assert session_in(tmp_path) is None
    second = listening_in(tmp_path)
    assert second is not None
    second.close()
    assert session_in(tmp_path) is None


def test_the_socket_is_this_users_only_and_works_below_a_long_path(tmp_path: Path) -> None:
    directory = tmp_path / ("d" * 120)
    directory.mkdir()
    process = Process(directory, has_parent=False)
    assert (directory / SOCKET).stat().st_mode & 0o777 == 0o600
    connected(directory).close()
    process.listener.close()


def test_nonsense_ends_the_connection_and_not_the_process(kept: Process, tmp_path: Path) -> None:
    for line in (b"{", b"[]\n", b'{"run": 1}\n', b'"run"\n', b"\xff\n"):
        session = connected(tmp_path)
        session._connection.sendall(line)
        session.close()
    with connected(tmp_path) as session:
        session.order(order("r1"))
        assert kept.clients.next_order(None) == order("r1")


def test_a_process_that_does_not_greet_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_session, "GREETED_WITHIN_S", 0.05)
    silent = listening_in(tmp_path)
    assert silent is not None
    assert session_in(tmp_path) is None
    silent.close()


def test_the_mark_of_the_code_changes_with_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_socket, "PACKAGE", tmp_path)
    empty = session_socket.code_mark()
    (tmp_path / "a.py").write_text("1")
    assert session_socket.code_mark() != empty
    with suppress(FileNotFoundError):
        (tmp_path / "a.py").unlink()
    assert session_socket.code_mark() == empty


def test_a_process_that_ends_before_it_reads_an_order_has_no_report(tmp_path: Path) -> None:
    silent = listening_in(tmp_path)
    assert silent is not None
    connection = connected_to(tmp_path)
    assert connection is not None
    accepted = silent.accept()
    assert accepted is not None
    with KeptSession(connection, {"process": 1}) as session:
        session.order(order("r1"))
        accepted.close()  # with the order unread: the connection is reset
        assert list(session.reports()) == []
    silent.close()
