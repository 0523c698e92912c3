"""Nothing is found where nothing happened: the engine's own stores at any moment and after any end, without Spark."""

import struct
from itertools import islice
from pathlib import Path

import pytest

from sandbox.journal.events import Entry
from sandbox.kernel.chance import Chance
from sandbox.simulation.run import run_seed
from sandbox.simulation.world import World
from sandbox.store.disk import FileDisk
from sandbox.store_audit.findings import Finding
from sandbox.store_audit.one_process import audit
from sandbox.store_audit.plan import derived_pieces, log_pieces, places_of
from sandbox.store_audit.verdict import Verdict, lost_of, verdict_of
from tests.pipeline.store_reads import written
from tests.seed.stage import files_of
from tests.sim.store_world import StoreWorld, inbound
from tests.sim.test_store_crashes import LATER_MS, life
from tests.unit.store.stores import Stores, message
from tests.wide import seeds

SEEDS = seeds(3, 10)


def checked(files: dict[str, bytes], root: Path) -> Verdict:
    [verdict] = audit({"s": written(files, root)})
    return verdict


def findings(files: dict[str, bytes], root: Path) -> list[Finding]:
    return checked(files, root).findings


def test_a_store_is_clean_between_any_two_writes(tmp_path: Path) -> None:
    for number, moment in enumerate(life()[1]):
        assert findings(moment.disk.image(), tmp_path / str(number)) == [], number


def test_a_store_is_clean_when_it_was_opened_after_a_power_cut_at_any_write(tmp_path: Path) -> None:
    for number, moment in enumerate(life()[1]):
        disk = moment.disk.copy(Chance(number))
        disk.power_cut()
        world = StoreWorld(disk, start_ms=LATER_MS)
        store = world.opened()
        world.put(store, [inbound("T", 0, 999)])
        assert findings(disk.image(), tmp_path / str(number)) == [], number


@pytest.fixture
def stores_of_a_run(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Verdict]]:
    """Every store a simulated run leaves behind, but those of slaves that had more than their master."""
    found: list[tuple[str, Verdict]] = []

    def check(world: World, home: Path, entries: list[Entry], diverged: frozenset[str]) -> list[object]:
        for name, disk in sorted(world.environment.disks.items()):
            node = name.rpartition("/")[2]
            if node not in diverged:
                found.append((node, checked(disk.image(), home / "audited" / node)))
        return []

    monkeypatch.setattr("sandbox.simulation.run.check_files", check)
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_whatever_went_wrong_in_a_simulated_life_its_stores_are_clean(
    seed: int, stores_of_a_run: list[tuple[str, Verdict]]
) -> None:
    """Kills, power cuts, full disks, deleted files, delayed and transactional messages, batches, slaves."""
    run_seed(seed)
    assert stores_of_a_run
    for node, verdict in stores_of_a_run:
        assert verdict.findings == [], node
        assert verdict.checked["records"] > 0


def put_many(store_files: Stores, count: int, **fields: str) -> None:
    store = store_files.opened()
    for number in range(count):
        store_files.put(store, message(number, queue_id=number % 2, UNIQ_KEY=f"{number:032X}", **fields))
    store.close()


def test_a_store_that_keeps_its_last_files_only_is_clean_and_says_where_it_begins(tmp_path: Path) -> None:
    stores = Stores()
    put_many(stores, 90)
    store = stores.opened()
    store.age_files(10_000)
    store.clean(manual=True)
    stores.put(store, message(90))
    verdict = checked(stores.sim_disk.image(), tmp_path)
    assert verdict.findings == []
    assert verdict.checked["log_start"] == store.min_physical_offset > 0
    assert 0 < verdict.checked["records"] < 91


@pytest.mark.parametrize("lost", [1, 2, 3, 5])
def test_a_log_may_have_lost_more_files_than_queues_and_index(lost: int, tmp_path: Path) -> None:
    """They follow with the next cleaning."""
    stores = Stores()
    put_many(stores, 90)
    files = stores.sim_disk.image()
    for path in sorted(path for path in files if path.startswith("commitlog/"))[:lost]:
        del files[path]
    assert findings(files, tmp_path) == []


def test_a_topic_that_was_deleted_and_created_again_begins_anew(tmp_path: Path) -> None:
    with World(tmp_path / "world") as world:
        for count in (40, 15):
            world.act("CreateTopic", topic="T", write_queues=1, read_queues=1)
            world.run(1)
            world.act("SendMessages", topic="T", count=count, key="k")
            world.run(5)
            if count == 40:
                world.act("DeleteTopic", topic="T")
                world.run(5)
        verdict = checked(files_of(world), tmp_path / "copy")
    assert verdict.findings == []
    assert verdict.checked["before_queue"] == 40


def test_a_deleted_topic_leaves_records_without_a_queue(tmp_path: Path) -> None:
    with World(tmp_path / "world") as world:
        world.act("CreateTopic", topic="T")
        world.act("SendMessages", topic="T", count=12)
        world.run(5)
        world.act("DeleteTopic", topic="T")
        world.run(5)
        verdict = checked(files_of(world), tmp_path / "copy")
    assert verdict.findings == []
    assert verdict.checked["without_queue"] == 12


