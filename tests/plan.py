"""Plan of a run: which of the costly tests it plays.  The same for a commit on every machine: nothing is timed here.

Cheap tests are in every run.  Costly tests are counted in units: a file, or of a file what is marked `wide` or `alone`,
or a file once more on PostgreSQL.  A run plays the units near the change, nearest first, up to a budget of seconds; a
run of the ring also plays the next part of all units in the order of their names' checksums: docs/testing.md.
"""

import json
import re
import zlib
from collections.abc import Iterable, Mapping, Set
from pathlib import Path, PurePosixPath
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
SECONDS = Path(__file__).with_name("seconds.json")
CHEAP = ("unit", "web", "house", "seed", "lti", "property", "drawings", "golden")  # folders that each run plays whole
SMALLEST = (
    "tests/browser/test_smallest_walk_in_a_browser.py",
    "tests/lite/test_smallest_journals.py",
    "tests/pipeline/test_smallest_job.py",
    "tests/server/test_smallest_start.py",
    "tests/sim/test_smallest_lab.py",
)  # of each costly kind, in each run
ON_REQUEST = ("robustness",)  # ten minutes of it are played by its own command alone
POSTGRESQL = "postgresql:"  # begins the units that are files once more on PostgreSQL
TWICE = ("web", "attacks")  # folders whose files are such units, too
MARKS = ("wide", "alone")
NAMED = ("static/", "templates/", "queueviz/pages/", "sandbox/labs/", "sandbox/pipeline/jobs/")  # by tests, as words
BY_NAME = ("sandbox/labs/catalogue/", "sandbox/pipeline/jobs/")  # modules that come with their package alone
UNKNOWN_S = 20.0  # a unit that was never measured
NEAR_S, PACE_S = 480.0, 1350.0  # worker seconds: of what is near, and of the ring with each landing

Seconds = Mapping[str, float]  # unit → seconds of one of three workers


class Stage(NamedTuple):
    """A run of pytest: `workers` at a time (0: in the process itself), `arguments` beside the plan."""

    workers: int
    arguments: tuple[str, ...]


STAGES = {
    "tests": Stage(3, ("tests",)),
    "interop": Stage(6, ("tests/interop",)),  # which mostly wait
    "postgresql": Stage(3, ("-p", "tests.databases.on_postgresql", "tests/web", "tests/attacks", "tests/databases")),
    "alone": Stage(0, ("tests/attacks",)),
}


class Plan(NamedTuple):
    """Units a run plays; `left_out` are near and too costly for the budget."""

    near: tuple[str, ...]
    ring: tuple[str, ...]
    left_out: tuple[str, ...]


def unit_of(path: str, mark: str = "") -> str:
    return f"{path}::{mark}" if mark else path


def path_of(unit: str) -> str:
    return unit.removeprefix(POSTGRESQL).partition("::")[0]


def stage_of(unit: str) -> str:
    """Return the stage that plays a unit.

    >>> stage_of("postgresql:tests/web/test_api.py"), stage_of("tests/attacks/test_live_flood.py::alone")
    ('postgresql', 'alone')
    """
    if unit.startswith(POSTGRESQL):
        return "postgresql"
    if unit.endswith("::alone"):
        return "alone"
    return "interop" if folder_of(unit) == "interop" else "tests"


def folder_of(unit: str) -> str:
    return PurePosixPath(path_of(unit)).parts[1]


def is_cheap(unit: str) -> bool:
    """Return whether every run plays the test."""
    return unit in SMALLEST or (folder_of(unit) in CHEAP and unit == path_of(unit))


def units_of(texts: Mapping[str, str]) -> list[str]:
    """Return all costly units of test files, given path → text, in the order of the ring."""
    units = [unit for path, text in texts.items() for unit in _units_of_file(path, text) if not is_cheap(unit)]
    return sorted(units, key=lambda unit: zlib.crc32(unit.encode()))


def _units_of_file(path: str, text: str) -> Iterable[str]:
    folder = folder_of(path)
    if folder in ON_REQUEST:
        return
    if folder != "databases":
        yield unit_of(path)
    yield from (
        unit_of(path, mark)
        for mark in MARKS
        if re.search(
            rf"(?:^@|^pytestmark = |marks=|else )pytest\.mark\.{mark}\b|^from tests\.{mark} import", text, re.M
        )
    )
    if folder in TWICE or folder == "databases":
        yield f"{POSTGRESQL}{path}"


