"""On a cluster: executors in processes of their own, to which our code was sent."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.pipeline.launch import ENDED, Child, Order, Where, environment_of, spark_home
from tests.pipeline.growing import sealed_and_appended
from tests.pipeline.test_errors import WITHIN_S, command
from tests.pipeline.test_errors_midway import children
from tests.server.server import ROOT

pytestmark = pytest.mark.pipeline

MASTER = "local-cluster[2,1,1024]"
LATE_STAGE = 8  # of some sixteen: most of what a run keeps is made


@pytest.fixture
def no_java(tmp_path: Path) -> dict[str, str]:
    """An environment as on a machine without Java: all other programs are there."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for directory in ("/usr/local/bin", "/bin", "/usr/bin"):
        for program in Path(directory).glob("*"):
            if not program.name.startswith("java") and not (programs / program.name).is_symlink():
                (programs / program.name).symlink_to(program)
    return {"PATH": str(programs), "JAVA_HOME": ""}


@pytest.mark.in_turn
def test_a_job_runs_on_a_cluster_of_this_machine_with_the_java_that_came_along(golden: Path, no_java: dict[str, str],
                                                                             tmp_path: Path) -> None:
    done = command(tmp_path, "export", "--store", golden, "--master", MASTER, "--out", tmp_path / "out", "--json",
                   **no_java)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "pipeline" / ".spark" / "java" / "bin" / "java").is_file()
    assert json.loads(done.stdout)["tables"] == {"messages": 153}
    assert list((tmp_path / "pipeline" / ".spark").glob("*/work")) == []


@pytest.mark.in_turn
def test_executors_seal_make_columns_of_bodies_and_append(tmp_path: Path) -> None:
    with (tmp_path / "words").open("wb") as words, Child(Where(MASTER), tmp_path / "spark", os.environ,
                                                         errors=words) as child:
        sealed_and_appended(child, tmp_path)


@pytest.mark.in_turn
def test_executors_have_our_code_from_the_session_and_from_nowhere_else(tmp_path: Path) -> None:
    (tmp_path / "spark").mkdir()
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment = environment_of(environment, tmp_path) | {"SPARK_HOME": spark_home(tmp_path / "spark")}
    said = subprocess.run([sys.executable, "-m", "tests.pipeline.shipped", MASTER], cwd=ROOT, env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=WITHIN_S, check=True).stdout
    executors = json.loads(said)
    assert len({executor["process"] for executor in executors}) == 2
    for executor in executors:
        assert executor["cwd"].startswith(f"{tmp_path}/spark/work/app-")
        assert Path(executor["cwd"], executor["origin"]).match("*/sandbox.zip/sandbox/message/record.py")


@pytest.mark.nightly
def test_a_run_goes_on_when_an_executor_dies(long_audit: Order, tmp_path: Path) -> None:
    """Other ones have to do its work again, and must find what the run had made before."""
    with (tmp_path / "words").open("wb") as words, Child(Where(MASTER), tmp_path / "spark", os.environ,
                                                         errors=words) as child:
        child.order(long_audit)
        killed = False
        for told in child.reports():
            if told["state"] in ENDED:
                break
            if told.get("stage", 0) >= LATE_STAGE and not killed:
                [java] = [process for process, line in children(child.process_id).items() if "java" in line]
                executors = [process for process, line in children(java).items() if "ExecutorBackend" in line]
                os.kill(executors[0], signal.SIGKILL)
                killed = True
    assert (killed, told["state"], told.get("why")) == (True, "done", None)
    assert list(Path(long_audit.out).glob(".kept-*")) == []
