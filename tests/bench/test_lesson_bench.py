"""The lesson's bench counts in journals, and would see an answer that is lost or doubled."""

from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from sandbox.control.actions import StartLab
from sandbox.journal.events import ActionTaken, Entry
from sandbox.simulation.world import World
from tests.bench import lab_start, lesson
from tests.bench.lesson_line import Cut
from tests.bench.lesson_student import Sent

LAB = "members-and-queues"


class Over:
    """A lesson of one student who gave one answer, `k1`."""

    def __init__(self, home: Path) -> None:
        with World(home, seed=3) as world:
            world.act(StartLab(lab=LAB))
            world.act("AnswerStep", lab=LAB, step=1, part="predict", value="2", key="k1", attempt=1)
            world.run(0.1)
            self.kept: list[Entry] = list(world.entries())
            shown = world.ask("lab-state")
        tab = SimpleNamespace(data={"lab/s": shown})
        self.student = SimpleNamespace(slug="s", tab=tab, pressed=["k1"], sent=[Sent("k1", "predict", 0, 1, 1, 200)])
        self.students = [self.student]

    def entries(self, student: Any, /) -> Iterable[Entry]:
        return self.kept

    @property
    def counts(self) -> tuple[int, int, int]:
        found = lesson.count(self)
        return found["answers_lost"], found["answers_doubled"], found["receipts_that_differ"]


@pytest.fixture
def over(tmp_path: Path) -> Over:
    return Over(tmp_path)


def test_an_answer_that_is_there_once_is_neither_lost_nor_doubled(over: Over) -> None:
    assert over.counts == (0, 0, 0)


def test_an_answer_that_is_in_no_journal_is_lost(over: Over) -> None:
    over.student.pressed.append("k2")
    assert over.counts == (1, 0, 0)
    over.student.sent.append(Sent("k2", "say", 1, 2, 1, 409))
    assert over.counts == (0, 0, 0), "it was refused with a sentence"


def test_an_answer_that_is_there_twice_is_doubled(over: Over) -> None:
    [taken] = [
        entry for entry in over.kept if isinstance(entry.event, ActionTaken) and entry.event.action == "AnswerStep"
    ]
    over.kept.append(taken._replace(seq=over.kept[-1].seq + 1))
    assert over.counts == (0, 1, 0)


def test_a_receipt_of_another_journal_differs(over: Over) -> None:
    over.student.tab.data["lab/s"]["lab"]["receipts"][0]["digest"] = "0" * 64
    assert over.counts == (0, 0, 1)


@pytest.mark.parametrize(
    ("cut", "pictures_s", "back_s"),
    [
        (Cut(0, 20), [5, 33], 3),
        (Cut(25, 45), [1, 46, 47], 1),
        (Cut(40, 60), [33, 61], 3),
        (Cut(0, 20), [5], float("inf")),
    ],
)
def test_a_student_is_back_with_the_first_picture_that_could_come(
    cut: Cut, pictures_s: list[float], back_s: float
) -> None:
    student: Any = SimpleNamespace(browser=SimpleNamespace(cut=cut), tab=SimpleNamespace(first_s=pictures_s))
    assert lesson._back_s(student, 30) == back_s


def test_the_gap_that_the_kill_made_is_left_out() -> None:
    assert lesson._gaps([0, 1.0, 1.5, 6.0, 6.5, 99], 0.5, 10, 3.0) == [500, 500]


def test_a_lab_is_found_by_number_and_by_name() -> None:
    assert lesson.lab_of("4").slug == lesson.lab_of(LAB).slug == LAB


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--lab", "no-such-lab"), "No lab no-such-lab"),
        (("--lab", "4", "--students", "10,20"), "one number"),
        (("--lab", "4", "--burst", "0"), "--burst takes"),
        (("--burst", "5"), "with --lab"),
        (("--lab", "4", "--students", "130"), "from 1 to 120"),
        (("--start", "5"), "with --lab"),
        (("--lab", "4", "--start", "0"), "--start takes"),
        (("--lab", "4", "--start", "5", "--burst", "5"), "different lessons"),
    ],
)
def test_a_lesson_that_cannot_be_is_refused(options: tuple[str, ...], why: str) -> None:
    with pytest.raises(CommandError, match=why):
        call_command("bench", "class", *options)


@pytest.mark.wide
def test_a_lesson_of_two_with_cuts_and_a_kill_loses_and_doubles_nothing() -> None:
    found = lesson.run("N0", 2, cut_s=3, cuts_within_s=10)
    assert (found["answers_lost"], found["answers_doubled"], found["receipts_that_differ"]) == (0, 0, 0)
    assert (found["finished"], found["troubles"]) == (2, {})
    assert found["answers_in_journals"] == found["answers_given"] >= 18
    assert found["answers_sent_again"] > 0
    assert found["grid_frames"] > 0
    assert found["frames_per_student_s"] > 0


@pytest.mark.wide
def test_a_burst_of_answers_is_receipted() -> None:
    found = lesson.burst("N0", 4)
    assert (found["receipted"], found["answers_lost"], found["answers_doubled"]) == (4, 0, 0)


def pressed(slug: str, *, shown_s: float | None = 1.5, statuses: tuple[int, ...] = (200,)) -> lab_start.Pressed:
    return lab_start.Pressed(1.0, shown_s, len(statuses), statuses, slug)


def test_starts_are_counted_in_journals_and_none_is_lost_or_doubled_unseen() -> None:
    def counts(*found: lab_start.Pressed, **starts: int) -> tuple[int, int, int]:
        counted = lab_start.count(found, starts)
        return counted["begun"], counted["lost"], counted["doubled"]

    assert counts(pressed("a"), pressed("b"), a=1, b=1) == (2, 0, 0)
    assert counts(pressed("a"), pressed("b"), a=1, b=0) == (1, 1, 0), "a sandbox without its lab"
    assert counts(pressed("a"), pressed("b", shown_s=None), a=1, b=1) == (1, 1, 1), "a lab that its student never saw"
    assert counts(pressed("a"), a=2) == (0, 0, 1), "started twice"
    assert counts(pressed("a"), a=1, c=1) == (1, 0, 1), "a second sandbox"
    assert counts(pressed("a"), pressed("a"), a=1) == (2, 0, 1), "two in one sandbox"
    assert counts(pressed("a"), a=1, landing=0) == (1, 0, 0), "sandboxes without a lab are others'"


def test_the_times_of_starts_are_from_the_press_to_the_panel() -> None:
    found = lab_start.times(
        [
            pressed("a", shown_s=1.25),
            pressed("b", shown_s=2.0, statuses=(503, 200)),
            pressed("c", shown_s=None, statuses=(429,)),
        ]
    )
    assert (found["shown_p50_ms"], found["shown_max_ms"], found["tried_again"]) == (1000.0, 1000.0, 1)


@pytest.mark.wide
def test_a_small_class_that_starts_at_once_has_its_labs() -> None:
    found = lab_start.start("N0", 3)
    assert (found["begun"], found["lost"], found["doubled"]) == (3, 0, 0)
