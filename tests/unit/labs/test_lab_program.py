"""A run as the file of a lab: what becomes its setup, what a step, and that the text is Python in the house's form."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sandbox.control.actions import Action, ChangeActor, CreateTopic, StartConsumer, StartProducer, Subscription
from sandbox.control.branch_orders import Came, RunOrder
from sandbox.journal.events.life import HISTORY
from sandbox.kernel.errors import ActionRefused
from sandbox.labs.catalogue import LABS
from sandbox.labs.lab import Lab
from sandbox.labs.lab_from_run import STEPS_MAX, SavedRun, saved_run
from sandbox.labs.lab_program import lab_program
from sandbox.labs.placeholders import unfinished

BEGIN_MS = 1_795_000_000_000
ROOT = Path(__file__).parents[3]
BUILT = (
    CreateTopic(topic="orders", write_queues=4, read_queues=4),
    StartConsumer(group="clerks", subscriptions=(Subscription("orders"),), copies=2),
)
ACTS = (
    (1, "StartProducer", {"topic": "orders", "actor": "shop"}),
    (21.5, "CrashActor", {"actor": "A"}),
    (30, "RestartActor", {"actor": "A"}),
)


def saved(
    *came: tuple[float, str | None, Mapping[str, Any] | None], seed: str = "7", built: tuple[Action, ...] = BUILT
) -> SavedRun:
    """Return the events after so many seconds of the sandbox's clock."""
    order = RunOrder(
        template="orders",
        preset="sandbox",
        seed=seed,
        wall_ms=BEGIN_MS,
        memory_bytes=1,
        first_port=1,
        conditions="",
        came=tuple(Came(0, 0, name, None if fields is None else dict(fields)) for _, name, fields in came),
        until=9,
        until_ms=BEGIN_MS + 99_000,
        moments=tuple(BEGIN_MS + int(at_s * 1000) for at_s, _, _ in came),
    )
    return saved_run(order, name="mine", template="orders-bare", built=built)


def made(run: SavedRun) -> Lab:
    names: dict[str, Any] = {}
    exec(lab_program(run), names)
    lab = names["LAB"]
    assert isinstance(lab, Lab)
    return lab


def test_what_builds_is_the_setup_and_every_later_action_a_step() -> None:
    lab = made(saved(*ACTS))
    assert lab.setup(lab.numbers("1", 1)) == (*BUILT, StartProducer(topic="orders", actor="shop"))
    assert lab.allowed == {"CrashActor", "RestartActor"}
    assert ["CrashActor: actor A" in step.do for step in lab.steps] == [True, False]
    assert (lab.template, lab.preset, len(lab.wrong)) == ("orders-bare", "sandbox", 1)


def test_its_script_waits_as_long_as_was_waited() -> None:
    text = lab_program(saved(*ACTS))
    assert [line.strip() for line in text.splitlines() if "hands.wait" in line] == [
        "hands.wait(20.5)",
        "hands.wait(8.5)",
    ]


def test_hours_between_two_actions_are_cut_and_the_file_says_so() -> None:
    assert "hands.wait(600)  # there it was 7200 s" in lab_program(
        saved((0, "CrashActor", {"actor": "A"}), (7_200, "RestartActor", {"actor": "A"}))
    )


def test_a_member_started_after_a_fault_is_no_setup() -> None:
    run = saved(*ACTS, (40, "StartConsumer", {"group": "clerks", "copies": 1}))
    assert [type(one.action).__name__ for one in run.later] == ["CrashActor", "RestartActor", "StartConsumer"]


def test_where_all_builds_the_last_of_it_is_the_step() -> None:
    run = saved((5, "StartProducer", {"topic": "orders"}), (9, "StartConsumer", {"group": "clerks"}))
    assert [(type(one.action).__name__, one.waited_ms) for one in run.later] == [("StartConsumer", 4_000)]


def test_the_time_of_a_given_history_is_not_waited_for() -> None:
    run = saved((1_800, HISTORY, None), (1_803, "CrashActor", {"actor": "A"}))
    assert [one.waited_ms for one in run.later] == [3_000]


def test_the_clock_s_rate_and_answers_of_labs_are_left_out() -> None:
    run = saved(
        (1, "SetRate", {"rate": 20}), (2, None, {"limit": "x"}), (3, "TakeHint", {"lab": "mine", "step": 1}), *ACTS
    )
    assert len(run.later) == 2


