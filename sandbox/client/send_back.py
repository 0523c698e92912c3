"""A second chance for a message: back to its broker, or as a new message to the group's retry topic."""

import logging
from typing import TYPE_CHECKING, Protocol

from sandbox.client.config import RETRY_PREFIX
from sandbox.kernel.errors import ConnectFailed, SandboxError
from sandbox.message import properties
from sandbox.message.message import Message
from sandbox.remoting.headers import SendBackHeader

if TYPE_CHECKING:
    from sandbox.client.instance import ClientInstance

log = logging.getLogger(__name__)

FIRST_RETRY_LEVEL = 3


class Member(Protocol):
    """Whose message it is."""

    @property
    def group(self) -> str: ...
    @property
    def instance(self) -> "ClientInstance": ...
    @property
    def most_reconsume_times(self) -> int: ...


async def send_back(member: Member, message: Message, delay_level: int) -> bool:
    """To the broker that stored it (36), else to the retry topic like any message; False when both failed.

    `delay_level`: −1 straight to the dead letters, 0 the broker decides, else that level.
    """
    address = member.instance.routes.master(message.broker or "")
    header = SendBackHeader(
        physical_offset=message.physical_offset or 0, group=member.group, delay_level=delay_level,
        origin_msg_id=message.unique_key or message.msg_id, origin_topic=message.topic,
        max_reconsume_times=member.most_reconsume_times, broker=message.broker,
    )  # fmt: skip
    try:
        if address is None:
            raise ConnectFailed(f"the broker {message.broker} has no known master")
        await member.instance.api.send_back(address, header)
    except SandboxError as why:
        log.info("message %s not sent back: %s", message.unique_key, why)
        return await send_to_retry_topic(member, message)
    return True


async def send_to_retry_topic(member: Member, message: Message) -> bool:
    """Through the inner producer; False when that failed too."""
    try:
        await member.instance.inner_producer.send(_retry_message(member, message))
    except SandboxError as why:
        log.warning("message %s not sent to the retry topic: %s", message.unique_key, why)
        return False
    return True


def _retry_message(member: Member, message: Message) -> Message:
    """A copy for the group's retry topic, to be sent like any message; the broker delays or buries it."""
    pairs = dict(message.properties)
    pairs.pop(properties.TRAN_MSG, None)
    pairs.setdefault(properties.ORIGIN_MESSAGE_ID, message.unique_key or message.msg_id or "")
    pairs[properties.RETRY_TOPIC] = message.topic
    pairs[properties.RECONSUME_TIME] = str(message.reconsume_times + 1)
    pairs[properties.MAX_RECONSUME_TIMES] = str(member.most_reconsume_times)
    pairs[properties.DELAY] = str(FIRST_RETRY_LEVEL + message.reconsume_times)
    return Message(RETRY_PREFIX + member.group, message.body, pairs, message.flag)
