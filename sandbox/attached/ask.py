"""Answers to questions about a real cluster.  Only these questions are possible; the others are for sandboxes."""

from typing import TYPE_CHECKING

from sandbox.attached import plan_rebalance
from sandbox.attached.picture import RUNNING, ServerSeen
from sandbox.attached.reset_plan import draw_plan, plan_reset
from sandbox.attached.search import Search
from sandbox.control import questions
from sandbox.control.questions import OffsetFile, PlanRebalance, PlanReset, Question, Route
from sandbox.kernel import json_bytes
from sandbox.kernel.errors import ActionRefused, BrokerRefused, RemotingError
from sandbox.remoting.codes import ResponseCode

if TYPE_CHECKING:
    from sandbox.attached.cluster import AttachedCluster

Row = dict[str, object]


async def answer(cluster: "AttachedCluster", question: Question) -> Row:
    """Return the answer to a question, in the shape of `queries.questions`.

    Raises ActionRefused, or the errors of a request to a node.
    """
    search = Search(cluster.reach, cluster.picture, cluster.limits)
    match question:
        case PlanReset():
            plan = await plan_reset(cluster.reach, cluster.picture, question)
            return draw_plan(cluster.journal.next_seq - 1, cluster.clock.now_ms(), question, *plan)
        case PlanRebalance():
            return plan_rebalance.plan(cluster.picture, question)
        case Route():
            return await _route(cluster, question)
        case questions.FindMessages():
            return await search.find(question)
        case questions.ReadRecord():
            return await search.read_record(question)
        case questions.ReadEntry():
            return await search.read_entry(question)
        case questions.WalkIndex():
            return await search.walk(question)
        case OffsetFile():
            return await _offset_file(cluster, question)
    raise ActionRefused(404, "This query is not available for a real cluster.", "Only a sandbox has this data.")


async def _route(cluster: "AttachedCluster", question: Route) -> Row:
    servers = list(cluster.picture.servers.values())
    if question.everywhere:
        return {
            "topic": question.topic,
            "servers": [
                {"name_server": server.name, **await _route_of(cluster, server, question.topic)} for server in servers
            ],
        }
    for server in servers:
        if server.name == question.name_server:
            route = await _route_of(cluster, server, question.topic)
            del route["state"]
            return {"topic": question.topic, "name_server": server.name, **route}
    raise ActionRefused(
        404, "No running name server has the name {name}.", field="name_server", name=question.name_server
    )


async def _route_of(cluster: "AttachedCluster", server: ServerSeen, topic: str) -> Row:
    """Return the topic's route as one name server reports it.

    `code` is 0, or 17 for an unknown topic; None while the name server does not answer.
    """
    try:
        route = await cluster.reach.route(server.address, topic)
    except BrokerRefused as error:
        if error.code != ResponseCode.TOPIC_NOT_EXIST:
            raise
        return {"state": RUNNING, "known": False, "route": None, "code": int(ResponseCode.TOPIC_NOT_EXIST)}
    except RemotingError:
        return {"state": "unreachable", "known": None, "route": None, "code": None}
    return {"state": RUNNING, "known": True, "route": json_bytes.loads(route.encode()), "code": 0}


async def _offset_file(cluster: "AttachedCluster", question: OffsetFile) -> Row:
    """Return the content of a broker's `consumerOffset.json`, as in its answer to a slave (43)."""
    for server in cluster.picture.in_order():
        if server.node == question.owner:
            table = await cluster.reach.all_offsets(server.address)
            offsets = {
                f"{topic}@{group}": {str(number): offset for number, offset in sorted(row.items())}
                for group, topics in sorted(table.items())
                for topic, row in sorted(topics.items())
            }
            content = {"offsetTable": offsets}
            return {
                "owner": server.node,
                "file": "config/consumerOffset.json",
                "content": content,
                "text": json_bytes.dumps(content, option=json_bytes.OPT_INDENT_2).decode(),
                "unsaved": None,
            }
    raise ActionRefused(
        404,
        "{owner} has no offset file.",
        "Only the offset files of the cluster's brokers are available.",
        field="owner",
        owner=question.owner,
    )
