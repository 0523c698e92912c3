"""Cost of the proof of a class: labs played as in browsers, each executed on the server from its list.

Students of all labs in turn; after a lab is solved, its producers and consumers work on until the time is over.  Only
the executions are measured.  A figure of 60 students is extrapolated from fewer ones.
"""

import tempfile
import time
from dataclasses import replace
from pathlib import Path

from sandbox.cluster.config import HostConfig
from sandbox.control.branch_orders import Came, RunOrder
from sandbox.hosting.data_home import taken_bytes
from sandbox.hosting.proof_run import Bounds, execute
from sandbox.hosting.recipes import written
from sandbox.labs.catalogue import LABS
from sandbox.labs.lab import Lab
from sandbox.simulation.lab_player import LabPlayer
from tests.sim.browser_run import BrowserRun

CLASS = 60
QUICK_STUDENTS = 6
MINUTES = 15.0
BEGIN_MS = 1_796_000_000_000
BOUNDS = Bounds(awake_ms=10**9, idle_ms=10**9, cpu_s=3_600.0, free_bytes=0)


def run(students: int = CLASS, minutes: float = MINUTES, *, quick: bool = False) -> dict[str, object]:
    """Return processor seconds of the executions, events, and bytes of the directories."""
    count = QUICK_STUDENTS if quick else students
    labs = list(LABS.values())
    cpu_s: list[float] = []
    events = taken = equal = 0
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        for number in range(count):
            lab = labs[number % len(labs)]
            order, receipts = _played(home / "browsers" / str(number), lab, str(number), minutes)
            began_s = time.process_time()
            directory = home / "executed" / f"lite-{number}"
            done = execute(order, directory, home=home, config=HostConfig(), bounds=BOUNDS)
            cpu_s.append(time.process_time() - began_s)
            events += done.events
            taken += taken_bytes(directory)
            equal += bool(done.rows) and done.rows[-1]["receipts"] == receipts
    return {
        "students": count,
        "minutes": minutes,
        "equal": equal,
        "events": events,
        "cpu_s_per_student": sum(cpu_s) / count,
        "most_cpu_s": max(cpu_s),
        "cpu_us_per_event": 1e6 * sum(cpu_s) / events,
        "cpu_minutes_of_60": CLASS * sum(cpu_s) / count / 60,
        "mib_per_student": taken / count / 1024**2,
    }


def _played(home: Path, lab: Lab, seed: str, minutes: float) -> tuple[RunOrder, object]:
    order = written(lab.template, lab.preset, seed, (), begin_ms=BEGIN_MS, until_ms=0, config=HostConfig())
    order = replace(order, changes=dict(lab.changes))
    browser = BrowserRun(home, order)
    lab.solve(LabPlayer(browser, lab))
    browser.run(max(0.0, minutes * 60 - browser.awake_s))
    came = tuple(
        Came(entry["turn"], entry["ms"], entry["name"], entry["fields"], by=entry["by"]) for entry in browser.entries()
    )
    receipts = browser.row()["receipts"]
    until_ms = browser.now_ms
    browser.close()
    return replace(order, came=came, until_ms=until_ms), receipts
