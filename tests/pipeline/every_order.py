"""One order of every job and of every source, over small inputs that all of them have rows of."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from sandbox.labs.catalogue import LABS
from sandbox.message.message import Message
from sandbox.message.queue import MessageQueue
from sandbox.notebook.remote import connect
from sandbox.pipeline.runs.launch import Order
from sandbox.pipeline.spark.small_runs import FEW_BYTES
from sandbox.simulation.lab_player import play
from sandbox.simulation.world import World
from tests.golden.golden_stores import unpack
from tests.pipeline.broker_process import broker_with
from tests.pipeline.sealed_reads import sealed
from tests.pipeline.store_reads import Broker
from tests.pipeline.test_grading import journal_of
from tests.pipeline.without_spark.test_store_audit import flip_a_body
from tests.pipeline.worlds import Recorded, record

LAB = LABS["members-and-queues"]
QUEUES, EACH = 2, 20
LARGE = frozenset({"export", "sql"})  # whose inputs elsewhere are read by tasks, not the driver
OF_THE_RUN = {"import": ("topic", "run")}  # columns that differ between two runs of a job


class Inputs(NamedTuple):
    """Inputs of all jobs and sources.

    `world`: a sandbox with a crash.  `live`: a store that a broker has open.  `closed`, and `sealed` with its
    directory: stores that a real broker closed.  `names`: a broker in a process of its own, with its store.
    """

    world: Recorded
    labs: dict[str, str]
    live: Path
    closed: Path
    sealed: Path
    sealed_files: Path
    damaged: Path
    rows: Path
    names: str
    broker_store: Path


class Input(NamedTuple):
    """The part of an order that says what a job reads."""

    stores: dict[str, Path] = {}
    journals: dict[str, str] = {}
    options: dict[str, str] = {}
    sealed: dict[str, Path] = {}


@contextmanager
def inputs_in(home: Path, deployments: tuple[str, ...]) -> Iterator[Inputs]:
    """`deployments`: each has its own topics for the rows that it sends."""
    topics = [f"{kind}-{name}" for kind in ("In", "Sent") for name in deployments]
    for name in ("world", "labs", "broker", "closed", "sealed", "damaged"):
        (home / name).mkdir()
    live = Broker(home / "live")
    with broker_with(dict.fromkeys(["T", *topics], QUEUES), home / "broker") as names:
        with connect(names) as remote:
            producer = remote.producer("P", send_timeout_ms=20_000)
            for number in range(QUEUES):
                batch = [Message.make("T", b"b%d" % offset, keys=f"k{offset}") for offset in range(EACH)]
                producer.send_batch(batch, queue=MessageQueue("T", "broker-a", number))
        live.put(EACH)
        live.put(EACH, queue_id=1)
        yield _made(home, live.root, names)
    live.store.crash()


def _made(home: Path, live: Path, names: str) -> Inputs:
    with World(home / "world", "orders", seed=5) as world:
        world.run(30)
        world.act("CrashActor", actor="B")
        world.run(30)
        recorded = record(world, home / "world")
    scripts = {"wrong": LAB.wrong[0].play, "right": LAB.solve}
    labs = {
        name: journal_of(list(play(LAB, script, 1).entries), home / "labs" / name) for name, script in scripts.items()
    }
    closed, sealed_store, damaged = (
        unpack(store, home / name)
        for name, store in (("closed", "basic-clean"), ("sealed", "basic-clean"), ("damaged", "basic-crash"))
    )
    assert {outcome.state for outcome in sealed(sealed_store, home / "sealed-files")} == {"sealed"}
    flip_a_body(damaged)
    rows = home / "rows.ndjson"
    rows.write_text("".join(json.dumps({"body": f"{number:03}", "keys": f"k{number}"}) + "\n" for number in range(60)))
    return Inputs(
        recorded,
        labs,
        live,
        closed,
        sealed_store,
        home / "sealed-files",
        damaged,
        rows,
        names,
        home / "broker" / "store",
    )


def large(inputs: Inputs, home: Path) -> Inputs:
    """The same rows in directories so large that a run reads them by tasks."""

    def grown(directory: Path) -> Path:
        copy = Path(shutil.copytree(directory, home / f"{directory.parent.name}-{directory.name}"))
        with (copy / "padding").open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, FEW_BYTES + 1)
        return copy

    world = inputs.world._replace(
        journal=grown(inputs.world.journal), stores={name: grown(root) for name, root in inputs.world.stores.items()}
    )
    return inputs._replace(world=world, closed=grown(inputs.closed), sealed=grown(inputs.sealed))


def _of_world(inputs: Inputs, **options: str) -> Input:
    stores = {f"s/{node}": root for node, root in inputs.world.stores.items()}
    return Input(stores, {"s": str(inputs.world.journal)}, options)


def _of_layouts(inputs: Inputs) -> Input:
    stores = {"live": inputs.live, "closed": inputs.closed, "sealed": inputs.sealed}
    return Input(stores, sealed={"sealed": inputs.sealed_files})


QUERY = (
    "SELECT 'messages' kind, topic name, count(*) n, max(queueOffset) last FROM messages GROUP BY topic "
    "UNION ALL SELECT 'events', event, count(*), max(seq) FROM events GROUP BY event "
    "UNION ALL SELECT 'queues', topic, count(*), max(seq) FROM events_QueueTaken GROUP BY topic"
)

JOB_INPUTS: dict[str, Callable[[Inputs, str, Path], Input]] = {
    "class_analytics": lambda inputs, *_: Input(journals=inputs.labs),
    "delivery_audit": lambda inputs, *_: _of_world(inputs),
    "export": lambda inputs, *_: _of_layouts(inputs)._replace(options={"format": "parquet"}),
    "grading": lambda inputs, *_: Input(journals=inputs.labs),
    "hot_keys": lambda inputs, *_: _of_layouts(inputs),
    "import": lambda inputs, name, _: Input(
        options={
            "format": "ndjson",
            "path": str(inputs.rows),
            "names": inputs.names,
            "topic": f"In-{name}",
            "body_as": "text",
        }
    ),
    "lag_history": lambda inputs, *_: Input(journals={"s": str(inputs.world.journal)}),
    "latency": lambda inputs, *_: _of_world(inputs),
    "rebalance_history": lambda inputs, *_: _of_world(inputs),
    "seal": lambda inputs, _, out: Input(
        {"live": inputs.live, "closed": inputs.closed}, sealed={name: out / name for name in ("live", "closed")}
    ),
    "sql": lambda inputs, *_: _of_world(inputs, query=QUERY),
    "store_audit": lambda inputs, *_: Input({"closed": inputs.closed, "damaged": inputs.damaged}),
}


SOURCE_INPUTS: dict[str, Callable[[Inputs], Input]] = {
    "stores-read-once": lambda inputs: _stores(inputs, "once"),
    "stores-as-a-stream": lambda inputs: _stores(inputs, "stream"),
    "sealed-log-files": lambda inputs: Input(
        {"sealed": inputs.sealed}, sealed={"sealed": inputs.sealed_files}, options={"how": "sealed"}
    ),
    "a-journal-read-once": lambda inputs: _journal(inputs, "once"),
    "a-journal-as-a-stream": lambda inputs: _journal(inputs, "stream"),
    "a-topic-read-once": lambda inputs: _topic(inputs, "once"),
    "a-topic-as-a-stream": lambda inputs: _topic(inputs, "stream", startingOffsets="earliest"),
}


def _stores(inputs: Inputs, how: str) -> Input:
    stores = json.dumps({"live": str(inputs.live), "closed": str(inputs.closed)})
    return Input(options={"how": how, "source": "rocketmq-store", "stores": stores})


def _journal(inputs: Inputs, how: str) -> Input:
    return Input(options={"how": how, "source": "rocketmq-journal", "path": str(inputs.world.journal)})


def _topic(inputs: Inputs, how: str, **more: str) -> Input:
    return Input(options={"how": how, "source": "rocketmq", "names": inputs.names, "subscribe": "T", **more})


def job_order(job: str, inputs: Inputs, name: str, home: Path) -> Order:
    """Return the order of a job for the deployment `name`; its result is in `home / job`."""
    return _order(job, JOB_INPUTS[job](inputs, name, home / f"{job}-sealed"), home / job)


def source_order(source: str, inputs: Inputs, home: Path) -> Order:
    """Return the order of the job `source` (`source_jobs`); its result is in `home / source`."""
    return _order("source", SOURCE_INPUTS[source](inputs), home / source)


def send_order(inputs: Inputs, name: str, home: Path) -> Order:
    """Return the order of a stream from the topic T to one of the deployment `name`."""
    return _order("source", _topic(inputs, "stream", to=f"Sent-{name}", startingOffsets="earliest"), home / "sent")


def _order(job: str, job_input: Input, out: Path) -> Order:
    return Order(
        out.name,
        job,
        {key: str(root) for key, root in job_input.stores.items()},
        job_input.journals,
        str(out),
        job_input.options,
        {key: str(root) for key, root in job_input.sealed.items()},
    )
