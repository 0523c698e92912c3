"""The benchmarks of sandboxes measure what they say, on a small scale; `manage.py bench` compares with the budgets."""

from tests.bench import board, idle


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
