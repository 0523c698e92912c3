"""The whole way of a run: asked for by a program, carried out by Spark beside the server, read from its result."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.pipeline.command_line import command
from tests.server.processes import is_there, processes_below
from tests.server.server import Driver, Server, until

pytestmark = [pytest.mark.pipeline, pytest.mark.slow]

SPARK_WITHIN_S = 240.0  # a cold session on a machine that has other work
IDLE_BYTES = 120 * 1024 * 1024
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    made = Server(tmp_path_factory.mktemp("pipeline") / "home", worker=True).start()
    yield made
    made.end()


@pytest.fixture(scope="module")
def sandbox(server: Server) -> Driver:
    made = server.create("orders")
    made.wait_until(lambda snapshot: int(snapshot["seq"]) > 200, what="something has happened")
    return made


def worker_of(server: Server) -> int:
    """The process id of the worker that lives."""
    path = server.home / "pipeline" / "worker"
    return int(until(lambda: path.exists() and path.read_text(), what="a worker"))


def memory_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_BYTES


def ask(sandbox: Driver, job: str) -> str:
    answer = sandbox.http.post("/runs", json={"job": job})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["run"])


def run_of(sandbox: Driver, run: str) -> dict[str, Any]:
    answer = sandbox.http.get(f"/runs/{run}")
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def over(sandbox: Driver, run: str) -> dict[str, Any]:
    until(lambda: run_of(sandbox, run)["state"] not in ("queued", "running"), within_s=SPARK_WITHIN_S, what="the end")
    return run_of(sandbox, run)


def test_an_idle_worker_is_small_and_has_no_spark(server: Server, sandbox: Driver) -> None:
    worker = worker_of(server)
    assert processes_below(worker) == set()
    assert memory_of(worker) < IDLE_BYTES
    assert sandbox.http.get("/runs").json()["worker"] is True


def test_a_worker_killed_at_work_leaves_a_failed_run_no_process_and_another_worker(
    server: Server, sandbox: Driver
) -> None:
    run = ask(sandbox, "lag_history")
    until(lambda: run_of(sandbox, run)["state"] == "running", what="executing")
    worker = worker_of(server)
    below = until(lambda: processes_below(worker), what="Spark's process")
    os.kill(worker, signal.SIGKILL)
    ended = over(sandbox, run)
    assert (ended["state"], ended["why"]) == ("failed", "The worker ended while this ran. Run it again.")
    until(lambda: not any(is_there(pid) for pid in below), what="Spark ends, too")
    assert worker_of(server) != worker


def test_a_run_is_carried_out_and_its_pages_say_up_to_where_it_is_true(server: Server, sandbox: Driver) -> None:
    ended = over(sandbox, ask(sandbox, "lag_history"))
    assert (ended["state"], ended["why"]) == ("done", "")
    assert ended["tables"]["seconds"] > 0
    result = sandbox.http.get("/pipeline/lag_history").json()
    assert result["true_to"] == ended["true_to"]
    assert int(result["true_to"]) >= 200
    rows = sandbox.http.get("/pipeline/lag_history/seconds", params={"most": 5}).text.splitlines()
    assert len(rows) == 5
    with server.browser() as visitor:
        for page in ("history/", "pipeline/"):
            seen = visitor.get(f"/s/{sandbox.slug}/{page}")
            assert seen.status_code == 200
        assert "computed up to event" in visitor.get(f"/s/{sandbox.slug}/history/").text
    assert len(processes_below(worker_of(server))) > 0, "the session stays warm"
    done = command(server.home, "sql", "select count(*) n from events", "--sandbox", sandbox.slug)
    assert (done.returncode, done.stderr.splitlines()[0]) == (0, "Waiting for Spark …"), "a command uses it"


def test_what_a_job_refuses_is_said_in_its_own_sentence(server: Server, sandbox: Driver) -> None:
    answer = sandbox.http.post("/runs", json={"job": "store_audit", "options": {"index_slots": "many"}})
    ended = over(sandbox, answer.json()["run"])
    assert ended["state"] == "failed"
    assert "index_slots" in ended["why"]


def test_worker_and_spark_end_with_the_server(server: Server, sandbox: Driver) -> None:
    worker = worker_of(server)
    all_of_it = {worker} | processes_below(worker)
    assert server.stop() < 15
    until(lambda: not any(is_there(pid) for pid in all_of_it), what="all of it ends")
    assert (server.home / "pipeline" / "worker").read_text() == ""
