"""A query over messages, events and results; and all that is no such query is refused before anything of it is run."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.pipeline.audits import table
from tests.pipeline.conftest import Reports, Run
from tests.pipeline.worlds import Recorded, begun, member, record, sent

pytestmark = pytest.mark.pipeline


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """Five messages, of which a member has consumed each."""
    home = tmp_path_factory.mktemp("world")
    with begun(home) as world:
        member(world)
        sent(world, 5)
        world.run(10)
        return record(world, home)


@pytest.fixture
def ask(run: Run, recorded: Recorded) -> Any:
    def asked(query: str, **options: str) -> Reports:
        return run(
            "sql",
            stores={f"s/{name}": root for name, root in recorded.stores.items()},
            journals={"s": str(recorded.journal)},
            query=query,
            **options,
        )

    return asked


def test_messages_events_and_results_are_tables_of_one_query(
    ask: Any, run: Run, recorded: Recorded, tmp_path: Path
) -> None:
    *_, last = run(
        "export",
        stores={f"s/{name}": root for name, root in recorded.stores.items()},
        format="parquet",
        topic="plain",
        out=tmp_path / "export",
    )
    assert last["state"] == "done", last
    *_, last = ask(
        "WITH told AS (SELECT count(*) AS events FROM events), "
        "stored AS (SELECT count(*) AS stored FROM Events_MessagesStored) "
        "SELECT m.topic, count(*) AS n, max(e.keys) AS last, max(events) > max(stored) AS more "
        "FROM messages m JOIN export_messages e ON m.physicalOffset = e.physicalOffset, told, stored "
        "GROUP BY 1;",
        results=orjson.dumps({"export": str(tmp_path / "export")}).decode(),
    )
    assert last["state"] == "done", last
    assert table(tmp_path / "out", "result") == [{"topic": "plain", "n": 5, "last": "k-4", "more": True}]


@pytest.mark.parametrize(
    ("query", "why"),
    [
        (
            "DROP TABLE messages",
            "A query must be one SELECT, or a WITH that ends in a SELECT. Spark's parser finds ",
        ),
        ("WITH c AS (SELECT 1) INSERT INTO messages SELECT * FROM c", "A query must be one SELECT, "),
        ("SELECT TRANSFORM(topic) USING 'cat' FROM messages", "A query must be one SELECT, "),
        ("BEGIN SELECT 1; END", "A query must be one SELECT, "),
        ("SELECT 1; SELECT 2", "Line 1, character 11 of the query: Syntax error at or near 'SELECT'"),
        ("SELECT *\nFROM messages WHERE topc = 'a'", "Line 2, character 21 of the query: A column, "),
        (
            "SELECT * FROM parquet.`/etc/x`",
            "parquet./etc/x is not a table of this query. It reads results, stores and journals ",
        ),
        ("SELECT * FROM identifier('parquet.' || '`/x`')", "IDENTIFIER is refused: a query must name its tables."),
        ("SELECT identifier('ref' || 'lect')('a', 'b')", "IDENTIFIER is refused: a query must name its functions."),
        (
            "SELECT 1 WHERE EXISTS (SELECT Reflect('java.lang.System', 'exit', 1))",
            "Reflect is refused: it can call ",
        ),
        (
            "SELECT sum(1) OVER w FROM messages WINDOW w AS (PARTITION BY builtin.java_method('a.B', 'gc'))",
            "java_method is refused: it can call any Java method, and a query may only read tables.",
        ),
        ("SELECT from_protobuf(body, 'a', '/etc/x') FROM messages", "from_protobuf is refused: it opens a file, "),
        (
            "SELECT * FROM export_messages",
            "No table export_messages. Tables are: messages, events, events_<Event>.",
        ),
        ("", "Write the query after sql: "),
    ],
)
def test_whatever_is_not_one_select_of_our_tables_is_refused_in_one_sentence(ask: Any, query: str, why: str) -> None:
    *_, last = ask(query)
    assert last["state"] == "failed"
    assert last["why"].startswith(why)
    assert "\n" not in last["why"]


def test_a_value_that_cannot_be_computed_is_found_in_the_query(ask: Any) -> None:
    *_, last = ask("SELECT 1 / (queueOffset - queueOffset) FROM messages")
    assert last["why"].startswith("Line 1, character 8 of the query: Division by zero.")


def test_columns_that_a_query_needs_without_their_name_are_there(ask: Any, tmp_path: Path) -> None:
    columns = ", ".join(f"c{number}" for number in range(16))
    *_, last = ask(
        f"SELECT c1, count(*) AS n FROM (TABLE messages) AS t({columns}) "
        "NATURAL JOIN (SELECT 'plain' AS c1) GROUP BY c1"
    )
    assert last["state"] == "done", last
    assert table(tmp_path / "out", "result") == [{"c1": "plain", "n": 5}]
