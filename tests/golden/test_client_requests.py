"""Our client's requests carry the fields of the Java client's, code by code."""

import json
from collections import defaultdict
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sandbox.client.config import ConsumeFromWhere, ProducerConfig, PushConsumerConfig
from sandbox.client.producer import Producer
from sandbox.client.push_consumer import PushConsumer
from sandbox.client.results import ConsumeConcurrentlyStatus, ConsumeOrderlyStatus
from sandbox.client.transaction_producer import LocalTransactionState, TransactionProducer
from sandbox.message.message import Message
from sandbox.remoting.codes import RequestCode as Code
from sandbox.remoting.command import RemotingCommand
from tests.unit.client.fake_cluster import FakeCluster

STREAM_MARK = {"ReqT"}  # on every request of a pull consumer's instance, whatever the code
WIRE = Path(__file__).parent / "wire" / "json.jsonl"

COMPARED = (
    Code.SEND_MESSAGE_V2,
    Code.SEND_BATCH_MESSAGE,
    Code.PULL_MESSAGE,
    Code.QUERY_CONSUMER_OFFSET,
    Code.UPDATE_CONSUMER_OFFSET,
    Code.HEART_BEAT,
    Code.UNREGISTER_CLIENT,
    Code.CONSUMER_SEND_MSG_BACK,
    Code.GET_CONSUMER_LIST_BY_GROUP,
    Code.LOCK_BATCH_MQ,
    Code.UNLOCK_BATCH_MQ,
    Code.GET_ROUTEINFO_BY_TOPIC,
    Code.GET_MAX_OFFSET,
    Code.SEARCH_OFFSET_BY_TIMESTAMP,
    Code.END_TRANSACTION,
)
WITH_BODY = (Code.HEART_BEAT, Code.LOCK_BATCH_MQ, Code.UNLOCK_BATCH_MQ)


def javas() -> dict[int, list[dict[str, Any]]]:
    """Requests of Java clients by code."""
    found: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for line in WIRE.read_text().splitlines():
        row = json.loads(line)
        if row["kind"] == "request" and row["direction"] == "c2s" and row["link"] != "broker-namesrv":
            found[row["code"]].append(row)
    return found


@pytest.fixture(scope="module")
def ours() -> dict[int, list[RemotingCommand]]:
    """One life of everything: send, batch, transact, consume in order and not, fail, start by time, stop."""
    cluster = FakeCluster(T=2)
    found: dict[int, list[RemotingCommand]] = defaultdict(list)

    async def sends() -> None:
        sender = Producer(ProducerConfig(group="P"), cluster.instance("p"))
        await sender.start()
        await sender.send(Message.make("T", b"x", keys="k", tags="A"))
        await sender.send_batch([Message.make("T", b"x"), Message.make("T", b"y")])
        await sender.shutdown()
        transactor = TransactionProducer(ProducerConfig(group="PT"), cluster.instance("pt"), unsure)
        await transactor.start()
        for state in LocalTransactionState:
            await transactor.send_in_transaction(Message.make("T", b"x"), partial(decided, state))
        await transactor.shutdown()

    async def decided(state: LocalTransactionState, _: Message) -> LocalTransactionState:
        return state

    async def unsure(_: Message) -> LocalTransactionState:
        return LocalTransactionState.UNKNOW

    async def later(messages: list[Message], context: Any) -> Any:
        if isinstance(context.queue.queue_id, int) and listener == "concurrent":
            return ConsumeConcurrentlyStatus.RECONSUME_LATER
        return ConsumeOrderlyStatus.SUCCESS

    cluster.run(sends())
    for listener, where in (
        ("concurrent", ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET),
        ("orderly", ConsumeFromWhere.CONSUME_FROM_TIMESTAMP),
    ):
        config = PushConsumerConfig(group=listener, listener=listener, from_where=where)
        member = PushConsumer(config, cluster.instance(listener), later)
        member.subscribe("T", "A || B")
        cluster.run(member.start())
        cluster.loop.run_for(1)
        cluster.store("T", 0, b"new", TAGS="A", UNIQ_KEY="U")
        cluster.loop.run_for(30)
        cluster.run(member.shutdown())
    for _, command in cluster.seen:
        found[command.code].append(command)
    cluster.loop.close()
    return found


@pytest.mark.golden
@pytest.mark.parametrize("code", COMPARED, ids=lambda code: code.name)
def test_header_fields_are_javas(code: Code, ours: dict[int, list[RemotingCommand]]) -> None:
    shapes = {frozenset(row["header"].get("extFields") or {}) - STREAM_MARK for row in javas()[code]}
    assert shapes
    assert ours[code]
    for command in ours[code]:
        assert frozenset(command.ext or {}) in shapes


@pytest.mark.golden
@pytest.mark.parametrize("code", WITH_BODY, ids=lambda code: code.name)
def test_bodies_have_javas_shape(code: Code, ours: dict[int, list[RemotingCommand]]) -> None:
    shapes = {shape(json.loads(row["body_text"])) for row in javas()[code]}
    for command in ours[code]:
        assert shape(json.loads(command.body or b"")) <= frozenset().union(*shapes)


def shape(value: Any, at: str = "") -> frozenset[str]:
    """Every path of names in a JSON value."""
    if isinstance(value, dict):
        return frozenset().union(*(shape(inner, f"{at}.{name}") | {f"{at}.{name}"} for name, inner in value.items()))
    if isinstance(value, list):
        return frozenset().union(*(shape(inner, f"{at}[]") for inner in value))
    return frozenset()
