"""The report of a run: required statements, a table, and the same as JSON."""

import re
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

MIB = 1024 * 1024
REPORTED = re.compile(r"INFO +sandbox\.transport\.tcp_guard: refused \S*: (\w+), ")
COUNTED = re.compile(r"INFO +sandbox\.transport\.tcp_guard: refused (\d+) more: (.*)")
AT_LAST = re.compile(r"Refused since the start: (.*)")
LINE = re.compile(r"\d{4}-\d\d-\d\d (\d\d:\d\d:\d\d),\d+ (\w+) +(\S+): (.*)")
LINES_PER_S = 12  # 5 refusals, a count of the others, and what else a broker says


class Verdict(NamedTuple):
    """A sentence that must hold."""

    holds: bool
    sentence: str


def share_of(rows: list[float], percent: float) -> float:
    """The smallest value that so many percent are not above; 0 for none at all."""
    return rows[min(len(rows) - 1, int(len(rows) * percent / 100))] if rows else 0.0


def pairs(text: str) -> Counter[str]:
    """`protocol 3, unread 1` as a count."""
    return Counter({name: int(count) for name, _, count in (pair.rpartition(" ") for pair in text.split(", ") if pair)})


class Log(NamedTuple):
    """A broker's log, read: refusals with a line, those that are counted, and whatever has no place in it."""

    reported: Counter[str]
    counted: Counter[str]
    most_lines_per_s: int
    lines: int
    wrong: list[str]


def read_log(path: Path) -> Log:
    reported: Counter[str] = Counter()
    counted: Counter[str] = Counter()
    seconds: Counter[str] = Counter()
    wrong: list[str] = []
    text = path.read_text("utf-8", "replace").splitlines()
    for line in text:
        if found := LINE.match(line):
            seconds[found[1]] += 1
            if found[2] in ("ERROR", "CRITICAL"):
                wrong.append(line)
        elif line.strip():
            wrong.append(line)  # of a traceback, or no one's
        if found := REPORTED.search(line):
            reported[found[1]] += 1
        elif found := COUNTED.search(line):
            more = pairs(found[2])
            counted += more
            if more.total() != int(found[1]):
                wrong.append(line)
    return Log(reported, counted, max(seconds.values(), default=0), len(text), wrong)


def table(report: dict[str, Any]) -> list[str]:
    """Return the table as text."""
    out = [
        "",
        f"seed {report['seed']}, {report['minutes']:g} minutes; all attackers have {report['share']:g} of one "
        "processor, and are nice 19",
    ]
    head = (
        "phase",
        "s",
        "requests",
        "p50 ms",
        "p99 ms",
        "max ms",
        "p99 ratio",
        "echo p99",
        "broker CPU",
        "attackers CPU",
    )
    rows = [
        (
            row["phase"],
            f"{row['seconds']:.0f}",
            str(row["requests"]),
            f"{row['p50_ms']:.2f}",
            f"{row['p99_ms']:.2f}",
            f"{row['max_ms']:.1f}",
            f"{row['ratio']:.2f}",
            f"{row['machine_p99_ms']:.2f}",
            f"{row['broker_cpu']:.0%}",
            f"{row['attackers_cpu']:.0%}",
        )
        for row in report["phases"]
    ]
    widths = [max(len(row[n]) for row in [head, *rows]) for n in range(len(head))]
    out += [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in [head, *rows]
    ]
    out += ["", "attackers"]
    for row in report["attackers"]:
        counts = ", ".join(f"{name} {count}" for name, count in sorted(row["counts"].items()))
        used = f"{row['cpu_s']:.1f} s of {row['wall_s']:.0f} s"
        out.append(f"  {row['phase']}: {row['kind']} (seed {row['seed']}): {used}: {counts}")
    memory = report["memory"]
    out += ["", "MiB of memory: the broker's own, resident with mapped store files, the kernel's for connections"]
    out += [
        f"  {when:6}" + "".join(f"{memory[when][what] / MIB:8.0f}" for what in ("own", "resident", "sockets"))
        for when in ("start", "peak", "end")
    ]
    out += [f"  bound {memory['bound'] / MIB:8.0f}  = {memory['bound_is']}", "", "refused: total, with a line, counted"]
    for reason, row in sorted(report["refused"].items()):
        out.append(f"  {reason:18}{row['total']:8}{row['told']:8}{row['counted']:8}")
    out += ["", *(f"{'ok  ' if row['holds'] else 'FAIL'} {row['sentence']}" for row in report["verdicts"])]
    return out
