"""A sealing whose processes are killed while a worker writes: the next one ends it, and rows are those of the store."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from sandbox.pipeline.runs.error_sentences import WORKER_GONE
from sandbox.pipeline.runs.launch import ENDED, Child, Order, Where
from sandbox.pipeline.sealed.entries import entries_in
from sandbox.store.disk import FileDisk
from tests.pipeline.command_line import WITHIN_S
from tests.pipeline.sealed_reads import files_in, rows_alone, rows_through
from tests.pipeline.sealed_tables import files_of, opened, scanned, sealed_files
from tests.server.processes import in_sessions, is_there
from tests.server.server import until
from tests.unit.store.stores import Stores, message

pytestmark = pytest.mark.pipeline

LOG_BYTES = 1 << 19
MESSAGES = 16_000


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed store whose log files take long enough to seal that a worker is met at it."""
    made = tmp_path_factory.mktemp("store")
    stores = Stores(FileDisk(made), commit_log_file_bytes=LOG_BYTES, consume_queue_file_entries=10_000)
    store = stores.opened()
    for number in range(MESSAGES):
        store.put_message(message(number, queue_id=number % 3))
    store.dispatch()
    store.close()
    return made


class Sealing:
    """One process with Spark after the other that seals into the same directory, and keeps a table."""

    def __init__(self, root: Path, home: Path) -> None:
        self.root, self.home, self.directory = root, home, home / "sealed"
        self.children: list[Child] = []

    def begun(self) -> Child:
        with (self.home / "words").open("ab") as words:
            self.children.append(Child(Where("local[1]"), self.home / "spark", os.environ, errors=words))
        self.order(self.children[-1])
        return self.children[-1]

    def order(self, child: Child) -> None:
        child.order(
            Order(
                "r",
                "seal",
                {"s": str(self.root)},
                {},
                str(self.home / "out"),
                {"format": "iceberg"},
                {"s": str(self.directory)},
            )
        )

    def drafts(self) -> list[Path]:
        """Return Parquet drafts while a process writes them; its id is at the end of the name."""
        return sorted(self.directory.glob(".*.parquet.*"))

    def held_at_work(self) -> int:
        """A worker that was stopped while it writes a file that is not the first."""
        ends_s, left = time.monotonic() + WITHIN_S, set(self.drafts())  # of a worker that was killed
        until(lambda: (self.directory / "lock").exists(), within_s=WITHIN_S)
        while time.monotonic() < ends_s:  # without a pause: a draft is there for some milliseconds
            for draft in set(self.drafts()) - left if entries_in(self.directory) else ():
                worker = int(draft.suffix[1:])
                os.kill(worker, signal.SIGSTOP)
                if draft.exists():
                    return worker
                os.kill(worker, signal.SIGCONT)  # it was done with it
        raise AssertionError("no worker was met at work")


@pytest.fixture
def sealing(root: Path, tmp_path: Path) -> Iterator[Sealing]:
    made = Sealing(root, tmp_path)
    yield made
    for child in made.children:
        with suppress(ProcessLookupError):
            os.killpg(child.process_id, signal.SIGKILL)
        child.close()


def outcome(child: Child) -> dict[str, object]:
    return next(line for line in child.reports() if line["state"] in ENDED)


def check_half(sealing: Sealing) -> None:
    """Check that everything left by a kill is valid."""
    assert 0 < len(entries_in(sealing.directory)) < len(list((sealing.root / "commitlog").iterdir()))
    assert rows_through(sealing.root, sealing.directory) == rows_alone(sealing.root)
    assert opened(sealing.directory).current_snapshot() is None, "the table was to come last"


def check_whole(sealing: Sealing) -> None:
    assert sealing.drafts() == []
    assert len(files_in(sealing.directory) - {"iceberg"}) == 2 * len(entries_in(sealing.directory))
    expected = rows_alone(sealing.root)
    assert len(expected) == MESSAGES
    assert rows_through(sealing.root, sealing.directory) == expected
    assert scanned(sealing.directory) == expected
    assert files_of(sealing.directory) == sealed_files(sealing.directory)


def test_a_worker_is_killed_while_it_writes_and_then_the_driver(sealing: Sealing) -> None:
    child = sealing.begun()
    os.kill(sealing.held_at_work(), signal.SIGKILL)
    assert outcome(child)["why"] == WORKER_GONE
    assert len(sealing.drafts()) == 1
    check_half(sealing)

    sealing.order(child)
    worker = sealing.held_at_work()
    os.kill(child.process_id, signal.SIGKILL)
    until(lambda: not is_there(child.process_id), within_s=WITHIN_S)
    check_half(sealing)
    with suppress(ProcessLookupError):  # it may have ended with its session
        os.kill(worker, signal.SIGCONT)  # it writes on, or ends: both may be
    until(lambda: not in_sessions({child.process_id}), within_s=WITHIN_S)
    last = outcome(sealing.begun())
    assert last["state"] == "done", last
    check_whole(sealing)
