"""The run of a plan, stage by stage: `script/test` and its words `ring`, `whole` and `plan` end here.

    python -m tests.stages near|ring|whole|plan [--seconds]

It says first what it plays and what near was left out, and last where the time went.  A red of the ring that is not
near the change is played once on the commit before the landing: red there, too, it is reported and does not block.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from tests import plan
from tests.bench.calibration import calibrate
from tests.imports import read_graph
from tests.landings import Landing, landing
from tests.plan import ROOT, STAGES, Plan, Seconds

KINDS = ("near", "ring", "whole", "plan")
FAILED, NO_TESTS = 1, 5  # pytest's exit codes
STEPS = "QUEUEVIZ_STEPS"  # a file of what came before, one "name wall_s processor_s" a line: script/step
ALL_ARE_CHEAP = "tests"  # the stage that also plays all cheap files


class Step(NamedTuple):
    name: str
    wall_s: float
    processor_s: float


class Result(NamedTuple):
    """The result of a stage: pytest's exit code, ids of failed tests, seconds of each unit."""

    code: int
    failed: list[str]
    seconds: dict[str, float]


def main(words: list[str]) -> int:
    kind, options = (words[0] if words else "near"), words[1:]
    if kind not in KINDS or set(options) - {"--seconds"}:
        print(f"python -m tests.stages {'|'.join(KINDS)} [--seconds]", file=sys.stderr)
        return 2
    now = landing()
    calibration_us, seconds = plan.read_seconds()
    speed = calibration_us / calibrate()
    chosen = planned(kind, now, seconds, speed)
    print("\n".join(header(kind, chosen, now, seconds, speed)), flush=True)
    if kind == "plan":
        return 0
    steps, results = read_steps(), {}
    builds = build_clients(chosen)
    for stage in STAGES:
        units = [unit for unit in (*chosen.near, *chosen.ring) if plan.stage_of(unit) == stage]
        if units or stage == ALL_ARE_CHEAP:
            if stage == "interop" and builds is not None:
                builds.wait()
            begun_s, processor_s = time.monotonic(), _children_s()
            results[stage] = play(stage, units, *(["--release"] if kind == "whole" else []))
            steps.append(Step(stage, time.monotonic() - begun_s, _children_s() - processor_s))
    red = judge(results, chosen, "" if kind == "whole" else now.base, now.number)  # before a release all reds count
    if "--seconds" in options:
        measured = {unit: spent for result in results.values() for unit, spent in result.seconds.items()}
        whole = {stage for stage, result in results.items() if result.code in (0, FAILED)}
        empty = {unit: 0.0 for unit in (*chosen.near, *chosen.ring) if plan.stage_of(unit) in whole}
        write_seconds({**empty, **measured}, seconds, speed)  # a unit without a test takes no time
    print("\n".join(table(steps, speed)))
    return red


def planned(kind: str, now: Landing, seconds: Seconds, speed: float) -> Plan:
    """Return the units of that kind of run; a slow machine plays less of the ring, never less of what is near."""
    texts = plan.read_texts()
    units = plan.units_of(texts)
    if kind == "whole":
        return Plan((), tuple(units), ())
    imports, scripts = read_imports(texts), plan.read_scripts()
    rings = [ring for paths in (now.open, now.changed) for ring in plan.near(units, paths, imports, texts, scripts)]
    if kind == "near":  # what needs more than script/setup brings, or the machine alone, waits for the ring
        rings = [[unit for unit in ring if plan.stage_of(unit) == "tests"] for ring in rings]
    return plan.choose(units, rings, seconds, now.number, 0.0 if kind == "near" else plan.PACE_S * min(1.0, speed))


def read_imports(texts: Iterable[str]) -> dict[str, frozenset[str]]:
    """Return the imports of test files; a `conftest.py` counts as imported by those in its folder."""
    graph = read_graph()
    return {
        path: graph[path]
        | {f"{'/'.join(path.split('/')[:depth])}/conftest.py" for depth in range(2, path.count("/") + 1)}
        for path in texts
    }


def header(kind: str, chosen: Plan, now: Landing, seconds: Seconds, speed: float) -> list[str]:
    """Return what is played and what is not, in sentences."""

    def sum_s(units: Iterable[str]) -> str:
        return f"{sum(seconds.get(unit, plan.UNKNOWN_S) for unit in units):.0f} s"

    lines = [
        f"Landing {now.number} since {now.base or 'no commit'}: {len(now.changed)} files changed.",
        f"Machine: {speed:.2f} times the speed of the one in tests/seconds.json.",
        f"All cheap tests; {len(chosen.near)} units near the change ({sum_s(chosen.near)} of a worker); "
        f"{len(chosen.ring)} of the ring ({sum_s(chosen.ring)}).",
    ]
    lines += [f"  near: {unit}" for unit in chosen.near]
    if kind != "whole":
        lines += [f"  ring: {unit}" for unit in chosen.ring]
    lines += [
        f"  near, but too costly for this run: {unit} ({sum_s([unit])}); script/test {plan.path_of(unit)}"
        for unit in chosen.left_out
    ]
    return lines


