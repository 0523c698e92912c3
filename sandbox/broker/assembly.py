"""Creation and connection of a broker's parts."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from sandbox.broker.acl import AccessControl
from sandbox.broker.broker_to_client import BrokerToClient
from sandbox.broker.config import BrokerConfig
from sandbox.broker.connections import Connections
from sandbox.broker.consumer_filters import ConsumerFilterManager
from sandbox.broker.consumer_offsets import ConsumerOffsetManager
from sandbox.broker.consumers import ConsumerManager
from sandbox.broker.delay import ScheduleMessageService
from sandbox.broker.parts import BrokerParts, Handler
from sandbox.broker.processors.admin_acl import AclAdminProcessor
from sandbox.broker.processors.admin_groups import GroupAdminProcessor
from sandbox.broker.processors.admin_offsets import OffsetAdminProcessor
from sandbox.broker.processors.admin_statistics import StatisticsProcessor
from sandbox.broker.processors.admin_topics import TopicAdminProcessor
from sandbox.broker.processors.client_manage import ClientManageProcessor
from sandbox.broker.processors.client_queries import ThroughClientsProcessor
from sandbox.broker.processors.consumer_manage import ConsumerManageProcessor
from sandbox.broker.processors.details import DetailsProcessor
from sandbox.broker.processors.end_transaction import EndTransactionProcessor
from sandbox.broker.processors.pull import PullProcessor
from sandbox.broker.processors.query import QueryProcessor
from sandbox.broker.processors.reply import ReplyProcessor
from sandbox.broker.processors.reset_offset import ResetOffsetProcessor
from sandbox.broker.processors.resume_check import ResumeCheckProcessor
from sandbox.broker.processors.runtime import RuntimeProcessor
from sandbox.broker.processors.send import SendProcessor
from sandbox.broker.processors.send_back import SendBackProcessor
from sandbox.broker.processors.send_checks import SendChecks
from sandbox.broker.processors.settings import SettingsProcessor
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
from sandbox.remoting.bodies import TopicConfig
from sandbox.remoting.body_limits import limited
from sandbox.store.message_store import MessageStore


def assemble(
    config: BrokerConfig,
    store: MessageStore,
    clock: Clock,
    chance: Chance,
    journal: Journal,
    *,
    name_servers: Sequence[str],
    topic_changed: Callable[[TopicConfig | None], None],
    groups_changed: Callable[[], None],
) -> BrokerParts:
    """Create all managers of a broker.  The two callbacks are called after each change of their table."""
    connections = Connections(clock, journal, config.channel_idle_ms)
    broker_to_client = BrokerToClient(connections, clock)
    scan_ms = config.hold_scan_ms if config.long_polling else config.short_polling_ms
    topics = TopicConfigManager(config, clock, journal, topic_changed, delay_levels=len(store.config.delay_levels_ms))
    consumer_offsets, producers = ConsumerOffsetManager(config.name, journal), ProducerManager(config, clock)
    transactions = OpenTransactions(store, consumer_offsets, journal)
    filters = ConsumerFilterManager(clock)
    stats = BrokerStats(clock, config.cluster, store.config.utc_offset_minutes)

    def end_turn() -> None:
        store.dispatch()
        stats.settle()

    return BrokerParts(
        config=config,
        store=store,
        clock=clock,
        chance=chance,
        journal=journal,
        connections=connections,
        topics=topics,
        subscription_groups=SubscriptionGroupManager(config, clock, journal, groups_changed),
        consumer_offsets=consumer_offsets,
        consumers=ConsumerManager(config, clock, journal, broker_to_client.notify_consumer_ids_changed, filters),
        filters=filters,
        producers=producers,
        locks=RebalanceLockManager(clock, journal),
        hold=PullRequestHoldService(clock, store.max_offset, scan_ms=scan_ms),
        pulls=PullTable(),
        delay=ScheduleMessageService(config, store, clock, journal, stats, end_turn),
        stats=stats,
        broker_to_client=broker_to_client,
        transactions=transactions,
        transaction_check=TransactionCheckService(
            config, store, clock, topics, consumer_offsets, producers, broker_to_client, transactions, stats
        ),
        name_servers=name_servers,
        access=AccessControl(config.acl, clock) if config.acl is not None else None,
    )


class Processors(NamedTuple):
    """Handlers by request code, and the processors that are also called without a connection."""

    handlers: dict[int, Handler]
    topics: TopicAdminProcessor
    reset: ResetOffsetProcessor


def processors_of(parts: BrokerParts, settings_changed: Callable[[set[str]], None]) -> Processors:
    """Create the processors of a broker.

    `settings_changed` is called with the names of the settings that a request changes.
    """
    topics, reset = TopicAdminProcessor(parts), ResetOffsetProcessor(parts)
    checks = SendChecks(parts)
    send = SendProcessor(parts, checks)

    def changed(names: set[str]) -> None:
        send.settings_changed()
        settings_changed(names)

    all_of_them = (
        send,
        SettingsProcessor(parts, changed),
        ReplyProcessor(parts, checks),
        PullProcessor(parts),
        QueryProcessor(parts),
        SendBackProcessor(parts),
        ConsumerManageProcessor(parts),
        ClientManageProcessor(parts),
        topics,
        reset,
        OffsetAdminProcessor(parts),
        GroupAdminProcessor(parts),
        RuntimeProcessor(parts),
        ThroughClientsProcessor(parts),
        EndTransactionProcessor(parts),
        StatisticsProcessor(parts),
        ResumeCheckProcessor(parts),
        DetailsProcessor(parts),
        AclAdminProcessor(parts),
    )
    handlers: dict[int, Handler] = {}
    for processor in all_of_them:
        handlers.update(processor.handlers())
    return Processors(limited(handlers), topics, reset)
