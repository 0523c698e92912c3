"""Lag history as a job: it goes on where it ended, and its rows are those of the journal folded in one go."""

from pathlib import Path
from typing import Any

import pytest

from sandbox.pipeline.lag.fold import WANTED, Fold, JournalLine
from sandbox.pipeline.lag.rows import COLUMNS
from sandbox.pipeline.runs.results import manifest_of
from sandbox.pipeline.sources.journal_files import Chosen, batches, pieces_of
from sandbox.simulation.world import World
from tests.pipeline.audits import table
from tests.pipeline.conftest import Run

pytestmark = pytest.mark.pipeline

TABLES = ("seconds", "tens", "fives")


def expected(journals: dict[str, str]) -> dict[str, list[dict[str, Any]]]:
    """Return the fold of every journal, without Spark."""
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in TABLES}
    for sandbox, journal in journals.items():
        fold = Fold()
        for batch in batches(pieces_of({sandbox: Path(journal)}), Chosen(lines_of=WANTED)):
            fold.take(JournalLine(row["seq"], row["at_ms"], row["event"], row["fields"]) for row in batch.to_pylist())
        for name, rows in fold.rows.items():
            found[name] += [
                dict(zip(COLUMNS, (sandbox, row.group, row.topic, row.queue, row.from_ms, *row.figures), strict=True))
                for row in rows
            ]
    return found


def in_order(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return sorted(
        tuple(row[name] for name in COLUMNS[:5]) + tuple(str(row[name]) for name in COLUMNS[5:]) for row in rows
    )


def test_each_run_goes_on_where_the_last_ended(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with World(tmp_path / "a", "orders", seed=1) as one, World(tmp_path / "b", "retries", seed=2) as two:
        journals = {"a": str(tmp_path / "a" / "sandboxes" / "world" / "journal")}
        one.run(40)
        *_, last = run("lag_history", journals=journals)
        assert last["state"] == "done"
        assert last["tables"]["seconds"] == len(table(out, "seconds")) > 100
        one.run(330)
        two.run(20)
        journals["b"] = str(tmp_path / "b" / "sandboxes" / "world" / "journal")  # new: from its first entry
        run("lag_history", journals=journals)
        two.run(20)
        *_, last = run("lag_history", journals=journals)
    wanted = expected(journals)
    assert wanted["fives"]
    for name in TABLES:
        assert in_order(table(out, name)) == in_order(wanted[name])
        assert last["tables"][name] == len(wanted[name])
    manifest = manifest_of(out)
    assert manifest is not None
    assert set(manifest.true_to) == {"a", "b"}
    before = table(out, "seconds")
    *_, last = run("lag_history", journals=journals)  # nothing new
    again = manifest_of(out)
    assert (last["state"], table(out, "seconds")) == ("done", before)
    assert again is not None
    assert again.run != manifest.run  # the result is this run's now


def test_without_its_checkpoint_all_is_read_again(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with World(tmp_path / "a", "orders", seed=1) as world:
        world.run(20)
    journals = {"a": str(tmp_path / "a" / "sandboxes" / "world" / "journal")}
    run("lag_history", journals=journals)
    before = table(out, "seconds")
    (out / "manifest.json").unlink()
    run("lag_history", journals=journals)
    assert table(out, "seconds") == before


def test_a_store_alone_is_answered_with_what_to_name(run: Run, golden: Path) -> None:
    *_, last = run("lag_history", store=golden)
    assert last["why"] == "Lag is computed from a journal, and a store has none. Choose a sandbox with --sandbox."


def test_a_journal_that_is_not_there_is_a_sentence(run: Run, tmp_path: Path) -> None:
    *_, last = run("lag_history", journals={"a": str(tmp_path / "nowhere")})
    assert last["why"] == f"No directory {tmp_path}/nowhere. Set the journal directory of a."
