"""Ten minutes of nonsense against a broker process, and a client beside it that must not notice.

script/test robustness [--minutes 10] [--seed N]
"""

import time
from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--minutes", type=float, default=10.0, help="how long the attack lasts")
    parser.addoption("--seed", type=int, default=int(time.time()), help="of everything the attackers draw by lot")
    parser.addoption("--report", type=Path, help="a file for the report as JSON")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marked `robustness`, and left out of a run that does not name this folder or the mark."""
    ours = [item for item in items if Path(__file__).parent in item.path.parents]
    for item in ours:
        item.add_marker(pytest.mark.robustness)
    asked = any("robustness" in str(argument) for argument in [*config.args, config.option.markexpr])
    if ours and not asked:
        config.hook.pytest_deselected(items=ours)
        items[:] = [item for item in items if item not in ours]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for line in getattr(terminalreporter.config, "robustness_lines", ()):
        terminalreporter.write_line(line)
