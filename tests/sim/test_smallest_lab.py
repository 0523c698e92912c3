"""One lab played in virtual time: the smallest of this folder, which each run plays.  All others: test_labs.py."""

from sandbox.labs.catalogue import LABS
from sandbox.simulation.lab_check import check_lab, is_whole


def test_a_lab_is_solved_by_its_right_script_and_by_no_other() -> None:
    assert is_whole(check_lab(LABS["members-and-queues"], [1]))
