"""Runs of offsets are a set, however it was filled."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from sandbox.client.offset_runs import RUNS_KEPT, OffsetRuns

OFFSETS = st.lists(st.integers(0, 60))


@given(offsets=OFFSETS, begin=st.integers(0, 70))
def test_they_hold_what_was_added_and_count_it(offsets: list[int], begin: int) -> None:
    runs, plain = OffsetRuns(), set[int]()
    for offset in offsets:
        assert runs.add(offset) is (offset not in plain)
        plain.add(offset)
    assert {offset for first, last in runs.runs() for offset in range(first, last + 1)} == plain
    assert all(last + 1 < first for (_, last), (first, _) in pairwise(runs.runs()))
    assert runs.count_from(begin) == sum(offset >= begin for offset in plain)
    assert OffsetRuns(runs.runs()).runs() == runs.runs()


def test_the_lowest_are_forgotten_when_there_are_too_many() -> None:
    runs = OffsetRuns()
    for n in range(RUNS_KEPT + 10):
        runs.add(2 * n)
    assert len(runs.runs()) == RUNS_KEPT
    assert runs.runs()[0] == (20, 20)
