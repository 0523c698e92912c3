"""Values of a source's options; every error is one sentence."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches

from sandbox.pipeline.sources.cluster_access import truth_of
from sandbox.pipeline.sources.option_hints import OF_COLUMNS, Hints, check_hints

MIN_PARTITIONS = "minPartitions"
MAX_PARTITIONS = 100_000
NEAR = 0.65  # the least likeness of a suggested name


def check_names(options: Iterable[str], known: Sequence[str], hints: Hints, *unlisted: str) -> None:
    """Raise ValueError for an unknown option; the sentence suggests the nearest name.

    Names are case-insensitive, as Spark's own are.  `hints`: sentences about options of other sources.  `unlisted`:
    options that Spark sets.
    """
    if unknown := sorted({name for name in options if name.lower() not in map(str.lower, (*known, *unlisted))}):
        check_hints(unknown, hints)
        raise ValueError(f"No option {', '.join(unknown)}.{meant(unknown, known)} Options are: {', '.join(known)}.")


def meant(unknown: Iterable[str], known: Iterable[str]) -> str:
    """Return the part of a sentence that suggests the nearest names, empty if none is near."""
    lower = {name.lower(): name for name in known}
    near = [lower[match] for name in unknown for match in get_close_matches(name.lower(), lower, 1, NEAR)]
    return f" Did you mean {' and '.join(near)}?" if near else ""


def meant_columns(unknown: Iterable[str], known: Collection[str]) -> str:
    """Return the part of a sentence that suggests columns: those of Kafka's names, else the nearest."""
    names = list(unknown)
    kafkas = [column for name in names if (column := OF_COLUMNS.get(name.lower())) in known]
    return f" Did you mean {' and '.join(map(str, kafkas))}?" if kafkas else meant(names, known)


def count_of(options: Mapping[str, str], option: str) -> int | None:
    """Return the number of an option, or None without it.  Raises ValueError."""
    return None if (text := options.get(option)) is None else number_of(option, text.strip())


def number_of(option: str, text: str) -> int:
    """Return the number in an option's text, a count or an id.  Raises ValueError."""
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"Option {option} must be a number of 0 or more, not {text}.")
    return int(text)


def listed(options: Mapping[str, str], name: str) -> list[str]:
    """Return the parts of a comma-separated option."""
    return [part.strip() for part in options.get(name, "").split(",") if part.strip()]


def is_strict(options: Mapping[str, str]) -> bool:
    """Return the option failOnDataLoss, by default True.  Raises ValueError."""
    return truth_of("failOnDataLoss", options.get("failOnDataLoss", "true"))


def least_partitions(options: Mapping[str, str]) -> int:
    """Return the option minPartitions, the least number of tasks of a batch; 0 without it.  Raises ValueError."""
    least = count_of(options, MIN_PARTITIONS) or 0
    if least > MAX_PARTITIONS:
        raise ValueError(f"Option minPartitions is {least}; the maximum is {MAX_PARTITIONS}.")
    return least
