"""Effects of each kind of reset on a group in each state: equal in a sandbox and on a real cluster.

A row is played on both views of one world: the sandbox's own, and that of its brokers as an attached cluster.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from sandbox.commands.reset.undo import UndoPoint
from sandbox.journal.events import OffsetsReset
from sandbox.kernel.errors import ActionRefused
from sandbox.remoting.codes import RequestCode
from sandbox.simulation.world import World
from tests.sim.attached_stage import Office

TOPIC, NARROW = "orders", "narrow"
COUNT = 10  # messages in each of the two queues, one a second
HALTED, HALF, UNKNOWN = "halted", "half", "unknown"  # no member is online: two stored offsets, one, none
WORKING, HOLDING, LOCKING, PULLING, HUNG, WATCHING = "working", "holding", "locking", "pulling", "hung", "watching"
STORED = {HALTED: {0: 6, 1: 4}, HALF: {0: 6}, UNKNOWN: {}}
WRITES = {RequestCode.UPDATE_CONSUMER_OFFSET, RequestCode.INVOKE_BROKER_TO_RESET_OFFSET}
SANDBOX, ATTACHED = ("sandbox",), ("attached",)
BOTH = SANDBOX + ATTACHED


class Cluster:
    """Groups in every state on one broker, and the engine that is attached to it."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.stored_ms: list[int] = []
        world.act("CreateTopic", topic=TOPIC, write_queues=2, read_queues=2)
        world.act("CreateTopic", topic=NARROW, write_queues=2, read_queues=1)
        fields: dict[str, dict[str, Any]] = {
            WORKING: {},
            HUNG: {"actor": "hung"},
            LOCKING: {"listener": "orderly"},
            PULLING: {"kind": "pull"},
            HOLDING: {"work_ms": [3_600_000, 3_600_000]},
            WATCHING: {"model": "BROADCASTING"},
        }
        for group, more in fields.items():
            world.act("StartConsumer", group=group, subscriptions=[[TOPIC, "*"]], **more)
        world.act("StartConsumer", group=NARROW, subscriptions=[[NARROW, "*"]])
        world.run(25)
        for _ in range(COUNT):
            for queue_id in (0, 1):
                world.act("SendMessages", topic=TOPIC, count=1, queue=f"broker-a:{queue_id}")
            world.run(0.5)
            self.stored_ms.append(world.cluster.clock.now_ms())
            world.run(0.5)
        world.run(20)
        world.act("HangActor", actor="hung")
        self.office = Office(world)
        self.office.attach()
        for group in (HOLDING, LOCKING):
            self.office.read(f"board/{group}/{TOPIC}")  # its members report what they hold

    def put_back(self) -> None:
        """Restore the offsets that earlier resets moved."""
        offsets = self.world.cluster.nodes.broker("broker-a").running.consumer_offsets
        for group, stored in STORED.items():
            offsets.remove_group(group)
            for queue_id, offset in stored.items():
                offsets.commit(group, TOPIC, queue_id, offset, "admin")

    def stored(self, group: str) -> dict[int, int]:
        """Return the offsets in the broker's own table."""
        return dict(self.world.cluster.nodes.broker("broker-a").running.consumer_offsets.queues_of(group, TOPIC))


