"""A teacher's interventions in many sandboxes, in virtual time: at one moment, until no page renews them."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.cluster.config import HostConfig
from sandbox.cluster.lab_progress import LabProgress
from sandbox.control.actions import AnswerStep, CrashActor, StartLab, parse_action
from sandbox.control.interventions import KINDS, Done, Intervention
from sandbox.control.questions import LabState
from sandbox.control.rights import Actor
from sandbox.hosting.host import Host
from sandbox.hosting.paced_sandbox import PacedSandbox
from sandbox.hosting.sandbox import Sandbox
from sandbox.journal.events import ActionTaken
from sandbox.kernel.errors import ActionRefused, EngineBusy
from sandbox.simulation.replay import replay
from sandbox.simulation.world import SimulatedEnvironment, World

TEACHER, STUDENT = Actor("instructor", "ada"), "student Otter"
SLUGS = [f"place-{number}" for number in range(4)]


class Room:
    """A host with sandboxes of the template orders, in the time of `environment`."""

    def __init__(self, home: Path) -> None:
        self.environment = SimulatedEnvironment(1, (0, 0))
        self.host = Host(home, HostConfig(), self.environment)
        self.run(self._open())

    async def _open(self) -> None:
        self.host.start()
        for number, slug in enumerate(SLUGS):
            await self.host.create(slug, "orders", preset="sandbox", seed=number, changes=None, limits=None)
            await asyncio.sleep(0.3711)

    def run(self, coroutine: Any) -> Any:
        return self.environment.sim.run(coroutine)

    def sandbox(self, slug: str) -> Sandbox:
        return self.host.awake(slug)

    def now_ms(self) -> int:
        return self.environment.wall.now_ms()

    def to_all(self, kind: Any, *, in_ms: int = 500, slugs: list[str] = SLUGS) -> list[Done | BaseException]:
        what = Intervention(kind, self.now_ms() + in_ms)

        async def go() -> list[Done | BaseException]:
            work = (self.host.interventions.carry_out(slug, what, TEACHER) for slug in slugs)
            return await asyncio.gather(*work, return_exceptions=True)

        return self.run(go())

    def act(self, slug: str, action: str, by: str = STUDENT, **fields: Any) -> int:
        return self.sandbox(slug).act(parse_action({"action": action, **fields}), by)

    def taken(self, slug: str) -> list[tuple[str, str, int]]:
        """Actions since the beginning: name, by whom, when."""
        return [
            (entry.event.action, entry.event.by, entry.at_ms)
            for entry in self.sandbox(slug).cluster.journal.since(0)
            if isinstance(entry.event, ActionTaken)
        ]

    def by_teacher(self, slug: str) -> list[str]:
        return [name for name, by, _ in self.taken(slug) if by.startswith("instructor")]

    def states(self, slug: str) -> dict[str, str]:
        return {label: actor.state for label, actor in self.sandbox(slug).cluster.actors.by_label.items()}


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    made = Room(tmp_path)
    yield made
    made.run(made.host.close())
    made.environment.close()


def test_a_fault_comes_to_all_at_one_moment_and_at_the_planned_millisecond_of_each(room: Room) -> None:
    room.act(SLUGS[1], "SetRate", rate=20)
    room.act(SLUGS[2], "SetRate", rate=0)
    at_ms = room.now_ms() + 500
    done = room.to_all("crash_member")
    assert all(isinstance(room.sandbox(slug), PacedSandbox) for slug in SLUGS)
    for slug, one in zip(SLUGS, done, strict=True):
        assert isinstance(one, Done)
        assert one.at_ms == one.planned_ms, "no millisecond of its clock beside"
        assert one.late_ms <= 1
        name, by, taken_ms = room.taken(slug)[-1]
        assert (name, by, taken_ms) == ("CrashActor", "instructor ada", one.at_ms)
        assert room.states(slug)["A"] == "crashed"
    in_step = {one.at_ms - at_ms for slug, one in zip(SLUGS, done, strict=True) if slug not in SLUGS[1:3]}
    assert max(in_step) - min(in_step) <= 1, "clocks that were never stopped show the same"


def test_a_sandbox_that_is_behind_still_gets_it_at_the_planned_millisecond(room: Room) -> None:
    """However late the machine is: nothing of what comes after it happens before it."""
    late = room.sandbox(SLUGS[0])
    planned: list[int] = []
    planned_ms = late.plan(0.5, lambda: planned.append(late.cluster.clock.now_ms()), lambda: None)
    room.environment.sim.run_for(0.1)
    room.act(SLUGS[0], "SendMessages", topic="orders", count=200)
    room.environment.sim.run_for(3)
    assert planned == [planned_ms]


def test_a_machine_that_does_not_get_there_does_it_two_seconds_later_all_the_same(room: Room) -> None:
    late = room.sandbox(SLUGS[0])
    called: list[int] = []
    assert isinstance(late, PacedSandbox)
    began_ms = room.now_ms()
    late.plan(0.5, lambda: called.append(room.now_ms() - began_ms), lambda: None)
    late._pace._began_s += 60  # which it has not made up
    room.environment.sim.run_for(2.4)
    assert called == []
    room.environment.sim.run_for(0.2)
    assert called == [2_500]


def test_a_sandbox_that_is_behind_shows_its_own_time_and_the_servers(room: Room) -> None:
    late = room.sandbox(SLUGS[0])
    assert isinstance(late, PacedSandbox)
    late._pace._began_s += 60  # which it has not made up
    room.environment.sim.run_for(30)
    snapshot = room.host.snapshot(SLUGS[0])
    assert snapshot["machine_ms"] == room.now_ms()
    assert snapshot["machine_ms"] - snapshot["wall_ms"] > 25_000


def test_what_sleeps_is_skipped_and_what_falls_asleep_before_says_so(room: Room) -> None:
    room.run(room.host.sleep(SLUGS[0], "test"))

    async def planned() -> Any:
        what = Intervention("crash_member", room.now_ms() + 20_000)
        work = asyncio.gather(
            *(room.host.interventions.carry_out(slug, what, TEACHER) for slug in SLUGS[:2]), return_exceptions=True
        )
        await asyncio.sleep(1)
        await room.host.sleep(SLUGS[1], "test")
        return await work

    asleep, fell = room.run(planned())
    assert isinstance(asleep, ActionRefused)
    assert (asleep.status, type(fell)) == (503, EngineBusy)


@pytest.mark.parametrize("kind", ["crash_member", "hang_broker", "stop_name_server", "power_cut"])
def test_heal_undoes_what_was_broken(room: Room, kind: Any) -> None:
    before = _lives(room)
    room.to_all(kind, slugs=SLUGS[:1])
    broken = _lives(room)
    room.environment.sim.run_for(1)
    room.to_all("heal", slugs=SLUGS[:1])
    room.environment.sim.run_for(5)
    assert broken != before == _lives(room)
    assert room.sandbox(SLUGS[0]).held.is_empty


def _lives(room: Room) -> dict[str, str]:
    snapshot = room.host.snapshot(SLUGS[0])
    nodes = {row["name"]: row["state"] for row in snapshot["name_servers"]}
    return nodes | {row["broker"]: row["state"] for row in snapshot["brokers"]} | room.states(SLUGS[0])


def test_heal_leaves_alone_what_the_student_has_mended(room: Room) -> None:
    room.to_all("crash_member", slugs=SLUGS[:1])
    room.act(SLUGS[0], "RestartActor", actor="A")
    room.environment.sim.run_for(5)
    taken = len(room.taken(SLUGS[0]))
    [done] = room.to_all("heal", slugs=SLUGS[:1])
    assert isinstance(done, Done)
    assert (done.seq, len(room.taken(SLUGS[0]))) == (None, taken)


def test_a_broadcast_opens_a_sealed_prediction_again_and_says_what_was_done(room: Room) -> None:
    room.run(room.host.create("lesson", "empty", preset="sandbox", seed=3, changes=None, limits=None))
    room.act("lesson", "StartLab", lab="members-and-queues")
    room.to_all("crash_member", slugs=["lesson"])
    assert room.by_teacher("lesson")[-1] == "CrashActor", "nothing was sealed"
    room.act("lesson", "AnswerStep", lab="members-and-queues", step=1, part="predict", value="2")
    assert _lab(room)["open"]["phase"] == "do"
    room.to_all("heal", slugs=["lesson"])
    now = _lab(room)["open"]
    assert (room.by_teacher("lesson")[-1], now["phase"], now["prediction"]) == ("BeginStepAgain", "predict", None)
    assert now["verdict"]["text"].startswith("Your teacher started {subject} again in the sandboxes of the class.")
    assert now["verdict"]["values"] == {"subject": "A"}
    room.act("lesson", "AnswerStep", lab="members-and-queues", step=1, part="predict", value="1")
    assert (_lab(room)["open"]["phase"], _lab(room)["open"]["prediction"]) == ("do", "1")


def test_a_student_is_shown_what_the_teacher_did_and_what_became_of_the_prediction(room: Room) -> None:
    room.run(room.host.create("lesson", "empty", preset="sandbox", seed=3, changes=None, limits=None))
    room.act("lesson", "StartLab", lab="members-and-queues")
    room.act("lesson", "AnswerStep", lab="members-and-queues", step=1, part="predict", value="2")
    done = room.to_all("crash_member", slugs=["lesson", SLUGS[0]])
    assert [one.again for one in done if isinstance(one, Done)] == [True, False]
    for slug, again in (("lesson", True), (SLUGS[0], False)):
        effect = _effect(room, slug)
        assert (effect["kind"], effect["what"], effect["again"]) == ("crash_member", "A", again)
    room.to_all("freeze", slugs=[SLUGS[0]])
    assert _effect(room, SLUGS[0])["kind"] == "freeze"
    room.environment.sim.run_for(40)
    assert _effect(room, SLUGS[0])["kind"] == "heal", "as no page of the teacher is open"
    room.environment.sim.run_for(150)
    assert _effect(room, SLUGS[0]) is None, "long ago"


def _effect(room: Room, slug: str) -> Any:
    return room.sandbox(slug).ask(LabState())["hold"]["effect"]


def _lab(room: Room) -> dict[str, Any]:
    found: dict[str, Any] = room.sandbox("lesson").ask(LabState())["lab"]
    return found


def test_frozen_sandboxes_stop_together_and_go_on_with_their_own_rates(room: Room) -> None:
    room.act(SLUGS[1], "SetRate", rate=20)
    room.act(SLUGS[2], "SetRate", rate=0)
    room.to_all("freeze")
    assert {room.sandbox(slug).cluster.clock.rate for slug in SLUGS} == {0}
    with pytest.raises(ActionRefused) as refused:
        room.act(SLUGS[0], "SetRate", rate=1)
    assert (refused.value.status, refused.value.message) == (409, "Your teacher stopped time.")
    stood = room.sandbox(SLUGS[0]).cluster.clock.now_ms()
    room.environment.sim.run_for(20)
    assert room.sandbox(SLUGS[0]).cluster.clock.now_ms() == stood
    room.to_all("release")
    assert [room.sandbox(slug).cluster.clock.rate for slug in SLUGS[:3]] == [1, 20, 0]
    assert "SetRate" not in room.by_teacher(SLUGS[2]), "the student had stopped it"


def test_thirty_seconds_after_the_teachers_page_is_gone_all_is_healed(room: Room) -> None:
    room.to_all("crash_member")
    room.to_all("freeze")
    for _ in range(6):
        room.environment.sim.run_for(10)
        for slug in SLUGS:
            room.host.interventions.renew(slug, 30)
    assert {room.sandbox(slug).cluster.clock.rate for slug in SLUGS} == {0}, "while it is there, it holds"
    room.environment.sim.run_for(29)
    assert {room.sandbox(slug).cluster.clock.rate for slug in SLUGS} == {0}
    room.environment.sim.run_for(7)
    for slug in SLUGS:
        assert room.sandbox(slug).cluster.clock.rate == 1
        assert room.states(slug)["A"] == "running"
        assert room.taken(slug)[-1][1] == "instructor"


def test_a_killed_server_heals_when_it_opens_again(tmp_path: Path) -> None:
    room = Room(tmp_path)
    room.to_all("crash_member", slugs=SLUGS[:1])
    room.to_all("freeze", slugs=SLUGS[:1])
    for slug in SLUGS:
        room.sandbox(slug).crash()
    room.environment.sim.run_for(1)
    again = Host(tmp_path, HostConfig(), room.environment)

    async def opened() -> None:
        again.start()
        await again.wake(SLUGS[0])

    room.run(opened())
    room.environment.sim.run_for(5)
    sandbox = again.awake(SLUGS[0])
    assert (sandbox.cluster.clock.rate, sandbox.held.is_empty) == (1, True)
    assert sandbox.cluster.actors.by_label["A"].state == "running"
    room.run(again.close())
    room.environment.close()


def test_while_a_teacher_acts_a_student_only_answers(room: Room) -> None:
    room.to_all("take_over", slugs=SLUGS[:1])
    assert room.sandbox(SLUGS[0]).held.acts == "ada"
    with pytest.raises(ActionRefused, match="Your teacher controls this sandbox"):
        room.act(SLUGS[0], "CrashActor", actor="A")
    room.act(SLUGS[0], "CrashActor", by=str(TEACHER), actor="A")
    room.to_all("give_back", slugs=SLUGS[:1])
    room.act(SLUGS[0], "RestartActor", actor="A")


def test_a_teacher_acts_where_the_lab_does_not_let_a_student_and_answers_nothing(tmp_path: Path) -> None:
    with World(tmp_path, seed=3) as world:
        world.act(StartLab(lab="members-and-queues"))
        sandbox, by = world.sandbox, str(TEACHER)
        with pytest.raises(ActionRefused, match="does not use CrashActor"):
            world.act("CrashActor", actor="A")
        world._on_loop(lambda: sandbox.act(CrashActor(actor="A"), by))
        answer = AnswerStep(lab="members-and-queues", step=1, part="predict", value="2")
        with pytest.raises(ActionRefused, match="belong to the student") as refused:
            world._on_loop(lambda: sandbox.act(answer, by))
        assert refused.value.status == 403
        assert world.sandbox.cluster.companion(LabProgress).attempt.evidence.actions("CrashActor", since=0) == []


def test_nothing_is_planned_without_a_limit(room: Room) -> None:
    [far] = room.to_all("freeze", in_ms=90_000, slugs=SLUGS[:1])
    assert isinstance(far, ActionRefused)
    assert far.status == 422
    what = Intervention("burst", room.now_ms() + 5_000)

    async def many() -> list[Any]:
        work = (room.host.interventions.carry_out(SLUGS[0], what, TEACHER) for _ in range(12))
        return await asyncio.gather(*work, return_exceptions=True)

    refused = [one for one in room.run(many()) if isinstance(one, ActionRefused)]
    assert [why.status for why in refused] == [429] * 4
    assert room.sandbox(SLUGS[0]).held.coming == []


def test_every_kind_is_carried_out_in_a_sandbox_that_has_what_it_needs(room: Room) -> None:
    for slug in SLUGS[1:]:
        room.run(room.host.sleep(slug, "test"))
    for kind in KINDS:
        [done] = room.to_all(kind, slugs=SLUGS[:1])
        assert isinstance(done, Done), kind
        room.to_all("heal", slugs=SLUGS[:1])
        room.environment.sim.run_for(12)


def test_a_run_with_interventions_is_executed_again(room: Room, tmp_path: Path) -> None:
    for kind in ("crash_member", "freeze", "release", "heal"):
        room.to_all(kind, slugs=SLUGS[:1])
        room.environment.sim.run_for(2)
    room.run(room.host.sleep(SLUGS[0], "test"))
    again = replay(tmp_path / "sandboxes" / SLUGS[0])
    assert again.first_difference is None
    assert (again.events > 200, [stretch.why for stretch in again.stretches]) == (True, [None])
