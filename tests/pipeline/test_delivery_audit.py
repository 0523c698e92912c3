"""The delivery audit against what the engine counted by itself, and against what real clients wrote down."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sandbox.kernel.chance import Chance
from sandbox.kernel.errors import ActionRefused
from sandbox.pipeline.sealed.reading import parts_of
from sandbox.pipeline.spark.small_runs import FEW_BYTES
from sandbox.simulation.world import World
from tests.golden.golden_stores import MANIFEST, queue_ends, rows
from tests.pipeline.audits import Table, run_over, table
from tests.pipeline.conftest import Run
from tests.pipeline.worlds import Recorded, record
from tests.wide import many

pytestmark = pytest.mark.pipeline

SEEDS = [range(5), *many(range(begin, begin + 5) for begin in range(5, 20, 5))]
GROUP, ORDERLY = "order-svc", "in-order"


def causes(repeats: Table, sandbox: str, group: str) -> dict[str, int]:
    return dict(Counter(row["cause"] for row in repeats if (row["sandbox"], row["group"]) == (sandbox, group)))


# Sandboxes with trouble.


def troubled(home: Path, seed: int) -> Recorded:
    """A member crashes in every one of them; what else happens, the seed says."""
    chance = Chance(seed).fork("trouble")
    with World(home, "orders", seed=seed) as world:
        world.act(
            "StartConsumer",
            group=ORDERLY,
            subscriptions=[["orders", "*"]],
            copies=2,
            listener="orderly",
            work_ms=[10, 200],
        )
        world.act("ChangeActor", actor="A", fail_percent=chance.choice((0, 3, 10)))
        world.run(chance.between(8, 15))
        for step in ["crash", *(chance.choice(("crash", "hang", "stop", "add", "reset", "fail")) for _ in range(4))]:
            do(world, chance, step)
            world.run(chance.between(0.5, 30))
        world.run(chance.choice((20, 130)))  # a hung member is forgotten after 120 s
        world.act("ChangeActor", actor="shop", rate_per_s=0)
        world.run(60)
        return record(world, home)


def do(world: World, chance: Chance, step: str) -> None:
    members = world.cluster.actors.consumers()
    actor, group = chance.choice(members).label, chance.choice((GROUP, ORDERLY))
    try:
        match step:
            case "crash":
                world.act("CrashActor", actor=actor)
                world.run(chance.between(0.5, 25))
                world.act("RestartActor", actor=actor)
            case "hang":
                world.act("HangActor", actor=actor)
            case "stop":
                world.act("StopActor", actor=actor)
            case "add":
                world.act("StartConsumer", group=group)
            case "fail":
                world.act("ChangeActor", actor=actor, fail_percent=20)
            case "reset":
                online = any(member.lives for member in world.cluster.actors.consumers(group))
                world.act(
                    "ResetOffsets",
                    group=group,
                    topic="orders",
                    target="shift",
                    value=-7,
                    method="online" if online else "offline",
                    confirm=group,
                )
    except ActionRefused as why:
        if why.status not in (409, 422):  # the state is another one
            raise


@pytest.mark.parametrize("seeds", SEEDS, ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}")
def test_what_came_again_is_what_the_engine_counted_cause_by_cause(run: Run, seeds: range, tmp_path: Path) -> None:
    worlds = {f"s{seed:02}": troubled(tmp_path / f"s{seed:02}", seed) for seed in seeds}
    out = run_over(run, "delivery_audit", worlds, tmp_path / "out")
    repeats, messages = table(out, "repeats"), table(out, "messages")
    found = {(name, group): causes(repeats, name, group) for name, made in worlds.items() for group in made.again}
    assert found == {(name, group): again for name, made in worlds.items() for group, again in made.again.items()}
    total: Counter[str] = Counter()
    for again in found.values():
        total.update(again)
    assert {"crash_before_commit", "rebalance_hand_over", "retry", "reset"} <= set(total), "the seeds show every cause"
    given = Counter((row["sandbox"], row["group"], row["topic"], row["queue"], row["queue_offset"]) for row in repeats)
    for row in messages:
        again = given[row["sandbox"], row["group"], row["topic"], row["queue"], row["queue_offset"]]
        if again:
            assert (row["verdict"], row["deliveries"]) == ("duplicate", 1 + again)
        else:
            assert (row["verdict"], row["deliveries"]) in (("once", 1), ("waiting", 0), ("waiting", 1)), row
        assert (row["verdict"] == "duplicate") == (row["cause"] is not None)
    assert Counter(row["verdict"] for row in messages).most_common(1)[0][0] == "once"


def copied(home: Path) -> Recorded:
    """A member and a copy with its client id, which crashes at last."""
    with World(home, "orders") as world:
        world.run(30)
        world.act(
            "StartConsumer",
            actor="copy",
            group=GROUP,
            subscriptions=[["orders", "*"]],
            client_id_of="A",
            work_ms=[10, 200],
        )
        world.run(40)
        world.act("CrashActor", actor="copy")
        world.act("ChangeActor", actor="shop", rate_per_s=0)
        world.run(60)
        return record(world, home)


def test_what_a_copy_with_the_same_client_id_was_given_too_is_no_retry(run: Run, tmp_path: Path) -> None:
    made = copied(tmp_path / "copied")
    found = causes(table(run_over(run, "delivery_audit", {"s": made}, tmp_path / "out"), "repeats"), "s", GROUP)
    assert found["shared_client_id"] > 20
    assert found == made.again[GROUP]


def test_few_bytes_many_and_sealed_files_say_the_same(run: Run, tmp_path: Path) -> None:
    """The sandbox has a crash, a reset and retries; above a size Spark plans differently."""
    made, sealed = troubled(tmp_path / "world", 3), tmp_path / "sealed"
    stores = {f"s/{node}": root for node, root in made.stores.items()}

    def audited(**given: Any) -> dict[str, Table]:
        *_, last = run("delivery_audit", stores=stores, journals={"s": str(made.journal)}, **given)
        assert last["state"] == "done", last
        return {name: sorted(table(tmp_path / "out", name), key=repr) for name in last["tables"]}

    few = audited()
    assert {row["verdict"] for row in few["messages"]} >= {"once", "duplicate"}
    next(iter(stores.values())).joinpath("beside").write_bytes(bytes(range(256)) * (FEW_BYTES // 256))
    assert audited() == few
    *_, last = run("seal", stores=stores, sealed=sealed, out=tmp_path / "seal")
    assert last["state"] == "done", last
    assert all(parts_of(root, sealed / name).is_whole for name, root in stores.items())
    assert audited(sealed=sealed) == few


# Results from a real broker's store without a journal.


@pytest.fixture(scope="module")
def golden_audit(golden: Path, child: Any, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Run], Table]:
    out = tmp_path_factory.mktemp("golden-audit")
    made: list[Table] = []

    def once(run: Run) -> Table:
        if not made:
            reported = run("delivery_audit", store=golden, out=out)
            assert reported[-1]["state"] == "done", reported[-1]
            made.append(table(out, "messages"))
        return made[0]

    return once


def consume_stats() -> dict[tuple[str, str, int], tuple[int, int]]:
    """(group, topic, queue id) → what the broker said: the queue's end and the group's offset."""
    recorded = json.loads((MANIFEST / "queues.json").read_text("utf-8"))["consumeStats"]
    found = {}
    for group, queues in recorded.items():
        for place, row in queues.items() if isinstance(queues, dict) else ():
            topic, _, queue_id = place.rpartition("@")
            if not topic.startswith("%"):
                found[group, topic, int(queue_id)] = row["brokerOffset"], row["consumerOffset"]
    return found


def test_a_store_alone_shows_deliveries_and_pending_messages_as_the_broker_reported(
    run: Run,
    golden_audit: Callable[[Run], Table],
) -> None:
    messages = golden_audit(run)
    known = consume_stats()
    assert known
    for (group, topic, queue_id), (end, offset) in known.items():
        mine = {
            row["queue_offset"]: row
            for row in messages
            if (row["group"], row["topic"], row["queue"]) == (group, topic, f"broker-a:{queue_id}")
        }
        assert sorted(mine) == list(range(end))
        assert {at for at, row in mine.items() if row["verdict"] == "waiting"} == set(range(offset, end))
        assert not [row for row in mine.values() if row["verdict"] in ("once", "lost", "unknown")]
    assert {(row["topic"], row["queue"]) for row in messages} <= {(topic, f"broker-a:{n}") for topic, n in queue_ends()}


def test_what_listeners_of_real_clients_wrote_down_is_handed_over(
    run: Run,
    golden_audit: Callable[[Run], Table],
) -> None:
    messages = golden_audit(run)
    heard = json.loads((MANIFEST / "consumed.json").read_text("utf-8"))
    for group in ("GID_golden_push", "GID_golden_orderly"):
        handed = {
            f"{row['topic']}/{row['queue'].rpartition(':')[2]}/{row['queue_offset']}"
            for row in messages
            if row["group"] == group and row["verdict"] == "handed_over"
        }
        assert set(heard[group]) <= handed
    times = Counter(message["keys"] for message in heard["GID_golden_retry"])
    retried = {row["keys"]: row for row in messages if row["group"] == "GID_golden_retry"}
    assert {key: row["deliveries"] for key, row in retried.items()} == times
    assert {(row["verdict"], row["cause"]) for row in retried.values()} == {("duplicate", "retry")}
    assert {key: row["message_id"] for key, row in retried.items()} == {
        row["keys"]: row["uniqKey"] for row in rows("messages") if row["topic"] == "GoldenRetry"
    }
