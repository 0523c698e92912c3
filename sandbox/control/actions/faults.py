"""What goes wrong with nodes, links, clocks and disks, on purpose.

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
    """As kill -9: memory is gone, the page cache is not."""

    verb = "fault"
    broker: Name
    broker_id: BrokerId = 0


@dataclass(frozen=True, kw_only=True)
class HangBroker:
    """As SIGSTOP: nothing is answered, nothing falls due, no heartbeat; its connections stay."""

    verb = "fault"
    broker: Name
    broker_id: BrokerId = 0


@dataclass(frozen=True, kw_only=True)
class ResumeBroker:
    """Go on after a hang: first what was said meanwhile, then what fell due."""

    verb = "fault"
    broker: Name
    broker_id: BrokerId = 0


@dataclass(frozen=True, kw_only=True)
class PowerCut:
    """Its machine goes dark: memory is gone, and the page cache too."""

    verb = "fault"
    broker: Name
    broker_id: BrokerId = 0


@dataclass(frozen=True, kw_only=True)
class PromoteSlave:
    """Restart a slave as master, and let the dead master be its slave when it starts again.

    RocketMQ 4.9 does nothing like it by itself: it stands for two configuration files edited by hand.
    """

    verb = "fault"
    broker: Name
    broker_id: BrokerId


@dataclass(frozen=True, kw_only=True)
class SkewClock:
    """The wall clock of this broker's machine is wrong by `skew_ms`; 0 sets it right."""

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
    """It forgets everything; a clean stop and a kill look the same from outside."""

    verb = "fault"
    name_server: Name


@dataclass(frozen=True, kw_only=True)
class StartNameServer:
    verb = "fault"
    name_server: Name


@dataclass(frozen=True, kw_only=True)
class CutLink:
    """Bytes from `a` to `b` vanish, and back too unless `one_way`.  Nobody hears of it, connections stay."""

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
    """Close every connection of a client that came over a real wire: its process is not ours to crash or to stop.

    A connection that has not said whose it is goes by its address.
    """

    verb = "fault"
    client_id: Name


@dataclass(frozen=True, kw_only=True)
class ForceUnlock:
    """Take a queue's lock away from whoever holds it.  Not in RocketMQ; instructors only."""

    verb = "fault"
    only = "instructor"
    group: Name
    topic: Name
    broker: Name
    queue_id: QueueId
