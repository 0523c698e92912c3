"""Producer of the sandbox, run as a process of its own; its label outlives the process."""

import logging
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from sandbox.client.config import ProducerConfig
from sandbox.client.instance import ClientInstance
from sandbox.client.producer import Producer
from sandbox.client.transaction_producer import TransactionProducer
from sandbox.cluster.actors.send_rate_limit import SendRateLimit
from sandbox.cluster.actors.sending import FeedSource, MessageSender, RateSource, changed, producer_config
from sandbox.cluster.actors.transaction_outcome import LocalTransactions
from sandbox.cluster.presets import Preset
from sandbox.control.actions import ChangeActor, StartProducer
from sandbox.kernel.clock import Clock
from sandbox.kernel.errors import SandboxError

log = logging.getLogger(__name__)


class ProducerActor:
    """Producer in this process.  `state`: starting, running, hung, stopping, stopped, crashed."""

    kind = "producer"

    def __init__(self, label: str, slot: int, settings: StartProducer) -> None:
        self.label = label
        self.slot = slot
        self.settings = settings
        self.client_id = ""
        self.refused = ""
        self.instance: ClientInstance | None = None
        self.producer: Producer | None = None
        self.sender: MessageSender | None = None
        self.since_ms = 0
        self._source: RateSource | FeedSource | None = None
        self._position = 0  # in the feed, bytes, saved over sleep
        self._sent_before = 0
        self._failed_before = 0
        self.fail_percent = 0.0  # of a transactional producer: share of rollbacks
        self.handler = ""  # likewise: the way it decides (`transaction_outcome.WAYS`)
        self._transactions: LocalTransactions | None = None
        self._state = "stopped"

    @property
    def state(self) -> str:
        if self._state == "running" and self.instance is not None and self.instance.clock.stopped:
            return "hung"
        return self._state

    @property
    def lives(self) -> bool:
        return self.state in ("starting", "running", "hung", "stopping")

    @property
    def sent(self) -> int:
        return self._sent_before + (self.sender.sent if self.sender is not None else 0)

    @property
    def failed(self) -> int:
        return self._failed_before + (self.sender.failed if self.sender is not None else 0)

    @property
    def per_s(self) -> float | None:
        """Messages sent per second; None: unknown, because its process has just begun."""
        return self.sender.per_s() if self.sender is not None and self.lives else 0.0

    def begin(self, instance: ClientInstance, wall: Clock, pace: SendRateLimit, preset: Preset) -> None:
        config = producer_config(
            self.label,
            avoid_faulty=self.settings.selector == "avoid_faulty",
            max_message_bytes=preset.max_message_bytes,
        )
        self._sent_before, self._failed_before = self.sent, self.failed
        self.instance, self.client_id = instance, instance.client_id
        transactor = self._transactor(config, instance) if self.settings.transactional else None
        self.producer = transactor.producer if transactor is not None else Producer(config, instance)
        self.sender = MessageSender(instance.clock, wall, pace, self.producer, self.label)
        if transactor is not None and self._transactions is not None:
            self.sender.transact = partial(transactor.send_in_transaction, execute=self._transactions.execute)
        self.since_ms, self._state, self.refused = instance.clock.now_ms(), "starting", ""

    def _transactor(self, config: ProducerConfig, instance: ClientInstance) -> TransactionProducer:
        self._transactions = LocalTransactions(instance.chance.fork("transactions"), self.fail_percent, self.handler)
        return TransactionProducer(config, instance, self._transactions.check)

    async def run(self, table: Path | None) -> None:
        """Start, then send until the process ends.  `table`: path of the feed, if the producer sends one."""
        assert self.producer is not None
        assert self.instance is not None
        assert self.sender is not None
        try:
            await self.producer.start()
        except SandboxError as error:
            self.refuse(str(error))
            return
        clock = self.instance.clock
        if table is not None:
            self._source = FeedSource(self.settings, clock, table, self.position)
        else:
            self._source = RateSource(self.settings, clock, self.instance.chance.fork("messages"), self.sent)
        self._state = "running"
        await self._source.run(self.sender)

    def refuse(self, reason: str) -> None:
        """Record that the start failed; a restart tries again."""
        log.error("starting %s failed: %s", self.label, reason)
        self._state, self.refused = "stopped", reason

    async def stop(self) -> None:
        if self.producer is not None and self.lives:
            self._state = "stopping"
            assert self.instance is not None
            await self.producer.shutdown()
            await self.instance.shutdown()
        self.rest("stopped")

    def rest(self, state: str) -> None:
        self._sent_before, self._failed_before, self._position = self.sent, self.failed, self.position
        self.instance = self.producer = self.sender = self._source = self._transactions = None
        self._state = state

    def change(self, change: ChangeActor) -> None:
        self.settings = changed(self.settings, change)
        self.fail_percent = self.fail_percent if change.fail_percent is None else change.fail_percent
        self.handler = self.handler if change.handler is None else change.handler
        if self._transactions is not None:
            self._transactions.fail_percent, self._transactions.handler = self.fail_percent, self.handler
        if self._source is not None:
            self._source.settings = self.settings

    @property
    def position(self) -> int:
        """Position in the feed, in bytes of the sorted table."""
        return self._source.position if isinstance(self._source, FeedSource) else self._position

    def record(self) -> dict[str, object]:
        return {
            "kind": self.kind,
            "label": self.label,
            "slot": self.slot,
            "settings": asdict(self.settings),
            "state": self.state,
            "client_id": self.client_id,
            "position": self.position,
            "sent": self.sent,
            "failed": self.failed,
            "fail_percent": self.fail_percent,
            "handler": self.handler,
        }

    @classmethod
    def of(cls, record: dict[str, Any]) -> "ProducerActor":
        settings = record["settings"]
        settings["keys"] = tuple(settings["keys"])
        actor = cls(record["label"], record["slot"], StartProducer(**settings))
        actor.client_id, actor._position = record["client_id"], record["position"]
        actor._sent_before, actor._failed_before = record["sent"], record["failed"]
        actor.fail_percent, actor.handler = record.get("fail_percent", 0.0), record.get("handler", "")
        actor.rest(record["state"])
        return actor
