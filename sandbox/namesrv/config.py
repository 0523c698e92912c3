"""Configuration of a name server."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class NameServerConfig:
    """The configuration of a name server.  RocketMQ: `NamesrvConfig`.

    The times are those of `NamesrvController` and `RouteInfoManager` (spec broker-behaviour 13).
    """

    address: str
    broker_expired_ms: int = 120_000
    scan_first_ms: int = 5_000
    scan_period_ms: int = 10_000
    order_message_enable: bool = False
