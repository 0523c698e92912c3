"""Answers about routes, offset files and the start offset of a new member."""

from sandbox.client.config import TIMESTAMP_BACK_MS, ConsumeFromWhere
from sandbox.cluster.actors.consumer_actor import ConsumerActor
from sandbox.cluster.cluster import Cluster
from sandbox.cluster.nodes import NameServerNode
from sandbox.control.questions import OffsetFile, Route, StartOffset
from sandbox.kernel import json_bytes
from sandbox.kernel.errors import ActionRefused
from sandbox.message.queue import MessageQueue
from sandbox.queries.questions.answers import answers
from sandbox.queries.start_offset import beginning

Row = dict[str, object]


@answers(Route)
def route(cluster: Cluster, question: Route) -> Row:
    """Return the route that one name server, or each of them, has for the topic.

    A name server that is down returns no route.  Raises ActionRefused (404) if the named one does not run.
    """
    if question.everywhere:
        return {
            "topic": question.topic,
            "servers": [
                {"name_server": node.name, "state": node.state, **_answer_of(node, question.topic)}
                for node in cluster.nodes.name_servers
            ],
        }
    for node in cluster.nodes.name_servers:
        if node.name == question.name_server and node.name_server is not None:
            return {"topic": question.topic, "name_server": node.name, **_answer_of(node, question.topic)}
    raise ActionRefused(
        404, "No running name server has the name {name}.", field="name_server", name=question.name_server
    )


def _answer_of(node: NameServerNode, topic: str) -> Row:
    """Return one name server's answer for the topic.

    `code`: 0, or 17 for a topic that no broker registered with it; None while it is down.
    """
    if node.name_server is None:
        return {"known": None, "route": None, "code": None}
    route = node.name_server.route_info.route(topic)
    answer = None if route is None else json_bytes.loads(route.encode())
    return {"known": route is not None, "route": answer, "code": 0 if route is not None else 17}


@answers(OffsetFile)
def offset_file(cluster: Cluster, question: OffsetFile) -> Row:
    """Return `consumerOffset.json` as the broker would write it now, or a broadcasting member's own file.

    Raises ActionRefused (404) if the owner has no offset file.
    """
    node = cluster.nodes.find(question.owner)
    if node is not None:
        content = node.running.consumer_offsets.to_json()
        return {
            "owner": node.node,
            "file": "config/consumerOffset.json",
            "content": content,
            "text": json_bytes.dumps(content, option=json_bytes.OPT_INDENT_2).decode(),
            "unsaved": node.running.consumer_offsets.changed,
        }
    actor = cluster.actors.get(question.owner)
    if not isinstance(actor, ConsumerActor) or actor.settings.model != "BROADCASTING":
        raise ActionRefused(
            404,
            "{owner} has no offset file.",
            "Only broadcasting members have an offset file.",
            field="owner",
            owner=question.owner,
        )
    name = f"{actor.client_id}/{actor.group}/offsets.json"
    data = cluster.actors.files_of(actor).read(name)
    text = None if data is None else data.decode(errors="replace")
    return {"owner": actor.label, "file": name, "content": None, "text": text, "unsaved": None}


@answers(StartOffset)
def start_offset(cluster: Cluster, question: StartOffset) -> Row:
    """Return the decisions by which a new member finds its start offset in this queue, and their results.

    The decisions have the codes of docs/spec/catalogue.md 2.

    Raises ActionRefused (404) if the queue does not exist.
    """
    broker = cluster.nodes.broker(question.broker).running
    store, topic, queue_id = broker.store, question.topic, question.queue_id
    config = broker.topics.table.get(topic)
    if config is None or queue_id >= config.read_queues:
        raise ActionRefused(
            404,
            "{topic} has no queue {queue}.",
            "Choose a queue of this topic.",
            field="queue_id",
            topic=topic,
            queue=f"{question.broker}:{queue_id}",
        )
    try:
        where = ConsumeFromWhere(question.from_where)
    except ValueError:
        raise ActionRefused(
            422,
            "{value} is not a start position.",
            "Available start positions: {known}.",
            field="from_where",
            value=question.from_where,
            known=", ".join(ConsumeFromWhere),
        ) from None
    since_ms = question.timestamp if question.timestamp is not None else cluster.clock.now_ms() - TIMESTAMP_BACK_MS
    mq = MessageQueue(topic, broker.config.name, queue_id)
    trace, offset = beginning(broker, question.group, mq, where, since_ms)
    stored = broker.consumer_offsets.get(question.group, topic, queue_id)
    low, high = max(0, store.min_offset(topic, queue_id)), store.max_offset(topic, queue_id)
    return {
        "group": question.group,
        "topic": topic,
        "broker": question.broker,
        "queue_id": queue_id,
        "from_where": question.from_where,
        "trace": trace,
        "offset": str(offset),
        "stored": None if stored is None else str(stored),
        "min": str(low),
        "max": str(high),
        "first_in_memory": low <= 0 and store.first_in_memory(topic, queue_id),
    }
