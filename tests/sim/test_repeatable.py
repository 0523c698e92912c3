"""A sandbox that records its run: executing its actions again writes the same journal, to the last byte."""

import io
import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from queueviz import __version__
from sandbox.cluster.config import HostConfig
from sandbox.cluster.templates import TEMPLATES
from sandbox.hosting.repeatable_ranges import MADE_BEFORE, NOT_KEPT, TRIMMED, line_of, recorded_until, stretches_of
from sandbox.journal.segments import rows_since
from sandbox.kernel.chance import Chance
from sandbox.kernel.engine_version import ENGINE
from sandbox.simulation.replay import Replayed, replay
from tests.sim.recorded_stage import SLUG, Recorded, played

ROOT = Path(__file__).resolve().parents[2]
SEEDS = 20

QUICK = [template for template in TEMPLATES if template != "flights"]  # which sorts its feed first


def rows(directory: Path, kind: str) -> list[dict[str, Any]]:
    return [row for row in rows_since(directory / "journal", 0) if row["type"] == kind]


def equal(directory: Path) -> Replayed:
    """Replayed, after it was looked at: all of the first stretch came out the same."""
    found = replay(directory)
    assert found.first_difference is None
    first = found.stretches[0]
    assert found.events == sum(
        first.from_seq <= row["seq"] <= first.to_seq for row in rows_since(directory / "journal", 0)
    )
    return found


@pytest.mark.parametrize("seed", range(SEEDS))
def test_executed_again_the_journal_is_the_same(tmp_path: Path, seed: int) -> None:
    """On a machine that is busy and late, with pages open, over sleep and wake."""
    found = equal(played(tmp_path, QUICK[seed % len(QUICK)], seed))
    assert [stretch.why for stretch in found.stretches] == [None]


@pytest.mark.parametrize("until", range(3))
def test_a_run_cut_off_in_its_opening_is_equal(tmp_path: Path, until: int) -> None:
    """The clock is known from the second event on; before that nothing is executed."""
    found = replay(played(tmp_path, "orders", 1, actions=0), until=until)
    assert (found.first_difference, found.events) == (None, 0 if until == 0 else until + 1)


@pytest.mark.wide
def test_fifty_runs_executed_again_are_the_same(tmp_path: Path) -> None:
    trimmed = 0  # with half a million events the oldest segments are deleted
    for seed in range(1_000, 1_050):
        directory = played(tmp_path / str(seed), QUICK[seed % len(QUICK)], seed, actions=20, seconds=15.0)
        if replay(directory, until=0).stretches[0].why == TRIMMED:
            trimmed += 1
        else:
            equal(directory)
    assert trimmed <= 3


def test_what_the_feed_of_the_flights_sends_is_the_same(tmp_path: Path) -> None:
    equal(played(tmp_path, "flights", 1, actions=4))


def test_the_machine_has_no_say(tmp_path: Path) -> None:
    """Other delays of threads, other ends of slices: what comes to the loop in the same turns comes out the same."""
    stages = [Recorded(tmp_path / str(luck), "payments", seed=7, luck=luck) for luck in (1, 2)]
    events = []
    for stage in stages:
        stage.run(20)
        stage.close()
        events.append([{**row, "came": None} for row in rows_since(stage.directory / "journal", 0)])
    slept = [
        next(place for place, row in enumerate(found) if row["type"] == "LifecycleStep" and row["phase"] == "stop")
        for found in events
    ]
    same = min(slept) - 50  # they fell asleep at other moments
    assert same > 500
    assert events[0][:same] == events[1][:same]


AGAIN = """
import json, sys
from pathlib import Path
from sandbox.simulation.replay import replay
print(json.dumps(replay(Path(sys.argv[1])).row()))
"""

RECORD = """
import sys
from pathlib import Path
from tests.sim.recorded_stage import played
played(Path(sys.argv[1]), "cluster", 11)
"""

SETS_DECIDE = """
from sandbox.kernel.chance import Chance
from sandbox.kernel.engine_version import ENGINE
Chance.choice = lambda self, items: items[int(next(iter({str(place) for place in range(len(items))})))]
"""


def in_a_process(script: str, argument: Path, hash_seed: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script, str(argument)],
        cwd=ROOT,
        check=True,
        timeout=60,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)},
    )
    return done.stdout


def test_another_process_writes_the_same(tmp_path: Path) -> None:
    in_a_process(RECORD, tmp_path, "1")
    assert json.loads(in_a_process(AGAIN, tmp_path / "sandboxes" / SLUG, "random"))["equal"]


def test_the_order_of_a_set_is_found_by_its_first_event(tmp_path: Path) -> None:
    in_a_process(SETS_DECIDE + RECORD, tmp_path, "1")
    found = json.loads(in_a_process(SETS_DECIDE + AGAIN, tmp_path / "sandboxes" / SLUG, "2"))
    assert not found["equal"]
    assert found["first_difference"]["seq"] == found["events"]


def by_the_wall(self: Chance, low: float, high: float) -> float:
    return low + time.perf_counter_ns() % 1_000 / 1_000 * (high - low)


