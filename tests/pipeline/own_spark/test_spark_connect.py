"""On a Spark Connect server that knows nothing of us."""

import json
import os
import signal
import threading
from pathlib import Path

import pytest

from sandbox.pipeline.runs.launch import ENDED, Child, Order, Where
from sandbox.pipeline.runs.results import manifest_of
from tests.pipeline.command_line import children, command, refused
from tests.pipeline.connect_server import serving
from tests.pipeline.growing import sealed_and_appended
from tests.pipeline.own_spark.test_cluster import MASTER
from tests.pipeline.worlds import begun, member, record, sent
from tests.server.server import until

pytestmark = pytest.mark.pipeline

KEPT_LATE = 4  # of six


def test_jobs_run_on_a_connect_server_with_our_code_sent_to_it(golden: Path, tmp_path: Path) -> None:
    (tmp_path / "server").mkdir()
    out = tmp_path / "out"
    with serving(tmp_path / "server") as (remote, _):
        done = command(tmp_path, "export", "--store", golden, "--remote", remote, "--out", out, "--json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["tables"] == {"messages": 153}
        before = manifest_of(out)
        why = refused(tmp_path, "export", "--store", tmp_path / "nowhere", "--remote", remote, "--out", out)
        assert why.startswith(f"{tmp_path}/nowhere is not a store")
        assert manifest_of(out) == before
        with (
            (tmp_path / "words").open("wb") as words,
            Child(Where(remote=remote), tmp_path / "spark", os.environ, errors=words) as child,
        ):
            sealed_and_appended(child, tmp_path / "grown")
    assert refused(tmp_path, "export", "--store", golden, "--remote", remote, "--out", out) == (
        f"No Spark Connect server answers at {remote}: connection refused."
    )
    assert manifest_of(out) == before


@pytest.fixture
def long_audit(tmp_path: Path) -> Order:
    """A delivery audit of fifty consumed messages: some sixteen stages, and six tables that the run keeps."""
    with begun(tmp_path / "world") as world:
        member(world)
        sent(world, 50)
        world.run(30)
        made = record(world, tmp_path / "world")
    return Order(
        "r",
        "delivery_audit",
        {f"s/{name}": str(root) for name, root in made.stores.items()},
        {"s": str(made.journal)},
        str(tmp_path / "out"),
        {},
    )


@pytest.mark.wide
def test_a_run_goes_on_when_an_executor_of_the_server_dies(long_audit: Order, tmp_path: Path) -> None:
    (tmp_path / "server").mkdir()
    out = Path(long_audit.out)
    with (
        serving(tmp_path / "server", MASTER) as (remote, server),
        (tmp_path / "words").open("wb") as words,
        Child(Where(remote=remote), tmp_path / "spark", os.environ, errors=words) as child,
    ):
        child.order(long_audit)
        killed: list[int] = []

        def kill() -> None:
            """Once most of what the run keeps is made."""
            until(lambda: len(list(out.glob(".kept-r/*/_SUCCESS"))) >= KEPT_LATE, within_s=300, what="the kept tables")
            executor = next(process for process, line in children(server).items() if "ExecutorBackend" in line)
            os.kill(executor, signal.SIGKILL)
            killed.append(executor)

        killer = threading.Thread(target=kill)
        killer.start()
        reported = next(reported for reported in child.reports() if reported["state"] in ENDED)
        killer.join()
    assert (len(killed), reported["state"], reported.get("why")) == (1, "done", None)
    assert list(out.glob(".kept-*")) == []
