"""The run of a reproducible link (docs/sharing.md), executed up to its last event; it continues in `pass_s`."""

import tempfile
from pathlib import Path

from sandbox.cluster.config import HostConfig
from sandbox.control.actions import Action
from sandbox.control.branch_orders import BY
from sandbox.control.questions import Question
from sandbox.control.recipe_text import unpack
from sandbox.hosting.recipes import run_of
from sandbox.hosting.rerun import Rerun
from sandbox.hosting.sandbox import Sandbox
from sandbox.journal.schema import Row
from sandbox.kernel.errors import ActionRefused
from sandbox.queries.rows.findings import Findings
from sandbox.queries.rows.snapshot import Snapshot


class RecipeRun:
    """A sandbox rebuilt from the recipe in a reproducible link.

    Raises ActionRefused: 409 if the recipe's host has other limits, or if the run ends asleep; 422 for an invalid
    recipe.
    """

    def __init__(self, text: str) -> None:
        config = HostConfig()
        run = run_of(unpack(text, config.limits), config)
        self._scratch = tempfile.TemporaryDirectory(prefix="queueviz-")
        self._rerun = Rerun(run.origin, run.lines, run.rows, home=Path(self._scratch.name), until=run.until)
        try:
            self._rerun.run()
            self._sandbox = self._awake()
        except BaseException:
            self.close()
            raise

    def _awake(self) -> Sandbox:
        sandbox = self._rerun.sandbox
        if sandbox is None or sandbox.ended:
            raise ActionRefused(
                409,
                "This reproducible link ends while the sandbox is asleep.",
                "Request a link that ends while the sandbox is awake.",
            )
        return sandbox

    def act(self, action: Action) -> int:
        with self._rerun.entered():
            return self._sandbox.act(action, BY)

    def ask(self, question: Question) -> dict[str, object]:
        with self._rerun.entered():
            return self._sandbox.ask(question)

    def pass_s(self, seconds: float) -> None:
        """Run for this many seconds of the sandbox's clock.  A stopped clock does not advance."""
        for _ in self._rerun.on_until(self._sandbox.cluster.clock.now_ms() + int(seconds * 1000)):
            pass

    def snapshot(self) -> Snapshot:
        return self._sandbox.snapshot()

    def findings(self) -> Findings:
        return self._sandbox.findings.read()

    def rows(self, after: int) -> list[Row]:
        return [row for row in self._rerun.written() if row["seq"] > after]

    def close(self) -> None:
        with self._rerun:
            pass
        self._scratch.cleanup()
