"""`--session keep`: the next commands use the Spark process that the first one left running."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.pipeline.runs.kept_session import session_in
from tests.pipeline.command_line import command
from tests.server.server import until

pytestmark = pytest.mark.pipeline

QUERY = "select topic, count(*) n from messages group by topic order by topic"


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Path]:
    """Return the directory of the process's socket, and kill the process at the end."""
    spark = tmp_path / "home" / "pipeline" / ".spark"
    yield spark
    if (session := session_in(spark)) is not None:
        os.killpg(session.process_id, signal.SIGKILL)
        session.close()


def test_the_second_command_uses_the_process_of_the_first(golden: Path, tmp_path: Path, directory: Path) -> None:
    home, store = tmp_path / "home", golden
    first = command(home, "sql", QUERY, "--store", store, "--session", "keep")
    assert first.returncode == 0, first.stderr
    assert first.stderr.startswith("Waiting for Spark …\n"), "piped, its first line is there before the first result"
    session = session_in(directory)
    assert session is not None
    with session:
        process = session.process_id
    second = command(home, "sql", QUERY, "--store", store)
    assert second.stdout == first.stdout
    refused = command(home, "sql", "select nothing from messages", "--store", store)
    assert refused.returncode == 1
    assert "Line 1, character 8 of the query:" in refused.stderr
    session = session_in(directory)
    assert session is not None
    with session:
        assert session.process_id == process
    os.kill(process, signal.SIGKILL)
    assert until(lambda: session_in(directory) is None)
