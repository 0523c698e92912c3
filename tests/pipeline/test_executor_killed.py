"""Each job on a standalone cluster, one of whose executors is killed at work: the result is that of a quiet run."""

import json
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple

import pytest

from sandbox.labs.catalogue import LABS
from sandbox.pipeline.launch import ENDED, Child, Order, Where
from sandbox.pipeline.results import manifest_of
from sandbox.simulation.lab_player import play
from sandbox.store.disk import FileDisk
from tests.pipeline.audits import table
from tests.pipeline.conftest import Run, Told
from tests.pipeline.sealed_reads import rows_alone, rows_through
from tests.pipeline.standalone import WORKERS, Cluster, Executor, standalone
from tests.pipeline.test_grading import journal_of
from tests.pipeline.test_import import broker, stored
from tests.pipeline.test_lag_history import TABLES, expected, in_order
from tests.pipeline.test_lag_history import table as lags
from tests.pipeline.test_rebalance_history import hung
from tests.pipeline.worlds import Recorded, begun, member, record, sent
from tests.server.server import until
from tests.unit.store.stores import Stores, message

__all__ = ["broker"]

pytestmark = [pytest.mark.pipeline, pytest.mark.slow]

WITHIN_S = 240.0
LOOK_EVERY_S = 0.005  # tasks are short
FILE_BYTES, FILES, BODY_BYTES = 16 << 20, 5, 8 << 10  # of a log; the last one is not full
Moment = Callable[[Executor], bool]
Start = Callable[..., dict[str, Any]]


class Killer:
    """Kills the first executor that has a task at the moment asked for, while one run is at work."""

    def __init__(self, cluster: Cluster, words: Path, moment: Moment) -> None:
        self.cluster, self.words, self.moment = cluster, words, moment
        self.over = Event()
        self.before = len(words.read_text(errors="replace"))

    def kill(self) -> str:
        """What Spark says of the task that it lost.  Where the task had ended just then, another executor is killed."""
        while not (lost := self._kill_one()):
            continue
        return lost

    def _kill_one(self) -> str:
        """Empty: it had no task any more."""
        victim = until(self._chosen, within_s=WITHIN_S, every_s=LOOK_EVERY_S, what="an executor with a task")
        assert victim is not None
        number = victim.number
        os.kill(victim.process, signal.SIGKILL)
        until(lambda: f"Lost executor {number} on" in self._said(), within_s=WITHIN_S)
        until(lambda: number not in self._numbers() and len(self._numbers()) == WORKERS, within_s=WITHIN_S,
              what="another executor in its place")
        return next((line for line in self._said().splitlines()
                     if "Lost task" in line and f"executor {number}): ExecutorLostFailure" in line), "")

    def _chosen(self) -> Executor | None:
        assert not self.over.is_set(), "the job ended before a task could be killed"
        return next((one for one in self.cluster.executors() if one.tasks() and self.moment(one)), None)

    def _numbers(self) -> set[str]:
        return {one.number for one in self.cluster.executors()}

    def _said(self) -> str:
        """By Spark, of this run."""
        return self.words.read_text(errors="replace")[self.before:]


class Sparks(NamedTuple):
    """A child process of ours on the cluster, whose Spark writes `words`."""

    cluster: Cluster
    child: Child
    words: Path

    def run(self, order: Order, moment: Moment) -> dict[str, Any]:
        """Its last report.  Raises AssertionError where no task was lost."""
        killer = Killer(self.cluster, self.words, moment)
        with ThreadPoolExecutor(1) as pool:
            killed = pool.submit(killer.kill)
            self.child.order(order)
            last = next(told for told in self.child.reports() if told["state"] in ENDED)
            killer.over.set()
            print(f"{order.job}: {killed.result(WITHIN_S)}")
        return last


@pytest.fixture(scope="module")
def sparks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sparks]:
    home = tmp_path_factory.mktemp("sparks")
    with (standalone(home / "cluster") as cluster, (home / "words").open("wb") as errors,
          Child(Where(cluster.address), home / "spark", os.environ, errors=errors) as child):
        yield Sparks(cluster, child, home / "words")