def test_what_names_a_thing_of_that_run_alone_is_left_out_and_named() -> None:
    run = saved(*ACTS, (31, "UndoReset", {"reset_id": "r-1"}), (32, "HangActor", {"actor": "10.0.0.11@7#1"}))
    assert run.left_out == ("UndoReset", "HangActor")
    assert "Left out, as they name what that run alone had: UndoReset, HangActor." in lab_program(run)


def test_of_a_lab_that_was_done_there_the_newest_setup_is_taken() -> None:
    slug = "pinned-offset"
    run = saved(
        (0, "StartLab", {"lab": slug}),
        (9, "StopActor", {"actor": "A"}),
        (20, "RestartLab", {"lab": slug}),
        (30, "CrashActor", {"actor": "A"}),
    )
    assert run.setup == LABS[slug].setup(LABS[slug].numbers("7", 2))
    assert [one.waited_ms for one in run.later] == [10_000]


def test_a_second_attempt_has_other_names_of_all_its_topics_and_groups() -> None:
    lab = made(
        saved(
            (0, "CreateTopic", {"topic": "parcels"}),
            (1, "StartConsumer", {"group": "packers", "subscriptions": [["parcels", "*"]]}),
            *ACTS,
        )
    )
    again = lab.setup(lab.numbers("1", 2))
    assert [getattr(action, "topic", None) or action.group for action in again] == [  # type: ignore[attr-defined]
        "orders-2",
        "clerks-2",
        "parcels-2",
        "packers-2",
        "orders-2",
    ]
    assert again[3] == StartConsumer(group="packers-2", subscriptions=(Subscription("parcels-2"),))


def test_a_reset_carries_no_preview_and_counts_its_moment_from_now() -> None:
    reset = {
        "group": "clerks",
        "topic": "orders",
        "target": "time",
        "value": BEGIN_MS - 60_000,
        "fingerprint": "f",
        "expected": [{"queue": "broker-a:0", "committed": 3, "target": 1}],
    }
    text = lab_program(saved((30, "ResetOffsets", reset)))
    assert "value=hands.evidence.now_ms - 90_000" in text
    assert "fingerprint" not in text
    assert "expected" not in text


@pytest.mark.parametrize(
    ("came", "sentence"),
    [
        ((), "This sandbox has no action yet that students could do in a step."),
        (((0, "StartLab", {"lab": "gone"}), *ACTS), "Lab gone was done here, and this release does not have it."),
        (((0, "StopActor", {"actor": "A"}),) * (STEPS_MAX + 1), "21 actions are too many for one lab"),
    ],
)
def test_a_run_that_makes_no_lab_is_refused_with_a_sentence(came: tuple[Any, ...], sentence: str) -> None:
    with pytest.raises(ActionRefused) as caught:
        saved(*came)
    assert caught.value.status == 422
    assert sentence in str(caught.value)
    assert caught.value.hint


def test_what_is_to_be_filled_in_is_named_part_by_part() -> None:
    found = unfinished(made(saved(*ACTS)))
    assert found[0] == "The lab is to be filled in: title, goal."
    assert found[1].startswith("Step 1 is to be filled in: title, do, check, predict.text, predict.right")
    assert found[-1].startswith("Wrong scripts: 1 of at least 3.")
    assert not any(unfinished(lab) for lab in LABS.values())


def test_any_text_stays_as_it_was_and_a_formatter_changes_nothing(tmp_path: Path) -> None:
    rows = [{"key": "it's {n}", "body": 'say "no"'}, {"key": "both ' and \"", "body": "\\n é 中"}] * 4
    run = saved(
        (0, "CreateTopic", {"topic": "a{b}", "write_queues": 16}),
        *ACTS,
        (40, "SendMessages", {"topic": "a{b}", "rows": rows}),
        (
            41,
            "SetStrategy",
            {"group": "clerks", "strategy": "CONFIG", "queues_by_member": {"A": ["broker-a:0", "broker-a:1"], "B": []}},
        ),
        built=(*BUILT, ChangeActor(actor="A", work_ms=(10, 20_000), handler="reject {x}")),
    )
    lab = made(run)
    assert [row.body for row in run.later[2].action.rows[:2]] == ['say "no"', "\\n é 中"]  # type: ignore[attr-defined]
    assert "topic a{b}" in lab.steps[2].do.format(**lab.numbers("1", 1))
    file = tmp_path / "mine_lab.py"
    file.write_text(lab_program(run), "utf-8")
    for words in (["format", "--diff"], ["check"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *words, "--config", str(ROOT / "pyproject.toml"), str(file)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
