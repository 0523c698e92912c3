"""The test of a claim with many seeds in several processes, which also shortens a counterexample.

`python -m sandbox.simulation.try_claim` reads {"claim", "directory" or "template" and "preset", "seeds", "workers"}
and prints {"progress"}, then {"result"}.
"""

import multiprocessing
import signal
import statistics
import sys
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any, NamedTuple

from sandbox.cluster.journal_files import DIRECTORY
from sandbox.cluster.origin import Origin, load_origin
from sandbox.kernel.errors import ActionRefused
from sandbox.simulation.beside import Progress, serve
from sandbox.simulation.claims import AFTER_MS, CLAIMS, LAST_MS, case
from sandbox.simulation.recipe import Act, Recipe, acts_of, origin_of, play

SEEN_MS = 120_000  # of what was done to the run
PROBE_MS = 12_000  # until all members of the template are there
SHORTENED = 3  # of the cases with the fewest acts


class Basis(NamedTuple):
    """The part of a run that is common to all seeds."""

    origin: Origin
    acts: tuple[Act, ...]
    members: tuple[str, ...]
    home: Path | None = None  # see Recipe


class Tried(NamedTuple):
    """The result of one seed.  `cases`: the number of contradictions among `looked_at` cases."""

    seed: int
    recipe: Recipe
    looked_at: int
    cases: int
    sentence: str | None
    values: dict[str, str]


def basis_of(directory: Path | None, template: str, preset: str) -> Basis:
    """Return the common part of all runs, from a recorded directory or a template.

    Raises ActionRefused (422) if there is no consumer.
    """
    origin = load_origin(directory) if directory is not None else origin_of(template, preset)
    acts = acts_of(directory / DIRECTORY, SEEN_MS) if directory is not None else ()
    home = directory.parents[1] if directory is not None else None
    probe = Recipe(origin, "0", tuple(act for act in acts if act.at_ms <= PROBE_MS), PROBE_MS, home)
    members = sorted(
        {member["actor"] for group in play(probe).last["groups"] for member in group["members"] if member["actor"]}
    )
    if not members:
        raise ActionRefused(422, "No consumer is available to test this claim.", "Add a consumer first.")
    return Basis(origin, acts, tuple(members), home)


def try_seed(name: str, seed: int, basis: Basis, acts: tuple[Act, ...] | None = None) -> Tried:
    """Test the claim in the run of one seed.

    `acts`: the actions of the run, instead of all that belong to the seed.
    """
    claim = CLAIMS[name]
    done = case(claim, seed, list(basis.members), basis.acts) if acts is None else acts
    ends_ms = max((act.at_ms for act in done), default=LAST_MS) + AFTER_MS
    recipe = Recipe(basis.origin, str(seed), done, ends_ms, basis.home)
    played = play(recipe)
    cases = claim.against(played.rows, played.last)
    first = cases.cases[0] if cases.cases else None
    return Tried(seed, recipe, cases.looked_at, len(cases.cases), first and str(first), first.values if first else {})


def shorten(name: str, tried: Tried, basis: Basis) -> Tried:
    """Return the result of a run that still contradicts the claim, without the actions that are not needed for that."""
    index = 0
    while index < len(tried.recipe.acts):
        fewer = tried.recipe.acts[:index] + tried.recipe.acts[index + 1 :]
        again = try_seed(name, tried.seed, basis, fewer)
        tried, index = (again, index) if again.cases else (tried, index + 1)
    return tried


def try_claim(
    name: str, seeds: int, basis: Basis, *, workers: int, progress: Progress = lambda share: None
) -> dict[str, object]:
    began_s = time.monotonic()
    tried: list[Tried] = []
    for attempt in _each(name, range(seeds), basis, workers):
        tried.append(attempt)
        progress(len(tried) / seeds)
    broken = sorted(
        (attempt for attempt in tried if attempt.cases), key=lambda attempt: (len(attempt.recipe.acts), attempt.seed)
    )
    shortened = [shorten(name, attempt, basis) for attempt in broken[:SHORTENED]]
    shortest = min(shortened, key=lambda attempt: (len(attempt.recipe.acts), attempt.seed), default=None)
    return {
        "claim": name,
        "seeds": seeds,
        "held": seeds - len(broken),
        "broken": len(broken),
        "looked_at": sum(attempt.looked_at for attempt in tried),
        "counterexample": shortest
        and {
            **shortest.recipe.row(),
            "cases": shortest.cases,
            "sentence": shortest.sentence,
            "values": shortest.values,
        },
        "distribution": _distribution([attempt.cases for attempt in tried]),
        "took_s": round(time.monotonic() - began_s, 1),
        "workers": workers,
        "virtual_s": sum(attempt.recipe.until_ms for attempt in tried) // 1000,
    }


def _each(name: str, seeds: Iterable[int], basis: Basis, workers: int) -> Iterator[Tried]:
    """Test the seeds and yield the results as they come.  An interruption waits for running seeds."""
    if workers <= 1:
        yield from (try_seed(name, seed, basis) for seed in seeds)
        return
    pool = ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("forkserver"), initializer=_be_quiet)
    try:
        for done in as_completed([pool.submit(try_seed, name, seed, basis) for seed in seeds]):
            yield done.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _distribution(cases: list[int]) -> dict[str, float]:
    """Return the distribution of the number of cases in a run; 90 % are between `low` and `high`."""
    ordered = sorted(cases)
    low, high = (ordered[min(len(ordered) - 1, int(len(ordered) * share))] for share in (0.05, 0.95))
    return {"median": statistics.median(ordered), "low": low, "high": high, "most": ordered[-1]}


def _be_quiet() -> None:
    """Ignore SIGINT: the parent handles it and cancels what has not started."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # leaves the pool in order
    serve(_ordered)


def _ordered(order: dict[str, Any], progress: Progress) -> dict[str, object]:
    directory = Path(order["directory"]) if order.get("directory") else None
    basis = basis_of(directory, order.get("template", ""), order.get("preset", ""))
    return try_claim(order["claim"], order["seeds"], basis, workers=order["workers"], progress=progress)


if __name__ == "__main__":
    main()
