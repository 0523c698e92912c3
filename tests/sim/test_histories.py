"""Histories: the minutes that new sandboxes begin with, made once in virtual time and copied."""

import asyncio
import errno
import fcntl
import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sandbox.cluster import record as records
from sandbox.cluster.config import HostConfig
from sandbox.cluster.origin import load_origin
from sandbox.cluster.templates import TEMPLATES
from sandbox.control.branch_orders import BranchOrder
from sandbox.control.questions import RecentLag
from sandbox.control.recipe_text import pack, unpack
from sandbox.hosting import histories, sparse_files
from sandbox.hosting.histories import COPYING, COPYING_S, FILES, RUN, SLUG, Histories
from sandbox.hosting.repeatable_ranges import line_of, recorded_until
from sandbox.hosting.rerun import Rerun
from sandbox.journal.event_filter import EventFilter
from sandbox.journal.segments import lines
from sandbox.kernel.errors import ActionRefused
from sandbox.simulation.history import LOCK_NAME, make_history, seed_of
from sandbox.simulation.recipe import acts_of
from sandbox.simulation.replay import replay
from sandbox.simulation.world import BEGIN_MS
from tests.sim.recorded_stage import SLUG as RECORDED
from tests.sim.recorded_stage import Recorded

HALF_A_MINUTE = HostConfig(history_s=30)
ENDS_MS = BEGIN_MS - 3_600_000  # it was made an hour before sandboxes begin with it
TEMPLATE = "orders"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("made")
    assert make_history(home, TEMPLATE, "sandbox", HALF_A_MINUTE, ends_ms=ENDS_MS)
    return home


@pytest.fixture
def home(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made / histories.DIRECTORY, tmp_path / histories.DIRECTORY)
    return tmp_path


@pytest.fixture
def stage(home: Path) -> Iterator[Recorded]:
    stage = Recorded(home, TEMPLATE, seed=None, luck=3, config=HALF_A_MINUTE, history=True)
    stage.watch()
    yield stage
    stage.close()


def place(home: Path) -> Path:
    return Histories(home, HALF_A_MINUTE).place(TEMPLATE, "sandbox")


def history_lines(home: Path) -> list[bytes]:
    return list(lines(place(home) / RUN / "journal"))


def begins_without(stage: Recorded, slug: str) -> bool:
    return not any(row["type"] == "SandboxWoken" for row in stage.rows(slug))


def what_is_left_over(home: Path) -> list[Path]:
    return list((home / histories.DIRECTORY).glob(f"{COPYING}*"))


def test_a_sandbox_begins_with_every_event_of_the_history_and_goes_on(stage: Recorded, home: Path) -> None:
    before = history_lines(home)
    stage.run(5)
    assert stage.journal()[: len(before)] == before
    woken = stage.rows()[len(before)]
    assert (woken["type"], woken["reason"], woken["seq"]) == ("SandboxWoken", "history", len(before))
    stored = [row["first_offset"] for row in stage.rows()[len(before) :] if row["type"] == "MessagesStored"]
    assert min(map(int, stored)) > 20, "offsets go on"
    assert what_is_left_over(home) == []


def test_the_history_is_what_a_sandbox_with_its_seed_would_have_done(home: Path, tmp_path: Path) -> None:
    stage = Recorded(tmp_path / "other", TEMPLATE, seed=seed_of(TEMPLATE, "sandbox"), luck=8)
    stage.watch()
    stage.run(40)
    wall_ms = next(row["wall_ms"] for row in stage.rows() if row["type"] == "ClockChanged")
    make_history(stage.directory.parents[1], TEMPLATE, "sandbox", HALF_A_MINUTE, ends_ms=wall_ms + 30_000)
    again = history_lines(stage.directory.parents[1])
    ended = next(number for number, line in enumerate(again) if b'"state":"stopping"' in line)
    assert ended > 1_000
    renamed = [line.replace(RECORDED.encode(), SLUG.encode()) for line in stage.journal()[: ended - 1]]
    assert again[: ended - 1] == renamed
    stage.close()


def test_clock_lag_offsets_and_journal_are_there_at_once(stage: Recorded) -> None:
    snapshot = stage.host.snapshot(RECORDED)
    assert 0 <= snapshot["at_ms"] - ENDS_MS < 3_000, "its clock goes on where the history ended"
    assert sum(int(queue["max"]) for topic in snapshot["topics"] for queue in topic["queues"]) > 150
    lag = stage.machine.sim.run(stage.host.ask(RECORDED, RecentLag(group="order-svc", topic="orders")))
    assert all(sum(value is not None for value in values) >= 20 for values in lag["queues"].values())
    facts = stage.machine.sim.run(
        stage.host.past.look_back(RECORDED, EventFilter("facts"), before=None, after=-1, most=500)
    ).rows
    assert {"SandboxOpened", "QueueTaken"} <= {row["type"] for row in facts}


