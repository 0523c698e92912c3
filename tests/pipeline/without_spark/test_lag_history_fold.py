"""Lag history against the engine's Board: equal figures every second, and unknown without an event."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from sandbox.cluster.config import HostConfig
from sandbox.journal.segments import rows_since
from sandbox.pipeline.lag import fold_json
from sandbox.pipeline.lag.fold import WANTED, Fold, JournalLine
from sandbox.pipeline.lag.rows import Row
from sandbox.pipeline.sources.journal_files import Chosen, batches, pieces_of
from sandbox.queries.rows.groups import GroupView
from sandbox.queries.rows.lag import row_lag
from sandbox.queries.snapshot.board import queue_rows
from sandbox.simulation.world import BEGIN_MS, World

Board = dict[tuple[str, str, str, int], tuple[int | None, int | None]]  # group, topic, queue, from_ms: lag, lag_ms


def journal_lines(journal: Path) -> list[JournalLine]:
    """As the source gives them."""
    found = batches(pieces_of({"s": journal}), Chosen(lines_of=WANTED))
    rows = (row for batch in found for row in batch.to_pylist())
    return [JournalLine(row["seq"], row["at_ms"], row["event"], row["fields"]) for row in rows]


def folded(reported: list[JournalLine]) -> Fold:
    fold = Fold()
    fold.take(reported)
    return fold


def figures(fold: Fold, table: str = "seconds") -> dict[tuple[str, str, str, int], Row]:
    rows = {(row.group, row.topic, row.queue, row.from_ms): row for row in fold.rows[table]}
    assert len(rows) == len(fold.rows[table]), "a second twice"
    return rows


class Watch:
    """Reads the Board at the end of every second a world lives."""

    def __init__(self, world: World, pairs: list[tuple[str, str]]) -> None:
        self.world, self.pairs = world, pairs
        self.board: Board = {}
        world.run(0.9999)
        self._look()

    def run(self, seconds: int) -> None:
        for _ in range(seconds):
            self.world.run(1.0)
            self._look()

    def act(self, *actions: dict[str, Any]) -> None:
        """Act in the middle of a second."""
        self.world.run(0.5)
        for fields in actions:
            self.world.act(fields.pop("action"), **fields)
        self.world.run(0.5)
        self._look()

    def _look(self) -> None:
        from_ms = self.world.cluster.clock.now_ms() // 1_000 * 1_000
        for group, topic in self.pairs:
            view = GroupView(self.world.cluster, group)
            for queue, row in queue_rows(self.world.cluster, view, topic).items():
                known = row_lag(row)  # of broadcasting members unknown before their first commit
                lag = 0 if row["max"] == "0" else None if known is None else max(0, known)
                stored_ms = row["oldest_stored_ms"]
                if stored_ms is None and lag != 0:
                    lag_ms = None  # the Board says nothing of it
                else:
                    lag_ms = 0 if stored_ms is None else from_ms + 1_000 - stored_ms
                self.board[group, topic, queue, from_ms] = (lag, lag_ms)


def assert_same(fold: Fold, board: Board, *, unknown: tuple[int, int] = (0, 0)) -> int:
    """Every second of the Board that came out; how many.  Within `unknown` figures may be so, but not wrong."""
    rows = figures(fold)
    compared = 0
    for key, (lag, lag_ms) in board.items():
        if key not in rows:
            assert fold.open_ms is not None
            assert key[3] >= fold.open_ms, f"no row for {key}"
            continue
        found = rows[key].figures
        may_be_unknown = unknown[0] <= key[3] < unknown[1]
        if found.lag is None and may_be_unknown:
            continue
        assert found.lag == lag, (key, found, lag)
        if lag_ms is not None and not (found.lag_ms is None and may_be_unknown):
            assert found.lag_ms == lag_ms, (key, found, lag_ms)
        compared += 1
    return compared


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path


def journal_of(home: Path) -> Path:
    return home / "sandboxes" / "world" / "journal"


@pytest.mark.parametrize("template", ["orders", "retries", "flights", "cluster"])
def test_every_second_is_what_the_board_showed(home: Path, template: str) -> None:
    with World(home, template, seed=4) as world:
        names = {
            row["group"]: [wanted["topic"] for wanted in row["subscription"]] for row in world.snapshot()["groups"]
        }
        pairs = [(group, topic) for group, topics in names.items() for topic in topics]
        watch = Watch(world, pairs)
        watch.run(60)
        world.sleep()
    fold = folded(journal_lines(journal_of(home)))
    assert assert_same(fold, watch.board) > 200


def test_what_came_and_went_adds_up(home: Path) -> None:
    with World(home, "orders", seed=4) as world:
        world.run(40)
        world.sleep()
    fold = folded(journal_lines(journal_of(home)))
    rows = list(rows_since(journal_of(home), 0))
    end = fold.open_ms
    stored = sum(
        row["count"]
        for row in rows
        if row["type"] == "MessagesStored" and row["topic"] == "orders" and row["at_ms"] < end
    )
    seconds = [row.figures for row in fold.rows["seconds"] if row.topic == "orders"]
    assert sum(second.produced or 0 for second in seconds) == stored > 100
    committed = {
        (row["broker"], row["queue_id"]): row["offset"]
        for row in rows
        if row["type"] == "OffsetCommitted" and row["topic"] == "orders" and row["at_ms"] < end
    }
    assert sum(second.consumed or 0 for second in seconds) == sum(committed.values())  # they began at 0
    assert all(second.consumed is not None for second in seconds)


def test_tens_and_fives_are_the_seconds_put_together(home: Path) -> None:
    with World(home, "orders", seed=4) as world:
        world.run(650)
        world.sleep()
    fold = folded(journal_lines(journal_of(home)))
    seconds = figures(fold)
    for table, width_ms in (("tens", 10_000), ("fives", 300_000)):
        rolled = figures(fold, table)
        assert rolled
        for (group, topic, queue, from_ms), row in rolled.items():
            inside = [
                seconds[group, topic, queue, at].figures
                for at in range(from_ms, from_ms + width_ms, 1_000)
                if (group, topic, queue, at) in seconds
            ]
            assert row.figures.produced == sum(second.produced or 0 for second in inside)
            assert row.figures.consumed == sum(second.consumed or 0 for second in inside)
            assert (row.figures.lag, row.figures.lag_ms) == (inside[-1].lag, inside[-1].lag_ms)
    assert len({key[3] for key in figures(fold, "fives")}) == 2


@pytest.mark.parametrize("seed", range(3))
def test_cut_into_any_batches_the_same_rows_come_out_once(home: Path, seed: int) -> None:
    with World(home, "retries", seed=seed) as world:
        world.run(30)
        world.sleep()
        world.wake()
        world.run(10)
        world.sleep()
    reported = journal_lines(journal_of(home))
    whole = folded(reported)
    draw, at, rows = random.Random(seed), 0, {name: list[Row]() for name in whole.rows}
    state = fold_json.dump(Fold())
    while at < len(reported):
        fold = fold_json.load(state)
        step = draw.choice([1, 7, 200])
        fold.take(reported[at : at + step])
        for name, out in fold.rows.items():
            rows[name] += out
        state = fold_json.dump(fold)
        at += step
    assert {name: sorted(out) for name, out in rows.items()} == {name: sorted(out) for name, out in whole.rows.items()}
    assert fold_json.load(state).true_to == whole.true_to


def test_a_reset_backwards_is_seen_and_consumes_nothing(home: Path) -> None:
    with World(home, "orders", seed=4) as world:
        watch = Watch(world, [("order-svc", "orders")])
        watch.run(30)
        watch.act(
            *({"action": "StopActor", "actor": actor.label} for actor in world.cluster.actors.consumers("order-svc"))
        )
        watch.run(150)
        watch.act(
            {
                "action": "ResetOffsets",
                "group": "order-svc",
                "topic": "orders",
                "target": "earliest",
                "method": "offline",
                "reason": "test",
            }
        )
        watch.run(20)
        world.sleep()
    fold = folded(journal_lines(journal_of(home)))
    rows = figures(fold)
    for key, (lag, lag_ms) in watch.board.items():
        if key in rows:
            assert rows[key].figures.lag == lag
            assert lag_ms is None or rows[key].figures.lag_ms in (lag_ms, None)  # times of long ago are forgotten
    reset_ms = next(row["at_ms"] for row in rows_since(journal_of(home), 0) if row["type"] == "OffsetsReset")
    after = [row.figures for row in fold.rows["seconds"] if row.from_ms >= reset_ms // 1_000 * 1_000]
    assert after
    assert {second.consumed for second in after} == {0}


def test_a_killed_server_leaves_what_it_took_unknown_and_goes_on(home: Path) -> None:
    with World(home, "orders", seed=4) as world:
        watch = Watch(world, [("order-svc", "orders")])
        watch.run(20)
        world.run(0.35)
        world.kill()
        world.wake()
        woken_ms = world.cluster.clock.now_ms()
        world.run(0.9999 - world.cluster.clock.now_ms() % 1_000 / 1_000)
        watch._look()
        watch.run(20)
        world.sleep()
    fold = folded(journal_lines(journal_of(home)))
    last = woken_ms // 1_000 * 1_000
    at_kill = [row.figures for row in fold.rows["seconds"] if row.from_ms == last]
    assert {(second.produced, second.consumed) for second in at_kill} == {(None, None)}
    assert assert_same(fold, watch.board, unknown=(last, last + 10_000)) > 300
    assert {row.figures.lag is None for row in fold.rows["seconds"] if row.from_ms > last} == {False}


def test_a_killed_broker_is_unknown_until_an_event_reports_it(home: Path) -> None:
    with World(home, "orders", seed=4) as world:
        watch = Watch(world, [("order-svc", "orders")])
        watch.run(20)
        watch.act({"action": "KillBroker", "broker": "broker-a", "broker_id": 0})
        watch.run(10)
        watch.act({"action": "StartBroker", "broker": "broker-a", "broker_id": 0})
        watch.run(90)
        world.sleep()
    fold = folded(journal_lines(journal_of(home)))
    killed_ms = BEGIN_MS + 21_000
    down = [
        row.figures.lag
        for row in fold.rows["seconds"]
        if row.queue.startswith("broker-a") and killed_ms <= row.from_ms < killed_ms + 9_000 and row.topic == "orders"
    ]
    assert down
    assert set(down) == {None}
    assert assert_same(fold, watch.board, unknown=(killed_ms, killed_ms + 60_000)) > 500


def test_what_the_valve_held_back_is_unknown_not_zero(home: Path) -> None:
    config = HostConfig()
    with World(home, "orders", seed=4, config=config) as world:
        watch = Watch(world, [("order-svc", "orders")])
        watch.run(10)
        valve = world.cluster.journal._valve
        valve._per_s = 3
        watch.run(20)
        valve._per_s = 1_000
        watch.run(60)
        world.sleep()
    rows = list(rows_since(journal_of(home), 0))
    [skipped, *_] = [row for row in rows if row["type"] == "FlowSkipped"]
    assert skipped["others"]  # commits among them
    fold = folded(journal_lines(journal_of(home)))
    hidden = [
        row.figures
        for row in fold.rows["seconds"]
        if row.topic == "orders" and skipped["from_ms"] <= row.from_ms < skipped["to_ms"] - 1_000
    ]
    assert hidden
    assert {second.consumed for second in hidden} == {None}
    assert {second.produced for second in hidden} <= {None, 0}
    assert None in {second.produced for second in hidden}
    assert assert_same(fold, watch.board, unknown=(skipped["from_ms"], skipped["to_ms"] + 15_000)) > 200


def test_a_journal_whose_beginning_was_dropped_is_unknown_until_a_keyframe(home: Path) -> None:
    with World(home, "orders", seed=4) as world:
        watch = Watch(world, [("order-svc", "orders")])
        watch.run(60)
        world.sleep()
    reported = journal_lines(journal_of(home))
    keyframes = [entry for entry in reported if entry.event == "Keyframe"]
    assert len(keyframes) > 2
    rest = [entry for entry in reported if entry.seq > keyframes[1].seq - 300]
    fold = folded(rest)
    first_ms, known_ms = rest[0].at_ms // 1_000 * 1_000, keyframes[1].at_ms // 1_000 * 1_000
    assert first_ms < known_ms
    later = {key: value for key, value in watch.board.items() if key[3] >= known_ms}
    assert assert_same(fold, later) > 100
    before = [row.figures for row in fold.rows["seconds"] if row.from_ms == first_ms]
    assert {(second.produced, second.consumed) for second in before} <= {(None, None)}


def test_segments_dropped_unread_leave_a_gap_that_is_unknown(home: Path) -> None:
    with World(home, "orders", seed=4) as world:
        watch = Watch(world, [("order-svc", "orders")])
        watch.run(120)
        world.sleep()
    reported = journal_lines(journal_of(home))
    gone = [entry for entry in reported if BEGIN_MS + 20_300 < entry.at_ms < BEGIN_MS + 30_700]
    known_ms = next(entry.at_ms for entry in reported if entry.event == "Keyframe" and entry.at_ms > gone[-1].at_ms)
    fold = folded([entry for entry in reported if not gone[0].seq <= entry.seq <= gone[-1].seq])
    unknown = (BEGIN_MS + 20_000, known_ms // 1_000 * 1_000 + 20_000)
    assert assert_same(fold, watch.board, unknown=unknown) > 500
    inside = [row.figures for row in fold.rows["seconds"] if BEGIN_MS + 20_000 <= row.from_ms <= BEGIN_MS + 30_000]
    assert {(second.produced, second.consumed, second.lag) for second in inside} == {(None, None, None)}
    [five] = {row.figures.produced for row in fold.rows["tens"] if row.from_ms == BEGIN_MS + 20_000}
    assert five is None


def test_sleep_takes_no_time_and_nothing_is_lost_in_it(home: Path) -> None:
    with World(home, "orders", seed=4) as world:
        watch = Watch(world, [("order-svc", "orders")])
        watch.run(20)
        world.run(0.3)
        world.sleep()
        world.wake()
        world.run(0.7)
        watch._look()
        watch.run(20)
        world.sleep()
    fold = folded(journal_lines(journal_of(home)))
    assert assert_same(fold, watch.board) > 250
    assert all(row.figures.produced is not None for row in fold.rows["seconds"])


def test_broadcasting_members_have_rows_of_their_own(home: Path) -> None:
    with World(home, "orders", seed=4) as world:
        world.act(
            "StartConsumer",
            group="all",
            subscriptions=[{"topic": "orders", "expression": "*"}],
            copies=2,
            model="BROADCASTING",
            work_ms=[1],
        )
        world.run(30)
        world.act("ChangeActor", actor="shop", rate_per_s=0)
        world.run(40)
        board = world.read("board/all/orders").data["queues"]
        world.sleep()
    fold = folded(journal_lines(journal_of(home)))
    mine = [row for row in fold.rows["seconds"] if row.group == "all" and row.topic == "orders"]
    last_ms = max(row.from_ms for row in mine)
    last = {row.queue: row.figures.lag for row in mine if row.from_ms == last_ms}
    assert last == dict.fromkeys(board, 0)
    assert len(last) == 16  # two members, each with all eight queues
    consumed = {queue: sum(row.figures.consumed or 0 for row in mine if row.queue == queue) for queue in last}
    assert consumed == {queue: int(row["max"]) for queue, row in board.items()}


def test_a_broadcasting_member_without_an_offset_of_its_own_has_no_lag_that_is_known(home: Path) -> None:
    """It begins at the end of the queue, or where its file says, and not at the oldest message: so unknown."""
    with World(home, "orders", seed=4) as world:
        world.run(30)
        world.act("ChangeActor", actor="shop", rate_per_s=0)
        world.run(5)
        world.act(
            "StartConsumer",
            group="all",
            subscriptions=[{"topic": "orders", "expression": "*"}],
            model="BROADCASTING",
            work_ms=[1],
        )
        watch = Watch(world, [("all", "orders")])
        watch.run(20)
        world.sleep()
    rows = figures(folded(journal_lines(journal_of(home))))
    found = {key: row.figures.lag for key, row in rows.items() if key in watch.board}
    assert all(lag in (None, watch.board[key][0]) for key, lag in found.items()), "its file is later than its memory"
    assert len(found) > 100
    assert None in {lag for lag, _ in watch.board.values()}, "it has pulled from the end, and consumed nothing"


def test_time_that_was_jumped_over_has_no_seconds(home: Path) -> None:
    reported: list[JournalLine] = []

    def note(at_ms: int, kind: str, **fields: Any) -> None:
        reported.append(JournalLine(len(reported), at_ms, kind, json.dumps(fields)))

    note(0, "TopicChanged", topic="t", broker="b", read_queues=1, write_queues=1, permission=6, how="cluster")
    note(
        0,
        "SubscriptionChanged",
        broker="b",
        group="g",
        topic="t",
        expression="*",
        sub_version=1,
        client_id="c",
        replaced=None,
    )
    note(100, "MessagesStored", topic="t", broker="b", queue_id=0, first_offset=0, count=2, physical_offset=0, bytes=9)
    note(86_400_500, "ClockChanged", rate=1.0, reason="jump", wall_ms=0)
    note(
        86_402_000,
        "MessagesStored",
        topic="t",
        broker="b",
        queue_id=0,
        first_offset=2,
        count=1,
        physical_offset=0,
        bytes=9,
    )
    fold = folded(reported)
    assert [(row.from_ms, *row.figures) for row in fold.rows["seconds"]] == [
        (0, 2, 0, 2, 900),
        (86_400_000, 0, 0, 2, 86_400_900),
        (86_401_000, 0, 0, 2, 86_401_900),
    ]
    assert [(row.from_ms, row.figures.produced) for row in fold.rows["tens"]] == [(0, 2)]
