"""`manage.py simulate --seeds 2000`: run simulations and report violated promises (docs/simulation.md)."""

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any, TypedDict, cast

from django.core.management import BaseCommand, CommandError

from queueviz.links.claim_results import ClaimResult
from sandbox.cluster.templates import TEMPLATES
from sandbox.kernel.errors import SandboxError
from sandbox.simulation.claims import CLAIMS
from sandbox.simulation.findings.run import play_findings
from sandbox.simulation.findings.tally import FindingTally, lines_of, reaches_goals
from sandbox.simulation.many import Tally, Work, play_many, run_many
from sandbox.simulation.run import play
from sandbox.simulation.script import PROFILES, write_script
from sandbox.simulation.try_claim import basis_of, try_claim

PROGRESS_EVERY_S = 10.0
INTERRUPTED = 130


class Options(TypedDict):
    """The options of the command, by their names."""

    seeds: int
    first: int
    seed: int | None
    profile: str
    minutes: float | None
    workers: int
    claim: str | None
    findings: bool
    template: str
    directory: Path | None
    json: bool


class BrokenPromise(TypedDict):
    """A violation, and the command that repeats its run."""

    seed: int
    promise: str
    sentence: str
    again: str


class SimulationFigures(TypedDict):
    """The figures of all played seeds together (`simulation.many`)."""

    seeds: int
    seeds_per_s: float | None
    took_s: float
    virtual_hours: float
    events: int
    played: dict[str, int]
    refused: dict[str, int]
    violations: list[BrokenPromise]


