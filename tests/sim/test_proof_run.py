"""A run in a browser, executed again from its list: the same receipts and the same lab, in an ordinary directory."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox.cluster.config import HostConfig
from sandbox.control.actions import AnswerStep, SetRate
from sandbox.control.branch_orders import Came, RunOrder
from sandbox.control.limits import HostLimits
from sandbox.hosting.proof_run import Bounds, Executed, execute
from sandbox.hosting.recipes import recipe_of, written
from sandbox.journal.segments import lines
from sandbox.kernel.errors import ActionRefused
from sandbox.labs.catalogue import LABS
from sandbox.labs.lab import Lab
from sandbox.simulation.lab_player import LabPlayer
from sandbox.simulation.replay import replay
from tests.sim.browser_run import BrowserRun
from tests.sim.test_recipes import lived
from tests.unit.lite.test_class_run import LAB as COURSE_LAB
from tests.unit.lite.test_class_run import Browser, Server
from tests.wide import seeds

BEGIN_MS = 1_796_000_000_123
LIMITS = HostLimits()
BOUNDS = Bounds(awake_ms=3_600_000, idle_ms=3_600_000, cpu_s=60, free_bytes=0)
LAB = LABS["members-and-queues"]


def begun(lab: Lab, seed: str = "4") -> RunOrder:
    order = written(lab.template, lab.preset, seed, (), begin_ms=BEGIN_MS, until_ms=0, config=HostConfig())
    return replace(order, changes=dict(lab.changes))


def whole(order: RunOrder, browser: BrowserRun) -> RunOrder:
    came = tuple(
        Came(entry["turn"], entry["ms"], entry["name"], entry["fields"], by=entry["by"]) for entry in browser.entries()
    )
    return replace(order, came=came, until_ms=browser.now_ms)


def executed(home: Path, order: RunOrder, bounds: Bounds = BOUNDS) -> Executed:
    (home / "again").mkdir(exist_ok=True)
    return execute(order, home / "again" / "lite-calm-otter-abcdef", home=home, config=HostConfig(), bounds=bounds)


@pytest.mark.parametrize(
    "slug", ["members-and-queues", "failed-send", "flush-and-replicate", "master-dies", "retention"]
)
def test_the_executed_lab_is_that_of_the_browser(tmp_path: Path, slug: str) -> None:
    lab = LABS[slug]
    order = begun(lab)
    browser = BrowserRun(tmp_path / "browser", order)
    lab.solve(LabPlayer(browser, lab))
    browser.run(2)
    row = browser.row()
    assert row["finished"]
    assert row["receipts"]
    done = executed(tmp_path, whole(order, browser))
    browser.close()
    assert (done.refused, done.moved, done.stopped) == ((), (), None)
    [again] = done.rows
    assert again["receipts"] == row["receipts"]
    assert again == row
    [directory] = (tmp_path / "again").iterdir()
    replayed = replay(directory)
    assert replayed.first_difference is None
    assert replayed.events >= done.events


@pytest.mark.parametrize("seed", seeds(3, 20))
def test_no_entry_of_a_starved_machine_is_said_to_be_elsewhere(tmp_path: Path, seed: int) -> None:
    stage = lived(tmp_path, ("orders", "payments", "cluster")[seed % 3], seed, actions=10, starved=True)
    rows = stage.rows()
    stage.close()
    order = recipe_of(stage.directory, rows[-1]["seq"], LIMITS)
    assert order.came
    done = executed(tmp_path, order)
    assert (done.refused, done.moved) == ((), ())
    assert list(done.moments.values()) == list(order.moments)


def test_a_run_that_a_reloaded_page_continued_is_the_same_run(tmp_path: Path) -> None:
    order = begun(LAB)
    first = BrowserRun(tmp_path / "first", order)
    LabPlayer(first, LAB).predict("17")
    first.run(3)
    so_far = whole(order, first)
    first.close()
    again = BrowserRun(tmp_path / "second", so_far)
    again.run(1)
    again.act("StartConsumer", group=LAB.numbers("4", 1)["group"], copies=3)
    again.run(25)
    again.act("AnswerStep", lab=LAB.slug, step=1, part="say", value="2")
    again.run(1)
    row = again.row()
    done = executed(tmp_path, whole(order, again))
    again.close()
    assert (done.refused, done.moved, len(row["receipts"])) == ((), (), 2)
    assert done.rows == (row,)


def test_it_ends_at_each_limit_with_complete_files(tmp_path: Path) -> None:
    order = begun(LAB)
    browser = BrowserRun(tmp_path / "browser", order)
    LAB.solve(LabPlayer(browser, LAB))
    order = whole(order, browser)
    browser.close()
    for stopped, bounds in (
        ("clock", BOUNDS._replace(awake_ms=5_000)),
        ("seconds", BOUNDS._replace(cpu_s=0.0)),
        (None, BOUNDS._replace(idle_ms=5_000)),
        ("over", BOUNDS._replace(is_over=lambda: True)),
    ):
        done = executed(tmp_path, order, bounds)
        [directory] = (tmp_path / "again").iterdir()
        assert done.stopped == stopped
        assert (sum(1 for _ in lines(directory / "journal")) >= done.events) or stopped == "over"
        shutil.rmtree(directory)


def test_a_full_disk_and_other_limits_are_refused_before_anything_is_executed(tmp_path: Path) -> None:
    order = begun(LAB)
    for wrong, bounds, why in (
        (order, BOUNDS._replace(free_bytes=2**60), "The disk of the server is full"),
        (replace(order, conditions="other"), BOUNDS, "The limits of this server have changed"),
    ):
        with pytest.raises(ActionRefused, match=why):
            executed(tmp_path, wrong, bounds)
        assert not list((tmp_path / "again").iterdir())


def test_the_list_and_the_lab_that_a_student_s_browser_sends_are_those_of_the_execution(tmp_path: Path) -> None:
    server = Server()
    browser = Browser(tmp_path / "browser", server).open()
    for rate in (2.0, 1.0):
        browser.pass_s(31.3)
        browser.act(SetRate(rate=rate))
    browser.act(AnswerStep(lab=COURSE_LAB.slug, step=1, part="predict", value="3"))
    browser.pass_s(2)
    row = [message["row"] for message in browser.sent if message["k"] == "lab"][-1]
    assert len(row["receipts"]) == 1
    begin = server.begin()
    order = replace(
        begun(COURSE_LAB, begin["seed"]),
        wall_ms=begin["wall_ms"],
        came=tuple(Came(turn, ms, name, fields, by=by) for turn, ms, name, fields, by in begin["came"]),
        until_ms=server.at_ms,
    )
    done = executed(tmp_path, order)
    assert (done.refused, done.moved) == ((), ())
    assert list(done.moments.values()) == [each["at_ms"] for each in server.entries]
    assert done.rows[0]["receipts"] == row["receipts"]
