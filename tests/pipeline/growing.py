"""Sealing, bodies as columns and appending, one after the other, wherever Spark runs."""

from pathlib import Path
from typing import Any

import pyarrow.dataset

from sandbox.pipeline.runs.launch import ENDED, Child, Order
from sandbox.pipeline.runs.results import manifest_of
from tests.pipeline.audits import table
from tests.pipeline.store_reads import Broker
from tests.unit.store.stores import message

Row = tuple[str, int | None, bytes | None]


def put(broker: Broker, topic: str, *bodies: bytes) -> None:
    for body in bodies:
        broker.stores.put(broker.store, message(topic=topic, body=body))


def sealed_and_appended(child: Child, home: Path) -> None:
    """A store is sealed, exported from its sealed files, and what came since is appended; raises AssertionError."""
    broker, out, sealed = Broker(home / "store"), home / "out", home / "sealed"
    reports = child.reports()

    def ordered(job: str, result: Path, **options: str) -> dict[str, Any]:
        child.order(
            Order(f"{job}-{broker.count}", job, {"s": str(broker.root)}, {}, str(result), options, {"s": str(sealed)})
        )
        last = next(reported for reported in reports if reported["state"] in ENDED)
        assert last["state"] == "done", last
        return last

    def exported() -> tuple[dict[str, Any], list[Row]]:
        broker.count += 1
        last = ordered(
            "export", out, format="parquet", append="true", partition_by="topic", body="json", bodySchema="number INT"
        )
        manifest = manifest_of(out)
        assert manifest is not None
        rows = pyarrow.dataset.dataset(out / manifest.tables["messages"].path, partitioning="hive").to_table()
        found = [(row["topic"], row["number"], row["_malformed"]) for row in rows.to_pylist()]
        return last, sorted(found, key=repr)

    first = [("a", number, None) for number in range(40)]
    put(broker, "a", *(b'{"number": %d}' % number for number in range(40)))
    ordered("seal", home / "seal")
    assert {row["state"] for row in table(home / "seal", "sealed")} == {"sealed", "left"}
    last, rows = exported()
    assert (last["tables"], rows) == ({"messages": 40}, sorted(first, key=repr))
    put(broker, "a", b"no json", b'{"number": 40}')
    put(broker, "b", b'{"number": 1}')
    last, rows = exported()
    assert (last["tables"], last["malformed"]) == ({"messages": 43}, {"messages": 1})
    assert rows == sorted([*first, ("a", None, b"no json"), ("a", 40, None), ("b", 1, None)], key=repr)
    broker.store.crash()
