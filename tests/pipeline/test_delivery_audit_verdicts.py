"""Each verdict of the delivery audit, from sandboxes that earn it; all of them in one run."""

from collections import Counter
from pathlib import Path

import pytest

from sandbox.journal.events import (
    Entry,
    Event,
    FlowSkipped,
    MessagesConsumed,
    OffsetCommitted,
    OffsetsReset,
    PullAnswered,
    SandboxOpened,
    SubscriptionChanged,
)
from sandbox.journal.schema import from_row
from sandbox.journal.segments import SegmentWriter, last_seq, rows_since
from sandbox.pipeline.runs.launch import ENDED, Child, Order
from sandbox.pipeline.runs.results import manifest_of
from sandbox.simulation.world import BEGIN_MS
from tests.pipeline.audits import Row, Table, run_over, table
from tests.pipeline.conftest import Run
from tests.pipeline.store_reads import Broker
from tests.pipeline.worlds import GROUP, Recorded, begun, member, record, sent

pytestmark = pytest.mark.pipeline

QUEUE = (GROUP, "plain", "broker-a", 0)


def moved_on(home: Path) -> Recorded:
    """Ten are consumed; a reset skips ten; ten more are never delivered to the group."""
    with begun(home) as world:
        member(world)
        sent(world, 10)
        world.run(20)
        world.act("StopActor", actor="A")
        world.run(5)
        sent(world, 10)
        world.act("ResetOffsets", group=GROUP, topic="plain", target="latest", method="offline", confirm=GROUP)
        sent(world, 10)
        return record(world, home)


def choosy(home: Path) -> Recorded:
    """Five with a tag the group asks for, five with another."""
    with begun(home) as world:
        member(world, expression="paid || sent")
        sent(world, 5, tag="paid")
        sent(world, 5, tag="lost")
        world.run(20)
        return record(world, home)


def broadcasting(home: Path) -> Recorded:
    """Two members are given everything each; one of them crashes before it has written its offsets down."""
    with begun(home) as world:
        member(world, model="BROADCASTING")
        member(world, actor="B", model="BROADCASTING")
        sent(world, 10)
        world.run(20)
        sent(world, 10)
        world.act("CrashActor", actor="A")
        world.act("RestartActor", actor="A")
        world.run(30)
        return record(world, home)


def poisoned(home: Path) -> Recorded:
    """The third of ten is refused once, and comes again behind the others."""
    with begun(home) as world:
        member(world)
        world.act("ChangeActor", actor="A", handler="reject k-2")
        sent(world, 10)
        world.act("ChangeActor", actor="A", handler="work")
        world.run(40)
        return record(world, home)


def recorded_by(home: Path, from_ms: int, events: list[Event]) -> Recorded:
    """A store of ten messages, and a journal of these events alone."""
    with begun(home) as world:
        sent(world, 10)
        made = record(world, home)
    writer = SegmentWriter(home / "journal")
    for seq, event in enumerate(events):
        writer.append(Entry(seq, from_ms + seq, None, event))
    writer.close()
    return made._replace(journal=home / "journal")


OPENED = SandboxOpened("empty", "sandbox", "0", "1")
SUBSCRIBED = SubscriptionChanged("broker-a", GROUP, "plain", "*", 1, "stranger", None)
PULLED = PullAnswered(
    GROUP,
    "stranger",
    "plain",
    "broker-a",
    0,
    asked=0,
    next_offset=4,
    count=4,
    bytes=400,
    code=0,
    held_ms=0,
    skipped_by_hash=0,
    cold=False,
)
CONSUMED = MessagesConsumed(GROUP, "ours", "plain", "broker-a", 0, (4,), ("k-4",), ("k-4",), "SUCCESS", 0, 1_000, 1, "")
SKIPPED = FlowSkipped(1_000, 2_000, (), (), ((f"{GROUP} plain/broker-a/0", 5, 6),), 0)
COMMITTED = OffsetCommitted(*QUEUE, offset=8, previous=None, by="timer", client_id="ours")


def abandoned(home: Path) -> Recorded:
    """A group is moved to the end while its member processes the first of ten: the result of that call is ignored."""
    with begun(home) as world:
        member(world)
        world.act("ChangeActor", actor="A", work_ms=[30_000])
        sent(world, 10)
        world.act("ResetOffsets", group=GROUP, topic="plain", target="latest", confirm=GROUP)
        world.run(60)
        return record(world, home)


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Recorded]:
    scenarios = {
        "moved-on": moved_on,
        "choosy": choosy,
        "broadcasting": broadcasting,
        "poisoned": poisoned,
        "given-up": abandoned,
    }
    made = {name: scenario(tmp_path_factory.mktemp(name)) for name, scenario in scenarios.items()}
    known = [SUBSCRIBED, PULLED, CONSUMED, SKIPPED, COMMITTED]
    return made | {
        "strange": recorded_by(tmp_path_factory.mktemp("strange"), BEGIN_MS - 1_000, [OPENED, *known]),
        "trimmed": recorded_by(tmp_path_factory.mktemp("trimmed"), BEGIN_MS + 3_600_000, known),
    }


