"""The Python API, as its page shows it."""

import contextlib
import io
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox import QueueView, Sandbox
from sandbox.kernel.errors import ActionRefused

PAGE = Path(__file__).parents[3] / "docs" / "notebook.md"


def examples() -> list[tuple[str, str]]:
    """Every program of the page with what it prints."""
    return re.findall(r"```python\n(.*?)```\n\n.*?```\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)


@pytest.mark.seed("0.27", "D6")
@pytest.mark.parametrize("number", [0, 1, 2])
def test_the_page_prints_what_it_says(number: int) -> None:
    program, printed = examples()[number]
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(program, {"Sandbox": Sandbox})
    assert said.getvalue() == printed


def test_one_slow_message_takes_ten_lines() -> None:
    program, _ = examples()[0]
    assert len([line for line in program.splitlines() if line]) <= 10


def test_the_same_seed_is_the_same_journal() -> None:
    journals = []
    for _ in range(2):
        with Sandbox("orders", seed="twice") as box:
            box.run(20)
            journals.append(box.events())
    assert len(journals[0]) > 100
    assert journals[0] == journals[1]


def test_another_seed_is_another_journal() -> None:
    journals = []
    for seed in (1, 2):
        with Sandbox("orders", seed=seed) as box:
            box.run(20)
            journals.append(box.events("MessagesConsumed"))
    assert journals[0] != journals[1]


def test_what_cannot_be_done_is_refused_with_a_hint() -> None:
    with Sandbox() as box, pytest.raises(ActionRefused) as refused:
        box.crash("nobody")
    assert "nobody" in str(refused.value)


def test_waiting_for_what_never_comes_ends() -> None:
    with Sandbox() as box, pytest.raises(TimeoutError, match="not within 5 s"):
        box.run_until(lambda: False, within_s=5)


def test_a_question_answers_and_changes_nothing() -> None:
    with Sandbox("orders", seed=3) as box:
        box.run(20)
        before = box.events()
        plan = box.ask("plan-rebalance", group="order-svc", topic="orders", add=1)
        assert plan
        assert box.events() == before


def test_numbers_are_numbers_and_unknown_is_none() -> None:
    with Sandbox() as box:
        box.topic("orders", queues=2)
        box.run(1)
        assert box.queues("orders") == [
            QueueView("broker-a:0", 0, 0, None, None, None, None),
            QueueView("broker-a:1", 0, 0, None, None, None, None),
        ]
        assert box.queues("orders")[0].lag is None
        assert box.queues("orders", "nobody") == []


def test_rows_older_than_the_memory_come_from_the_files() -> None:
    with Sandbox("orders", seed=4) as box:
        box.act("ChangeActor", actor="shop", rate_per_s=100)
        box.run(240)
        seqs = [row["seq"] for row in box.events()]
        assert seqs == list(range(seqs[0], seqs[-1] + 1))
        assert seqs[0] == 0
        assert len(seqs) > 20_000


def test_real_time_runs_by_itself_and_its_files_stay(tmp_path: Path) -> None:
    with Sandbox(virtual=False, home=tmp_path) as box:
        box.topic("orders", queues=1)
        box.act("SetRate", rate=20)
        box.send("orders", 3)
        box.run_until(lambda: box.queues("orders")[0].max_offset == 3, within_s=20, step_s=0.05)
        assert [row["action"] for row in box.events("ActionTaken")] == ["CreateTopic", "SetRate", "SendMessages"]
    with Sandbox(virtual=False, home=tmp_path) as box:
        assert box.queues("orders")[0].max_offset == 3


def test_a_single_floor_loads_without_those_above() -> None:
    program = "import sys, sandbox.kernel.clock; print('sandbox.hosting' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert answer.stdout.strip() == "False"
