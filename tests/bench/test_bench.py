"""Each bench prints its figures, at its smallest size; budgets are for `manage.py bench`."""

import asyncio
import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from tests.bench import append, board, classroom, proof, tcp


def test_the_command_prints_figures_by_name_as_a_table_and_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(append, "run", lambda: {"calibration_us": 0.21, "body_128": {"single": 364_000}})
    table, text = StringIO(), StringIO()
    call_command("bench", "append", stdout=table)
    assert table.getvalue().splitlines() == ["calibration_us  0.21", "body_128.single 364000"]
    call_command("bench", "append", "--json", stdout=text)
    assert json.loads(text.getvalue()) == append.run()


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ("--students=0", "--students takes"),
        ("--students=ten", "whole numbers"),
        ("--rate=61", "--rate takes"),
        ("--cores=9999", "--cores takes"),
        ("--engines=99", "--engines takes"),
    ],
)
def test_a_class_outside_of_the_bounds_is_refused(option: str, reason: str) -> None:
    with pytest.raises(CommandError, match=reason):
        call_command("bench", "class", option)


def test_appends_are_measured_beside_the_copy_and_the_bare_calls() -> None:
    measured = append.run(512, rounds=1, warm=0)
    for rows in (measured["body_128"], measured["body_1024"]):
        assert rows.keys() == {"copy", "calls_single", "calls_batch_32", *append.WAYS}
        assert all(row["per_cpu_second"] > 0 for row in rows.values())
        assert rows["copy"]["of_copy"] == 1


def test_sends_over_tcp_are_measured_with_the_client_in_another_process() -> None:
    for echo in (True, False):
        measured = asyncio.run(tcp.measured(4, 4, 128, 400, echo=echo))
        assert measured["per_second"] > 0
        assert measured["cpu_us"] > 0


def test_a_watched_board_and_its_recording_take_few_bytes() -> None:
    """Runs in virtual time; processor times are printed, not compared."""
    figures = board.run(20, 5.0, 60)
    assert all(figures[name] > 0 for name in ("calibration_us", "board_us", "full_board_us", "snapshot_us", "look_us"))
    for group in ("gate-display", "maintenance"):
        assert 0 < figures[group]["bytes_per_s_at_10_msg"] <= 6_000, "a phone's line carries a board"
    assert 0 < figures["wide"]["bytes_per_s"] <= 40_000
    assert figures["wide"]["in_per_s"] > 1_500
    assert 0 < figures["recording"]["bytes_per_minute"] <= 25_000
    assert figures["recording"]["first_picture_bytes"] <= 60_000


def test_a_class_of_one_is_measured_with_a_real_server_and_a_real_socket() -> None:
    figures = classroom.run((1,), (2.0,), watch_s=1, alone_s=0.2, settle_s=0.5)
    [cell] = [cells["students_1_rate_2"] for name, cells in figures.items() if name.startswith("cores_")]
    assert cell["frames_per_s"] >= 0
    assert 0 < cell["gap_p50_ms"] <= cell["gap_p99_ms"] <= cell["gap_p99_ms_worst"]
    assert 0 < cell["api_p50_ms"] <= cell["api_p99_ms"]
    assert cell["server_cpu_percent"] > 0
    assert classroom.gaps_between([1.0, 1.05, 1.15, 1.2], 4_000) == (4, 50.0, 100.0)
    assert classroom.gaps_between([], 4_000) == (0, 4_000, 4_000), "without a frame one long gap"


def test_the_proof_of_two_browsers_of_a_minute_is_measured() -> None:
    figures = proof.run(2, 1.0)
    assert (figures["students"], figures["equal"]) == (2, 2)
    assert figures["cpu_minutes_of_60"] > 0
    assert figures["events"] > 100
