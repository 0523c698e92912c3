"""`manage.py pipeline lag_history --follow` stays until Ctrl-C, and has done its work then; Spark is played here."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from django.core.management import CommandError, call_command

from queueviz.runs import command_run as command
from sandbox.pipeline.runs.clients import Clients
from sandbox.pipeline.runs.launch import Order
from sandbox.pipeline.runs.runner import Runner


class Played:
    """A child's reports; the first complete read ends with Ctrl-C."""

    exit_code = None

    def __init__(self, *_: Any, **__: Any) -> None:
        self.said: list[Any] = []
        self.pressed = 0
        made.append(self)

    def __enter__(self) -> "Played":
        return self

    def __exit__(self, *_: object) -> None:
        self.said.append("closed")

    def order(self, order: Order) -> None:
        self.said.append(order)

    def end(self, run: str) -> None:
        self.said.append(("end", run))

    def reports(self) -> Iterator[dict[str, Any]]:
        yield {"state": "running"}
        self.pressed += 1
        if self.pressed == 1:
            raise KeyboardInterrupt
        yield {"state": "done", "tables": {"seconds": 7}}


made: list[Played] = []


@pytest.fixture
def home(tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    settings.QUEUEVIZ_HOME = tmp_path
    (tmp_path / "sandboxes" / "s" / "journal").mkdir(parents=True)
    (tmp_path / "sandboxes" / "s" / "sandbox.json").write_text("{}")
    monkeypatch.setattr(command, "Child", Played)
    made.clear()
    return tmp_path


def test_ctrl_c_ends_what_follows_and_it_is_done(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("pipeline", "lag_history", "--sandbox", "s", "--follow", "--json")
    [child] = made
    order, *rest = child.said
    assert order.options == {"follow": "true"}
    assert rest == [("end", order.run), "closed"]
    assert orjson.loads(capsys.readouterr().out)["tables"] == {"seconds": 7}


def test_ctrl_c_cuts_off_what_does_not_follow(home: Path) -> None:
    with pytest.raises(CommandError, match=r"^Interrupted\. The last result is unchanged\.$"):
        call_command("pipeline", "lag_history", "--sandbox", "s", "--json")
    [child] = made
    assert child.said[1:] == ["closed"]  # the child learns that the reader is gone


def test_an_order_that_has_not_begun_is_cancelled_when_the_parent_ends() -> None:
    """Else it would run to its end, after its command has said that the last result is as it was."""
    order = Order("r1", "export", {}, {}, "out", {})
    lines: list[bytes] = []
    clients = Clients(lines.append)
    runner = Runner(clients.report, master=None, remote=None)
    clients.hear_parent([orjson.dumps(order._asdict()) + b"\n"], runner)
    waiting = clients.next_order(None)
    assert waiting == order
    runner.run(waiting)
    assert [orjson.loads(line) for line in lines] == [{"run": "r1", "state": "cancelled"}]
    assert clients.next_order(None) is None
