"""A run as a recipe: its origin, its seed, and actions with times; executed in virtual time."""

import tempfile
from pathlib import Path
from typing import NamedTuple

from sandbox.cluster import record as records
from sandbox.cluster.config import HostConfig
from sandbox.cluster.new_sandbox import new_record
from sandbox.cluster.origin import Origin
from sandbox.cluster.record import values_of
from sandbox.control.actions import parse_action
from sandbox.control.branch_orders import Done
from sandbox.control.limits import HostLimits
from sandbox.control.recipe_text import pack
from sandbox.hosting.branching import recipe_run
from sandbox.hosting.recipes import order_of
from sandbox.hosting.rerun import Rerun
from sandbox.journal.schema import CAME, Row
from sandbox.journal.segments import rows_since
from sandbox.kernel.errors import ActionRefused
from sandbox.queries.rows.snapshot import Snapshot
from sandbox.simulation.world import BEGIN_MS
from sandbox.store.config import physical_memory_bytes

OF_TIME = ("SetRate", "Step")  # a recipe is played at rate 1: its moments are those of the sandbox's clock


class Act(NamedTuple):
    """An action of a recipe.  `at_ms`: since the beginning of the run."""

    at_ms: int
    action: str
    fields: dict[str, object]


class Recipe(NamedTuple):
    """A run to execute.

    `home`: the data home with prepared feeds; None: they are prepared for this run.
    """

    origin: Origin
    seed: str
    acts: tuple[Act, ...]
    until_ms: int
    home: Path | None = None

    def row(self) -> dict[str, object]:
        record = self.origin.record
        return {
            "template": record["template"],
            "preset": record["preset"],
            "seed": self.seed,
            "acts": [act._asdict() for act in self.acts],
            "until_ms": self.until_ms,
            "recipe": self.text(),
        }

    def text(self) -> str | None:
        """Return the text of a reproducible link; None if a link cannot contain this run."""
        done = [Done(act.at_ms, parse_action({"action": act.action, **act.fields})) for act in self.acts]
        try:
            return pack(order_of(self.origin, self.seed, done, self.until_ms), HostLimits())
        except ActionRefused:
            return None


class PlayedRecipe(NamedTuple):
    rows: list[Row]
    last: Snapshot


def origin_of(template: str, preset: str) -> Origin:
    """Return the origin of an unchanged sandbox of the template.  Raises ActionRefused (422)."""
    config = HostConfig(repeatable=True)
    record = new_record(
        "recipe",
        template,
        preset=preset,
        seed=0,
        changes=None,
        limits=None,
        config=config,
        ports_taken=set(),
        now_ms=BEGIN_MS,
    )
    return Origin(values_of(record), config, physical_memory_bytes())


def acts_of(journal: Path, until_ms: int) -> tuple[Act, ...]:
    """Return the actions in a recorded run's first `until_ms`, without changes of the clock's rate.

    The history copied into a new sandbox does not count: it contains no actions.
    """
    acts: list[Act] = []
    began_ms: int | None = None
    for row in rows_since(journal, records.load(journal.parent).history_until):
        began_ms = row["at_ms"] if began_ms is None else began_ms
        if row["at_ms"] - began_ms > until_ms:
            break
        if row["type"] == "ActionTaken" and CAME in row and row["action"] not in OF_TIME:
            acts.append(Act(row["at_ms"] - began_ms, row["action"], row["fields"]))
    return tuple(acts)


def play(recipe: Recipe) -> PlayedRecipe:
    """Execute the actions of a recipe in a new sandbox and return the result.  Actions that are refused are skipped."""
    run = recipe_run(recipe.origin, recipe.seed, recipe.acts, recipe.until_ms)
    with (
        tempfile.TemporaryDirectory(prefix="recipe-") as scratch,
        Rerun(run.origin, run.lines, run.rows, home=recipe.home or Path(scratch), free=True) as rerun,
    ):
        rerun.run()
        assert rerun.sandbox is not None
        return PlayedRecipe(rerun.written(), rerun.sandbox.snapshot())
