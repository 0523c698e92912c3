"""Cost of an event in a browser's interpreter, as a ratio to CPython's: the same runs in both, one after the other.

Node.js has the compiler of Chromium; a page adds the drawing.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from sandbox.cluster.actors.feeds import prepare_flights
from tests.lite import any_run
from tests.lite.node_runs import ROOT, NodeRuns, read

RUNS = [(template, seed) for seed in range(500, 504) for template in ("flights", "orders", "payments", "cluster")]


def run() -> dict[str, object]:
    """Return seconds and microseconds an event in both, their ratio, and how many journals are equal."""
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        feeds = prepare_flights(home / "feed").parent
        words = [str(word) for pair in RUNS for word in pair]
        command = [sys.executable, "-m", any_run.__name__, str(home / "runs"), str(feeds), *words]
        done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, check=True)
        here, cpython_s = read(done.stdout)
        (home / "archives").mkdir()
        there, pyodide_s = NodeRuns(home / "archives", feeds).run(RUNS)
    events = sum(int(digest.split()[0]) for digest in here.values())
    return {
        "runs": len(RUNS),
        "equal_journals": sum(here[pair] == there[pair] for pair in RUNS),
        "events": events,
        "cpython_us_per_event": 1e6 * cpython_s / events,
        "pyodide_us_per_event": 1e6 * pyodide_s / events,
        "ratio": pyodide_s / cpython_s,
    }
