"""Simulations of many seeds in several processes, and the sum of their results."""

import multiprocessing
import signal
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from functools import partial
from typing import NamedTuple, TypeVar

from sandbox.simulation.run import Result, run_seed
from sandbox.simulation.violation import Violation

T = TypeVar("T")

AHEAD = 4  # seeds waiting for each worker: enough to keep it busy, few to drop at an interruption


class Work(NamedTuple):
    """The options common to all seeds."""

    profile: str = "mixed"
    minutes: float | None = None

    def again(self, seed: int) -> str:
        """Return the command that runs one seed again."""
        more = "" if self.profile == "mixed" else f" --profile {self.profile}"
        more += "" if self.minutes is None else f" --minutes {self.minutes:g}"
        return f"manage.py simulate --seed {seed}{more}"


class Tally:
    """The sums over the results of many seeds."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.seeds = 0
        self.virtual_s = 0.0
        self.entries = 0
        self.played: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.violations: list[tuple[int, Violation]] = []

    def add(self, result: Result) -> None:
        self.seeds += 1
        self.virtual_s += result.virtual_s
        self.entries += result.entries
        self.played += result.played
        self.refused += result.refused
        self.violations += [(result.seed, violation) for violation in result.violations]

    def figures(self, took_s: float) -> dict[str, object]:
        """Return the sums as JSON values."""
        return {
            "seeds": self.seeds,
            "seeds_per_s": round(self.seeds / took_s, 2) if took_s > 0 else None,
            "took_s": round(took_s, 1),
            "virtual_hours": round(self.virtual_s / 3600, 2),
            "events": self.entries,
            "played": dict(sorted(self.played.items())),
            "refused": dict(sorted(self.refused.items())),
            "violations": [
                {
                    "seed": seed,
                    "promise": violation.promise,
                    "sentence": violation.sentence,
                    "again": self.work.again(seed),
                }
                for seed, violation in sorted(self.violations)
            ],
        }


def run_many(seeds: Iterable[int], work: Work, *, workers: int) -> Iterator[Result]:
    """Run the seeds and yield their results as they come."""
    return play_many(partial(run_seed, profile=work.profile, minutes=work.minutes), seeds, workers=workers)


def play_many(play: Callable[[int], T], seeds: Iterable[int], *, workers: int) -> Iterator[T]:
    """Play the seeds and yield the results as they come.

    With one worker, they run in this process, in order.  An interruption waits for running seeds.
    """
    if workers <= 1:
        yield from map(play, seeds)
        return
    left = iter(seeds)
    pool = ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("forkserver"), initializer=_be_quiet)
    waiting: set[Future[T]] = set()
    try:
        while True:
            for seed in left:
                waiting.add(pool.submit(play, seed))
                if len(waiting) >= workers * AHEAD:
                    break
            if not waiting:
                return
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _be_quiet() -> None:
    """Ignore SIGINT: the parent handles it and cancels what has not started."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
