"""Hostile sockets beside an honest viewer, as long and as many as the figures are promised for."""

import pytest

from tests.attacks.live_flood import run, table


@pytest.mark.flood
def test_hostile_sockets_leave_another_sandbox_s_viewer_its_frames() -> None:
    figures = run()
    print(table(figures))
    undisturbed = figures.pop("undisturbed")
    for name, row in figures.items():
        assert row["watched"].gap_p99_ms <= 2 * undisturbed.gap_p99_ms, name
        assert row["after"].memory_mib <= 1.25 * row["before"].memory_mib, name