def test_every_queue_has_its_owner_in_the_first_second(stage: Recorded) -> None:
    stage.run(1)
    [group] = stage.host.snapshot(RECORDED)["groups"]
    assert len(group["members"]) == 3
    read = stage.machine.sim.run(stage.host.read([f"board/{RECORDED}/order-svc/orders"]))[0]
    assert all(queue["owner"] for queue in read.data["queues"].values())


def test_its_whole_run_is_executed_again_from_the_seed(stage: Recorded) -> None:
    stage.run(3)
    stage.act("CrashActor", actor="B")
    stage.run(3)
    stage.sleep()
    stage.wake()
    stage.run(2)
    stage.sleep()
    again = replay(stage.directory)
    assert again.first_difference is None
    assert again.events == len(stage.journal())
    assert [stretch.reproducible for stretch in line_of(stage.directory).stretches] == [True]


@pytest.mark.parametrize(("share", "is_kept"), [(0.3, True), (0.7, True), (0.97, True), (0.97, False)])
def test_a_branch_begins_at_any_event_of_the_history_or_after_it(
    stage: Recorded,
    home: Path,
    share: float,
    is_kept: bool,
) -> None:
    if not is_kept:
        shutil.rmtree(home / histories.DIRECTORY)
    stage.run(3)
    stage.act("StopActor", actor="A")
    stage.run(3)
    written = stage.journal()
    at = int(len(written) * share)
    stage.make("branch", BranchOrder(parent=RECORDED, at=at))
    assert stage.journal("branch")[: at + 1] == written[: at + 1]
    assert replay(stage.directory.with_name("branch")).first_difference is None


@pytest.mark.parametrize(("is_whole", "least_s"), [(True, 3), (False, 33)])
def test_what_comes_after_the_history_needs_no_execution_of_it(
    stage: Recorded,
    home: Path,
    is_whole: bool,
    least_s: float,
) -> None:
    if not is_whole:
        (place(home) / RUN / "lag.json").write_bytes(b"{}")
    stage.run(3)
    stage.act("CrashActor", actor="B")
    stage.run(1)
    recorded, found = recorded_until(stage.directory, int(stage.rows()[-1]["seq"]))
    with Rerun(load_origin(stage.directory), recorded, found, home=home) as rerun:
        rerun.take_history(before_ms=ENDS_MS)
        assert rerun.compared == 0, "its end is asked for, too"
        rerun.take_history()
        rerun.run()
        again = rerun.written()
    assert rerun.difference is None
    assert again == found
    assert least_s <= rerun.virtual_s < least_s + 4


def test_a_recipe_of_it_is_the_same_run(stage: Recorded) -> None:
    stage.run(2)
    stage.act("CrashActor", actor="B")
    stage.run(2)
    at = stage.rows()[-1]["seq"]
    limits = HALF_A_MINUTE.limits
    text = pack(stage.machine.sim.run(stage.host.branches.recipe(RECORDED, at)), limits)
    stage.make("again", unpack(text, limits))
    named = b"\n".join(stage.journal()[: at + 1]).replace(b"owner test", b"owner").replace(b'"history"', b'"recipe"')
    reasons = b'"reason":"recipe"'
    assert b"\n".join(stage.journal("again")[: at + 1]) == named.replace(reasons, b'"reason":"history"')


def test_what_was_done_to_it_counts_from_its_own_beginning(stage: Recorded) -> None:
    stage.run(4)
    stage.act("CrashActor", actor="B")
    stage.sleep()
    [act] = acts_of(stage.directory / "journal", 20_000)
    assert act.action == "CrashActor"
    assert 4_000 <= act.at_ms < 6_000


def test_every_sandbox_and_branch_has_ports_of_its_own(stage: Recorded) -> None:
    stage.create("second", TEMPLATE)
    stage.make("branch", BranchOrder(parent="second", at=100))
    found = [
        {node.own for node in records.load(stage.directory.with_name(slug)).nodes}
        for slug in (RECORDED, "second", "branch")
    ]
    run = {node.address for node in records.load(stage.directory).nodes}
    assert len(set().union(run, *found)) == len(run) + sum(map(len, found))
    assert len(stage.host._registry.ports()) == sum(map(len, found))
    shown = stage.machine.sim.run(stage.host.read([f"connect/{RECORDED}"]))[0].data
    assert shown["ports"].keys() == found[0]
    assert all(port["node"] for port in shown["ports"].values())


