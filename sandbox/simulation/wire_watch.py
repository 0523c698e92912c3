"""An observer of acknowledgements on the wire: sent by a broker, received by the client or not."""

from collections.abc import Callable

from sandbox.kernel.clock import Clock
from sandbox.message import msg_id, properties
from sandbox.message.queue import MessageQueue
from sandbox.remoting.codes import RequestCode
from sandbox.remoting.command import FLAG_RESPONSE, RemotingCommand
from sandbox.remoting.headers import SendHeader, SendResponseHeader
from sandbox.simulation.observed import Ack

SENDS = frozenset({RequestCode.SEND_MESSAGE, RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE})
STORED = frozenset({0, 10, 11, 12})  # SEND_OK, and stored but less durably than requested (spec broker-behaviour 2)

Asked = tuple[str, str, int]


class WireWatch:
    """The observer of the network of one sandbox process.  `nodes`: names by address."""

    def __init__(self, clock: Clock, acks: list[Ack], nodes: dict[str, tuple[str, str]]) -> None:
        self._clock = clock
        self._acks = acks
        self._nodes = nodes  # address → broker's name, node's name
        self._asked: dict[Asked, SendHeader] = {}
        self.before: Callable[[str, str, RemotingCommand], None] | None = None  # another tap

    def note(self, sender: str, receiver: str, command: RemotingCommand) -> None:
        if self.before is not None:
            self.before(sender, receiver, command)
        if command.flag & FLAG_RESPONSE:
            if self._asked:
                header = self._asked.pop((receiver, sender, command.opaque), None)
                if header is not None and command.code in STORED:
                    self._acknowledged(sender, header, command)
        elif command.code in SENDS:
            self._asked[sender, receiver, command.opaque] = SendHeader.from_ext(command.ext)

    def _acknowledged(self, sender: str, header: SendHeader, command: RemotingCommand) -> None:
        answer = SendResponseHeader.from_ext(command.ext)
        broker, node = self._nodes[sender]
        queue = MessageQueue(header.topic, broker, answer.queue_id)
        key = "" if header.batch else properties.decode(header.properties).get(properties.UNIQ_KEY, "")
        for number, message_id in enumerate(answer.msg_id.split(",")):
            self._acks.append(
                Ack(
                    self._clock.now_ms(),
                    node,
                    queue,
                    answer.queue_offset + number,
                    msg_id.decode(message_id).physical_offset,
                    key,
                    int(command.code),
                )
            )
