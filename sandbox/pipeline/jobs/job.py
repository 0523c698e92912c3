"""The type of a job: its input, its function and its result tables."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Source(NamedTuple):
    """Store roots by display name (`broker-a`), and journal directories by their sandbox; all directories."""

    stores: dict[str, Path]
    journals: dict[str, Path]


class Given(NamedTuple):
    """Input of one run: `options` are the job's own, as texts; `true_to`: the last entry of each journal to read.

    `is_to_end` returns True once the run is to end; only a job that follows must call it.
    `sealed`: the directory of sealed log files by store; what is in none is read from the store.
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
    """`run` returns tables by name, which the caller writes and counts.

    `publishes`: it returns none, and stores its result itself, batch by batch.  `formats` of the files that its option
    `format` may ask for, the default first.
    """

    name: str
    question: str
    run: "Callable[[Given], Mapping[str, DataFrame]]"
    options: tuple[str, ...] = ()
    publishes: bool = False
    formats: tuple[str, ...] = ("parquet",)


class WrongOption(ValueError):
    """An invalid option; the sentence names valid ones."""


def one_of(options: Mapping[str, Any], name: str, allowed: tuple[str, ...]) -> str:
    """Raises WrongOption."""
    value = str(options.get(name) or allowed[0])
    if value not in allowed:
        raise WrongOption(f"Unknown value --{name} {value}. Choose {', '.join(allowed)}.")
    return value
