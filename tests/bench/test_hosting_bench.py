"""The benchmarks of sandboxes measure what they say, on a small scale; `manage.py bench` compares with the budgets."""

from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from tests.bench import board, broadcast, classroom, fairness, idle, live, recording


@pytest.mark.in_turn
def test_a_watched_board_costs_little_time_and_few_bytes() -> None:
    figures = board.run(20, 5.0)
    assert figures["board_us"] > 0
    assert figures["full_board_us"] < 5 * figures["board_us"], "a thousand buffered messages are drawn as one run"
    for group in ("gate-display", "maintenance"):
        assert 0 < figures[group]["bytes_per_s_at_10_msg"] <= 6_000, "a phone's line carries a board"
    assert 0 < figures["wide"]["bytes_per_s"] <= 40_000
    assert figures["wide"]["in_per_s"] > 1_500


def test_an_idle_sandbox_stays_within_memory_and_descriptors() -> None:
    figures = idle.run(2, watch_s=0)
    assert figures["memory_bytes"] < 4 * 1024 * 1024
    assert figures["descriptors"] <= 40
    assert figures["wake_s"] < 3


def test_beside_a_flood_the_frames_of_a_quiet_sandbox_come_in_time(tmp_path: Path) -> None:
    figures = fairness.measure(tmp_path, repeatable=True, floods=1, quiet=3, measure_s=2)
    assert figures["samples"] > 20
    assert figures["p50_ms"] < 100
    assert figures["frames_per_s"] > 3


def test_a_minute_of_a_recording_is_small_and_its_first_picture_too() -> None:
    figures = recording.run(2)
    assert 0 < figures["orders"]["bytes_per_minute"] <= 8_000
    assert 0 < figures["payments"]["bytes_per_minute"] <= 25_000
    assert all(found["first_picture_bytes"] <= 60_000 for found in figures.values())


@pytest.mark.in_turn
def test_a_class_of_one_is_measured_with_a_real_server_and_a_real_socket() -> None:
    figures = classroom.run((1,), (2.0,), watch_s=1.5, alone_s=0.2, settle_s=2)
    [cell] = [cells["students_1_rate_2"] for name, cells in figures.items() if name.startswith("cores_")]
    assert cell["frames_per_s"] > 1
    assert 0 < cell["gap_p50_ms"] <= cell["gap_p99_ms"] <= 1_500
    assert cell["api_p99_ms"] > 0
    assert cell["server_cpu_percent"] > 0
    assert 0 <= cell["real_rate"] < 2.5, "a busy machine gives virtual time up"


@pytest.mark.in_turn
def test_a_broadcast_to_two_meets_the_planned_millisecond_of_each() -> None:
    figures = broadcast.run((2,))["2"]
    assert {kind: (row["n"], row["spread_ms"]) for kind, row in figures.items()} == dict.fromkeys(
        ("crash_member", "heal", "freeze", "release"), (2 * broadcast.ROUNDS, 0))
    assert all(0 <= row["late_p50_ms"] <= row["late_p99_ms"] <= row["late_max_ms"] for row in figures.values())


def test_a_board_that_stood_still_was_one_long_gap() -> None:
    assert classroom.gaps_between([], 4_000) == (0, 4_000, 4_000)
    assert classroom.gaps_between([1.0, 1.05, 1.15, 1.2], 4_000) == (4, 50.0, 100.0)


@pytest.mark.in_turn
def test_a_board_of_many_viewers_is_measured_with_a_real_server_and_real_sockets() -> None:
    figures = live.run((3,), settle_s=2, measure_s=4)["viewers_3"]
    assert figures["samples"] > 3
    assert figures["frames_per_s"] > 1
    assert 0 < figures["event_to_frame_p50_ms"] <= figures["event_to_frame_p99_ms"] <= figures["event_to_frame_max_ms"]
    assert figures["server_cpu_percent"] > 0


@pytest.mark.parametrize(("option", "why"), [("--viewers=0", "--viewers takes numbers from 1"),
                                             ("--viewers=many", "whole numbers"), ("--engines=99", "--engines takes")])
def test_a_board_with_viewers_that_cannot_be_is_refused(option: str, why: str) -> None:
    with pytest.raises(CommandError, match=why):
        call_command("bench", "live", option)


@pytest.mark.parametrize(("option", "why"), [("--students=0", "--students takes"), ("--students=ten", "whole numbers"),
                                             ("--rate=61", "--rate takes"), ("--cores=9999", "--cores takes")])
def test_a_class_that_cannot_be_is_refused(option: str, why: str) -> None:
    with pytest.raises(CommandError, match=why):
        call_command("bench", "class", option)
