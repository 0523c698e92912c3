"""The type of a job: its input, its function and its result tables."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NO_QUERY = 'Write the query after sql: pipeline sql "select topic, count(*) from messages group by 1".'


class Source(NamedTuple):
    """The input directories: store roots by display name (`broker-a`), and journal directories by sandbox."""

    stores: dict[str, Path]
    journals: dict[str, Path]


class Given(NamedTuple):
    """Input of one run.

    `options`: the job's own, as texts.  `true_to`: by sandbox, the last journal entry to read.  `is_to_end` returns
    True once the run is to end; only a job that follows must call it.  `sealed`: the directories of sealed log files
    by store; files that are not sealed are read from the store.
    """

    session: "SparkSession"
    source: Source
    options: Mapping[str, str]
    out: Path
    true_to: Mapping[str, int] = {}
    run: str = ""
    is_to_end: Callable[[], bool] = lambda: False
    sealed: Mapping[str, Path] = {}


class Job(NamedTuple):
    """A job of the pipeline: its name, function and options.

    `run` returns tables by name, which the caller writes and counts.  A job with `publishes` returns no table and
    stores its result itself, batch by batch.  `formats`: values of its option `format`, the default first.
    """

    name: str
    question: str
    run: "Callable[[Given], Mapping[str, DataFrame]]"
    options: tuple[str, ...] = ()
    publishes: bool = False
    formats: tuple[str, ...] = ("parquet",)


class WrongOption(ValueError):
    """Error: an option is invalid; the sentence names valid ones."""


def one_of(options: Mapping[str, object], name: str, allowed: tuple[str, ...]) -> str:
    """Return the value of option `name`, by default the first of `allowed`.  Raises WrongOption for any other value."""
    value = str(options.get(name) or allowed[0])
    if value not in allowed:
        raise WrongOption(f"Unknown value --{name} {value}. Choose {', '.join(allowed)}.")
    return value
