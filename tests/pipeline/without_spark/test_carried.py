"""A function for `foreachBatch` reaches a process that knows nothing of our code, and finds it there."""

import subprocess
import sys
from pathlib import Path

from pyspark import cloudpickle

from sandbox.pipeline.runs.results import discard
from sandbox.pipeline.sources.journal import JournalSource
from sandbox.pipeline.spark.batch_function import carried

READ = (
    "import importlib.util, pickle, sys; assert importlib.util.find_spec('sandbox') is None; "
    "take = pickle.load(open(sys.argv[1], 'rb')); take(__import__('pathlib').Path(sys.argv[2]), 7)"
)


class Session:
    """A stand-in for a Connect client's session, by its class name."""


Session.__module__ = "pyspark.sql.connect.session"


def test_it_brings_the_package_to_a_connect_server(tmp_path: Path) -> None:
    (tmp_path / "run-7").mkdir()
    (tmp_path / "run-8").mkdir()
    file = tmp_path / "taken"
    file.write_bytes(cloudpickle.dumps(carried(Session(), discard, {})))  # type: ignore[arg-type]
    subprocess.run([sys.executable, "-I", "-c", READ, str(file), str(tmp_path)], check=True, cwd=tmp_path, timeout=60)
    assert not (tmp_path / "run-7").exists()
    assert (tmp_path / "run-8").exists()


def test_beside_our_code_it_is_the_function_itself(tmp_path: Path) -> None:
    (tmp_path / "run-7").mkdir()
    taken = carried(object(), discard, {})  # type: ignore[arg-type]
    taken(tmp_path, 7)  # type: ignore[arg-type]
    assert not (tmp_path / "run-7").exists()
    assert len(cloudpickle.dumps(taken)) < 4_000


def test_a_source_is_made_again_where_nothing_of_ours_is_known(tmp_path: Path) -> None:
    file = tmp_path / "source"
    file.write_bytes(cloudpickle.dumps(JournalSource({"path": str(tmp_path)})))
    read = (
        "import importlib.util, pickle, sys; assert importlib.util.find_spec('sandbox') is None; "
        "source = pickle.load(open(sys.argv[1], 'rb')); print(source.name(), source.options['path'])"
    )
    said = subprocess.run(
        [sys.executable, "-I", "-c", read, str(file)],
        check=True,
        cwd=tmp_path,
        timeout=60,
        capture_output=True,
        text=True,
    )
    assert said.stdout.split() == ["rocketmq-journal", str(tmp_path)]
