"""Sandboxes that release 0.1.0 (fbd2948) wrote, one that slept and one whose server was killed: read, audited, woken.

`sandboxes/0.1.0.json` is what that release itself answered to the functions below, over the same files; but the lag of
the broadcasting member of `slept` before its first commit is unknown, where 0.1.0 counted from the oldest message.
"""

import hashlib
import io
import json
import lzma
import tarfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from sandbox.cluster.config import HostConfig
from sandbox.hosting.host import Host
from sandbox.journal.schema import from_row, to_row
from sandbox.journal.segments import rows_since
from sandbox.kernel.clock import Clock
from sandbox.pipeline.lag.fold import WANTED, Fold, JournalLine
from sandbox.pipeline.sources.journal_files import Chosen, batches, pieces_of
from sandbox.simulation.world import SimulatedEnvironment
from sandbox.store.disk import Disk, FileDisk
from sandbox.store_audit.one_process import audit

pytestmark = pytest.mark.golden

HERE = Path(__file__).parent / "sandboxes"
SLUGS = ("slept", "killed")
UNIT_BYTES = 20

Facts = dict[str, Any]


def of_journal(box: Path) -> Facts:
    rows = list(rows_since(box / "journal", 0))
    return {"rows": len(rows), "digest": digest(rows)}


def of_lag_history(box: Path) -> Facts:
    found = batches(pieces_of({"s": box / "journal"}), Chosen(lines_of=WANTED))
    fold = Fold()
    fold.take(
        [
            JournalLine(row["seq"], row["at_ms"], row["event"], row["fields"])
            for batch in found
            for row in batch.to_pylist()
        ]
    )
    return {name: {"rows": len(rows), "digest": digest(rows)} for name, rows in fold.rows.items()}


def of_stores(box: Path) -> Facts:
    """Queues and verification of `mqstore`, and the audit of the pipeline."""
    stores = {path.parent.name: path.parent for path in box.glob("*/commitlog")}
    audits = {verdict.store: [[row[:8] for row in verdict.findings], verdict.checked] for verdict in audit(stores)}
    return {
        name: {"queues": mqstore("queues", root), "verify": mqstore("verify", root), "audit": audits[name]}
        for name, root in stores.items()
    }


def comparable(stores: Facts, then: Facts) -> tuple[Facts, Facts]:
    """Return both without what 0.1.0 did not count, and without the findings of `verify`, which had their own words."""
    for name, store in stores.items():
        findings, checked = store["audit"]
        [verified] = store["verify"]
        assert [(row["code"], row["where"], row["position"], row["text"]) for row in verified["findings"]] == [
            tuple(row[:4]) for row in findings
        ]
        before = then[name]
        store["audit"] = [findings, {what: checked[what] for what in before["audit"][1]}]
        for row in (verified, *before["verify"]):
            row.pop("findings")
        verified.pop("checked")
    return stores, then


