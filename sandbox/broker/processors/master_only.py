"""Requests that only a master serves."""

from sandbox.broker import remarks
from sandbox.broker.config import BrokerConfig
from sandbox.kernel.errors import BrokerRefused
from sandbox.remoting.codes import ResponseCode


def refuse_on_a_slave(config: BrokerConfig) -> None:
    """Raise BrokerRefused on a slave, whose topics and groups come from its master.

    RocketMQ: `AdminBrokerProcessor.validateSlave`, the first check of creating and deleting either.
    """
    if not config.is_master:
        raise BrokerRefused(ResponseCode.SYSTEM_ERROR, remarks.ON_A_SLAVE)
