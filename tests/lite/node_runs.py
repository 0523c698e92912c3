"""Random runs in Node.js, on the interpreter of browsers with the part of Python's library that they get."""

import json
import shutil
import subprocess
import zipfile
from collections.abc import Iterable
from pathlib import Path

from queueviz.operations.lite_build import NotBuilt, json_wheel
from queueviz.operations.lite_sources import stdlib_sources
from sandbox.lite.bundle import modules_of
from tests.lite import any_run

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "script" / "lite"

Runs = Iterable[tuple[str, int]]  # template and seed


class NodeRuns:
    """Archives of engine and library in `folder`.  Raises NotBuilt if Node.js, Pyodide or a wheel is missing."""

    def __init__(self, folder: Path, feeds: Path) -> None:
        pyodide = ROOT / "node_modules" / "pyodide"
        if shutil.which("node") is None or not pyodide.is_dir():
            raise NotBuilt("no Node.js with Pyodide on this machine: script/setup node")
        self._wheel = json_wheel(ROOT, ROOT / "var")
        self._folder = folder
        self._feeds = feeds
        with zipfile.ZipFile(pyodide / "python_stdlib.zip") as archive:
            archive.extractall(folder / "stdlib")
        library = [(str(path), name) for path, name in stdlib_sources(folder / "stdlib") if path.suffix == ".py"]
        modules = modules_of([any_run.__name__], {"sandbox", "tests"})
        engine = [(str(path), path.relative_to(ROOT).as_posix()) for path in modules.values()]
        packs = {"runs.zip": {"python": engine}, "stdlib.zip": {"python": library}}
        self._node("pack.mjs", text=json.dumps({"out": str(folder), "packs": packs, "compress": []}))

    def run(self, runs: Runs) -> tuple[dict[tuple[str, int], str], float]:
        """Return the digest of each run, and how many seconds all took."""
        words = [str(word) for pair in runs for word in pair]
        archives = [self._folder / "stdlib.zip", self._wheel, self._folder / "runs.zip", self._feeds]
        return read(self._node("run.mjs", *archives, any_run.__name__, "/runs", "/feeds", *words))

    def _node(self, script: str, *arguments: object, text: str = "") -> str:
        command = ["node", str(SCRIPTS / script), *map(str, arguments)]
        done = subprocess.run(command, input=text, text=True, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout


def read(printed: str) -> tuple[dict[tuple[str, int], str], float]:
    """Return digests and seconds out of what `any_run` has printed; a run may log lines of its own."""
    digests, seconds = {}, 0.0
    for line in printed.splitlines():
        if line.startswith(any_run.RUN):
            template, seed, digest = line.removeprefix(any_run.RUN).split(" ", 2)
            digests[template, int(seed)] = digest
        elif line.startswith(any_run.SECONDS):
            seconds = float(line.removeprefix(any_run.SECONDS))
    return digests, seconds
