"""Our strategies against what RocketMQ 4.9.8's own classes answered."""

import json
from pathlib import Path
from typing import Any

import pytest

from sandbox.client.allocate import strategy
from sandbox.message.queue import MessageQueue
from sandbox.queries.questions.rebalance import Divided, compared_with_itself

VECTORS = Path(__file__).parent / "rebalance"
COMPARED = ("averagely", "averagely_by_circle", "consistent_hash")


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (VECTORS / f"{name}.jsonl").read_text().splitlines()]


def queues(rows: list[list[Any]] | None) -> list[MessageQueue]:
    return [MessageQueue(*row) for row in rows or []]


@pytest.mark.golden
@pytest.mark.seed("3.39", "D34", "3.40")
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


@pytest.mark.golden
@pytest.mark.parametrize(
    ("name", "shares"),
    [
        pytest.param("AVG", [[0, 1], [2, 3], [4]], marks=pytest.mark.seed("1.5")),
        pytest.param("AVG", [[0, 1, 2, 3, 4]], marks=pytest.mark.seed("3.36")),
        pytest.param("AVG", [[0, 1, 2], [3, 4]], marks=pytest.mark.seed("3.36")),
        pytest.param("AVG", [[0], [1], [2], [3], [], []], marks=pytest.mark.seed("3.37", "4.7")),
        pytest.param("AVG", [[0], [1], [2], [3]], marks=pytest.mark.seed("4.7")),
        pytest.param("AVG", [[0, 1], [2, 3]], marks=pytest.mark.seed("1.2", "4.7")),
        pytest.param("AVG", [[0, 1], [2], [3]], marks=pytest.mark.seed("1.2")),
        pytest.param("AVG", [[0, 1, 2], [3, 4, 5], [6, 7]], marks=pytest.mark.seed("4.6")),
        pytest.param("AVG_BY_CIRCLE", [[0, 3, 6], [1, 4, 7], [2, 5]], marks=pytest.mark.seed("4.6")),
    ],
)
def test_the_tables_of_the_articles_come_out(name: str, shares: list[list[int]]) -> None:
    """Java's own answers for as many queues and members, and ours, are the table of the article."""
    members = len(shares)
    given = sorted(queue for share in shares for queue in share)
    recorded = [
        vector
        for vector in lines({"AVG": "averagely", "AVG_BY_CIRCLE": "averagely_by_circle"}[name])
        if (len(vector["mqAll"]), len(vector["cidAll"])) == (len(given), members)
    ]
    assert recorded, "no vector of that size"
    for vector in recorded:
        everything = queues(vector["mqAll"])
        for client_id, share in zip(vector["cidAll"], shares, strict=True):
            wanted = [everything[at] for at in share]
            assert queues(vector["result"][client_id]) == wanted
            assert strategy(name).allocate("G", client_id, everything, vector["cidAll"]) == wanted


@pytest.mark.golden
@pytest.mark.seed("3.40")
def test_a_fifth_member_moves_as_many_queues_as_javas_own_answers_differ() -> None:
    """The table of the Rebalance page, for 16 queues: each strategy before and after, and what changing over moves."""
    four = {name: recorded(name, queues_in_all=16, members=4) for name in COMPARED}
    five = {name: recorded(name, queues_in_all=16, members=5) for name in COMPARED}
    averagely = four["averagely"]
    before = {client_id: queues(mine) for client_id, mine in averagely["result"].items()}
    found = {}
    for name in COMPARED:
        had, gets = owners(four[name]), owners(five[name])
        row = compared_with_itself(
            strategy(four[name]["getName"]), "G", before, divided(four[name]), divided(five[name])
        )
        assert row["moves"] == sum(had[queue] != member for queue, member in gets.items())
        assert row["switching"] == sum(owners(averagely)[queue] != member for queue, member in had.items())
        found[name] = row["moves"]
    assert found == {"averagely": 6, "averagely_by_circle": 12, "consistent_hash": 2}


def recorded(name: str, *, queues_in_all: int, members: int) -> dict[str, Any]:
    """RocketMQ's own answer, with ten places a member on the ring."""
    return next(
        vector
        for vector in lines(name)
        if (len(vector["mqAll"]), len(vector["cidAll"])) == (queues_in_all, members)
        and (vector["params"] or {}).get("virtualNodeCnt", 10) == 10
        and vector["cidAll"][0].startswith("127.")
    )


def owners(vector: dict[str, Any]) -> dict[tuple[Any, ...], str]:
    return {tuple(row): client_id for client_id, rows in vector["result"].items() for row in rows or []}


def divided(vector: dict[str, Any]) -> Divided:
    return Divided(queues(vector["mqAll"]), vector["cidAll"])
