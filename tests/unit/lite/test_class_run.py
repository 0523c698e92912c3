"""A lab's run in a student's browser: what the server gets, what is kept, and how the run goes on elsewhere."""

import json
from pathlib import Path
from typing import Any

import pytest

from queueviz.courses.lite_runs import CONFIG
from sandbox.cluster.journal_files import DIRECTORY
from sandbox.control.actions import Action, AnswerStep, SetRate
from sandbox.hosting.recipes import written
from sandbox.journal.segments import rows_since
from sandbox.kernel.errors import ActionRefused
from sandbox.labs.catalogue import LABS
from sandbox.lite.class_port import STUDENT
from sandbox.lite.class_run import ClassRun
from sandbox.lite.entry import Lite
from sandbox.lite.memory_disk import MAPPED
from sandbox.sim.loop import SimLoop

SLUG = "lite-calm-owl-abcdef"
LAB = LABS["lag-and-throughput"]
BEGAN_MS = 1_795_000_000_000
WAY_S = 0.05
SERVER_LATE_MS = 7_000  # its clock is so much behind that of the browser


class Server:
    """The server's list of one run, as far as a browser notices it."""

    def __init__(self) -> None:
        self.entries: list[dict[str, Any]] = []
        self.at_ms = BEGAN_MS
        self.hold: dict[str, Any] = {}
        self.open_until: int | None = None
        self.due_ms: int | None = None

    def begin(self) -> dict[str, Any]:
        order = written(LAB.template, LAB.preset, "seed-7", (), begin_ms=BEGAN_MS, until_ms=0, config=CONFIG)
        names = ("template", "preset", "seed", "wall_ms", "memory_bytes", "first_port", "conditions")
        return {
            "k": "begin",
            "lab": LAB.slug,
            **{name: getattr(order, name) for name in names},
            "changes": dict(LAB.changes),
            "until_ms": self.at_ms,
            "came": [[each[name] for name in ("turn", "ms", "name", "fields", "by")] for each in self.entries],
            "receipt": f"receipt {len(self.entries)}" if self.entries else "",
            "hold": self.hold,
            "open_until": self.open_until,
            "due_ms": self.due_ms,
        }


class Browser:
    """A browser with a worker of its own, in virtual time, and its socket to the server."""

    def __init__(self, home: Path, server: Server, kept: bytes = b"") -> None:
        MAPPED.clear()
        self.server = server
        self.loop = SimLoop()
        self.kept = kept
        self.sent: list[dict[str, Any]] = []
        self.why_ended: list[str] = []
        self.polls: list[str] = []
        self.holds: list[dict[str, Any]] = []
        self.counts = (0, 0)
        self.is_cut = False
        self.run = self.loop.run(self._made(home))

    async def _made(self, home: Path) -> ClassRun:
        lite = Lite(str(home), lambda number, text: self.run.say_to_viewer(number, text), lambda number, code: None)
        return ClassRun(
            lite,
            SLUG,
            engine="e",
            instance="i",
            page=self,
            feed=self._feed,
            kept=self.kept,
        )

    def server_ms(self) -> int:
        return self.run._lite.now_ms() - SERVER_LATE_MS

    async def _feed(self) -> None:
        raise AssertionError("this lab reads no feed")

    def keep(self, record: bytes, anew: bool) -> None:
        self.kept = record if anew else self.kept + record

    def changed(self, length: int, known: int) -> None:
        self.counts = (length, known)

    def course(self, poll: str, open_until: int | None) -> None:
        self.polls.append(poll)

    def held(self, hold: str) -> None:
        self.holds.append(json.loads(hold))

    def ended(self, reason: str) -> None:
        self.why_ended.append(reason)

    def send(self, text: str) -> None:
        message = json.loads(text)
        if not self.is_cut:
            self.sent.append(message)
            self.loop.call_later(WAY_S, self._arrive, message)

    def _arrive(self, message: dict[str, Any]) -> None:
        if self.is_cut:
            return
        entries = self.server.entries
        if message["k"] == "hello":
            known = {
                "length": len(entries),
                "receipt": f"receipt {len(entries)}" if entries else "",
                "now_ms": self.server_ms(),
            }
            known["due_ms"] = self.server.due_ms
            self._hear({"k": "go", **known} if message["runs"] else self.server.begin() | {"now_ms": self.server_ms()})
        elif message["k"] == "came":
            if message["n"] == len(entries) + 1:
                entries.append(message)
            assert message == entries[message["n"] - 1]
            self._hear({"k": "receipt", "n": len(entries), "receipt": f"receipt {len(entries)}"})
        elif message["k"] == "tile":
            self.server.at_ms = message["tile"]["at_ms"]

    def _hear(self, message: dict[str, Any]) -> None:
        self.loop.create_task(self.run.hear(json.dumps(message)))

    def open(self) -> "Browser":
        self.run.connected()
        self.loop.run(self.run.begin())
        self.pass_s(0.1)
        return self

    def cut(self) -> None:
        self.is_cut = True
        self.run.disconnected()

    def connect_again(self) -> None:
        self.is_cut = False
        self.run.connected()
        self.pass_s(0.2)

    def pass_s(self, seconds: float) -> None:
        self.loop.run_for(seconds)

    def act(self, action: Action) -> int:
        future = self.run.port.act(SLUG, action, STUDENT)
        while not future.done():
            self.pass_s(0.01)
        return future.result()

    def call(self, verb: str, **args: Any) -> Any:
        """Return the answer to a call of the server."""
        self._hear({"k": "do", "id": 99, "verb": verb, "args": args})
        self.pass_s(1)
        return next(message for message in reversed(self.sent) if message.get("id") == 99)

    def journal(self, home: Path) -> list[dict[str, Any]]:
        self.run._lite.awake(SLUG).cluster.journal_files.show()
        return list(rows_since(home / "sandboxes" / SLUG / DIRECTORY, 0))


