"""The interpreter of browsers, in Node.js, with an archive of the engine and of the stories told to it."""

import json
import shutil
import subprocess
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from queueviz.operations.lite_build import NotBuilt, json_wheel
from queueviz.operations.lite_sources import stdlib_sources
from sandbox.cluster.actors.feeds import prepare_flights
from sandbox.lite.bundle import modules_of
from tests.lite import story

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "script" / "lite"

Tell = Callable[[Iterable[tuple[str, int]]], dict[tuple[str, int], str]]


@pytest.fixture(scope="session")
def feeds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepare_flights(tmp_path_factory.mktemp("feeds")).parent


@pytest.fixture(scope="session")
def tell_in_node(tmp_path_factory: pytest.TempPathFactory, feeds: Path) -> Tell:
    """Return a function that runs stories and returns the digest of each."""
    if shutil.which("node") is None or not (ROOT / "node_modules" / "pyodide").is_dir():
        pytest.skip("no Node.js with Pyodide on this machine: script/setup node")
    try:
        wheel = json_wheel(ROOT, ROOT / "var")
    except NotBuilt as error:
        pytest.skip(str(error))
    folder = tmp_path_factory.mktemp("archive")
    modules = modules_of([story.__name__], {"sandbox", "tests"})
    sources = [(str(path), path.relative_to(ROOT).as_posix()) for path in modules.values()]
    with zipfile.ZipFile(ROOT / "node_modules" / "pyodide" / "python_stdlib.zip") as archive:
        archive.extractall(folder / "stdlib")
    library = [(str(path), name) for path, name in stdlib_sources(folder / "stdlib") if path.suffix == ".py"]
    packs = {"story.zip": {"python": sources}, "stdlib.zip": {"python": library}}
    order = {"out": str(folder), "packs": packs, "compress": []}
    subprocess.run(["node", SCRIPTS / "pack.mjs"], input=json.dumps(order), text=True, check=True, capture_output=True)

    def tell(stories: Iterable[tuple[str, int]]) -> dict[tuple[str, int], str]:
        words = [str(word) for pair in stories for word in pair]
        archive = [folder / "stdlib.zip", wheel, folder / "story.zip", feeds, story.__name__, "/stories", "/feeds"]
        done = subprocess.run(
            ["node", SCRIPTS / "run.mjs", *archive, *words], text=True, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr
        lines = (line.split(" ", 2) for line in done.stdout.splitlines() if line.count(" ") == 3)
        return {(template, int(seed)): digest for template, seed, digest in lines if seed.isdigit()}

    return tell
