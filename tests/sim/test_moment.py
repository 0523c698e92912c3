"""A sandbox at an event, executed again: what its views draw is what they drew when the event was the newest."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from sandbox.control.limits import HostLimits
from sandbox.journal.segments import lines
from sandbox.kernel.errors import ActionRefused
from sandbox.queries.snapshot.page_channels import detail_channels
from sandbox.recording.live import frame_of
from sandbox.simulation.moment import moment_at
from tests.sim.recorded_stage import SLUG, Recorded

VIEWS = ("locks", "rebalance", "client", "topology", "store", "index")


def newest(stage: Recorded) -> int:
    """Return the newest event in the files, including those of closing."""
    return int(orjson.loads([*lines(stage.directory / "journal")][-1])["seq"])


class Seen:
    """Views of a sandbox right after an action, by the action's newest event; it slept in between."""

    def __init__(self, home: Path) -> None:
        stage = Recorded(home, "payments", seed=7, luck=3)
        self.directory = stage.directory
        self.at: dict[int, dict[str, Any]] = {}
        for number in range(10):
            if number == 3:
                stage.act("CrashActor", actor="A")
            if number == 6:
                stage.sleep()
                self.asleep = newest(stage)
                stage.wake()
            stage.run(2.3)
            assert stage.act("SendMessages", topic="payments", count=3)
            cluster = stage.host.awake(SLUG).cluster
            frame = frame_of(cluster, detail_channels(cluster))
            self.at[frame.seq] = frame.state["channels"]
        stage.sleep()
        self.newest = newest(stage)
        stage.close()


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    return Seen(tmp_path_factory.mktemp("seen"))


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_of_the_past_has_what_it_showed_then(seen: Seen, view: str) -> None:
    for at in [*seen.at][1::4]:
        found = moment_at(seen.directory, at)
        then = {name: data for name, data in seen.at[at].items() if name.partition("/")[0] == view}
        assert then
        assert found["seq"] == at
        assert {name: found["channels"].get(name) for name in then} == then


def test_other_events_show_other_values(seen: Seen) -> None:
    first, *_, last = (moment_at(seen.directory, at)["channels"] for at in seen.at)
    changed = {name.partition("/")[0] for name in first if first[name] != last.get(name)}
    assert changed == {*VIEWS}


def test_an_event_within_a_turn_is_shown_with_the_turn_s_end(seen: Seen) -> None:
    at = [*seen.at][2]
    for event in range(at - 6, at + 1):
        assert event <= moment_at(seen.directory, event)["seq"] <= at


def test_a_sandbox_that_slept_then_has_the_snapshot_it_was_closed_with_and_no_channels(seen: Seen) -> None:
    for event in (seen.asleep, seen.asleep - 1):  # the one before is a part of its closing
        found = moment_at(seen.directory, event)
        assert (found["state"], found["channels"], found["seq"]) == ("asleep", {}, seen.asleep)
        assert found["snapshot"]["groups"]


def test_progress_rises_and_ends_before_all(seen: Seen) -> None:
    said: list[float] = []
    moment_at(seen.directory, seen.newest, progress=said.append)
    assert said == sorted(said)
    assert said[0] < 0.5 < said[-1] <= 1


def refused(directory: Path, at: int, **limits: Any) -> ActionRefused:
    with pytest.raises(ActionRefused) as why:
        moment_at(directory, at, limits=HostLimits(**limits))
    return why.value


def test_what_cannot_be_executed_again_is_refused_with_the_reason(tmp_path: Path) -> None:
    stage = Recorded(tmp_path, "orders", seed=1, luck=1)
    stage.run(2)
    stage.kill()
    stage.wake()
    stage.run(2)
    stage.close()
    why = refused(stage.directory, newest(stage))
    assert (why.status, why.values["why"]) == (409, "beginning not kept")
    assert moment_at(stage.directory, 60)["seq"] >= 60


def test_an_event_too_far_from_the_beginning_or_not_there_is_refused(seen: Seen) -> None:
    assert refused(seen.directory, 200, moment_events=100).status == 422
    assert refused(seen.directory, seen.newest + 1).status == 404
