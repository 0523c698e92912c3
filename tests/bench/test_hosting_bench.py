"""The benchmarks of sandboxes measure what they say, on a small scale; `manage.py bench` compares with the budgets."""

from tests.bench import board, idle


def test_a_full_board_costs_little_more_than_a_quiet_one() -> None:
    figures = board.run(20)
    assert figures["board_us"] > 0
    assert figures["full_board_us"] < 5 * figures["board_us"], "a thousand buffered messages are drawn as one run"


def test_an_idle_sandbox_stays_within_memory_and_descriptors() -> None:
    figures = idle.run(2, watch_s=0)
    assert figures["memory_bytes"] < 4 * 1024 * 1024
    assert figures["descriptors"] <= 40
    assert figures["wake_s"] < 3
