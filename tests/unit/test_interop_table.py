"""The table at the end of `script/test interop`, and its rule: two clients for each scenario, where two could."""

from typing import Literal

import pytest

from tests.interop.table import MEASURED, Table


class Run:
    """A table that gets tests one by one, as several workers report them."""

    def __init__(self) -> None:
        self.table = Table(["java", "go"])

    def report(
        self,
        scenario: str,
        param: str,
        outcome: Literal["passed", "failed", "skipped"],
        why: str = "",
        *,
        duration_s: float = 1.0,
        measured: str = "",
    ) -> None:
        self.table.add(
            pytest.TestReport(
                f"tests/interop/test_it.py::test_{scenario}[{param}]@group",
                ("test_it.py", 1, scenario),
                {},
                outcome,
                ("test_it.py", 1, f"Skipped: {why}") if why else None,
                "setup" if why else "call",
                user_properties=[(MEASURED, measured)] if measured else [],
                duration=duration_s,
            )
        )


@pytest.fixture
def run() -> Run:
    return Run()


def test_a_scenario_is_a_row_and_a_client_a_column(run: Run) -> None:
    run.report("send_sync", "java", "passed", duration_s=7.4)
    run.report("send_sync", "go", "passed")
    run.report("killed_member", "java", "passed", duration_s=70.0, measured="after 60 s")
    run.report("killed_member", "go", "failed")
    assert [line.split() for line in run.table.lines()[1:]] == [
        ["scenario", "java", "go"],
        ["send", "sync", "pass", "7", "s", "pass"],
        ["killed", "member", "pass", "after", "60", "s", "FAIL"],
    ]


def test_a_scenario_for_one_client_though_two_could_breaks_the_rule(run: Run) -> None:
    run.report("batch", "java", "passed")
    run.report("batch", "go", "failed")
    run.report("reset", "java", "passed")
    run.report("reset", "go", "skipped", "not today")
    assert run.table.broken() == [
        "The scenario 'batch' is passed by java; it could be by go, and 2 are the least.",
        "The scenario 'reset' is passed by java; it could be by go, and 2 are the least.",
    ]


def test_who_is_not_here_does_not_count(run: Run) -> None:
    run.report("batch", "java", "passed")
    run.report("batch", "go", "skipped", "go: no go here")
    assert run.table.broken() == []
    assert run.table.lines()[-1] == "skipped: go: no go here (batch)"


def test_a_feature_of_one_client_alone_is_said(run: Run) -> None:
    run.report("lite_pull", "java", "passed")
    run.report("lite_pull", "go", "skipped", "go has no lite")
    assert run.table.broken() == []
    assert run.table.lines()[-2:] == [
        "skipped: go has no lite (lite pull)",
        "one client alone has what it takes, java: lite pull",
    ]


def test_commands_and_what_has_no_client_stand_below(run: Run) -> None:
    run.report("send_sync", "java", "passed")
    run.report("topic_list", "mqadmin-4.9.8", "passed")
    run.report("a_store_changes_hands", "ours-5.3.3", "passed", duration_s=30.0)
    assert [line.split() for line in run.table.lines()[3:]] == [
        [],
        ["command", "mqadmin-4.9.8"],
        ["topic", "list", "pass"],
        [],
        ["a", "store", "changes", "hands,", "ours-5.3.3:", "pass", "30", "s"],
    ]