class Side:
    """One view of the cluster: what is asked there, and what is done there."""

    def __init__(self, cluster: Cluster, view: str) -> None:
        cluster.put_back()
        self.cluster = cluster
        self.view = view
        self.on: World | Office = cluster.world if view == "sandbox" else cluster.office

    def plan(self, group: str, **wish: Any) -> dict[str, Any]:
        return self.on.ask("plan-reset", **{"group": group, "topic": TOPIC, **self.timed(wish)})

    def apply(self, group: str, *, shown: dict[str, Any], **wish: Any) -> int:
        expected = [
            {name: row[name] for name in ("queue", "committed", "target")} for row in shown["rows"] if row["selected"]
        ]
        said = {
            "group": group,
            "topic": TOPIC,
            "confirm": group,
            "fingerprint": shown["fingerprint"],
            **self.timed(wish),
        }
        return self.on.act("ResetOffsets", expected=expected, **said)

    def timed(self, wish: dict[str, Any]) -> dict[str, Any]:
        """Return the target with the milliseconds of a named moment."""
        stored_ms = self.cluster.stored_ms
        moments = {"message 2": stored_ms[2], "an hour later": stored_ms[-1] + 3_600_000}
        return {name: moments.get(value, value) if name == "value" else value for name, value in wish.items()}

    def refusal(self, group: str, *, shown: dict[str, Any], **wish: Any) -> ActionRefused:
        """A refused reset moves nothing, is no fact of the journal, and brings no request to a broker."""
        before, asked = (self.cluster.stored(group), self.methods()), len(self.cluster.office.asked)
        with pytest.raises(ActionRefused) as refused:
            self.apply(group, shown=shown, **wish)
        assert (self.cluster.stored(group), self.methods()) == before
        assert not WRITES & {code for _, code in self.cluster.office.asked[asked:]}
        return refused.value

    def methods(self) -> list[str]:
        """Return the methods of all resets that this side has recorded."""
        if isinstance(self.on, World):
            return [entry.event.method for entry in self.on.entries(OffsetsReset)]
        return [line["method"] for line in self.on.entries("OffsetsReset")]

    def undo(self, seq: int, *, confirm: str | None = None) -> None:
        """Undo the newest reset, which has that ActionTaken."""
        if isinstance(self.on, World):
            self.on.act("UndoReset", reset_id=f"r{seq}", confirm=confirm)
            return
        point = UndoPoint.of(self.on.entries("OffsetsReset")[-1])
        self.on.act("UndoReset", reset_id=point.reset_id, confirm=confirm, undo=point)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """One for all: offline resets are put back, and of members that are online it is only asked what would be."""
    with World(tmp_path_factory.mktemp("home")) as world:
        yield Cluster(world)


@pytest.fixture(params=BOTH)
def side(cluster: Cluster, request: pytest.FixtureRequest) -> Side:
    return Side(cluster, request.param)


def offline(target: str, value: int | str | None = None, **more: Any) -> dict[str, Any]:
    return {"target": target, "method": "offline", **({} if value is None else {"value": value}), **more}


def online(target: str, value: int | str | None = None, **more: Any) -> dict[str, Any]:
    return {**offline(target, value, **more), "method": "online"}


