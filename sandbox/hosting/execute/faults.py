"""What goes wrong with brokers and disks, on purpose."""

from typing import TYPE_CHECKING

from sandbox.control.actions import FillDisk, FreeDisk, KillBroker, StartBroker, StopBroker
from sandbox.hosting.execute.carry import CarryOut
from sandbox.hosting.nodes import BrokerNode
from sandbox.kernel.errors import ActionRefused, StoreError

if TYPE_CHECKING:
    from sandbox.hosting.sandbox import Sandbox


def start_broker(sandbox: "Sandbox", action: StartBroker) -> CarryOut:
    node = sandbox.nodes.broker(action.broker, action.broker_id)
    if node.broker is not None:
        raise ActionRefused(409, "{broker} is running already.", broker=node.node)

    def carry_out(seq: int, by: str) -> None:
        try:
            node.start()
        except StoreError as why:
            raise ActionRefused(409, "{broker} cannot start: {why}.", broker=node.node, why=str(why)) from why

    return carry_out


def stop_broker(sandbox: "Sandbox", action: StopBroker) -> CarryOut:
    node = _running(sandbox, action.broker, action.broker_id)
    return lambda seq, by: node.stop()


def kill_broker(sandbox: "Sandbox", action: KillBroker) -> CarryOut:
    node = _running(sandbox, action.broker, action.broker_id)
    return lambda seq, by: node.kill()


def fill_disk(sandbox: "Sandbox", action: FillDisk) -> CarryOut:
    node = _running(sandbox, action.broker, 0)
    if node.ballast_bytes:
        raise ActionRefused(409, "The disk of {broker} is full already.", broker=node.node)
    return lambda seq, by: node.fill_disk()


def free_disk(sandbox: "Sandbox", action: FreeDisk) -> CarryOut:
    node = _running(sandbox, action.broker, 0)
    if not node.ballast_bytes:
        raise ActionRefused(409, "The disk of {broker} is not full.", broker=node.node)
    return lambda seq, by: node.free_disk()


def _running(sandbox: "Sandbox", broker: str, broker_id: int) -> BrokerNode:
    node = sandbox.nodes.broker(broker, broker_id)
    if node.broker is None:
        raise ActionRefused(409, "{broker} is not running.", broker=node.node)
    return node
