"""The name server settings that administrators read and change (318, 319)."""

from dataclasses import replace

from sandbox.kernel.errors import BrokerRefused
from sandbox.namesrv.config import NameServerConfig
from sandbox.remoting.codes import ResponseCode
from sandbox.transport.tcp_limits import TcpLimits

FORBIDDEN = frozenset({"configBlackList", "configStorePath", "kvConfigPath", "rocketmqHome"})


def as_settings(config: NameServerConfig) -> dict[str, str]:
    """Return every setting that applies to this name server, by RocketMQ's names."""
    return {
        "clusterTest": "false",
        "configBlackList": "configBlackList;configStorePath;kvConfigPath",
        "listenPort": config.address.rpartition(":")[2],
        "orderMessageEnable": "true" if config.order_message_enable else "false",
        "productEnvName": "center",
        "serverChannelMaxIdleTimeSeconds": str(int(TcpLimits.idle_s)),
    }


def changed(config: NameServerConfig, requested: dict[str, str]) -> NameServerConfig:
    """Return the configuration with the given changes; unknown names are ignored, as in RocketMQ.

    Raises BrokerRefused (16) for names that cannot be changed over the wire.
    """
    if FORBIDDEN & requested.keys():
        raise BrokerRefused(ResponseCode.NO_PERMISSION, "Can not update config in black list.")
    order = requested.get("orderMessageEnable")
    return config if order is None else replace(config, order_message_enable=order.strip().lower() == "true")
