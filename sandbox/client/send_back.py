"""A second chance for a message: back to its broker, or as a new message to the group's retry topic."""

import logging
from typing import TYPE_CHECKING

from sandbox.client.config import RETRY_PREFIX
from sandbox.kernel.errors import ConnectFailed, SandboxError
from sandbox.message import properties
from sandbox.message.message import Message
from sandbox.remoting.headers import SendBackHeader

if TYPE_CHECKING:
    from sandbox.client.instance import ClientInstance

log = logging.getLogger(__name__)

FIRST_RETRY_LEVEL = 3


class SendBack:
    """Sends one member's failed messages back.

    `most_reconsume_times`: after so many deliveries the broker buries a message.
    """

    def __init__(self, group: str, instance: "ClientInstance", most_reconsume_times: int) -> None:
        self._group = group
        self._instance = instance
        self._most_reconsume_times = most_reconsume_times

    async def send_back(self, message: Message, delay_level: int) -> bool:
        """To the broker that stored it (36), else to the retry topic like any message; False when both failed.

        `delay_level`: −1 straight to the dead letters, 0 the broker decides, else that level.
        """
        address = self._instance.routes.master(message.broker or "")
        header = SendBackHeader(
            physical_offset=message.physical_offset or 0,
            group=self._group,
            delay_level=delay_level,
            origin_msg_id=message.unique_key or message.msg_id,
            origin_topic=message.topic,
            max_reconsume_times=self._most_reconsume_times,
            broker=message.broker,
        )
        try:
            if address is None:
                raise ConnectFailed(f"the broker {message.broker} has no known master")
            await self._instance.api.send_back(address, header)
        except SandboxError as error:
            log.info("message %s not sent back: %s", message.unique_key, error)
            return await self.send_to_retry_topic(message)
        return True

    async def send_to_retry_topic(self, message: Message) -> bool:
        """Through the inner producer; False when that failed too."""
        try:
            await self._instance.inner_producer.send(self._retry_message(message))
        except SandboxError as error:
            log.warning("message %s not sent to the retry topic: %s", message.unique_key, error)
            return False
        return True

    def _retry_message(self, message: Message) -> Message:
        """A copy for the group's retry topic, to be sent like any message; the broker delays or buries it."""
        pairs = dict(message.properties)
        pairs.pop(properties.TRAN_MSG, None)
        pairs.setdefault(properties.ORIGIN_MESSAGE_ID, message.unique_key or message.msg_id or "")
        pairs[properties.RETRY_TOPIC] = message.topic
        pairs[properties.RECONSUME_TIME] = str(message.reconsume_times + 1)
        pairs[properties.MAX_RECONSUME_TIMES] = str(self._most_reconsume_times)
        pairs[properties.DELAY] = str(FIRST_RETRY_LEVEL + message.reconsume_times)
        return Message(RETRY_PREFIX + self._group, message.body, pairs, message.flag)