def test_a_run_begins_with_its_lab_started_by_the_student(tmp_path: Path) -> None:
    server = Server()
    Browser(tmp_path, server).open()
    assert [(each["n"], each["name"], each["by"]) for each in server.entries] == [(1, "StartLab", "student student")]


def test_each_action_is_sent_when_it_happens_and_has_a_receipt(tmp_path: Path) -> None:
    browser = Browser(tmp_path, Server()).open()
    browser.act(SetRate(rate=2.0))
    assert browser.counts == (2, 1), "sent, and not received yet"
    browser.pass_s(0.1)
    assert browser.counts == (2, 2)
    assert browser.server.entries[1]["fields"] == {"rate": 2.0}


def test_what_happens_in_a_cut_is_sent_once_when_the_socket_is_there_again(tmp_path: Path) -> None:
    browser = Browser(tmp_path, Server()).open()
    browser.cut()
    browser.act(SetRate(rate=2.0))
    browser.pass_s(20)
    browser.act(SetRate(rate=1.0))
    assert browser.counts == (3, 1)
    browser.connect_again()
    assert browser.counts == (3, 3)
    assert [each["fields"].get("rate") for each in browser.server.entries] == [None, 2.0, 1.0]


def test_a_receipt_that_was_lost_does_not_double_an_entry(tmp_path: Path) -> None:
    browser = Browser(tmp_path, Server()).open()
    browser.act(SetRate(rate=2.0))
    browser.pass_s(WAY_S)  # the entry is there, its receipt is on the way
    browser.cut()
    browser.run._known, browser.run._entries = 1, [dict(browser.sent[-1])]
    browser.connect_again()
    assert [each["name"] for each in browser.server.entries] == ["StartLab", "SetRate"]
    assert browser.counts == (2, 2)


def test_a_run_goes_on_elsewhere_with_the_same_journal(tmp_path: Path) -> None:
    """The list of the server is all that another device needs."""
    first = Browser(tmp_path / "laptop", Server()).open()
    first.pass_s(3)
    first.act(SetRate(rate=3.0))
    first.pass_s(5)
    before = first.journal(tmp_path / "laptop")
    first.cut()
    other = Browser(tmp_path / "phone", first.server).open()
    after = other.journal(tmp_path / "phone")
    newest = max(row["seq"] for row in before if row["at_ms"] <= first.server.at_ms)
    assert [row for row in after if row["seq"] < newest] == [row for row in before if row["seq"] < newest]
    assert other.counts == (2, 2)
    other.act(SetRate(rate=1.0))
    other.pass_s(0.1)
    assert len(first.server.entries) == 3


def test_a_reload_in_a_cut_keeps_what_only_the_browser_has(tmp_path: Path) -> None:
    first = Browser(tmp_path / "before", Server()).open()
    first.cut()
    first.act(SetRate(rate=2.0))
    reloaded = Browser(tmp_path / "after", first.server, first.kept).open()
    assert [each["name"] for each in first.server.entries] == ["StartLab", "SetRate"]
    assert reloaded.counts == (2, 2)


def test_what_is_kept_of_another_run_is_not_used(tmp_path: Path) -> None:
    first = Browser(tmp_path / "before", Server()).open()
    first.cut()
    first.act(SetRate(rate=2.0))
    other = Server()
    kept = first.kept.replace(b"seed-7", b"seed-8")
    Browser(tmp_path / "after", other, kept).open()
    assert [each["name"] for each in other.entries] == ["StartLab"]


def test_a_kept_log_that_was_cut_short_is_used_up_to_there(tmp_path: Path) -> None:
    first = Browser(tmp_path / "before", Server()).open()
    first.cut()
    first.act(SetRate(rate=2.0))
    first.act(SetRate(rate=4.0))
    Browser(tmp_path / "after", first.server, first.kept[:-9]).open()
    assert [each["name"] for each in first.server.entries] == ["StartLab", "SetRate"]


