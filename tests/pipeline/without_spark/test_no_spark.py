"""Files of this folder can be played by any worker: a Spark cannot be started here."""

import os
import subprocess
import sys

import pytest

from sandbox.pipeline.session import open_session


def test_a_session_is_refused() -> None:
    with pytest.raises(FileNotFoundError, match="/no-spark-here"):
        open_session(master="local[1]")


def test_processes_are_refused_one_too() -> None:
    asked = [sys.executable, "-c", "import os; print(os.environ['SPARK_HOME'])"]
    assert subprocess.run(asked, capture_output=True, text=True, check=True, env=os.environ).stdout == (
        "/no-spark-here\n"
    )