def build_clients(chosen: Plan) -> "subprocess.Popen[bytes] | None":
    """Begin to build other people's clients, if a stage needs them, while the tests before it run."""
    if not any(plan.stage_of(unit) == "interop" for unit in (*chosen.near, *chosen.ring)):
        return None
    return subprocess.Popen(
        ["nice", "-n", "19", sys.executable, "-m", "tests.interop.prepare"], cwd=ROOT, stdout=subprocess.DEVNULL
    )


def play(stage: str, units: list[str], *more: str) -> Result:
    """Run pytest on a stage's units."""
    how = STAGES[stage]
    with tempfile.TemporaryDirectory() as folder:
        order, answer = Path(folder, "plan.json"), Path(folder, "results.json")
        prefix = plan.POSTGRESQL if stage == "postgresql" else ""
        order.write_text(json.dumps({"cheap": stage == ALL_ARE_CHEAP, "units": units, "prefix": prefix}))
        workers = int(os.environ.get("QUEUEVIZ_TEST_WORKERS", how.workers)) if how.workers == 3 else how.workers
        options = f"-n {workers} -q --durations 15 --plan {order} --results {answer}".split()
        command = [sys.executable, "-m", "pytest", *options, *how.arguments, *more]
        code = subprocess.run(command, cwd=ROOT, check=False).returncode
        results: dict[str, Any] = json.loads(answer.read_text()) if answer.exists() else {"failed": [], "seconds": {}}
    scale = 3 / max(workers, 1) if stage in ("interop", "alone") else 1  # as if three workers had played it
    return Result(code, results["failed"], {unit: spent * scale for unit, spent in results["seconds"].items()})


def judge(results: dict[str, Result], chosen: Plan, base: str, number: int) -> int:
    """Return 1 if a stage is red; a red of the ring alone that is red on the base, too, does not count."""
    red = 0
    near = {plan.path_of(unit) for unit in chosen.near}
    ring = {plan.path_of(unit) for unit in chosen.ring}
    for stage, result in results.items():
        if result.code == 0 or (result.code == NO_TESTS and stage != ALL_ARE_CHEAP):
            continue
        far = [test for test in result.failed if path_of(test) in ring - near and not plan.is_cheap(path_of(test))]
        before = failed_on(base, stage, far) if far and base else set()
        for test in far if base else ():
            if test in before:
                ago = f"last green {last_green(test, number)} landings ago"
                print(f"Red before this landing, too ({base}), not blocking; {ago}: {test}")
            else:
                print(f"Red, and not before this landing ({base}): {test}")
        if result.code != FAILED or not result.failed or not before.issuperset(result.failed):
            red = 1
    return red


def path_of(test: str) -> str:
    return test.partition("::")[0]


def last_green(test: str, number: int) -> int:
    """Return how many landings ago the ring last played the file of a test."""
    _, seconds = plan.read_seconds()
    units = plan.units_of(plan.read_texts())
    return min(
        plan.landings_since(unit, units, seconds, number) for unit in units if plan.path_of(unit) == path_of(test)
    )


def failed_on(base: str, stage: str, tests: list[str]) -> set[str]:
    """Run tests on a commit in a work tree of its own; return those that fail there."""
    with tempfile.TemporaryDirectory() as folder:
        tree, answer = Path(folder, "base"), Path(folder, "results.json")
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", str(tree), base], cwd=ROOT, check=True)
        try:
            options = [word for word in STAGES[stage].arguments if not word.startswith("tests/") and word != "tests"]
            subprocess.run(
                [sys.executable, "-m", "pytest", "-q", "--wide", "--results", str(answer), *options, *tests],
                cwd=tree,
                check=False,
            )
            return set(json.loads(answer.read_text())["failed"]) if answer.exists() else set()
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(tree)], cwd=ROOT, check=False)


def read_steps() -> list[Step]:
    path = os.environ.get(STEPS)
    lines = Path(path).read_text().splitlines() if path and Path(path).exists() else []
    return [
        Step(name, float(wall_s), float(processor_s))
        for name, wall_s, processor_s in (line.rsplit(maxsplit=2) for line in lines)
    ]


def table(steps: list[Step], speed: float) -> list[str]:
    """Return where the time went."""
    rows = [*steps, Step("all", sum(step.wall_s for step in steps), sum(step.processor_s for step in steps))]
    return [
        "",
        f"{'':14} {'wall':>8} {'processor':>10}",
        *(f"{row.name:14} {row.wall_s / 60:4.0f}:{row.wall_s % 60:02.0f} {row.processor_s:8.0f} s" for row in rows),
        f"machine: {speed:.2f} times the speed of the one in tests/seconds.json",
    ]


def write_seconds(measured: dict[str, float], before: Seconds, speed: float) -> None:
    """Write tests/seconds.json: units that were not played keep theirs, units that are gone leave."""
    texts = plan.read_texts()
    known = {*plan.units_of(texts), *texts}
    merged = {
        unit: round(spent * (speed if unit in measured else 1), 1)
        for unit, spent in sorted({**before, **measured}.items())
        if unit in known
    }
    calibration_us, _ = plan.read_seconds()
    plan.SECONDS.write_text(json.dumps({"calibration_us": calibration_us, "seconds": merged}, indent=0) + "\n")


def _children_s() -> float:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