class Command(BaseCommand):
    help = "Play seeds in virtual time with faults of every kind, and check the promises of RocketMQ."
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--seeds", type=int, default=50, help="number of seeds (default 50)")
        parser.add_argument("--first", type=int, default=0, help="first seed (default 0)")
        parser.add_argument("--seed", type=int, help="play only this seed and print each step")
        parser.add_argument(
            "--profile", choices=PROFILES, default="mixed", help="prevailing kind of actions and faults"
        )
        parser.add_argument("--minutes", type=float, help="minutes with faults (default: chosen by the seed)")
        parser.add_argument(
            "--workers", type=int, default=os.cpu_count() or 1, help="number of processes (default: one per core)"
        )
        parser.add_argument(
            "--findings", action="store_true", help="plant troubles instead, and compare the findings that open"
        )
        parser.add_argument("--claim", choices=CLAIMS, help="test this claim instead (docs/branches.md)")
        parser.add_argument(
            "--template",
            choices=TEMPLATES,
            default="orders",
            help="with --claim: template of the sandbox (default orders)",
        )
        parser.add_argument(
            "--directory", type=Path, help="with --claim: recorded sandbox whose actions are re-executed"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object instead of sentences")

    def handle(self, *args: Any, **named: Any) -> None:
        options = cast(Options, named)
        if options["seeds"] < 1 or options["workers"] < 1 or (options["minutes"] or 1) <= 0:
            raise CommandError("--seeds, --workers and --minutes must be greater than 0.")
        if options["claim"] is not None:
            self._claim(options)
            return
        if options["findings"]:
            self._findings(options)
            return
        work = Work(options["profile"], options["minutes"])
        tally, began_s, interrupted = Tally(work), time.monotonic(), False
        try:
            if options["seed"] is not None:
                self._one(options["seed"], tally, verbose=not options["json"])
            else:
                self._many(range(options["first"], options["first"] + options["seeds"]), tally, options)
        except KeyboardInterrupt:
            interrupted = True
        figures = cast(SimulationFigures, tally.figures(time.monotonic() - began_s))
        if options["json"]:
            self.stdout.write(json.dumps(figures))
        else:
            self._print(figures)
        if figures["violations"] or interrupted:
            sys.exit(1 if figures["violations"] else INTERRUPTED)

    def _claim(self, options: Options) -> None:
        directory = options["directory"].resolve() if options["directory"] else None
        try:
            basis = basis_of(directory, options["template"], "sandbox")
            tried = try_claim(options["claim"] or "", options["seeds"], basis, workers=options["workers"])
        except (SandboxError, OSError) as error:
            raise CommandError(str(error)) from error
        claim = cast(ClaimResult, tried)
        self.stdout.write(json.dumps(claim) if options["json"] else "\n".join(_said(claim)))
        if claim["broken"]:
            sys.exit(1)

    def _findings(self, options: Options) -> None:
        seeds = range(options["first"], options["first"] + options["seeds"])
        if options["seed"] is not None:
            seeds = range(options["seed"], options["seed"] + 1)
        tally, shown_s, interrupted = FindingTally(), time.monotonic(), False
        try:
            for run in play_many(play_findings, seeds, workers=min(options["workers"], len(seeds))):
                tally.add(run)
                if not options["json"] and time.monotonic() - shown_s >= PROGRESS_EVERY_S:
                    shown_s = time.monotonic()
                    self.stderr.write(f"{tally.seeds} of {len(seeds)} seeds")
        except KeyboardInterrupt:
            interrupted = True
        figures = tally.figures()
        self.stdout.write(json.dumps(figures) if options["json"] else "\n".join(lines_of(tally)))
        if interrupted or not reaches_goals(figures):
            sys.exit(INTERRUPTED if interrupted else 1)

    def _one(self, seed: int, tally: Tally, *, verbose: bool) -> None:
        script = write_script(seed, profile=tally.work.profile, minutes=tally.work.minutes)
        if verbose:
            self.stdout.write("\n".join(script.lines()))
        result = play(script)
        tally.add(result)
        if verbose:
            self.stdout.write(f"journal: {result.entries} events, {result.digest()}")

    def _many(self, seeds: range, tally: Tally, options: Options) -> None:
        shown_s = time.monotonic()
        for result in run_many(seeds, tally.work, workers=min(options["workers"], len(seeds))):
            tally.add(result)
            now_s = time.monotonic()
            if not options["json"] and now_s - shown_s >= PROGRESS_EVERY_S:
                shown_s = now_s
                self.stderr.write(f"{tally.seeds} of {len(seeds)} seeds, {len(tally.violations)} violations")

    def _print(self, figures: SimulationFigures) -> None:
        for violation in figures["violations"]:
            self.stdout.write(
                f"seed {violation['seed']}, {violation['promise']}: {violation['sentence']}\n    {violation['again']}"
            )
        for kind, count in figures["played"].items():
            refused = figures["refused"].get(kind)
            self.stdout.write(f"{count:7}  {kind}{f' (and {refused} refused)' if refused else ''}")
        seeds = len({violation["seed"] for violation in figures["violations"]})
        self.stdout.write(
            f"{figures['seeds']} seeds, {figures['virtual_hours']} virtual hours, {figures['events']} events in "
            f"{figures['took_s']} s: {figures['seeds_per_s']} seeds/s; {len(figures['violations'])} violations in "
            f"{seeds} seeds"
        )


def _said(claim: ClaimResult) -> list[str]:
    cases, lines = claim["distribution"], [f"{claim['claim']}: true for {claim['held']} of {claim['seeds']} seeds"]
    lines.append(f"cases per run: median {cases['median']:g}, 90 % between {cases['low']} and {cases['high']}")
    if (shortest := claim["counterexample"]) is not None:
        lines += [
            f"seed {shortest['seed']}: {shortest['sentence']}",
            *(
                f"  {act['at_ms'] / 1000:8.3f} s  {act['action']} {json.dumps(act['fields'])}"
                for act in shortest["acts"]
            ),
        ]
    if not claim["looked_at"]:
        lines.append("No run had a case that could contradict the claim.")
    hours = f"{claim['virtual_s'] / 3600:.1f} virtual hours"
    return [*lines, f"{hours} in {claim['took_s']} s, {claim['workers']} processes"]
