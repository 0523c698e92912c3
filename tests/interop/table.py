"""Clients and scenarios: what passed, what failed, what was skipped and why."""

from collections.abc import Collection, Mapping
from enum import Enum

import pytest

from tests.interop.servers import APACHE_4, APACHE_5

LONGER_THAN_S = 5.0  # is said
MEASURED = "measured"  # a property of a test that is shown instead of its duration
MANY = 6
BROKERS = ("ours", f"apache-{APACHE_4}", f"apache-{APACHE_5}")
ENOUGH = 2


class Skipped(Enum):
    LACKING = "the client has no such thing"
    MISSING = "the client is not here"
    OTHERWISE = "for a reason of the test's own"


class Table:
    """Rows are scenarios, columns are clients, and below mqadmin's releases; what has neither stands at the end.

    Reports of several workers come in any order: the scenarios of a module stand together.
    """

    def __init__(self, clients: Collection[str]) -> None:
        self._clients = clients
        self._modules: dict[str, str] = {}
        self._cells: dict[str, dict[str, str]] = {}
        self._tools: dict[str, dict[str, str]] = {}
        self._brokers: dict[str, dict[str, str]] = {}
        self._others: dict[str, str] = {}
        self._reasons: dict[str, list[str]] = {}
        self._kinds: dict[tuple[str, str], Skipped] = {}

    def add(self, report: pytest.TestReport) -> None:
        if report.when != "call" and report.passed:
            return
        name, _, param = report.nodeid.partition("@")[0].rpartition("::")[2].removesuffix("]").partition("[")
        scenario = name.removeprefix("test_").replace("_", " ")
        self._modules[scenario] = report.nodeid.partition("::")[0]
        outcome = {"passed": "pass", "failed": "FAIL", "skipped": "skip"}[report.outcome]
        measured = dict(report.user_properties).get(MEASURED)
        if report.passed and (measured or report.duration > LONGER_THAN_S):
            outcome += f" {measured or f'{report.duration:.0f} s'}"
        if param in self._clients:
            self._cells.setdefault(scenario, {})[param] = outcome
        elif param.startswith("mqadmin-"):
            self._tools.setdefault(scenario, {})[param] = outcome
        elif param in BROKERS:
            self._brokers.setdefault(scenario, {})[param] = outcome
        else:
            self._others[f"{scenario}, {param}" if param else scenario] = outcome
        if report.skipped and not isinstance(report.longrepr, str):
            self._take_reason(scenario, param, tuple(report.longrepr)[2].removeprefix("Skipped: "))

    def _take_reason(self, scenario: str, client: str, reason: str) -> None:
        self._reasons.setdefault(reason, []).append(scenario)
        lacking, missing = reason.startswith(f"{client} has no "), reason.startswith(f"{client}: ")
        kind = Skipped.LACKING if lacking else Skipped.MISSING if missing else Skipped.OTHERWISE
        self._kinds[scenario, client] = kind

    def broken(self) -> list[str]:
        """A sentence for each scenario that fewer than two clients pass, though two that are here have the feature."""
        reported = []
        for scenario, cells in sorted(self._cells.items()):
            passed = [client for client, outcome in cells.items() if outcome.startswith("pass")]
            could = [
                client
                for client, outcome in cells.items()
                if outcome == "FAIL" or self._kinds.get((scenario, client)) is Skipped.OTHERWISE
            ]
            if len(passed) < ENOUGH <= len(passed) + len(could):
                reported.append(
                    f"The scenario '{scenario}' is passed by {' and '.join(passed) or 'no client'}; it could "
                    f"be by {' and '.join(could)}, and {ENOUGH} are the least."
                )
        return reported

    def lines(self) -> list[str]:
        order = [client for client in self._clients if any(client in cells for cells in self._cells.values())]
        cells = {scenario: self._cells[scenario] for scenario in sorted(self._cells, key=self._modules.__getitem__)}
        out = grid("scenario", cells, order)
        out += grid("command", self._tools, sorted({tool for cells in self._tools.values() for tool in cells}))
        out += grid("our clients", self._brokers, BROKERS)
        if self._others:
            out += ["", *(f"{name}: {outcome}" for name, outcome in sorted(self._others.items()))]
        if self._reasons:
            out.append("")
        for reason, scenarios in sorted(self._reasons.items()):
            reported = ", ".join(sorted(scenarios)) if len(scenarios) < MANY else f"{len(scenarios)} scenarios"
            out.append(f"skipped: {reason} ({reported})")
        return out + self._alone()

    def _alone(self) -> list[str]:
        """Return the scenarios whose feature only one client has."""
        reported: dict[str, list[str]] = {}
        for scenario, cells in self._cells.items():
            able = [client for client in cells if self._kinds.get((scenario, client)) is not Skipped.LACKING]
            if len(cells) > len(able) == 1:
                reported.setdefault(able[0], []).append(scenario)
        return [
            f"one client alone has what it takes, {client}: {', '.join(sorted(scenarios))}"
            for client, scenarios in sorted(reported.items())
        ]


def grid(what: str, cells: Mapping[str, Mapping[str, str]], columns: Collection[str]) -> list[str]:
    """A heading and a row for each scenario, in columns as wide as they need to be; nothing when there is none."""
    if not cells:
        return []
    first = max(map(len, [what, *cells]))
    widths = [max(len(column), 9) for column in columns]
    out = ["", "  ".join([what.ljust(first), *map(str.ljust, columns, widths)])]
    for scenario, row in cells.items():
        reported = (row.get(column, "").ljust(width) for column, width in zip(columns, widths, strict=True))
        out.append("  ".join([scenario.ljust(first), *reported]).rstrip())
    return out