OVERWRITTEN = "Members of the group are online and would overwrite the offsets."
NOT_ONLINE = "No member of the group is online; the broker refuses an online reset (206)."
BROADCASTS = "Each member of a broadcasting group keeps its own offsets; the broker has none."
NO_OFFSET = "The group has no stored offset in broker-a:1; the broker refuses the reset (code 1)."
KNOWN_LIVE = (
    "In an online reset, broker broker-a (4.9.8) supports only a point in time or the latest offset. This reset "
    "is done offline."
)
ALL_AT_ONCE = (
    "In an online reset, broker broker-a (4.9.8) resets all queues of a topic at once. This reset is done offline."
)
TABLE: list[tuple[tuple[str, ...], str, dict[str, Any], dict[int, int | None] | str]] = [
    (BOTH, HALTED, offline("earliest"), {0: 0, 1: 0}),
    (BOTH, HALTED, offline("latest"), {0: 10, 1: 10}),
    (BOTH, HALTED, offline("offset", 5), {0: 5, 1: 5}),
    (BOTH, HALTED, offline("offset", 1_000_000), {0: 10, 1: 10}),
    (BOTH, HALTED, offline("shift", -5), {0: 1, 1: 0}),
    (BOTH, HALTED, offline("shift", 5), {0: 10, 1: 9}),
    (BOTH, HALTED, offline("time", "message 2"), {0: 2, 1: 2}),
    (BOTH, HALTED, offline("time", "an hour later"), {0: 9, 1: 9}),
    (BOTH, HALTED, offline("copy_of", source_group=HALF), {0: 6, 1: None}),
    (BOTH, HALTED, offline("offset", 3, queues=["broker-a:1"]), {1: 3}),
    (BOTH, HALTED, online("latest"), NOT_ONLINE),
    (SANDBOX, HALTED, online("earliest"), NOT_ONLINE),
    (ATTACHED, HALTED, online("earliest"), {0: 0, 1: 0}),  # done offline
    (ATTACHED, HALTED, online("latest", queues=["broker-a:0"]), {0: 10}),
    (BOTH, HALF, offline("shift", -5), {0: 1, 1: None}),
    (BOTH, HALF, offline("latest"), {0: 10, 1: 10}),
    (BOTH, UNKNOWN, offline("offset", 4), {0: 4, 1: 4}),
    (BOTH, UNKNOWN, offline("copy_of", source_group=HALTED), {0: 6, 1: 4}),
    (BOTH, UNKNOWN, online("latest"), NOT_ONLINE),
    (BOTH, WORKING, offline("earliest"), OVERWRITTEN),
    (BOTH, WORKING, online("latest"), {0: 10, 1: 10}),
    (BOTH, WORKING, online("time", "message 2"), {0: 2, 1: 2}),
    (SANDBOX, WORKING, online("earliest"), {0: 0, 1: 0}),
    (SANDBOX, WORKING, online("offset", 3), {0: 3, 1: 3}),
    (SANDBOX, WORKING, online("shift", -2, queues=["broker-a:0"]), {0: 8}),
    (ATTACHED, WORKING, online("earliest"), KNOWN_LIVE),
    (ATTACHED, WORKING, online("offset", 3), KNOWN_LIVE),
    (ATTACHED, WORKING, online("shift", -2), KNOWN_LIVE),
    (ATTACHED, WORKING, online("copy_of", source_group=HALTED), KNOWN_LIVE),
    (ATTACHED, WORKING, online("latest", queues=["broker-a:0"]), ALL_AT_ONCE),
    (BOTH, PULLING, offline("latest"), OVERWRITTEN),
    (BOTH, WATCHING, offline("earliest"), BROADCASTS),
    (BOTH, WATCHING, online("latest"), BROADCASTS),
    (BOTH, NARROW, online("latest", topic=NARROW), NO_OFFSET),  # more queues are written than read
]


