"""The code blocks of the pages about the pipeline, run as they are written from wheels in empty environments."""

import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.pipeline.runs.kept_session import session_in
from tests.pipeline.broker_process import broker_with
from tests.pipeline.own_spark.doc_blocks import COMMAND, PAGES, Block, blocks
from tests.server.installed import SPARK_WHEEL, installed, run
from tests.server.server import ROOT, environment

pytestmark = pytest.mark.pipeline

WITHIN_S = 600.0
PROGRAMS = Path(__file__).parent
NOT_RUN = {
    "spark=$(": "starts a server that runs until it is stopped; test_spark_connect.py starts it this way",
    "$spark/bin/spark-submit": "the same",
    "pip install ./script/spark_wheel": "the fixture installs it, from the wheel of that directory",
    "OUT/manifest.json": "the layout of a result, not code",
    "[PYTHON_DATA_SOURCE_ERROR] ": "what Spark prints of a mistake; test_kafka_habits.py compares it",
    "start.messages": "what `bench pipeline` prints",
    "spark.sql.catalog.queueviz ": "settings of another version of Spark, whose jars are not here",
    f"{COMMAND}pipeline lag_history --sandbox payments-1 --follow": "runs until Ctrl-C",
    f"{COMMAND}pipeline grading --course": "needs a course with students; test_course_grading.py grades one",
    f"{COMMAND}pipeline class_analytics --course": "needs the same course",
}
SMALLER = {"--students 30 --minutes 20": "--students 2 --minutes 1"}  # as written it takes minutes
COMMANDS = {page: [b for b in blocks() if b.page == page and b.language and not b.needs_spark] for page in PAGES}


def is_run(line: str) -> bool:
    return not line.startswith(tuple(NOT_RUN))


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The working directory of all blocks.  A process that a page's example keeps is asked to leave."""
    made = tmp_path_factory.mktemp("pages")
    yield made
    assert session_in(made / "home" / "pipeline" / ".spark") is None, "its code is that of the wheel"


@pytest.fixture(scope="module")
def cluster(directory: Path) -> Iterator[str]:
    """The address of a name server, whose broker has the topics of the pages."""
    (directory / "broker").mkdir()
    with broker_with({"orders": 2, "orders-eu": 1, "copies": 1, "T": 4}, directory / "broker") as address:
        yield address


@pytest.fixture(scope="module")
def queueviz(directory: Path) -> Path:
    """The Python of an environment with the wheel `queueviz`, after the command that fills the stores of the pages."""
    (directory / "queueviz").mkdir()
    programs = installed(ROOT, directory / "queueviz", "iceberg")
    run(programs / "queueviz", "feed", "flights", "--limit", "200", "--store", "DIR", cwd=directory)
    run(programs / "queueviz", "simulate_class", "--students", "1", "--minutes", "1", "--out", "CLASS", cwd=directory)
    [student] = [path for path in (directory / "CLASS").iterdir() if path.is_dir()]
    for parent in (directory / "home" / "sandboxes", directory / "srv" / "sandboxes"):
        shutil.copytree(student, parent / "payments-1")
    for name in ("store", "store-b"):
        shutil.copytree(directory / "DIR", directory / "srv" / "rocketmq" / name)
    (directory / "flights.csv").write_text("text,tail,carrier\nlate,N1,UA\nearly,N2,EV\n")
    return programs / "python"


def here(text: str, directory: Path, cluster: str = "") -> str:
    """Return the text of a block with the directories and addresses of this run."""
    for old, new in SMALLER.items():
        text = text.replace(old, new)
    text = text.replace("/srv/", f"{directory}/srv/").replace("127.0.0.1:9876", cluster or "127.0.0.1:9876")
    sealed = directory / "home" / "pipeline" / "seal" / "payments-1" / "files" / "broker-a"
    text = text.replace("/path/of/iceberg/", f"{sealed}/iceberg/")
    return text.replace("/path/OUT", f"{directory}/OUT")


def test_each_block_runs_or_has_a_reason() -> None:
    every = list(blocks())
    lines = [line for block in every for line in (block.commands or [block.text])]
    assert [line for line in NOT_RUN if not any(text.startswith(line) for text in lines)] == []
    output = [block.name for block in every if not block.language and is_run(block.text)]
    assert [name.partition(":")[0] for name in output] == ["flights.md"] * 2, "what they print is compared"


def test_programs_run_where_only_the_sources_are_installed(directory: Path, queueviz: Path, cluster: str) -> None:
    (directory / "spark").mkdir()
    programs = installed(SPARK_WHEEL, directory / "spark")
    first = [block for block in blocks() if block.page == "pipeline-sources.md"]
    others = [block for block in blocks() if block.page != "pipeline-sources.md"]
    steps = [
        (block.name, block.language, here(block.text, directory, cluster))
        for block in [*first, *others]
        if block.needs_spark
    ]
    done = subprocess.run(
        [programs / "python", PROGRAMS / "doc_programs.py"],
        cwd=directory,
        input=json.dumps(steps),
        env={
            "PATH": f"{programs}:{os.defpath}",
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_SUBMIT_OPTS": os.environ["SPARK_SUBMIT_OPTS"],
        },
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "replaced a statically registered data source" not in done.stderr
    print(done.stdout)
    assert re.findall(r"^## (.+)$", done.stdout, re.MULTILINE) == [name for name, _, _ in steps]


@pytest.mark.wide
@pytest.mark.parametrize(
    "page", [page for page in PAGES if any(is_run(line) for block in COMMANDS[page] for line in block.commands)]
)
def test_commands_of_a_page_run_from_the_wheel(
    page: str, directory: Path, queueviz: Path, request: pytest.FixtureRequest
) -> None:
    needs_cluster = any("9876" in block.text for block in COMMANDS[page])
    cluster = request.getfixturevalue("cluster") if needs_cluster else ""
    steps = list(steps_of(COMMANDS[page], directory, cluster))
    done = subprocess.run(
        [queueviz, PROGRAMS / "doc_commands.py"],
        cwd=directory,
        input=json.dumps(steps),
        env=environment(directory / "home"),
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    outputs = {row["name"]: row["output"] for row in map(json.loads, done.stdout.splitlines())}
    assert list(outputs) == [name for name, _ in steps]
    for block in blocks():
        if block.page == page == "flights.md" and not block.language:
            rows = "".join(line for line in block.text.splitlines(keepends=True) if not line.startswith("result:"))
            assert any(rows in output for output in outputs.values()), (block.name, outputs)


def steps_of(page: list[Block], directory: Path, cluster: str) -> Iterator[tuple[str, list[str] | str]]:
    """Yield commands as lists of arguments and programs as text, each with a name."""
    for block in page:
        if block.language == "python":
            yield block.name, here(block.text, directory, cluster)
        for number, line in enumerate(block.commands):
            if is_run(line):
                assert line.startswith(COMMAND), line
                command = re.sub(r"\[--[^]]*]", "", here(line.removeprefix(COMMAND), directory, cluster))
                yield f"{block.name}+{number}", shlex.split(command, comments=True)
