"""What a job is: a question, what it may read, and the tables that answer it."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Source(NamedTuple):
    """Store roots by a name to show (`broker-a`), and journal directories by their sandbox; all directories."""

    stores: dict[str, Path]
    journals: dict[str, Path]


class Given(NamedTuple):
    """What one run has: `options` are the job's own, as texts; `true_to`: the last entry of each journal to read.

    `is_to_end`: somebody wants it over; only what stays until then has to ask.
    """

    session: "SparkSession"
    source: Source
    options: Mapping[str, str]
    out: Path
    true_to: Mapping[str, int] = {}
    run: str = ""
    is_to_end: Callable[[], bool] = lambda: False


class Job(NamedTuple):
    """`run` gives tables by name; they are written and counted by who called it.

    `publishes`: it gives none, and keeps its result by itself, batch by batch.
    """

    name: str
    question: str
    run: "Callable[[Given], Mapping[str, DataFrame]]"
    options: tuple[str, ...] = ()
    publishes: bool = False


class WrongOption(ValueError):
    """What was asked for makes no sense; the sentence says what would."""


def one_of(options: Mapping[str, Any], name: str, allowed: tuple[str, ...]) -> str:
    """Raises WrongOption."""
    value = str(options.get(name) or allowed[0])
    if value not in allowed:
        raise WrongOption(f"--{name} {value} is not known here: choose {', '.join(allowed)}.")
    return value