def by_view(table: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return [(view, *row) for views, *row in table for view in views]


@pytest.mark.parametrize(("view", "group", "wish", "outcome"), by_view(TABLE))
def test_a_wish_leads_to_the_offsets_of_its_plan_or_to_a_refusal(
    cluster: Cluster, view: str, group: str, wish: dict[str, Any], outcome: Any
) -> None:
    side = Side(cluster, view)
    shown = side.plan(group, **wish)
    if isinstance(outcome, str):
        assert shown["refused"]["message"] == outcome
        refused = side.refusal(group, shown=shown, **wish)
        assert (refused.status, str(refused), refused.hint) == (409, outcome, shown["refused"]["hint"])
        return
    assert shown["refused"] is None
    planned = {line["queue_id"]: line["target"] for line in shown["rows"] if line["selected"]}
    assert planned == {queue_id: None if to is None else str(to) for queue_id, to in outcome.items()}
    if view == "attached":
        assert (shown["instead"] is None) == (shown["method"] == wish["method"]), "another method is explained"
    if group in STORED:
        assert cluster.stored(group) == STORED[group], "a plan moves nothing"
        side.apply(group, shown=shown, **wish)
        assert cluster.stored(group) == STORED[group] | {at: to for at, to in outcome.items() if to is not None}
        assert side.methods()[-1] == "offline"


WRONG: list[tuple[dict[str, Any], int, str]] = [
    (offline("time"), 422, "value"),
    (offline("offset"), 422, "value"),
    (offline("shift"), 422, "value"),
    (offline("copy_of"), 422, "source_group"),
    (offline("earliest", source_group=HALF), 422, "source_group"),
    (offline("latest", queues=["broker-a:9"]), 422, "queues"),
    (offline("latest", topic="none"), 404, "topic"),
]


@pytest.mark.parametrize(("asked", "status", "field"), WRONG)
def test_a_wish_that_says_too_little_or_too_much_is_refused_with_its_field(
    side: Side, asked: dict[str, Any], status: int, field: str
) -> None:
    shown = side.plan(HALTED, **offline("earliest"))
    with pytest.raises(ActionRefused) as of_plan:
        side.plan(HALTED, **asked)
    of_apply = side.refusal(HALTED, shown=shown, **asked)
    for refused in (of_plan.value, of_apply):
        assert (refused.status, refused.field, refused.hint > "") == (status, field, True)


NOTES = [
    (BOTH, HALTED, offline("shift", -5), [set(), {"raised_to_min"}]),
    (BOTH, HALTED, offline("offset", 11), 2 * [{"lowered_to_max"}]),
    (BOTH, HALTED, offline("time", "an hour later"), 2 * [{"after_last"}]),
    (BOTH, HALF, offline("earliest"), [set(), {"no_stored"}]),
    (BOTH, HOLDING, online("latest"), 2 * [{"held"}]),
    (BOTH, LOCKING, online("latest"), 2 * [{"locked_by"}]),
    (BOTH, PULLING, online("latest"), 2 * [{"not_heard"}]),
    (SANDBOX, HUNG, online("latest"), 2 * [{"owner_silent"}]),
]


@pytest.mark.parametrize(("view", "group", "asked", "codes"), by_view(NOTES))
def test_a_row_of_the_plan_says_what_else_to_know(
    cluster: Cluster, view: str, group: str, asked: dict[str, Any], codes: list[set[str]]
) -> None:
    shown = Side(cluster, view).plan(group, **asked)
    assert [{note["code"] for note in line["notes"]} for line in shown["rows"]] == codes


@pytest.mark.parametrize(
    ("view", "target", "needed"),
    [
        ("sandbox", "latest", True),
        ("attached", "latest", True),
        ("sandbox", "earliest", False),
        ("attached", "earliest", True),
    ],
)
def test_the_groups_name_is_typed_before_messages_are_skipped_and_always_on_a_real_cluster(
    cluster: Cluster, view: str, target: str, needed: bool
) -> None:
    side, asked = Side(cluster, view), offline(target)
    shown = side.plan(HALTED, **asked)
    if needed:
        for typed in (None, "half"):
            refused = side.refusal(HALTED, shown=shown, **asked, confirm=typed)
            assert (refused.status, refused.field) == (422, "confirm")
        return
    side.apply(HALTED, shown=shown, **asked, confirm=None)
    assert cluster.stored(HALTED) == {0: 0, 1: 0}


def test_an_apply_that_was_not_previewed_is_refused_with_the_new_plan(side: Side) -> None:
    shown = side.plan(HALTED, **offline("latest"))
    changed = side.refusal(HALTED, shown=shown, **offline("latest", queues=["broker-a:1"]))
    assert (changed.status, changed.message) == (409, "The form was changed after this preview.")
    assert [line["selected"] for line in changed.details["rows"]] == [False, True]


def test_a_state_that_changed_after_the_preview_is_refused_with_the_new_plan(side: Side) -> None:
    asked = offline("offset", 5)
    shown = side.plan(HALTED, **asked)
    offsets = side.cluster.world.cluster.nodes.broker("broker-a").running.consumer_offsets
    offsets.commit(HALTED, TOPIC, 0, 2, "admin")
    gone_back = side.refusal(HALTED, shown=shown, **asked)
    assert (gone_back.status, str(gone_back)) == (409, "The stored offset of broker-a:0 moved back from 6 to 2.")
    assert [line["committed"] for line in gone_back.details["rows"]] == ["2", "4"]


def test_an_undo_leads_back_and_asks_for_the_groups_name_on_a_real_cluster(side: Side) -> None:
    asked = offline("earliest")
    seq = side.apply(HALTED, shown=side.plan(HALTED, **asked), **asked)
    if side.view == "attached":
        with pytest.raises(ActionRefused) as unnamed:
            side.undo(seq)
        assert (unnamed.value.status, unnamed.value.field) == (422, "confirm")
    assert side.cluster.stored(HALTED) == {0: 0, 1: 0}
    side.undo(seq, confirm=HALTED if side.view == "attached" else None)
    assert side.cluster.stored(HALTED) == STORED[HALTED]
    assert side.methods()[-2:] == ["offline", "undo"]
