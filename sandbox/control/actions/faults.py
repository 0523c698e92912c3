"""Faults of nodes, links, clocks and disks.

A node is `ns-1`, `broker-a`, `broker-a.1` (slave 1), or a client: an actor's label or its client id.
"""

from dataclasses import dataclass
from typing import Annotated

from sandbox.control.actions.action import Action
from sandbox.control.fields import Between, Name

BrokerId = Annotated[int, Between(0, 16)]
QueueId = Annotated[int, Between(0, 1_000_000)]
Delay = Annotated[int, Between(1, 60_000)]
Skew = Annotated[int, Between(-86_400_000, 86_400_000)]


@dataclass(frozen=True, kw_only=True)
class StartBroker(Action):
    verb = "fault"
    said = {"broker_id=0": "{broker} started", "": "slave {broker_id} of {broker} started"}
    broker: Name
    broker_id: BrokerId = 0


@dataclass(frozen=True, kw_only=True)
class StopBroker(Action):
    verb = "fault"
    said = {"broker_id=0": "{broker} stopped cleanly", "": "slave {broker_id} of {broker} stopped cleanly"}
    broker: Name
    broker_id: BrokerId = 0


@dataclass(frozen=True, kw_only=True)
class KillBroker(Action):
    """Kill a broker as `kill -9` does: its memory is lost, the page cache is kept."""

    verb = "fault"
    said = {"broker_id=0": "{broker} killed", "": "slave {broker_id} of {broker} killed"}
    broker: Name
    broker_id: BrokerId = 0


@dataclass(frozen=True, kw_only=True)
class HangBroker(Action):
    """Hang a broker as SIGSTOP does: it sends no responses and no heartbeats; its connections stay open."""

    verb = "fault"
    said = {"broker_id=0": "{broker} hung", "": "slave {broker_id} of {broker} hung"}
    broker: Name
    broker_id: BrokerId = 0


@dataclass(frozen=True, kw_only=True)
class ResumeBroker(Action):
    """Resume a hung broker: it serves the requests that arrived meanwhile, then the timers that are due."""

    verb = "fault"
    said = {"broker_id=0": "{broker} resumed", "": "slave {broker_id} of {broker} resumed"}
    broker: Name
    broker_id: BrokerId = 0


@dataclass(frozen=True, kw_only=True)
class PowerCut(Action):
    """Cut the power of a broker's machine: memory and page cache are lost."""

    verb = "fault"
    said = {"broker_id=0": "power of {broker} cut", "": "power of slave {broker_id} of {broker} cut"}
    broker: Name
    broker_id: BrokerId = 0


@dataclass(frozen=True, kw_only=True)
class PromoteSlave(Action):
    """Restart a slave as master; the stopped master becomes its slave at its next start.

    RocketMQ 4.9 has no such command: an operator edits two configuration files.
    """

    verb = "fault"
    said = "slave {broker_id} of {broker} promoted to master manually"
    broker: Name
    broker_id: BrokerId


@dataclass(frozen=True, kw_only=True)
class AcceptLoss(Action):
    """Start a broker with an empty table instead of a damaged one.  The damaged files are renamed and kept.

    `table` is the file's name without `.json`.
    """

    verb = "fault"
    said = {
        "broker_id=0": "loss of {table} of {broker} accepted",
        "": "loss of {table} of slave {broker_id} of {broker} accepted",
    }
    broker: Name
    table: Name
    broker_id: BrokerId = 0


@dataclass(frozen=True, kw_only=True)
class SkewClock(Action):
    """Set the wall clock of a broker's machine wrong by `skew_ms`; 0 corrects it."""

    verb = "fault"
    said = {"skew_ms=0": "clock of {broker} corrected", "": "clock of {broker} skewed by {skew_ms}"}
    broker: Name
    skew_ms: Skew
    broker_id: BrokerId = 0


@dataclass(frozen=True, kw_only=True)
class FillDisk(Action):
    verb = "fault"
    said = "disk of {broker} filled"
    broker: Name


@dataclass(frozen=True, kw_only=True)
class FreeDisk(Action):
    verb = "fault"
    said = "disk of {broker} freed"
    broker: Name


@dataclass(frozen=True, kw_only=True)
class StopNameServer(Action):
    """Stop a name server.  It loses all its data; a kill has the same effect."""

    verb = "fault"
    said = "{name_server} stopped"
    name_server: Name


@dataclass(frozen=True, kw_only=True)
class StartNameServer(Action):
    verb = "fault"
    said = "{name_server} started"
    name_server: Name


@dataclass(frozen=True, kw_only=True)
class CutLink(Action):
    """Drop all bytes from `a` to `b`, and back unless `one_way`.  No node is notified; connections stay open."""

    verb = "fault"
    said = {"one_way=true": "link from {a} to {b} cut, this way only", "": "link between {a} and {b} cut"}
    a: Name
    b: Name
    one_way: bool = False


@dataclass(frozen=True, kw_only=True)
class HealLink(Action):
    """Remove the cut or the delay of a link, in both directions."""

    verb = "fault"
    said = "link between {a} and {b} healed"
    a: Name
    b: Name


@dataclass(frozen=True, kw_only=True)
class DelayLink(Action):
    """Delay all bytes from `a` to `b` by `delay_ms`, and back unless `one_way`."""

    verb = "fault"
    said = {
        "one_way=true": "link from {a} to {b} slowed by {delay_ms}, this way only",
        "": "link between {a} and {b} slowed by {delay_ms}",
    }
    a: Name
    b: Name
    delay_ms: Delay
    one_way: bool = False


@dataclass(frozen=True, kw_only=True)
class CutConnection(Action):
    """Close every connection of an external client; its process is outside the sandbox.

    `client_id` may also be the address of a connection without a client id, or `<client id> <address>` for one of
    several connections.
    """

    verb = "fault"
    said = "connection of {client_id} cut"
    client_id: Name


@dataclass(frozen=True, kw_only=True)
class ForceUnlock(Action):
    """Release the lock of a queue, whichever client holds it.  Not in RocketMQ; instructors only."""

    verb = "fault"
    only = "instructor"
    said = "lock of {group} on {broker}:{queue_id} removed by force"
    group: Name
    topic: Name
    broker: Name
    queue_id: QueueId