def test_a_broker_may_have_delay_levels_of_its_own(tmp_path: Path) -> None:
    stores = Stores(delay_levels_ms=(7_000, 60_000))
    store = stores.opened()
    for number, level in enumerate("1219"):
        stores.put(store, message(number, topic="SCHEDULE_TOPIC_XXXX", queue_id=int(level) - 1, DELAY=level))
    store.close()
    root = written(stores.sim_disk.image(), tmp_path)
    assert audit({"s": root})[0].findings == []
    assert audit({"s": root}, (7_000, 60_000))[0].findings == []
    reported = [found.says for found in audit({"s": root}, (7_000, 30_000))[0].findings]
    assert [says.partition(":")[0] for says in reported] == ["offset 0", "offset 0"], "told otherwise, it says so"


def test_units_may_lead_to_their_tags_by_way_of_the_queue_s_extension(tmp_path: Path) -> None:
    """RocketMQ: `ConsumeQueueExt`, where `enableConsumeQueueExt` is on (spec store-format 4)."""
    stores = Stores()
    put_many(stores, 20)
    files = stores.sim_disk.image()
    path = f"consumequeue/orders/0/{0:020}"
    units, ext = bytearray(files[path]), b""
    for at in range(0, 200, 20):
        code = struct.unpack_from(">q", units, at + 12)[0]
        struct.pack_into(">q", units, at + 12, len(ext) - (1 << 63))
        ext += struct.pack(">hqqh", 20, code, 0, 0)  # size, tags code, store time, no bits
    files[path] = bytes(units)
    assert {found.kind for found in findings(files, tmp_path / "lost")} == {"wrong_unit"}
    files[f"consumequeue_ext/orders/0/{0:020}"] = ext.ljust(4_096, b"\0")
    assert findings(files, tmp_path / "there") == []
    changed = ext[:43] + bytes([ext[43] ^ 1]) + ext[44:]
    files[f"consumequeue_ext/orders/0/{0:020}"] = changed.ljust(4_096, b"\0")
    assert [found.queue_offset for found in findings(files, tmp_path / "changed")] == [2]


@pytest.mark.parametrize(
    "fields",
    [
        {"TAGS": "red || green"},
        {"TAGS": ""},
        {"TAGS": "标签"},
        {"KEYS": "a  b a"},
        {"KEYS": "键 käse 🔑"},
        {"KEYS": ""},
    ],
)
def test_every_kind_of_key_and_tag_is_hashed_as_java_does(fields: dict[str, str], tmp_path: Path) -> None:
    stores = Stores()
    put_many(stores, 30, **fields)
    verdict = checked(stores.sim_disk.image(), tmp_path)
    assert verdict.findings == []
    assert verdict.checked["units"] == 30


def test_what_a_killed_broker_had_not_dispatched_is_counted_and_no_finding(tmp_path: Path) -> None:
    stores = Stores()
    store = stores.opened()
    stores.put(store, *(message(number) for number in range(5)))
    for number in range(5, 8):
        store.put_message(message(number))
    verdict = checked(stores.sim_disk.image(), tmp_path)
    assert verdict.findings == []
    assert [verdict.checked[what] for what in ("records", "units", "not_dispatched")] == [8, 5, 3]


def test_an_empty_store_is_clean(tmp_path: Path) -> None:
    store = Stores()
    store.opened().close()
    verdict = checked(store.sim_disk.image(), tmp_path)
    assert (verdict.findings, verdict.checked["records"]) == ([], 0)


def test_many_stores_are_audited_together_and_each_is_judged_alone(tmp_path: Path) -> None:
    sound, broken = Stores(), Stores()
    put_many(sound, 10)
    put_many(broken, 10)
    roots = {
        "a/broker-a": written(sound.sim_disk.image(), tmp_path / "a"),
        "b/broker-a": written(broken.sim_disk.image(), tmp_path / "b"),
    }
    queue = roots["b/broker-a"] / f"consumequeue/orders/1/{0:020}"
    queue.write_bytes(bytes(20) + queue.read_bytes()[20:])
    assert [(verdict.store, [found.kind for found in verdict.findings]) for verdict in audit(roots)] == [
        ("a/broker-a", []),
        ("b/broker-a", ["missing_unit"]),
    ]


@pytest.mark.parametrize("shrinks_in", [None, 0, 1, 2, 3])
def test_a_store_may_grow_and_lose_files_while_it_is_audited(shrinks_in: int | None, tmp_path: Path) -> None:
    stores = Stores(FileDisk(tmp_path))
    store = stores.opened()
    numbers, phases = iter(range(1_000)), iter(range(4))

    def life_goes_on() -> None:
        for number in islice(numbers, 70):
            stores.put(store, message(number, queue_id=number % 3, UNIQ_KEY=f"{number:032X}"))
        if next(phases) == shrinks_in:
            store.age_files(10_000)
            store.clean(manual=True)

    life_goes_on()
    [place] = places_of({"s": tmp_path})
    life_goes_on()
    first = [piece.run() for piece in log_pieces([place])]
    life_goes_on()
    pieces = derived_pieces([place], {"s": lost_of(place, first)})
    life_goes_on()
    verdict = verdict_of(place, first, [piece.run() for piece in pieces])
    assert verdict.findings == []
    assert (verdict.checked["records"] > 0) == (shrinks_in != 1), "then nothing is left of what was planned"
    store.close()
