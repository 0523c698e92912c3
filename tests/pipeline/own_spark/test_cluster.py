"""The command with executors in processes of their own, and a Java that came along with Python's packages."""

import json
from pathlib import Path

import pytest

from tests.pipeline.command_line import command

pytestmark = pytest.mark.pipeline

MASTER = "local-cluster[2,1,1024]"


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


def test_a_job_runs_on_a_cluster_of_this_machine_with_the_java_that_came_along(
    golden: Path, no_java: dict[str, str], tmp_path: Path
) -> None:
    done = command(
        tmp_path, "export", "--store", golden, "--master", MASTER, "--out", tmp_path / "out", "--json", **no_java
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "pipeline" / ".spark" / "java" / "bin" / "java").is_file()
    assert json.loads(done.stdout)["tables"] == {"messages": 153}
    assert list((tmp_path / "pipeline" / ".spark").glob("*/work")) == []
