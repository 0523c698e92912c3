"""Parts of a broker that its processors share."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sandbox.broker.acl import AccessControl
from sandbox.broker.broker_to_client import BrokerToClient
from sandbox.broker.config import BrokerConfig
from sandbox.broker.connections import Connections
from sandbox.broker.consumer_filters import ConsumerFilterManager
from sandbox.broker.consumer_offsets import ConsumerOffsetManager
from sandbox.broker.consumers import ConsumerManager
from sandbox.broker.delay import ScheduleMessageService
from sandbox.broker.producers import ProducerManager
from sandbox.broker.pull_hold import PullRequestHoldService
from sandbox.broker.pulls import PullTable
from sandbox.broker.rebalance_lock import RebalanceLockManager
from sandbox.broker.stats import BrokerStats
from sandbox.broker.subscription_groups import SubscriptionGroupManager
from sandbox.broker.topics import TopicConfigManager
from sandbox.broker.transaction.check import TransactionCheckService
from sandbox.broker.transaction.open_transactions import OpenTransactions
from sandbox.journal.journal import Journal
from sandbox.kernel.chance import Chance
from sandbox.kernel.clock import Clock
from sandbox.remoting.channel import Channel
from sandbox.remoting.command import RemotingCommand
from sandbox.store.message_store import MessageStore

Answer = RemotingCommand | None
Handler = Callable[[RemotingCommand, Channel], Answer]
"""Handles one request.  None: answered later (a held pull, a flush), or not at all (one-way)."""


@dataclass(frozen=True, slots=True)
class BrokerParts:
    """Managers of one broker, created once and shared."""

    config: BrokerConfig
    store: MessageStore
    clock: Clock
    chance: Chance
    journal: Journal
    connections: Connections
    topics: TopicConfigManager
    subscription_groups: SubscriptionGroupManager
    consumer_offsets: ConsumerOffsetManager
    consumers: ConsumerManager
    filters: ConsumerFilterManager
    producers: ProducerManager
    locks: RebalanceLockManager
    hold: PullRequestHoldService
    pulls: PullTable
    delay: ScheduleMessageService
    stats: BrokerStats
    broker_to_client: BrokerToClient
    transactions: OpenTransactions
    transaction_check: TransactionCheckService
    name_servers: Sequence[str]
    access: AccessControl | None