@pytest.mark.parametrize("is_kept", [True, False])
def test_two_that_are_made_at_once_are_both_whole_and_one_name_is_given_once(
    stage: Recorded,
    home: Path,
    is_kept: bool,
) -> None:
    before = history_lines(home) if is_kept else []
    if not is_kept:
        shutil.rmtree(home / histories.DIRECTORY)

    async def all_at_once() -> list[Any]:
        made = [
            stage.host.create(slug, TEMPLATE, preset="sandbox", seed=None, changes=None, limits=None, history=True)
            for slug in ("one", "two", "two")
        ]
        return await asyncio.gather(*made, return_exceptions=True)

    *_, refused = stage.machine.sim.run(all_at_once())
    assert isinstance(refused, ActionRefused)
    assert refused.status == 409
    assert all(stage.journal(slug)[: len(before)] == before for slug in ("one", "two"))
    stage.sleep()
    stage.run(2)
    assert {slot.slug: slot.state for slot in stage.host._registry.all()} == {
        RECORDED: "asleep",
        "one": "live",
        "two": "live",
    }
    assert what_is_left_over(home) == []


@pytest.mark.parametrize(
    "given",
    [
        {"seed": 4},
        {"limits": {"topics": 8}},
        {"changes": {"flush": "SYNC_FLUSH"}},
        {"history": False},
    ],
)
def test_who_asks_for_a_run_of_his_own_gets_none(stage: Recorded, given: dict[str, Any]) -> None:
    stage.create("own", TEMPLATE, **given)
    assert begins_without(stage, "own")


def test_templates_in_which_nothing_goes_on_have_none() -> None:
    assert [name for name in TEMPLATES if not histories.has_history(name, HALF_A_MINUTE)] == [
        "empty",
        "replicas",
        "index",
    ]
    assert not histories.has_history(TEMPLATE, HostConfig())


@pytest.mark.parametrize("change", ["code", "limits", "length"])
def test_what_another_release_or_other_settings_made_is_not_used_and_goes(
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: str,
) -> None:
    config = HALF_A_MINUTE
    if change == "code":
        monkeypatch.setattr(histories, "code_digest", lambda: "another")
    elif change == "limits":
        config = replace(config, sandbox_limits=replace(config.sandbox_limits, groups=9))
    else:
        config = replace(config, history_s=5)
    here = Histories(home, config)
    assert here.copy(TEMPLATE, "sandbox") is None
    assert make_history(home, TEMPLATE, "sandbox", replace(config, history_s=5))
    left = sorted(path.name for path in here.root.iterdir() if path.is_dir())
    assert left == [Histories(home, replace(config, history_s=5)).place(TEMPLATE, "sandbox").name]


def test_without_one_a_sandbox_begins_as_it_always_did(tmp_path: Path) -> None:
    stage = Recorded(tmp_path, TEMPLATE, seed=None, luck=2, config=HALF_A_MINUTE, history=True)
    assert begins_without(stage, RECORDED)
    assert Histories(tmp_path, HALF_A_MINUTE).is_wanted(TEMPLATE, "sandbox")
    stage.close()


@pytest.mark.parametrize("damage", ["a byte", "a file", "the sums"])
def test_a_damaged_history_is_not_used_and_is_made_again(stage: Recorded, home: Path, damage: str) -> None:
    journal = next((place(home) / RUN / "journal").iterdir())
    if damage == "a byte":
        data = bytearray(journal.read_bytes())
        data[1_000] ^= 1
        journal.write_bytes(data)
    elif damage == "a file":
        journal.unlink()
    else:
        (place(home) / FILES).write_bytes(b"{")
    stage.create("after", TEMPLATE)
    assert begins_without(stage, "after")
    assert what_is_left_over(home) == []
    assert make_history(home, TEMPLATE, "sandbox", HALF_A_MINUTE, ends_ms=ENDS_MS)
    stage.create("later", TEMPLATE)
    assert not begins_without(stage, "later")


def test_where_the_disk_takes_no_copy_a_sandbox_begins_without(
    stage: Recorded,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_room(descriptor: int, piece: bytes, start: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(sparse_files, "_write", no_room)
    stage.create("without", TEMPLATE)
    assert begins_without(stage, "without")
    assert what_is_left_over(home) == []
    assert not Histories(home, HALF_A_MINUTE).is_wanted(TEMPLATE, "sandbox"), "the history is whole"


def test_what_a_killed_server_had_half_copied_is_no_sandbox_and_goes_later(home: Path) -> None:
    here = Histories(home, HALF_A_MINUTE)
    copied = here.copy(TEMPLATE, "sandbox")
    assert copied is not None
    stage = Recorded(home, TEMPLATE, seed=1, luck=1, config=HALF_A_MINUTE)
    assert [slot.slug for slot in stage.host._registry.all()] == [RECORDED]
    here.forget_stale()
    assert what_is_left_over(home) == [copied.parent]
    os.utime(copied.parent, (0, COPYING_S))
    here.forget_stale()
    assert what_is_left_over(home) == []
    stage.close()


def test_one_process_makes_them_at_a_time(home: Path) -> None:
    with (home / histories.DIRECTORY / LOCK_NAME).open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        assert not make_history(home, "retries", "sandbox", HALF_A_MINUTE)
    assert not make_history(home, TEMPLATE, "sandbox", HALF_A_MINUTE), "it is there"
