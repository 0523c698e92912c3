"""A process that speaks as Spark's does, and does what a run's job is called, without any Spark.

`done` answers with a result, `grading` without; `fails` with neither, `ends` and its process with it; `waits` until it
is cancelled; `deaf` for ever; `dies`, `kills` itself, is out of `memory`, or talks `nonsense`.
"""

import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

from sandbox.pipeline.runs.launch import Child

ROOT = Path(__file__).parents[2]


class ScriptedChild(Child):
    """`launch.Child` with this module as its process."""

    def __init__(self, words: Path) -> None:
        self._ends = ExitStack()
        with words.open("wb") as file:
            self._process = subprocess.Popen(
                [sys.executable, __file__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=file,
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
            )

    @property
    def pid(self) -> int:
        return self._process.pid


def main() -> None:
    import orjson

    from sandbox.pipeline.runs.results import Manifest, Table, publish

    def report(**said: object) -> None:
        sys.stdout.buffer.write(orjson.dumps(said, option=orjson.OPT_APPEND_NEWLINE))
        sys.stdout.buffer.flush()

    waiting: set[str] = set()
    for line in sys.stdin.buffer:
        order = orjson.loads(line)
        if "cancel" in order:
            if order["cancel"] in waiting:
                report(run=order["cancel"], state="cancelled")
            continue
        run, job = order["run"], order["job"]
        report(run=run, state="starting")
        report(run=run, state="running", stage=3, done=1, tasks=4)
        if job == "done":
            out = Path(order["out"])
            out.mkdir(parents=True, exist_ok=True)
            publish(
                out,
                Manifest(job, run, {"summary": Table("nowhere", 7)}, dict.fromkeys(order["journals"], 18_390), 1, {}),
            )
            report(run=run, state="done", tables={"summary": 7})
        elif job == "grading":  # its tables are there already
            report(run=run, state="done", tables={"attempts": len(order["journals"])})
        elif job == "fails":
            report(run=run, state="failed", why="The store is no store.")
        elif job == "ends":
            report(run=run, state="failed", why="Spark is gone.")
            sys.exit(0)
        elif job == "dies":
            sys.exit(3)
        elif job == "kills":
            os.kill(os.getpid(), 9)
        elif job == "memory":
            sys.stderr.write("java.lang.OutOfMemoryError: Java heap space\n")
            sys.exit(1)
        elif job == "nonsense":
            sys.stdout.buffer.write(b"Exception in thread main\n")
            sys.stdout.buffer.flush()
        elif job == "waits":
            waiting.add(run)


if __name__ == "__main__":
    main()