def test_the_server_gets_a_tile_each_second_and_the_lab_when_it_changes(tmp_path: Path) -> None:
    browser = Browser(tmp_path, Server()).open()
    browser.pass_s(5)
    kinds = [message["k"] for message in browser.sent]
    assert 4 <= kinds.count("tile") <= 6
    assert kinds.count("lab") == 1
    browser.act(AnswerStep(lab=LAB.slug, step=1, part="predict", value="3"))
    browser.pass_s(2)
    row = [message["row"] for message in browser.sent if message["k"] == "lab"][-1]
    assert [(receipt["step"], receipt["part"]) for receipt in row["receipts"]] == [(1, "predict")]


def test_a_teacher_freezes_and_the_next_device_is_frozen_too(tmp_path: Path) -> None:
    browser = Browser(tmp_path / "first", Server()).open()
    what = ["freeze", browser.server_ms() + 3_000, 30.0, True]
    browser._hear({"k": "do", "id": 1, "verb": "intervene", "args": {"what": what, "by": ["instructor", "lee"]}})
    browser.pass_s(6)
    done = next(message for message in browser.sent if message.get("id") == 1)
    assert done["k"] == "did", done
    _, planned_ms, at_ms, late_ms, _ = done["value"]
    assert abs(planned_ms - at_ms) <= 1
    assert late_ms <= 2 * WAY_S * 1000
    tile = [message for message in browser.sent if message["k"] == "tile"][-1]
    assert tile["tile"]["frozen"]
    assert browser.holds[-1]["frozen"], "the student sees it"
    assert browser.server.entries[-1]["by"] == "instructor lee"
    browser.server.hold = tile["hold"]
    other = Browser(tmp_path / "second", browser.server).open()
    other.pass_s(3)
    assert [message for message in other.sent if message["k"] == "tile"][-1]["tile"]["frozen"]
    release = {"what": ["release", 0, 30.0, True], "by": ["instructor", "lee"]}
    other._hear({"k": "do", "id": 2, "verb": "intervene", "args": release})
    other.pass_s(2)
    assert other.server.entries[-1]["fields"] == {"rate": 1.0}


def test_a_step_that_the_teacher_has_not_opened_is_refused(tmp_path: Path) -> None:
    browser = Browser(tmp_path, Server()).open()
    browser.loop.run(browser.run.hear('{"k":"course","open_until":0,"poll":"1/open"}'))
    assert browser.polls == ["1/open"]
    with pytest.raises(ActionRefused, match="opens step 1"):
        browser.act(AnswerStep(lab=LAB.slug, step=1, part="predict", value="3"))


def test_after_the_due_date_nothing_is_accepted_but_time(tmp_path: Path) -> None:
    browser = Browser(tmp_path, Server()).open()
    browser.server.due_ms = -1
    browser.cut()
    browser.connect_again()
    with pytest.raises(ActionRefused, match="due"):
        browser.act(AnswerStep(lab=LAB.slug, step=1, part="predict", value="3"))
    browser.act(SetRate(rate=2.0))


def test_the_server_may_ask_for_the_board_and_act(tmp_path: Path) -> None:
    browser = Browser(tmp_path, Server()).open()
    assert browser.call("snapshot")["value"]["sandbox"]["lab"] == LAB.slug
    assert browser.call("read", names=[f"tile/{SLUG}", f"board/{SLUG}/none/none"])["value"][1] == "unknown"
    assert int(browser.call("act", fields={"action": "SetRate", "rate": 2.0}, by=["instructor", "lee"])["value"])
    assert browser.call("erase")["status"] == 404
    assert browser.call("act", fields={"action": "SetRate", "rate": -2.0}, by=["instructor", "lee"])["status"] == 422


def test_a_viewer_behind_the_server_gets_the_board_until_it_leaves(tmp_path: Path) -> None:
    browser = Browser(tmp_path, Server()).open()
    assert not [message for message in browser.sent if message["k"] == "say"], "no frame while no teacher looks"
    browser._hear({"k": "open", "v": 5})
    browser._hear({"k": "hear", "v": 5, "text": json.dumps({"k": "sub", "ch": f"lab/{SLUG}"})})
    browser.pass_s(2)
    texts = [json.loads(message["text"]) for message in browser.sent if message["k"] == "say"]
    assert "snap" in [each["k"] for each in texts]
    browser._hear({"k": "close", "v": 5})
    browser.pass_s(1)
    number = len([message for message in browser.sent if message["k"] == "say"])
    browser.pass_s(5)
    assert len([message for message in browser.sent if message["k"] == "say"]) == number


def test_the_run_ends_when_it_goes_on_elsewhere(tmp_path: Path) -> None:
    browser = Browser(tmp_path, Server()).open()
    browser.loop.run(browser.run.hear('{"k":"end","reason":"again"}'))
    assert not browser.why_ended
    browser.loop.run(browser.run.hear('{"k":"end","reason":"elsewhere"}'))
    assert browser.why_ended == ["elsewhere"]
