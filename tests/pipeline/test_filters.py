"""Each reference of a query has its own filter, however often the query names a table (cases C21, C22)."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from sandbox.journal.events import SandboxSlept, SandboxWoken
from sandbox.pipeline.sources.records import rows_of
from tests.pipeline.audits import table
from tests.pipeline.conftest import Run
from tests.pipeline.journals import write_journal

pytestmark = pytest.mark.pipeline


@pytest.fixture(scope="module")
def topics(golden: Path) -> Counter[str]:
    """Messages by topic, by plain Python."""
    return Counter(row["topic"] for batch in rows_of(golden, ["topic"]) for row in batch.to_pylist())


@pytest.fixture
def ask(run: Run, golden: Path, tmp_path: Path) -> Any:
    def asked(query: str) -> Any:
        *_, last = run("sql", stores={"s/a": golden}, query=query)
        assert last["state"] == "done", last
        return table(tmp_path / "out", "result")

    return asked


def test_three_counts_of_one_table_are_three_answers(ask: Any, topics: Counter[str]) -> None:
    [(one, n), (other, m)] = topics.most_common(2)
    [row] = ask(
        f"SELECT (SELECT count(*) FROM messages) AS all, "
        f"(SELECT count(*) FROM messages WHERE topic = '{one}') AS one, "
        f"(SELECT count(*) FROM messages WHERE topic = '{other}') AS other"
    )
    assert row == {"all": topics.total(), "one": n, "other": m}
    rows = ask(
        f"SELECT 1 AS no, count(*) AS n FROM messages WHERE topic = '{one}' UNION ALL SELECT 2, count(*) FROM "
        f"messages UNION ALL SELECT 3, count(*) FROM messages WHERE topic IN ('{one}', '{other}')"
    )
    assert {row["no"]: row["n"] for row in rows} == {1: n, 2: topics.total(), 3: n + m}


def test_references_that_are_joined_keep_their_own_filters(ask: Any, topics: Counter[str]) -> None:
    [(one, n), (other, m)] = topics.most_common(2)
    [row] = ask(
        f"SELECT count(DISTINCT a.physicalOffset) AS n, count(DISTINCT b.physicalOffset) AS m "
        f"FROM messages a JOIN messages b ON a.physicalOffset <> b.physicalOffset "
        f"WHERE a.topic = '{one}' AND b.topic = '{other}'"
    )
    assert row == {"n": n, "m": m}
    [row] = ask(
        f"WITH t AS (SELECT * FROM messages) SELECT count(*) / (SELECT count(*) FROM t) AS share FROM t "
        f"WHERE topic = '{one}'"
    )
    assert row["share"] == pytest.approx(n / topics.total())


def test_events_of_a_journal_keep_their_own_filters(run: Run, tmp_path: Path) -> None:
    journal = write_journal(tmp_path / "journal", [SandboxWoken("visit", 0, "e")] * 30 + [SandboxSlept("idle")] * 12)
    *_, last = run(
        "sql",
        journals={"s": str(journal)},
        query="SELECT (SELECT count(*) FROM events WHERE seq < 5) AS first, (SELECT count(*) FROM events) "
        "AS all, (SELECT count(*) FROM events WHERE event = 'SandboxSlept') AS slept",
    )
    assert last["state"] == "done", last
    assert table(tmp_path / "out", "result") == [{"first": 5, "all": 42, "slept": 12}]
