"""Our strategies against what RocketMQ 4.9.8's own classes answered."""

import json
from pathlib import Path
from typing import Any

import pytest

from sandbox.client.allocate import strategy
from sandbox.message.queue import MessageQueue

VECTORS = Path(__file__).parent / "rebalance"


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (VECTORS / f"{name}.jsonl").read_text().splitlines()]


def queues(rows: list[list[Any]] | None) -> list[MessageQueue]:
    return [MessageQueue(*row) for row in rows or []]


@pytest.mark.golden
@pytest.mark.parametrize("name", sorted(path.stem for path in VECTORS.glob("*.jsonl")))
def test_every_member_gets_the_queues_java_gave_it(name: str) -> None:
    vectors = lines(name)
    assert vectors
    for vector in vectors:
        params = vector["params"] or {}
        chosen = strategy(
            vector["getName"],
            virtual_nodes=params.get("virtualNodeCnt", 10),
            rooms=params.get("consumeridcs", ()),
            queues=queues(params.get("messageQueueList")),
        )
        assert chosen.name == vector["getName"]
        for client_id, expected in vector["result"].items():
            given = chosen.allocate("G", client_id, queues(vector["mqAll"]), vector["cidAll"])
            assert given == queues(expected), (vector["params"], client_id)
