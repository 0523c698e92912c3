"""What goes wrong with nodes and disks, on purpose."""

from dataclasses import dataclass
from typing import Annotated

from sandbox.control.fields import Between, Name

BrokerId = Annotated[int, Between(0, 16)]


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
class FillDisk:
    verb = "fault"
    broker: Name


@dataclass(frozen=True, kw_only=True)
class FreeDisk:
    verb = "fault"
    broker: Name