def near(
    units: Iterable[str],
    changed: Set[str],
    imports: Mapping[str, Set[str]],
    texts: Mapping[str, str],
    scripts: Mapping[str, str],
) -> list[list[str]]:
    """Return the units near changed paths, an inner ring first: their own files; those one import away, or called like
    a page, a lab or a job; those that name one; those that name a page which loads a changed script.
    """
    changed = changed | {f"{PurePosixPath(path).parent}/__init__.py" for path in changed if path.startswith(BY_NAME)}
    words = {_word(path) for path in changed if path.startswith(NAMED)} - {"__init__", "base"}
    called, named = _any_of(words, r"(?:^|_)", r"(?:_|$)"), _any_of(words, r"(?<![.\w])", r"(?![\w(])")
    loads = _any_of({_word(path) for path in _loading(changed, scripts)}, r"(?<![.\w])", r"(?![\w(])")
    rings: list[list[str]] = [[], [], [], []]
    for unit in units:
        path = path_of(unit)
        if path in changed:
            rings[0].append(unit)
        elif unit != path:
            continue  # wide, alone or twice: only with a change of the file itself
        elif not changed.isdisjoint(imports.get(path, ())) or called.search(PurePosixPath(path).stem):
            rings[1].append(unit)
        elif named.search(texts[path]):
            rings[2].append(unit)
        elif folder_of(path) == "browser" and loads.search(texts[path]):
            rings[3].append(unit)
    return rings


def _word(path: str) -> str:
    return re.sub(r"^page_", "", PurePosixPath(path).stem)


def _any_of(words: Iterable[str], before: str, after: str) -> "re.Pattern[str]":
    """Match one of the words, also with dashes as in an address; without words match nothing."""
    found = "|".join(re.escape(word).replace("_", "[-_]") for word in sorted(words))
    return re.compile(f"{before}(?:{found}){after}" if found else r"(?!)")


def _loading(changed: Set[str], scripts: Mapping[str, str]) -> set[str]:
    """Return the scripts of pages that load a changed script, themselves or through others."""
    found, pending = set(), [path for path in changed if path in scripts]
    while pending:
        name = PurePosixPath(pending.pop()).name
        more = {path for path, text in scripts.items() if f'/{name}"' in text} - found
        found |= more
        pending += more
    return {path for path in found if PurePosixPath(path).name.startswith("page_")}


def choose(units: list[str], rings: list[list[str]], seconds: Seconds, number: int, pace_s: float) -> Plan:
    """Return what landing `number` plays: near units up to NEAR_S, and `pace_s` of the ring (0: none of it).

    A unit of several rings belongs to the innermost.
    """
    chosen, left_out, used_s = [], [], 0.0
    ordered = [unit for ring in rings for unit in sorted(ring, key=lambda unit: seconds.get(unit, UNKNOWN_S))]
    for unit in dict.fromkeys(ordered):
        if used_s + seconds.get(unit, UNKNOWN_S) <= NEAR_S:
            chosen.append(unit)
            used_s += seconds.get(unit, UNKNOWN_S)
        else:
            left_out.append(unit)
    part = turn(units, seconds, number, pace_s)
    return Plan(
        tuple(chosen),
        tuple(unit for unit in part if unit not in chosen),
        tuple(unit for unit in left_out if unit not in part),
    )


def turn(units: list[str], seconds: Seconds, number: int, pace_s: float) -> list[str]:
    """Return the units that begin in the part of the ring from `number` × PACE_S seconds on, `pace_s` long."""
    total_s = sum(seconds.get(unit, UNKNOWN_S) for unit in units)
    start_s, result = 0.0, []
    first_s = number * PACE_S % total_s if total_s else 0.0
    for unit in units:
        if (start_s - first_s) % total_s < pace_s:
            result.append(unit)
        start_s += seconds.get(unit, UNKNOWN_S)
    return result


def landings_since(unit: str, units: list[str], seconds: Seconds, number: int) -> int:
    """Return how many landings ago the ring played a unit."""
    return next(back for back in range(1, len(units) + 2) if unit in turn(units, seconds, number - back, PACE_S))


def read_seconds() -> tuple[float, Seconds]:
    """Return the calibration of the machine that measured, in µs a round, and the seconds of each unit."""
    recorded = json.loads(SECONDS.read_text())
    return recorded["calibration_us"], recorded["seconds"]


def read_scripts() -> dict[str, str]:
    return {path.relative_to(ROOT).as_posix(): path.read_text() for path in ROOT.glob("static/queueviz/js/*.js")}


def read_texts() -> dict[str, str]:
    return {path.relative_to(ROOT).as_posix(): path.read_text() for path in sorted(ROOT.glob("tests/**/test_*.py"))}
