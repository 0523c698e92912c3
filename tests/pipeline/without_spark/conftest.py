"""No Spark for the files of this folder: neither in the process of the tests nor in those that they start."""

import pytest


@pytest.fixture(autouse=True)
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_HOME", "/no-spark-here")


@pytest.fixture(scope="session")
def child() -> None:
    raise AssertionError("a test of this folder asks for Spark; it belongs into tests/pipeline")
