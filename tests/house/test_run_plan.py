"""Which costly tests a run plays, with units and seconds that are made up."""

import random
import subprocess
import zlib
from pathlib import Path

import pytest

from tests import landings, plan
from tests.landings import Commit

UNITS = sorted((f"tests/browser/test_{number}.py" for number in range(200)), key=lambda unit: zlib.crc32(unit.encode()))
SECONDS = {unit: random.Random(unit).uniform(1.0, 90.0) for unit in UNITS}
TOTAL_S = sum(SECONDS.values())


def played(number: int, pace_s: float = plan.PACE_S) -> list[str]:
    return plan.turn(UNITS, SECONDS, number, pace_s)


def test_landings_in_a_row_play_every_unit_before_any_is_played_again() -> None:
    turns = [set(played(number)) for number in range(int(TOTAL_S / plan.PACE_S) + 1)]
    assert set.union(*turns) == set(UNITS)
    assert sum(map(len, turns[:-1])) == len(set.union(*turns[:-1]))
    assert all(sum(SECONDS[unit] for unit in turn) < plan.PACE_S + 90 for turn in turns)


def test_a_slow_machine_plays_less_of_the_ring_and_in_time_all_of_it() -> None:
    assert len(played(3, plan.PACE_S / 2)) < len(played(3))
    assert set(played(3, plan.PACE_S / 2)) < set(played(3))
    assert {unit for number in range(60) for unit in played(number, plan.PACE_S / 2)} == set(UNITS)


def test_what_is_near_is_played_before_the_ring_nearest_and_cheapest_first() -> None:
    seconds = {"a": 300.0, "b": 250.0, "c": 100.0, "d": 70.0}
    chosen = plan.choose(list(seconds), [["a"], ["b", "c"], ["d"]], seconds, number=0, pace_s=0.0)
    assert chosen == plan.Plan(near=("a", "c", "d"), ring=(), left_out=("b",)), "b does not fit any more"


def test_what_is_not_committed_yet_is_nearest_and_no_unit_is_played_twice() -> None:
    seconds = {"a": 300.0, "b": 250.0, "c": 100.0}
    uncommitted, landing = [[], ["b"]], [["a"], ["b", "c"]]
    assert plan.choose(list(seconds), uncommitted + landing, seconds, number=0, pace_s=0.0).near == ("b", "c")


def test_what_near_has_no_room_for_is_not_left_out_when_its_turn_has_come() -> None:
    seconds = dict.fromkeys(UNITS, 400.0)
    turn = plan.turn(UNITS, seconds, 0, plan.PACE_S)
    chosen = plan.choose(UNITS, [turn, [UNITS[-1]]], seconds, 0, plan.PACE_S)
    assert chosen.near == (turn[0],)
    assert set(chosen.near + chosen.ring) == set(turn)
    assert chosen.left_out == (UNITS[-1],)


def test_near_is_the_file_itself_then_what_imports_it_then_what_names_its_page() -> None:
    files = ["tests/browser/test_a.py", "tests/browser/test_b.py", "tests/browser/test_c.py", "tests/browser/test_d.py"]
    changed = {"tests/browser/test_a.py", "sandbox/broker/broker.py", "templates/queueviz/parts/locks.html"}
    imports = {files[1]: {"sandbox/broker/broker.py"}}
    texts = dict.fromkeys(files, "") | {files[2]: "site.open('locks')", files[3]: "site.open('blocks')"}
    assert plan.near(files, changed, imports, texts, {}) == [[files[0]], [files[1]], [files[2]], []]


def test_a_lab_a_job_or_a_script_is_near_to_the_file_of_its_name_and_to_who_names_it() -> None:
    files = ["tests/pipeline/test_hot_keys.py", "tests/sim/test_b.py", "tests/sim/test_c.py", "tests/sim/test_d.py"]
    texts = dict.fromkeys(files, "") | {files[1]: "begin('hot-keys')", files[2]: "a.hot_keys(1)"}
    assert plan.near(files, {"sandbox/pipeline/jobs/hot_keys.py"}, {}, texts, {}) == [[], [files[0]], [files[1]], []]


def test_a_script_is_near_to_tests_of_the_pages_that_load_it_through_others() -> None:
    scripts = {
        "static/js/heat.js": "",
        "static/js/rows.js": 'import("./heat.js")',
        "static/js/page_board.js": 'from "./rows.js"',
        "static/js/page_locks.js": "",
    }
    files = ["tests/browser/test_a.py", "tests/browser/test_b.py"]
    texts = {files[0]: "site.open('board')", files[1]: "site.open('locks')"}
    assert plan.near(files, {"static/js/heat.js"}, {}, texts, scripts) == [[], [], [], [files[0]]]


def test_wide_tests_are_near_only_when_their_own_file_changed() -> None:
    wide = "tests/sim/test_a.py::wide"
    assert plan.near([wide], {"sandbox/x.py"}, {"tests/sim/test_a.py": {"sandbox/x.py"}}, {}, {}) == [[]] * 4
    assert plan.near([wide], {"tests/sim/test_a.py"}, {}, {}, {}) == [[wide], [], [], []]


@pytest.mark.parametrize(
    ("path", "text", "units"),
    [
        ("tests/unit/test_a.py", "", []),
        ("tests/unit/test_a.py", "@pytest.mark.wide", ["tests/unit/test_a.py::wide"]),
        ("tests/sim/test_a.py", "from tests.wide import seeds", ["tests/sim/test_a.py", "tests/sim/test_a.py::wide"]),
        ("tests/web/test_a.py", "a wide table, alone", ["postgresql:tests/web/test_a.py"]),
        ("tests/databases/test_a.py", "", ["postgresql:tests/databases/test_a.py"]),
        (
            "tests/attacks/test_a.py",
            "@pytest.mark.alone",
            ["postgresql:tests/attacks/test_a.py", "tests/attacks/test_a.py", "tests/attacks/test_a.py::alone"],
        ),
        ("tests/robustness/test_a.py", "", []),
        (plan.SMALLEST[0], "", []),
    ],
)
def test_units_of_a_file(path: str, text: str, units: list[str]) -> None:
    assert sorted(plan.units_of({path: text})) == units


def test_each_unit_has_a_stage_and_the_smallest_of_each_kind_are_there() -> None:
    texts = plan.read_texts()
    assert {plan.stage_of(unit) for unit in plan.units_of(texts)} == set(plan.STAGES)
    assert set(plan.SMALLEST) <= set(texts)


def test_every_unit_is_played_within_eight_landings() -> None:
    _, seconds = plan.read_seconds()
    units = plan.units_of(plan.read_texts())
    assert {unit for number in range(8) for unit in plan.turn(units, seconds, number, plan.PACE_S)} == set(units)


def test_paths_that_are_not_committed_are_known_apart(tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", *who, *arguments], cwd=tmp_path, check=True, capture_output=True)

    git("init")
    (tmp_path / "old").write_text("1")
    git("add", "old")
    git("commit", "-m", "first")
    (tmp_path / "old").write_text("2")
    (tmp_path / "new").write_text("1")
    found = landings.landing(tmp_path)
    assert found.open == found.changed == {"old", "new"}


def test_a_landing_is_what_was_committed_within_three_hours() -> None:
    hours = [Commit(str(hour), hour * 3600) for hour in (0, 1, 3, 4, 5, 9)]
    assert [landings.number_of(hours[:count]) for count in range(7)] == [0, 1, 1, 1, 2, 2, 3]
    assert [landings.base_of(hours[:count]) for count in range(1, 7)] == ["0", "0", "0", "0", "1", "5"]
