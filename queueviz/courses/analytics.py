"""Difficulties of a class, for its teacher: results of the job `class_analytics` as bar charts and tables."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import NamedTuple, TypedDict, TypeVar

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from queueviz.courses.models import Course
from queueviz.runs.tables import Result
from queueviz.texts import Text
from sandbox.labs.catalogue import LABS

JOB = "class_analytics"
MOST_STEPS = 200
MOST_ROWS = 300  # of a table on the page
MINUTE_MS = 60_000


class InLab(TypedDict):
    """A row about one step of a lab."""

    lab: str
    step: int


class CountRow(InLab):
    count: int


class StepsRow(InLab):
    """A row of the table `steps`."""

    met: int
    median_ms: int
    p90_ms: int
    hints: int
    hinted: int
    predicted: int
    wrong: int


class PredictionRow(CountRow):
    """A row of the table `predictions`."""

    given: str
    truth: str


class MistakeRow(CountRow):
    """A row of the table `mistakes`."""

    text: str
    said: str
    sandboxes: int


class DeadEndRow(CountRow):
    """A row of the table `dead_ends`."""

    phase: str
    sandboxes: int


class HighestBar(TypedDict):
    """The highest bar, for readers who do not see the bars."""

    label: str
    value: str


B = TypeVar("B", bound=InLab)
R = TypeVar("R", bound=InLab)


class Plot(NamedTuple):
    """A bar chart with one bar per step, and its table.

    `labels` (lab, step) and `values` are the bars; `rows` have the cells of `columns`.  `digits`: decimal places of
    values and axis.
    """

    name: str
    title: Text
    unit: Text
    labels: list[str]
    values: list[float]
    columns: tuple[Text, ...]
    rows: list[tuple[object, ...]]
    is_cut: bool
    digits: int = 0

    @property
    def highest(self) -> HighestBar | None:
        """The highest bar, or None if every bar is zero."""
        value = max(self.values, default=0)
        return {"label": self.labels[self.values.index(value)], "value": f"{value:.{self.digits}f}"} if value else None


class Analytics(NamedTuple):
    """The bar charts of a course.  `made_at`: the time of the job's result; None: the job has not run."""

    made_at: datetime | None
    plots: tuple[Plot, ...]


def analytics_of(course: Course) -> Analytics:
    """Return the bar charts from the course's last result of the job.  Raises CorruptRecord."""
    result = Result(JOB, course.slug)
    if result.manifest is None:
        return Analytics(None, ())
    steps = _in_order(course, result, "steps", StepsRow)
    predictions = _in_order(course, result, "predictions", PredictionRow)
    mistakes = _in_order(course, result, "mistakes", MistakeRow)
    dead_ends = _in_order(course, result, "dead_ends", DeadEndRow)
    made_at = datetime.fromtimestamp(result.manifest.made_ms / 1000, UTC)
    lab, step = _("Lab"), _("Step")
    return Analytics(
        made_at,
        (
            _plot(
                "time",
                _("Time for a step"),
                _("minutes, median"),
                steps,
                lambda row: row["median_ms"] / MINUTE_MS,
                (lab, step, _("Attempts"), _("Median, minutes"), _("90th percentile, minutes")),
                lambda row: (row["met"], f"{row['median_ms'] / MINUTE_MS:.1f}", f"{row['p90_ms'] / MINUTE_MS:.1f}"),
                steps,
                1,
            ),
            _plot(
                "predictions",
                _("Wrong predictions"),
                _("% of predictions"),
                [row for row in steps if row["predicted"]],
                lambda row: 100 * row["wrong"] / row["predicted"],
                (lab, step, _("Predicted"), _("Actual (one example)"), _("Count")),
                lambda row: (row["given"], row["truth"], row["count"]),
                predictions,
            ),
            _plot(
                "mistakes",
                _("Wrong observations and reasons"),
                _("answers"),
                _summed(mistakes),
                lambda row: row["count"],
                (lab, step, _("Misconception and its feedback"), _("Count"), _("Students")),
                lambda row: (_answered(row), row["count"], row["sandboxes"]),
                mistakes,
            ),
            _plot(
                "hints",
                _("Hints"),
                _("hints used"),
                steps,
                lambda row: row["hints"],
                (lab, step, _("Hints used"), _("Attempts with hints")),
                lambda row: (row["hints"], row["hinted"]),
                steps,
            ),
            _plot(
                "dead_ends",
                _("Drop-off points"),
                _("attempts abandoned or stalled"),
                _summed(dead_ends),
                lambda row: row["count"],
                (lab, step, _("Phase"), _("Attempts"), _("Students")),
                lambda row: (gettext(PHASES[row["phase"]]), row["count"], row["sandboxes"]),
                dead_ends,
            ),
        ),
    )


PHASES = {"predict": "Predict", "do": "Act and observe", "say": "Report your observation", "why": "Why"}


def _plot(
    name: str,
    title: Text,
    unit: Text,
    bars: list[B],
    value: Callable[[B], float],
    columns: tuple[Text, ...],
    cells: Callable[[R], tuple[object, ...]],
    rows: list[R],
    digits: int = 0,
) -> Plot:
    bars = bars[:MOST_STEPS]
    return Plot(
        name,
        title,
        unit,
        [f"{_number(row)}.{row['step']}" for row in bars],
        [round(value(row), 3) for row in bars],
        columns,
        [(_number(row), row["step"], *cells(row)) for row in rows[:MOST_ROWS]],
        len(rows) > MOST_ROWS,
        digits,
    )


def _in_order(course: Course, result: Result, table: str, shape: type[R]) -> list[R]:
    """Return the table's rows of the course's labs, in the order of the course."""
    order = {lab: position for position, lab in enumerate(course.labs)}
    rows = result.rows(table, shape, most=MOST_STEPS * MOST_ROWS).rows
    return sorted(
        (row for row in rows if row["lab"] in order and row["lab"] in LABS),
        key=lambda row: (order[row["lab"]], row["step"]),
    )


def _summed(rows: Iterable[CountRow]) -> list[CountRow]:
    """Return one row per step, with the sum of the counts."""
    sums: dict[tuple[str, int], CountRow] = {}
    for row in rows:
        total = sums.setdefault((row["lab"], row["step"]), {"lab": row["lab"], "step": row["step"], "count": 0})
        total["count"] += row["count"]
    return list(sums.values())


def _number(row: InLab) -> str:
    return LABS[row["lab"]].number


def _answered(row: MistakeRow) -> str:
    """Return the answer in the reader's language if its text has no student's value; else one student's, in English."""
    return gettext(row["text"]) if row["text"] and "{" not in row["text"] else row["said"]
