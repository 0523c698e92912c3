"""Faults of nodes, links, clocks and disks.

A node is `ns-1`, `broker-a`, `broker-a.1` (slave 1), or a client: an actor's label or its client id.
"""

from dataclasses import dataclass
from typing import Annotated

from sandbox.control.fields import Between, Name

BrokerId = Annotated[int, Between(0, 16)]
QueueId = Annotated[int, Between(0, 1_000_000)]
Delay = Annotated[int, Between(1, 60_000)]
Skew = Annotated[int, Between(-86_400_000, 86_400_000)]


@dataclass(frozen=True, kw_only=True)
class StartBroker:
    verb = "fault"
    broker: Name
    broker_id: BrokerId = 0


@dataclass(frozen=True, kw_only=True)
class StopBroker:
    verb = "fault"
    broker: Name
    broker_id: BrokerId = 0


@dataclass(frozen=True, kw_only=True)
class KillBroker:
    """As kill -9: memory is lost, the page cache is not."""

    verb = "fault"
    broker: Name
    broker_id: BrokerId = 0


@dataclass(frozen=True, kw_only=True)
class HangBroker:
    """As SIGSTOP: no answers, no timers, no heartbeat; its connections stay."""

    verb = "fault"
    broker: Name
    broker_id: BrokerId = 0


@dataclass(frozen=True, kw_only=True)
class ResumeBroker:
    """Continue after a hang: first the requests that arrived meanwhile, then the timers that fell due."""

    verb = "fault"
    broker: Name
    broker_id: BrokerId = 0


@dataclass(frozen=True, kw_only=True)
class PowerCut:
    """Its machine loses power: memory and page cache are lost."""

    verb = "fault"
    broker: Name
    broker_id: BrokerId = 0


@dataclass(frozen=True, kw_only=True)
class PromoteSlave:
    """Restart a slave as master; the dead master becomes its slave when it starts again.

    RocketMQ 4.9 does not do this by itself: it stands for editing two configuration files by hand.
    """

    verb = "fault"
    broker: Name
    broker_id: BrokerId


@dataclass(frozen=True, kw_only=True)
class SkewClock:
    """The wall clock of this broker's machine is wrong by `skew_ms`; 0 corrects it."""

    verb = "fault"
    broker: Name
    skew_ms: Skew
    broker_id: BrokerId = 0


@dataclass(frozen=True, kw_only=True)
class FillDisk:
    verb = "fault"
    broker: Name


@dataclass(frozen=True, kw_only=True)
class FreeDisk:
    verb = "fault"
    broker: Name


@dataclass(frozen=True, kw_only=True)
class StopNameServer:
    """It loses all its data; a clean stop and a kill look the same from outside."""

    verb = "fault"
    name_server: Name


@dataclass(frozen=True, kw_only=True)
class StartNameServer:
    verb = "fault"
    name_server: Name


@dataclass(frozen=True, kw_only=True)
class CutLink:
    """Bytes from `a` to `b` are lost, and back too unless `one_way`.  No node is notified, connections stay."""

    verb = "fault"
    a: Name
    b: Name
    one_way: bool = False


@dataclass(frozen=True, kw_only=True)
class HealLink:
    """Bytes pass again, both ways and at once."""

    verb = "fault"
    a: Name
    b: Name


@dataclass(frozen=True, kw_only=True)
class DelayLink:
    """Bytes from `a` to `b` take `delay_ms`, and back too unless `one_way`."""

    verb = "fault"
    a: Name
    b: Name
    delay_ms: Delay
    one_way: bool = False


@dataclass(frozen=True, kw_only=True)
class CutConnection:
    """Close every connection of an external client: its process cannot be crashed or stopped from here.

    A connection that has not sent a client id is named by its address.
    """

    verb = "fault"
    client_id: Name


@dataclass(frozen=True, kw_only=True)
class ForceUnlock:
    """Release a queue's lock, whichever client has it.  Not in RocketMQ; instructors only."""

    verb = "fault"
    only = "instructor"
    group: Name
    topic: Name
    broker: Name
    queue_id: QueueId
