"""Speed of this machine at the moment, printed beside the figures of each bench: a slow machine is no regression."""

import time

ROUNDS = 20_000


def calibrate(repeats: int = 5) -> float:
    """CPU microseconds of one round of fixed work like ours: dicts, text, bytes and calls.  The best of some tries."""
    return min(_try() for _ in range(repeats))


def _try() -> float:
    began = time.process_time()
    _work(ROUNDS)
    return (time.process_time() - began) / ROUNDS * 1e6


def _work(rounds: int) -> int:
    table: dict[str, int] = {}
    total = 0
    for n in range(rounds):
        key = f"queue-{n & 255}"
        table[key] = table.get(key, 0) + len(key.encode())
        total += _step(table[key], n)
    return total


def _step(a: int, b: int) -> int:
    return (a * 31 + b) & 0xFFFF