def by_an_address(self: Chance, items: Any) -> Any:
    return items[id(object()) // 16 % len(items)]


COUNT = itertools.count()


def by_what_ran_before(self: Chance, items: Any) -> Any:
    return items[next(COUNT) % len(items)]


@pytest.mark.parametrize(
    ("name", "planted"), [("between", by_the_wall), ("choice", by_an_address), ("choice", by_what_ran_before)]
)
def test_what_the_seed_does_not_decide_is_found_by_its_first_event(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, planted: Callable[..., Any]
) -> None:
    monkeypatch.setattr(Chance, name, planted)
    found = replay(played(tmp_path, "orders", 3))
    first = found.first_difference
    assert first is not None
    assert first.recorded != first.again
    assert first.seq == found.events, "everything before it is equal"
    assert found.row()["first_difference"]["recorded"]["seq"] == first.seq


def said_by_the_command(directory: Path, **options: Any) -> tuple[str, int]:
    out = io.StringIO()
    try:
        call_command("replay", str(directory), stdout=out, **options)
    except SystemExit as end:
        return out.getvalue(), int(str(end.code))
    return out.getvalue(), 0


def test_the_command_says_whether_it_is_equal(tmp_path: Path) -> None:
    directory = played(tmp_path, "orders", 5, actions=3)
    text, code = said_by_the_command(directory, json=True, check=True)
    found = json.loads(text)
    assert (found["equal"], found["first_difference"], code) == (True, None, 0)
    assert found["stretches"] == [{"from": 0, "to": found["events"] - 1, "reproducible": True, "why": None}]
    assert found["speed"] > 1
    segment = next((directory / "journal").iterdir())
    segment.write_bytes(segment.read_bytes().replace(b'"group":"order-svc"', b'"group":"other-svc"', 1))
    text, code = said_by_the_command(directory, json=True)
    found = json.loads(text)
    assert (found["equal"], code) == (False, 1)
    assert f"event {found['first_difference']['seq']} differs" in said_by_the_command(directory)[0]
    with pytest.raises(CommandError, match="cannot be re-executed"):
        said_by_the_command(tmp_path / "nothing")


def test_only_a_part_can_be_executed(tmp_path: Path) -> None:
    directory = played(tmp_path, "orders", 5)
    assert replay(directory, until=99).events == 100


def test_an_action_keeps_its_turn_and_its_millisecond(tmp_path: Path) -> None:
    stage = Recorded(tmp_path, "orders", seed=1, luck=1)
    stage.run(3)
    stage.act("CrashActor", actor="A")
    stage.run(2)
    stage.act("RestartActor", actor="A")
    stage.close()
    acted = [row["came"] for row in rows(stage.directory, "ActionTaken") if row["by"] == "owner test"]
    slept = rows(stage.directory, "SandboxSlept")[0]["came"]
    turns, moments = zip(*acted, slept, strict=True)
    assert sorted(set(turns)) == list(turns)
    assert 2_900 < moments[0] < 3_500
    assert 1_900 < moments[1] - moments[0] < 2_600
    assert all("came" not in row for row in rows(stage.directory, "ActionTaken") if row["by"] == "template")


def test_all_messages_of_a_send_are_kept(tmp_path: Path) -> None:
    stage = Recorded(tmp_path, "orders", seed=1, luck=1)
    stage.run(1)
    assert stage.act("SendMessages", topic="orders", rows=[{"body": f"row {number}"} for number in range(40)])
    stage.run(1)
    stage.close()
    sent = rows(stage.directory, "ActionTaken")[-1]["fields"]["rows"]
    assert [row["body"] for row in sent] == [f"row {number}" for number in range(40)]
    equal(stage.directory)


def test_what_a_limit_refused_is_executed_again(tmp_path: Path) -> None:
    stage = Recorded(tmp_path, "orders", seed=1, luck=1)
    stage.run(1)
    assert not stage.act("CreateTopic", topic="wide", write_queues=64, read_queues=64)
    stage.run(1)
    stage.close()
    assert [row["limit"] for row in rows(stage.directory, "LimitReached")] == ["queues"]
    equal(stage.directory)


def test_frames_that_are_watched_stand_in_no_journal(tmp_path: Path) -> None:
    stage = Recorded(tmp_path, "orders", seed=1, luck=1)
    for _ in range(20):
        [wire] = stage.machine.sim.run(stage.host.read([f"wire/{SLUG}/A~broker-a"]))
        stage.run(0.5)
    stage.close()
    assert wire.data["links"]["A~broker-a"]["seen"] > 0
    assert not rows(stage.directory, "CommandExchanged")
    equal(stage.directory)


def test_a_kill_ends_the_stretch(tmp_path: Path) -> None:
    stage = Recorded(tmp_path, "orders", seed=2, luck=2)
    stage.run(7.3)
    stage.act("CrashActor", actor="A")
    stage.run(3.1)
    stage.kill()
    before = len(list(rows_since(stage.directory / "journal", 0)))
    assert equal(stage.directory).events == before > 300
    stage.wake()
    stage.run(3)
    stage.close()
    assert [row["why"] for row in rows(stage.directory, "StretchEnded")] == ["kill"]
    found = equal(stage.directory)
    assert found.events == before
    assert [(stretch.reproducible, stretch.why) for stretch in found.stretches] == [(True, "kill"), (False, NOT_KEPT)]


def test_the_stretches_of_a_sandbox_are_listed(tmp_path: Path, settings: Any) -> None:
    settings.QUEUEVIZ_HOME = tmp_path
    stage = Recorded(tmp_path, "orders", seed=2, luck=2)
    stage.run(3)
    stage.fill_home()
    stage.close()
    [ended] = rows(stage.directory, "StretchEnded")
    out = io.StringIO()
    call_command("sandboxes", "stretches", SLUG, stdout=out)
    first, second = out.getvalue().splitlines()
    assert first == f"events 0 to {ended['seq'] - 1}: can be executed again (disk)"
    assert second.startswith(f"events {ended['seq']} to ")
    assert second.endswith("cannot be executed again (beginning not kept)")
    with pytest.raises(CommandError, match="no journal of a sandbox other"):
        call_command("sandboxes", "stretches", "other")


def test_the_stretches_of_the_files_are_those_of_all_rows(tmp_path: Path) -> None:
    stage = Recorded(tmp_path, "orders", seed=2, luck=2)
    for _ in range(2):
        stage.run(3)
        stage.sleep()
        stage.wake()
    stage.run(3)
    stage.kill()
    stage.wake()
    stage.run(3)
    stage.close()
    found = line_of(stage.directory)
    _, everything = recorded_until(stage.directory)
    assert found.stretches == stretches_of(stage.directory, everything)
    assert [stretch.why for stretch in found.stretches] == ["kill", NOT_KEPT]
    assert found.keyframe == next(row["seq"] for row in everything if row["type"] == "Keyframe")
    assert line_of(tmp_path / "none") == ((), None)


def test_another_release_ends_the_stretch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert __version__ == ENGINE
    stage = Recorded(tmp_path, "orders", seed=2, luck=2)
    stage.run(3)
    stage.sleep()
    before = len(list(rows_since(stage.directory / "journal", 0)))
    with monkeypatch.context() as later:
        later.setattr("sandbox.hosting.sandbox.ENGINE", "9.9")
        stage.wake()
        stage.run(3)
    stage.close()
    assert [row["why"] for row in rows(stage.directory, "StretchEnded")] == ["engine"]
    assert (equal(stage.directory).events, replay(stage.directory).engine) == (before, ENGINE)


@pytest.mark.parametrize(
    "damage",
    [lambda path: path.unlink(), lambda path: path.write_text("{"), lambda path: path.write_text('{"format": 2}')],
)
def test_without_its_origin_a_sandbox_opens_and_says_that_the_stretch_ended(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    stage = Recorded(tmp_path, "orders", seed=2, luck=2)
    stage.run(3)
    stage.sleep()
    damage(stage.directory / "origin.json")
    for _ in range(2):
        stage.wake()
        before = stage.host.newest_seq(SLUG)
        stage.run(3)
        assert stage.host.newest_seq(SLUG) > before + 20
        stage.sleep()
    assert [row["why"] for row in rows(stage.directory, "StretchEnded")] == ["origin"]
    stage.close()
    assert [(stretch.reproducible, stretch.why) for stretch in replay(stage.directory).stretches] == [(False, "origin")]


def test_a_home_that_takes_no_more_ends_the_stretch(tmp_path: Path) -> None:
    stage = Recorded(tmp_path, "orders", seed=2, luck=2)
    stage.run(3)
    stage.fill_home()
    stage.run(3)
    stage.close()
    assert [row["why"] for row in rows(stage.directory, "StretchEnded")] == ["disk"]
    assert [stretch.reproducible for stretch in equal(stage.directory).stretches] == [True, False]


def test_a_sandbox_that_recorded_nothing_is_said_so(tmp_path: Path) -> None:
    stage = Recorded(tmp_path, "orders", seed=2, luck=2, config=HostConfig(repeatable=False))
    stage.run(3)
    stage.close()
    found = replay(stage.directory)
    assert (found.events, [stretch.why for stretch in found.stretches]) == (0, [MADE_BEFORE])
    assert not [row for row in rows_since(stage.directory / "journal", 0) if "came" in row]


def test_on_a_busy_machine_virtual_time_falls_behind_and_nothing_else_changes(tmp_path: Path) -> None:
    stage = Recorded(tmp_path, "payments", seed=2, luck=2, look_s=0.004)
    stage.watch()
    stage.act("SetRate", rate=20)
    stage.run(1)
    snapshot = stage.host.snapshot(SLUG)
    assert snapshot["rate"] == 20
    assert 0 < (snapshot["reached_rate"] or 20) < 18
    stage.calm()
    stage.run(6)
    assert stage.host.snapshot(SLUG)["reached_rate"] is None, "all of it again"
    stage.close()
    assert all(row["snapshot"]["reached_rate"] is None for row in rows(stage.directory, "Keyframe"))
    equal(stage.directory)
