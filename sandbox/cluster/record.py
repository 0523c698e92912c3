"""Persistent record of a sandbox, kept over sleep and crash: `sandbox.json` in its directory.

Messages, offsets, topics and groups are in the brokers' own files.  This file has the state for which RocketMQ has
no file.
"""

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

from sandbox.kernel import json_bytes
from sandbox.kernel.errors import CorruptRecord

FILE_NAME = "sandbox.json"
SNAPSHOT_NAME = "snapshot.json"
FORMAT = 1


class NodeRecord(NamedTuple):
    """Node with its permanent address, which is part of stored records and message ids.

    A promoted slave changes its `broker_id`, but not its `home`: the directory it was created with.  A copy of a run
    keeps the run's addresses until its ports are opened; then it uses its `own`.
    """

    kind: str  # name_server, broker
    name: str
    broker_id: int
    address: str  # ip:port
    home: str = ""  # empty: as the node's name
    own: str = ""  # empty: `address` is
    former: str = ""  # stored records may name it

    @property
    def node(self) -> str:
        """Name of this node in pages and events: `broker-a`, or `broker-a.1` for a slave."""
        return self.name if self.broker_id == 0 else f"{self.name}.{self.broker_id}"

    @property
    def directory(self) -> str:
        return self.home or self.node

    @property
    def at_its_own(self) -> "NodeRecord":
        """Record of this node with its own address, as it is once its ports are opened."""
        return self._replace(address=self.own, own="", former=self.address) if self.own else self

    def is_named(self, address: str) -> bool:
        """Return True if a stored record with this address is one of this node's."""
        return address in (self.address, self.former)


@dataclass(kw_only=True)
class SandboxRecord:
    """Content of `sandbox.json`.

    `running` is set while the sandbox is open; if it is set at opening, the server was killed.
    """

    slug: str
    template: str
    preset: str
    changes: dict[str, object]
    seed: str
    nodes: list[NodeRecord]
    epoch: str = ""
    wakes: int = 0  # so far, this one included: each opening has its own epoch
    running: bool = False
    built: bool = False  # the template's setup was run
    clock_ms: int = 0
    rate: float = 1.0
    wall_ms: int = 0  # when this was written, on the clock of its own machines
    closed_ms: int = 0  # when it was closed, on the server's clock; 0: unknown
    processes: int = 0  # started so far; gives each new process its number
    actors: list[dict[str, object]] = field(default_factory=list)
    strategies: dict[str, dict[str, object]] = field(default_factory=dict)  # group → what SetStrategy set
    ledgers: dict[str, dict[str, object]] = field(default_factory=dict)  # group → statistics of its listeners
    resets: list[dict[str, object]] = field(default_factory=list)
    origins: dict[str, str] = field(default_factory=dict)  # topic/broker → how it was created
    links: list[dict[str, object]] = field(default_factory=list)  # those that are not normal, as in a snapshot
    skews: dict[str, int] = field(default_factory=dict)  # directory of a broker → its clock error, ms
    lock_lives: dict[str, int] = field(default_factory=dict)  # directory of a broker → its locks' expiry, where changed
    down: dict[str, Any] = field(default_factory=dict)  # directory of a broker that is down → its last known state
    lab: dict[str, Any] = field(default_factory=dict)  # in progress: lab, seed, began (a seq), attempts by lab
    hold: dict[str, Any] = field(default_factory=dict)  # of its teacher: rate, heals, acts (`TeacherHold`)
    cuts: dict[str, dict[str, int]] = field(default_factory=dict)  # node → the unreadable part of its log that was cut
    tables: dict[str, dict[str, list[str]]] = field(default_factory=dict)  # node → table → its `notices.note_tables`
    limits: dict[str, object] = field(default_factory=dict)  # changed from the host's own
    keys: dict[str, str] = field(default_factory=dict)  # `wire_access.Keys`; empty: no signature needed
    listening: bool = False  # its ports are open while the sandbox is
    repeatable: bool = False  # its run was recorded from the beginning (`origin.json`)
    engine: str = ""  # the release that opened it last
    branch_of: dict[str, Any] = field(default_factory=dict)  # slug, at: of the parent; run: where the run began
    history_until: int = 0  # the event with which the history ends that it was given; 0: none
    stretch_ended: str = ""  # why it can be executed again only up to some event
    failed: str | None = None


def save(directory: Path, record: SandboxRecord) -> None:
    """Write `sandbox.json` through a draft, so that a crash leaves either the old or the new file complete."""
    values = {"format": FORMAT, **vars(record), "nodes": [list(node) for node in record.nodes]}
    replace_file(directory / FILE_NAME, json_bytes.dumps(values, option=json_bytes.OPT_INDENT_2, default=_plain))


def values_of(record: SandboxRecord) -> dict[str, object]:
    """Return a copy of the record's values as the file contains them."""
    return {"format": FORMAT, **asdict(record), "nodes": [list(node) for node in record.nodes]}


def load(directory: Path) -> SandboxRecord:
    """Return the sandbox record stored in `directory`.

    Raises CorruptRecord if the file cannot be parsed, FileNotFoundError if it does not exist.
    """
    path = directory / FILE_NAME
    try:
        values = json_bytes.loads(path.read_bytes())
        if values.pop("format") != FORMAT:
            raise CorruptRecord(f"{path.name} was written by another version")
        values["nodes"] = [_node(node) for node in values["nodes"]]
        record = SandboxRecord(**values)
        _check_kinds(record)
    except (json_bytes.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise CorruptRecord(f"{path.name} of {directory.name} cannot be read: {error}") from error
    return record


def _node(values: Any) -> NodeRecord:
    kind, name, broker_id, address, *more = values  # older files have no more
    node = NodeRecord(str(kind), str(name), int(broker_id), str(address), *map(str, more))
    int(node.address.rpartition(":")[2])  # raises where there is no port
    return node


def _check_kinds(record: SandboxRecord) -> None:
    """Raise TypeError if a field's value does not have the type of its default.

    Nested values are checked when opening.
    """
    blank = SandboxRecord(slug="", template="", preset="", changes={}, seed="", nodes=[])
    for spec in fields(SandboxRecord):
        kind = type(getattr(blank, spec.name))
        value = getattr(record, spec.name)
        if not isinstance(value, (int, float) if kind is float else kind) and kind is not type(None):
            raise TypeError(f"{spec.name} is {type(value).__name__}, not {kind.__name__}")


def save_snapshot(directory: Path, snapshot: Mapping[str, object]) -> None:
    """Save the snapshot that visitors of the sleeping sandbox see."""
    replace_file(directory / SNAPSHOT_NAME, json_bytes.dumps(snapshot))


def load_snapshot(directory: Path) -> Any:
    """Return the snapshot that `save_snapshot` wrote; None if it does not exist or cannot be parsed."""
    try:
        return json_bytes.loads((directory / SNAPSHOT_NAME).read_bytes())
    except (FileNotFoundError, json_bytes.JSONDecodeError):
        return None


def _plain(value: object) -> object:
    if isinstance(value, tuple):  # a NamedTuple inside an actor's settings
        return list(value)
    raise TypeError(f"no JSON for {type(value).__name__}")


def replace_file(path: Path, data: bytes) -> None:
    """Replace a file atomically: readers find the complete old or the complete new content."""
    draft = path.with_suffix(".tmp")
    with open(draft, "wb", opener=_private) as file:  # one of them contains keys
        file.write(data)
    os.replace(draft, path)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
