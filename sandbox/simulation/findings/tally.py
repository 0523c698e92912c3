"""The sums over many runs with planted troubles: recall and delay by code, and false alarms."""

from collections import defaultdict
from collections.abc import Iterator
from statistics import median
from typing import TypedDict

from sandbox.simulation.findings.plants import PLANTS
from sandbox.simulation.findings.run import FindingRun, Planted

LEAST_RECALL = 0.95
MOST_FALSE = 1.0  # in 100 healthy minutes


class CodeFigures(TypedDict):
    """`missed`: the seeds whose planted trouble was not found; delays are None without one that was found."""

    planted: int
    found: int
    recall: float | None
    median_delay_ms: int | None
    least_delay_ms: int
    missed: list[int]


class FindingFigures(TypedDict):
    """`false`: the seed and the code of each false alarm."""

    codes: dict[str, CodeFigures]
    false_per_100_min: float
    healthy_minutes: float
    false: list[tuple[int, str]]


class FindingTally:
    def __init__(self) -> None:
        self.seeds = 0
        self.refused: dict[str, list[int]] = defaultdict(list)  # plants whose action was refused, by code
        self._planted: dict[str, list[tuple[int, Planted]]] = defaultdict(list)
        self._false: list[tuple[int, str]] = []
        self._healthy_s = 0.0

    def add(self, run: FindingRun) -> None:
        self.seeds += 1
        self._healthy_s += run.healthy_s
        self._false += [(run.seed, code) for code in run.wrong]
        for planted in run.planted:
            if planted.refused:
                self.refused[planted.code].append(run.seed)
            else:
                self._planted[planted.code].append((run.seed, planted))

    def figures(self) -> FindingFigures:
        minutes = self._healthy_s / 60
        return {
            "codes": {code: self._figures_of(code) for code in sorted({*self._planted, *self.refused})},
            "false_per_100_min": round(100 * len(self._false) / minutes, 2) if minutes else 0.0,
            "healthy_minutes": round(minutes, 1),
            "false": sorted(self._false),
        }

    def _figures_of(self, code: str) -> CodeFigures:
        rows = self._planted.get(code, [])
        delays = [planted.after_ms for _, planted in rows if planted.after_ms is not None]
        return {
            "planted": len(rows),
            "found": len(delays),
            "recall": round(len(delays) / len(rows), 3) if rows else None,
            "median_delay_ms": round(median(delays)) if delays else None,
            "least_delay_ms": round(PLANTS[code].least_s * 1000),
            "missed": sorted(seed for seed, planted in rows if planted.after_ms is None),
        }


def reaches_goals(figures: FindingFigures) -> bool:
    recalls = [each["recall"] for each in figures["codes"].values() if each["recall"] is not None]
    return figures["false_per_100_min"] <= MOST_FALSE and all(recall >= LEAST_RECALL for recall in recalls)


def lines_of(tally: FindingTally) -> Iterator[str]:
    """Yield the figures as a table."""
    figures = tally.figures()
    yield f"{'code':<26}{'planted':>8}{'found':>7}{'recall':>8}{'median':>9}{'least':>8}  missed"
    for code, each in figures["codes"].items():
        recall = "–" if each["recall"] is None else f"{each['recall']:.2f}"
        delay = "–" if each["median_delay_ms"] is None else f"{each['median_delay_ms'] / 1000:.0f} s"
        least, missed = f"{each['least_delay_ms'] / 1000:.0f} s", " ".join(map(str, each["missed"]))
        row = f"{code:<26}{each['planted']:>8}{each['found']:>7}{recall:>8}{delay:>9}{least:>8}  {missed}"
        yield row.rstrip()
    for code, seeds in sorted(tally.refused.items()):
        yield f"{code}: refused, so not planted, in {' '.join(map(str, sorted(seeds)))}"
    yield (
        f"{tally.seeds} seeds, {figures['healthy_minutes']:,.0f} healthy minutes: "
        f"{figures['false_per_100_min']:g} false findings per 100 minutes"
    )
    for seed, code in figures["false"]:
        yield f"false: seed {seed}, {code}"
