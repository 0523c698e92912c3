"""`manage.py serve --engines`: a number of engine processes, or as many as this machine has use for."""

import argparse
import os

import pytest

from queueviz.engines import MOST_ENGINES, MOST_UNASKED
from queueviz.management.commands.serve import engines_number


@pytest.mark.parametrize(("cores", "engines"), [(1, 0), (2, 2), (3, 3), (4, 4), (64, MOST_UNASKED)])
def test_there_is_an_engine_for_each_core_up_to_four_and_a_thread_on_one_core(
    monkeypatch: pytest.MonkeyPatch, cores: int, engines: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(cores)), raising=False)
    assert engines_number("auto") == engines


def test_a_number_is_taken_as_it_is() -> None:
    assert [engines_number(text) for text in ("0", "3", str(MOST_ENGINES))] == [0, 3, MOST_ENGINES]


@pytest.mark.parametrize("text", ["", "two", "-1", "1.5", str(MOST_ENGINES + 1)])
def test_anything_else_is_refused_with_what_is_possible(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=f"choose 0 to {MOST_ENGINES}, or auto"):
        engines_number(text)
