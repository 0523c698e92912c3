"""The progress of a run on standard error: a bar on a terminal, otherwise a line every few seconds."""

import sys
import time

from tqdm import tqdm

from sandbox.pipeline.runs.launch import Report

EVERY_S = 5.0


class ProgressLine:
    """The progress of one run.  Use it as a context manager.

    `first`: the text to show at once, before the first report.
    """

    def __init__(self, first: str) -> None:
        self._is_terminal = sys.stderr.isatty()
        self._bar = tqdm(disable=not self._is_terminal, unit=" tasks", desc=first)
        self._printed_s = time.monotonic()
        if not self._is_terminal:
            print(f"{first} …", file=sys.stderr, flush=True)

    def __enter__(self) -> "ProgressLine":
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def show(self, report: Report) -> None:
        """Show the stage and its tasks, if the report has them."""
        if "tasks" not in report:
            return
        if self._is_terminal:
            self._bar.total, self._bar.n = report["tasks"], report["done"]
            self._bar.set_description(f"stage {report['stage']}")
        elif time.monotonic() - self._printed_s >= EVERY_S:
            self._printed_s = time.monotonic()
            print(f"stage {report['stage']}: {report['done']} of {report['tasks']} tasks", file=sys.stderr, flush=True)