def mqstore(what: str, root: Path) -> list[Facts]:
    out = io.StringIO()
    with suppress(SystemExit):  # errors were found
        call_command("mqstore", what, str(root), json=True, stdout=out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def damage(box: Path) -> None:
    """A unit that points elsewhere, and a record that is no message."""
    with (box / "broker-a" / "consumequeue" / "orders" / "1" / f"{0:020}").open("r+b") as queue:
        queue.seek(2 * UNIT_BYTES)
        queue.write(bytes(8))
    with (box / "broker-b" / "commitlog" / f"{0:020}").open("r+b") as log:
        log.seek(30_000)
        log.write(b"\x07" * 40)


def of_snapshot(snapshot: Any) -> Facts:
    """Return the state right after waking."""
    return {
        "queues": {
            f"{topic['topic']}/{queue['broker']}/{queue['queue_id']}": [queue["min"], queue["max"]]
            for topic in snapshot["topics"]
            for queue in topic["queues"]
        },
        "committed": {
            f"{group['group']}/{row['topic']}/{row['broker']}/{row['queue_id']}": row["committed"]
            for group in snapshot["groups"]
            for row in group["queues"]
        },
        "actors": sorted(
            [member["actor"], member["kind"]] for group in snapshot["groups"] for member in group["members"]
        ),
        "producers": sorted(producer["actor"] for producer in snapshot["producers"]),
        "nodes": sorted([node["broker"], node["broker_id"], node["address"]] for node in snapshot["brokers"]),
        "links": snapshot["links"],
    }


def stored(facts: Facts) -> int:
    return sum(int(end) for _, end in facts["queues"].values())


def committed(facts: Facts) -> int:
    return sum(int(offset or 0) for offset in facts["committed"].values())


def digest(rows: Any) -> str:
    lines = sorted(json.dumps(row, sort_keys=True) for row in rows)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def as_json(facts: object) -> Any:
    return json.loads(json.dumps(facts))


class OnFiles(SimulatedEnvironment):
    """Virtual time over real files."""

    def disk(self, root: Path, clock: Clock) -> Disk:
        return FileDisk(root)


@pytest.fixture(params=SLUGS)
def box(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    with lzma.open(HERE / "0.1.0.tar.xz") as packed, tarfile.open(fileobj=packed) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / "sandboxes" / request.param


@pytest.fixture
def then(box: Path) -> Facts:
    recorded: Facts = json.loads((HERE / "0.1.0.json").read_text("utf-8"))[box.name]
    return recorded


class Woken:
    """A host that has woken the sandbox."""

    def __init__(self, box: Path) -> None:
        self.slug = box.name
        self._environment = OnFiles(1, (0, 0))
        self._host = Host(box.parents[1], HostConfig(), self._environment)
        self._environment.sim.run(self._begin())

    async def _begin(self) -> None:
        self._host.start()
        await self._host.wake(self.slug)

    def facts(self) -> Facts:
        return of_snapshot(self._host.snapshot(self.slug))

    def rows_after(self, seq: int) -> list[Facts]:
        return self._environment.sim.run(self._host.past.entries(self.slug, seq, 1_000, facts_only=False)).rows

    def run(self, seconds: float) -> None:
        self._environment.sim.run_for(seconds)

    def close(self) -> None:
        self._environment.sim.run(self._host.close())
        self._environment.close()


@pytest.fixture
def woken(box: Path) -> Iterator[Woken]:
    woken = Woken(box)
    yield woken
    woken.close()


def test_every_event_of_the_journal_is_read_and_would_be_written_so_again(box: Path, then: Facts) -> None:
    assert of_journal(box) == then["journal"]
    rows = list(rows_since(box / "journal", 0))
    assert as_json([to_row(from_row(row), longs_as_text=False) for row in rows]) == rows


def test_the_history_of_lag_is_the_same(box: Path, then: Facts) -> None:
    assert of_lag_history(box) == then["lag_history"]


def test_its_stores_are_read_and_audited_the_same(box: Path, then: Facts) -> None:
    now, before = comparable(as_json(of_stores(box)), then["stores"])
    assert now == before


def test_the_same_damage_is_found_in_its_stores(box: Path, then: Facts) -> None:
    damage(box)
    now, before = comparable(as_json(of_stores(box)), then["damaged_stores"])
    assert now == before


def test_it_wakes_with_its_queues_offsets_actors_and_links(then: Facts, woken: Woken) -> None:
    assert woken.facts() == then["woken"]


def test_it_goes_on_where_it_ended(then: Facts, woken: Woken) -> None:
    ended = then["journal"]["rows"] - 1
    rows = {row["type"]: row for row in reversed(woken.rows_after(ended))}
    assert min(row["seq"] for row in rows.values()) == {"slept": str(ended + 1), "killed": "10000"}[woken.slug]
    assert rows["SandboxWoken"]["reason"] == {"slept": "visit", "killed": "after a kill"}[woken.slug]
    assert woken.rows_after(-1)[0]["type"] == "SandboxOpened", "its beginning is still read"
    woken.run(10)
    before, after = then["woken"], woken.facts()
    assert stored(after) > stored(before)
    assert committed(after) > committed(before)
