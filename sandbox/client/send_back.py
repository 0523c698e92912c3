"""Retry of failed messages: sent back to their broker, or as new messages to the group's retry topic."""

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
    """Sender of one member's failed messages back to the broker.

    `most_reconsume_times`: after so many redeliveries the broker moves a message to the dead-letter queue.
    """

    def __init__(self, group: str, instance: "ClientInstance", most_reconsume_times: int) -> None:
        self._group = group
        self._instance = instance
        self._most_reconsume_times = most_reconsume_times

    async def send_back(self, message: Message, delay_level: int) -> bool:
        """Send a message back to the broker that stored it (36), else to the retry topic; return False if both fail.

        `delay_level`: −1 means the dead-letter queue, 0 lets the broker decide, other values are the delay level.
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
        """Send a message to the retry topic through the inner producer; return False if that fails."""
        try:
            await self._instance.inner_producer.send(self._retry_message(message))
        except SandboxError as error:
            log.warning("message %s not sent to the retry topic: %s", message.unique_key, error)
            return False
        return True

    def _retry_message(self, message: Message) -> Message:
        """Return a copy of the message for the group's retry topic.

        It is sent like any message; the broker delays it or moves it to the dead-letter queue.
        """
        pairs = dict(message.properties)
        pairs.pop(properties.TRAN_MSG, None)
        pairs.setdefault(properties.ORIGIN_MESSAGE_ID, message.unique_key or message.msg_id or "")
        pairs[properties.RETRY_TOPIC] = message.topic
        pairs[properties.RECONSUME_TIME] = str(message.reconsume_times + 1)
        pairs[properties.MAX_RECONSUME_TIMES] = str(self._most_reconsume_times)
        pairs[properties.DELAY] = str(FIRST_RETRY_LEVEL + message.reconsume_times)
        return Message(RETRY_PREFIX + self._group, message.body, pairs, message.flag)
