"""Copy of a master's tables on its slave, updated every few seconds."""

import logging
from collections.abc import Callable

from sandbox.broker.config import BrokerConfig
from sandbox.broker.config_files import ConfigFiles
from sandbox.broker.parts import BrokerParts
from sandbox.kernel.clock import Clock, TimerHandle
from sandbox.remoting.bodies import OffsetWrapper, TopicConfigTable
from sandbox.remoting.channel import Channel, Connector
from sandbox.remoting.codes import RequestCode, ResponseCode
from sandbox.remoting.command import RemotingCommand
from sandbox.remoting.fields import Malformed
from sandbox.remoting.json_body import loads, reading
from sandbox.store.ha_inbox import Inbox

log = logging.getLogger(__name__)

ANSWER_WITHIN_S = 3.0

Take = Callable[[bytes | None], None]


class SlaveSynchronize:
    """Requests of a slave for its master's topics, consumer offsets, delay offsets and groups, one after the other.

    Topics and groups are replaced as a whole if their version differs, offsets row by row.  Delay offsets are only
    written to their file, for a start of this slave as master.  One round runs at a time and ends if the master does
    not answer.  RocketMQ: `SlaveSynchronize` (spec broker-behaviour 12).
    """

    def __init__(
        self, config: BrokerConfig, parts: BrokerParts, files: ConfigFiles, clock: Clock, connector: Connector
    ) -> None:
        self._config = config
        self._parts = parts
        self._files = files
        self._clock = clock
        self._connector: Connector | None = connector  # None once stopped
        self._steps: list[tuple[RequestCode, Take]] = [
            (RequestCode.GET_ALL_TOPIC_CONFIG, self._take_topics),
            (RequestCode.GET_ALL_CONSUMER_OFFSET, self._take_consumer_offsets),
            (RequestCode.GET_ALL_DELAY_OFFSET, self._take_delay_offsets),
            (RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG, self._take_groups),
        ]
        self._channel: Channel | None = None
        self._address = ""  # address of the channel
        self._step: int | None = None  # of the current round
        self._opaque = 0
        self._round_timer: TimerHandle | None = None
        self._answer_timer: TimerHandle | None = None
        self.inbox = Inbox()
        self.master_address: str | None = None  # as name servers last reported it; None: they reported none
        self.rounds = 0  # finished rounds

    def start(self) -> None:
        self._round_timer = self._clock.call_later(self._config.slave_sync_first_ms / 1000, self._again)

    def stop(self) -> None:
        for timer in (self._round_timer, self._answer_timer):
            if timer is not None:
                timer.cancel()
        self._connector = None
        self.inbox.forget()
        self._end()

    def sync_all(self) -> None:
        """Start a round if a master is known and no round runs."""
        master = self.master_address
        if master is None or master == self._config.address or self._connector is None or self._step is not None:
            return
        self._step = 0
        self._give_up_after()
        if self._channel is not None and self._address == master and self._channel.is_open:
            self._ask()
            return
        if self._channel is not None:
            self._channel.close()
            self._channel = None

        def opened(channel: Channel | None) -> None:
            if channel is None:
                self._end()
            elif self._connector is None or self._step is None or self.master_address != master:
                channel.close()
            else:
                self._channel, self._address = channel, master
                self._ask()

        self._connector.open(
            master,
            lambda commands, channel: self.inbox.take(lambda: self._heard(commands, channel)),
            lambda channel: self.inbox.take(lambda: self._lost(channel)),
            lambda channel: self.inbox.take(lambda: opened(channel)),
        )

    def _again(self) -> None:
        self._round_timer = self._clock.call_later(self._config.slave_sync_ms / 1000, self._again)
        self.sync_all()

    def _ask(self) -> None:
        assert self._step is not None
        assert self._channel is not None
        self._opaque += 1
        self._give_up_after()
        self._channel.send(RemotingCommand(self._steps[self._step][0], opaque=self._opaque))

    def _heard(self, commands: list[RemotingCommand], channel: Channel) -> None:
        for c in commands:
            if channel is self._channel and self._step is not None and c.is_response and c.opaque == self._opaque:
                self._answered(c, self._steps[self._step][1])

    def _answered(self, c: RemotingCommand, take: Take) -> None:
        """Apply the master's answer for one table and request the next.  An unreadable or error answer is skipped."""
        assert self._step is not None
        if c.code == ResponseCode.SUCCESS:
            try:
                take(c.body)
            except Malformed as error:
                log.warning("the master's answer cannot be taken over: %s", error)
        else:
            log.warning("the master answered %d: %s", c.code, c.remark)
        self._step += 1
        if self._step < len(self._steps):
            self._ask()
        else:
            self.rounds += 1
            self._done()

    def _take_topics(self, body: bytes | None) -> None:
        table = TopicConfigTable.decode(body)
        if self._parts.topics.version != table.version:
            self._parts.topics.take_over(table)

    def _take_consumer_offsets(self, body: bytes | None) -> None:
        self._parts.consumer_offsets.take_over(OffsetWrapper.decode(body))
        self._files.save_offsets(self._parts.consumer_offsets)

    def _take_delay_offsets(self, body: bytes | None) -> None:
        with reading("delay offsets"):
            content = dict(loads(body))
        self._files.write_delay(content)

    def _take_groups(self, body: bytes | None) -> None:
        with reading("subscription groups"):
            self._parts.subscription_groups.take_over(loads(body))

    def _give_up_after(self) -> None:
        if self._answer_timer is not None:
            self._answer_timer.cancel()
        self._answer_timer = self._clock.call_later(ANSWER_WITHIN_S, self._end)

    def _lost(self, channel: Channel) -> None:
        if channel is self._channel:
            self._end()

    def _end(self) -> None:
        """Close the connection and end the current round."""
        channel, self._channel = self._channel, None
        if channel is not None:
            channel.close()
        self._done()

    def _done(self) -> None:
        self._step = None
        if self._answer_timer is not None:
            self._answer_timer.cancel()
            self._answer_timer = None
