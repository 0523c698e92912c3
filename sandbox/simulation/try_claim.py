"""The test of a claim with many seeds in several processes, which also shortens a counterexample.

`python -m sandbox.simulation.try_claim` reads {"claim", "directory" or "template" and "preset", "seeds", "workers"}
and prints {"progress"} with the {"partial"} result, then {"result"}.
"""

import multiprocessing
import signal
import statistics
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from pathlib import Path
from typing import Any, NamedTuple

from sandbox.cluster.journal_files import DIRECTORY
from sandbox.cluster.origin import Origin, load_origin
from sandbox.kernel.errors import ActionRefused
from sandbox.simulation.beside import Report, serve
from sandbox.simulation.claims import AFTER_MS, CLAIMS, LAST_MS, case
from sandbox.simulation.member_labels import labels_of
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
    members = sorted(set(labels_of(play(probe).last).values()))
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
    labels = labels_of(played.last)
    values = {name: labels.get(value, value) for name, value in first.values.items()} if first else {}
    return Tried(seed, recipe, cases.looked_at, len(cases.cases), first and str(first), values)


class Shortening:
    """The removal of the actions that a counterexample does not need, one run for each."""

    def __init__(self, tried: Tried) -> None:
        self.shortest = tried
        self.drawn = len(tried.recipe.acts)
        self._index = 0

    @property
    def is_over(self) -> bool:
        return self._index >= len(self.shortest.recipe.acts)

    @property
    def fewer(self) -> tuple[Act, ...]:
        """The actions of the next run to try."""
        acts = self.shortest.recipe.acts
        return acts[: self._index] + acts[self._index + 1 :]

    def take(self, again: Tried) -> None:
        """Take the result of the run with `fewer` actions."""
        if again.cases:
            self.shortest = again
        else:
            self._index += 1


def shorten(name: str, tried: Tried, basis: Basis) -> Tried:
    """Return the result of a run that still contradicts the claim, without the actions that are not needed for that."""
    shortening = Shortening(tried)
    while not shortening.is_over:
        shortening.take(try_seed(name, tried.seed, basis, shortening.fewer))
    return shortening.shortest


def _silent(share: float, partial: object = None) -> None:
    """Report nothing."""


def try_claim(name: str, seeds: int, basis: Basis, *, workers: int, progress: Report = _silent) -> dict[str, object]:
    """Test the claim with the seeds, and report the result so far after each run.

    The first counterexample gets shorter while the other seeds run.
    """
    began_s = time.monotonic()
    tried: list[Tried] = []
    shortened: dict[int, Shortening] = {}

    def result(of: list[Shortening]) -> dict[str, object]:
        took_s = round(time.monotonic() - began_s, 1)
        return {**_result(name, seeds, tried, of), "took_s": took_s, "workers": workers}

    with _pool(workers) as pool:
        for _ in _runs(pool, workers, name, basis, deque(range(seeds)), tried, shortened):
            progress(len(tried) / seeds, result(list(shortened.values())))
        for attempt in _broken(tried)[:SHORTENED]:
            shortening = shortened.setdefault(attempt.seed, Shortening(attempt))
            while not shortening.is_over:
                shortening.take(pool.submit(try_seed, name, attempt.seed, basis, shortening.fewer).result())
                progress(1, result(list(shortened.values())))
    return result(list(shortened.values()))


def _broken(tried: list[Tried]) -> list[Tried]:
    """Return the runs that contradict the claim, those with the fewest actions first."""
    broken = (attempt for attempt in tried if attempt.cases)
    return sorted(broken, key=lambda attempt: (len(attempt.recipe.acts), attempt.seed))


def _runs(
    pool: Executor,
    workers: int,
    name: str,
    basis: Basis,
    seeds: deque[int],
    tried: list[Tried],
    shortened: dict[int, Shortening],
) -> Iterator[None]:
    """Run the seeds, and the steps that shorten the first counterexample.  Yield after each run."""
    running: dict[Future[Tried], Shortening | None] = {}
    while seeds or running:
        steps = [step for step in shortened.values() if not step.is_over and step not in running.values()]
        while len(running) < workers and (steps or seeds):
            if steps:
                step = steps.pop()
                running[pool.submit(try_seed, name, step.shortest.seed, basis, step.fewer)] = step
            else:
                running[pool.submit(try_seed, name, seeds.popleft(), basis)] = None
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            attempt, shortening = future.result(), running.pop(future)
            if shortening is not None:
                shortening.take(attempt)
            else:
                tried.append(attempt)
                if attempt.cases and not shortened:
                    shortened[attempt.seed] = Shortening(attempt)
            yield


def _result(name: str, seeds: int, tried: list[Tried], shortened: list[Shortening]) -> dict[str, object]:
    broken = sum(attempt.cases > 0 for attempt in tried)
    least = min(shortened, key=lambda of: (len(of.shortest.recipe.acts), of.shortest.seed), default=None)
    return {
        "claim": name,
        "seeds": seeds,
        "tried": sorted((attempt.seed, attempt.cases) for attempt in tried),
        "held": len(tried) - broken,
        "broken": broken,
        "looked_at": sum(attempt.looked_at for attempt in tried),
        "counterexample": least
        and {
            **least.shortest.recipe.row(),
            "cases": least.shortest.cases,
            "sentence": least.shortest.sentence,
            "values": least.shortest.values,
            "drawn": least.drawn,
        },
        "distribution": _distribution([attempt.cases for attempt in tried]),
        "virtual_s": sum(attempt.recipe.until_ms for attempt in tried) // 1000,
    }


class _Inline(Executor):
    """An executor that runs each task at once, in this process."""

    def submit(self, task: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(task(*args, **kwargs))
        return future


def _pool(workers: int) -> Executor:
    """Return the executor of the runs.  At an interruption it waits for those that run."""
    if workers <= 1:
        return _Inline()
    return ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("forkserver"), initializer=_be_quiet)


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


def _ordered(order: dict[str, Any], progress: Report) -> dict[str, object]:
    directory = Path(order["directory"]) if order.get("directory") else None
    basis = basis_of(directory, order.get("template", ""), order.get("preset", ""))
    return try_claim(order["claim"], order["seeds"], basis, workers=order["workers"], progress=progress)


if __name__ == "__main__":
    main()