@pytest.fixture(scope="module")
def outs() -> list[Path]:
    return []


@pytest.fixture
def out(run: Run, worlds: dict[str, Recorded], outs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not outs:
        outs.append(run_over(run, "delivery_audit", worlds, tmp_path_factory.mktemp("audit")))
    return outs[0]


def verdicts(out: Path, sandbox: str) -> dict[int, str]:
    return {row["queue_offset"]: row["verdict"] for row in messages(out, sandbox)}


def messages(out: Path, sandbox: str) -> Table:
    return [row for row in table(out, "messages") if (row["sandbox"], row["group"]) == (sandbox, GROUP)]


def spans(*parts: tuple[str, int]) -> dict[int, str]:
    words = [word for word, count in parts for _ in range(count)]
    return dict(enumerate(words))


def test_what_a_reset_skipped_is_lost_and_what_came_after_waits(out: Path, worlds: dict[str, Recorded]) -> None:
    assert verdicts(out, "moved-on") == spans(("once", 10), ("lost", 10), ("waiting", 10))
    [reset] = [
        entry.event
        for entry in map(from_row, rows_since(worlds["moved-on"].journal, 0))
        if isinstance(entry.event, OffsetsReset)
    ]
    assert reset.skipped == 10


def test_what_was_given_and_not_accepted_before_the_group_passed_it_by_is_lost(
    out: Path,
    worlds: dict[str, Recorded],
) -> None:
    calls = [
        entry.event
        for entry in map(from_row, rows_since(worlds["given-up"].journal, 0))
        if isinstance(entry.event, MessagesConsumed)
    ]
    assert {call.outcome for call in calls} == {"IGNORED"}
    assert set(verdicts(out, "given-up").values()) == {"lost"}


def test_what_a_group_does_not_ask_for_is_no_row(out: Path) -> None:
    assert verdicts(out, "choosy") == spans(("once", 5))


def test_broadcasting_members_are_given_everything_each(out: Path, worlds: dict[str, Recorded]) -> None:
    found = Counter(row["cause"] for row in table(out, "repeats") if row["sandbox"] == "broadcasting")
    assert found == worlds["broadcasting"].again[GROUP]
    assert found["crash_before_commit"] > 0
    assert {row["deliveries"] for row in messages(out, "broadcasting") if row["verdict"] == "once"} == {2}


def test_what_comes_again_behind_others_breaks_their_order(out: Path) -> None:
    breaks = [row for row in table(out, "order_breaks") if row["sandbox"] == "poisoned"]
    assert [(row["key"], row["queue_offset"], row["after_offset"]) for row in breaks] == [(None, 2, 9)]
    [again] = [row for row in messages(out, "poisoned") if row["verdict"] == "duplicate"]
    assert (again["queue_offset"], again["cause"], again["deliveries"]) == (2, "retry", 2)
    assert again["last_seq"] == breaks[0]["seq"], "the second delivery is the accepted one"


def test_external_members_got_deliveries_and_skipped_ranges_are_unknown(out: Path) -> None:
    assert verdicts(out, "strange") == spans(
        ("handed_over", 4), ("once", 1), ("unknown", 2), ("lost", 1), ("waiting", 2)
    )


def test_of_messages_older_than_what_is_left_of_the_journal_nothing_is_known(out: Path) -> None:
    assert verdicts(out, "trimmed") == spans(("unknown", 10))


def test_the_summary_counts_the_messages_and_the_result_says_how_far_it_is_true(
    out: Path,
    worlds: dict[str, Recorded],
) -> None:
    def place(row: Row) -> tuple[str, str, str, str, str | None]:
        return row["sandbox"], row["group"], row["topic"], row["verdict"], row["cause"]

    assert {place(row): row["messages"] for row in table(out, "summary")} == Counter(map(place, table(out, "messages")))
    found = manifest_of(out)
    assert found is not None
    assert found.true_to == {name: last_seq(made.journal) for name, made in worlds.items()}


def test_what_is_stored_while_a_run_is_at_work_is_for_the_next_one(child: Child, tmp_path: Path) -> None:
    broker = Broker(tmp_path / "broker-a")
    broker.put(20)
    (broker.root / "config").mkdir(exist_ok=True)
    (broker.root / "config" / "consumerOffset.json").write_text('{"offsetTable":{"orders@g":{0:15}}}')
    out = tmp_path / "out"
    child.order(Order(tmp_path.name, "delivery_audit", {"broker-a": str(broker.root)}, {}, str(out), {}))
    for reported in child.reports():
        if reported["state"] in ENDED:
            break
        if reported["state"] == "running":
            broker.put(20)  # what the run is true to is settled before it is at work
    broker.store.crash()
    assert reported["state"] == "done", reported
    assert broker.count > 20
    assert Counter(row["verdict"] for row in table(out, "messages")) == {"handed_over": 15, "waiting": 5}