@pytest.fixture
def killed(sparks: Sparks, tmp_path: Path) -> Start:
    """Runs a job whose executor is killed; as `run`, and with the moment."""
    def start(job: str, *, moment: Moment, stores: dict[str, Path] | None = None,
              journals: dict[str, str] | None = None, sealed: dict[str, Path] | None = None,
              **options: str) -> dict[str, Any]:
        name = f"{tmp_path.name}-killed"
        order = Order(name, job, {key: str(root) for key, root in (stores or {}).items()}, journals or {},
                      str(tmp_path / "killed"), options, {key: str(path) for key, path in (sealed or {}).items()})
        last = sparks.run(order, moment)
        assert last["state"] == "done", last
        until(lambda: not list((tmp_path / "killed").glob(".kept-*")), what="what it kept is removed")
        return last

    return start


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed store of several log files, each of which is a task's work."""
    root = tmp_path_factory.mktemp("large") / "store"
    stores = Stores(FileDisk(root), commit_log_file_bytes=FILE_BYTES, consume_queue_file_entries=2_000,
                    index_slots=1_000, index_entries=20_000,
                    max_message_bytes=BODY_BYTES, memory_bytes=1 << 28)
    store = stores.opened()
    body = bytes(range(256)) * (BODY_BYTES // 256)
    for number in range(FILE_BYTES * FILES // (BODY_BYTES + 200)):
        stores.put(store, message(number, queue_id=number % 4, body=body, KEYS=f"k{number % 50}"))
    store.close()
    return root


def at_once(_: Path) -> Moment:
    return lambda _: True


def late(out: Path) -> Moment:
    """The first table is written, and others are to come."""
    return lambda _: any(out.glob("run-*/*/_SUCCESS"))


MOMENTS = {"at once": at_once, "late": late}


def made(out: Path) -> dict[str, Counter[str]]:
    """All tables of a result, as sets of rows."""
    manifest = manifest_of(out)
    assert manifest is not None
    return {name: Counter(map(repr, table(out, name))) for name in manifest.tables}


def parent(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def assert_quiet(told: Told, home: Path) -> None:
    """The result of the run that is reported has rows, and they are those of the one whose executor was killed."""
    assert told[-1]["state"] == "done", told[-1]
    assert any(made(home / "out").values())
    assert made(home / "killed") == made(home / "out")


@pytest.mark.in_turn
def test_an_export_has_each_message_once(run: Run, killed: Start, large: Path, tmp_path: Path) -> None:
    """It is killed while it writes a file."""
    last = killed("export", stores={"s": large}, format="ndjson", moment=lambda _: any(
        (tmp_path / "killed").glob("run-*/messages/_temporary/0/_temporary/*/part-*")))
    *_, quiet = run("export", stores={"s": large}, format="ndjson")
    assert last["tables"] == quiet["tables"]
    assert last["tables"]["messages"] > 0
    assert files_of(tmp_path / "killed") == files_of(tmp_path / "out")


def files_of(out: Path) -> list[tuple[str, bytes]]:
    """Number and content of the files of messages, byte by byte; nothing else may lie beside them."""
    [directory] = out.glob("run-*/messages")
    return sorted((file.name.partition("-")[2][:5], file.read_bytes()) for file in directory.iterdir()
                  if file.name != "_SUCCESS")


@pytest.mark.in_turn
def test_sealed_files_are_whole_and_no_draft_is_left(run: Run, killed: Start, large: Path, tmp_path: Path) -> None:
    """It is killed while its worker has written a part of a file."""
    directory = tmp_path / "sealed"

    def writes(executor: Executor) -> bool:
        workers = [int(draft.name.rpartition(".")[2]) for draft in directory.glob(".*.parquet.*")]
        try:
            return any(parent(parent(worker)) == executor.process for worker in workers)
        except FileNotFoundError:  # it has ended
            return False

    killed("seal", stores={"s": large}, sealed={"s": directory}, moment=writes)
    assert_quiet(run("seal", stores={"s": large}, sealed=tmp_path / "quiet"), tmp_path)
    assert {row["state"] for row in table(tmp_path / "killed", "sealed")} == {"sealed"}
    files, expected_files = ({file.name: file.read_bytes() for file in path.iterdir()}
                             for path in (directory, tmp_path / "quiet" / "s"))
    assert files.keys() == expected_files.keys()
    assert files == expected_files
    assert rows_through(large, directory) == rows_alone(large)


# Jobs whose result is tables.

@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Recorded]:
    """A sandbox with trouble, and a quiet one."""
    home = tmp_path_factory.mktemp("quiet")
    with begun(home) as world:
        member(world)
        sent(world, 50)
        world.run(30)
        quiet = record(world, home)
    return {"hung": hung(tmp_path_factory.mktemp("hung")), "quiet": quiet}


@pytest.fixture(scope="module")
def attempts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Journals of students, right and wrong."""
    home = tmp_path_factory.mktemp("attempts")
    lab = LABS["members-and-queues"]
    return {f"{seed}-{way}": journal_of(list(play(lab, script, seed).entries), home / f"{seed}-{way}")
            for seed in range(1, 4) for way, script in (("right", lab.solve), ("wrong", lab.wrong[0].play))}


QUERY = ("SELECT e.event, count(*) AS n FROM events e, messages m WHERE e.at_ms > m.storeTimestamp GROUP BY ALL")


@pytest.mark.nightly
@pytest.mark.parametrize(("job", "moment", "options"), [
    ("delivery_audit", "late", {}), ("latency", "at once", {}), ("rebalance_history", "at once", {}),
    ("sql", "at once", {"query": QUERY}),
])  # fmt: skip
def test_tables_about_sandboxes_are_those_of_a_quiet_run(
        run: Run, killed: Start, recorded: dict[str, Recorded], job: str, moment: str, options: dict[str, str],
        tmp_path: Path) -> None:
    given: dict[str, Any] = {
        "journals": {name: str(one.journal) for name, one in recorded.items()},
        "stores": {f"{name}/{node}": root for name, one in recorded.items() for node, root in one.stores.items()}}
    killed(job, moment=MOMENTS[moment](tmp_path / "killed"), **given, **options)
    assert_quiet(run(job, **given, **options), tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize(("job", "moment"), [("store_audit", "at once"), ("hot_keys", "late")])
def test_tables_about_a_store_are_those_of_a_quiet_run(run: Run, killed: Start, large: Path, job: str, moment: str,
                                                       tmp_path: Path) -> None:
    killed(job, stores={"s": large}, moment=MOMENTS[moment](tmp_path / "killed"))
    assert_quiet(run(job, stores={"s": large}), tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize(("job", "moment"), [("grading", "at once"), ("class_analytics", "late")])
def test_tables_about_a_class_are_those_of_a_quiet_run(run: Run, killed: Start, attempts: dict[str, str], job: str,
                                                       moment: str, tmp_path: Path) -> None:
    killed(job, journals=attempts, moment=MOMENTS[moment](tmp_path / "killed"))
    assert_quiet(run(job, journals=attempts), tmp_path)


@pytest.mark.nightly
def test_a_history_has_each_second_once(killed: Start, recorded: dict[str, Recorded], tmp_path: Path) -> None:
    journals = {name: str(one.journal) for name, one in recorded.items()}
    killed("lag_history", journals=journals, moment=at_once(tmp_path))
    wanted = expected(journals)
    for name in TABLES:
        assert in_order(lags(tmp_path / "killed", name)) == in_order(wanted[name])


@pytest.mark.nightly
def test_an_import_sends_each_row_once(killed: Start, broker: tuple[str, Path], tmp_path: Path) -> None:
    """It is killed when some of the rows are in the topic."""
    address, store = broker
    path, count = tmp_path / "rows.ndjson", 10_000
    path.write_text("".join(json.dumps({"body": f"{number:06}", "keys": f"k{number}"}) + "\n"
                            for number in range(count)))
    last = killed("import", format="ndjson", path=str(path), names=address, topic="In", body_as="text",
                  moment=lambda _: stored(store, "In").total() > 0)
    assert last["tables"] == {"sent": 1}
    assert stored(store, "In") == Counter((f"{number:06}".encode(), f"k{number}", "", ()) for number in range(count))
    assert [row["rows"] for row in table(tmp_path / "killed", "sent")] == [count]
