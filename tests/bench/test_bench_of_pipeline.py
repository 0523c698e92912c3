"""The pipeline's bench compares the same work; its goals are for `manage.py bench pipeline`."""

from pathlib import Path

import pytest

from sandbox.pipeline.runs.kept_session import session_in
from sandbox.pipeline.sources.records import rows_of
from sandbox.store_columns.queue_positions import log_files
from tests.bench import pipeline, pipeline_sealed, pipeline_start
from tests.bench.pipeline_rows import rows_in
from tests.bench.pipeline_sealed import Took
from tests.bench.pipeline_store import fill


def test_the_loop_that_is_compared_reads_the_same_rows(tmp_path: Path) -> None:
    messages = fill(tmp_path, 300_000, 1 << 20)
    ours = [tuple(row.values()) for batch in rows_of(tmp_path) for row in batch.to_pylist()]
    theirs = [
        (*row[:8], list(row[8].items()), *row[9:]) for log in log_files(tmp_path) for row in rows_in(Path(log.path))
    ]
    assert ours == theirs
    assert len(ours) == messages == pipeline.scan(tmp_path) == pipeline.struct_loop(tmp_path)


def test_works_take_turns_and_the_first_of_each_is_not_counted() -> None:
    done: list[str] = []
    taken = pipeline.in_turns({"a": (3, lambda: done.append("a")), "b": (1, lambda: done.append("b"))})
    assert (done.count("a"), done.count("b"), sorted(taken)) == (4, 2, ["a", "b"])


def test_ratios_are_those_of_rates_by_wall_and_by_processors() -> None:
    seconds = {
        "source": Took(2.0, 2.0),
        "parquet": Took(1.0, 2.0),
        "rows": Took(8.0, 8.0),
        "sealed": Took(2.0, 4.0),
        "closed": Took(1.0, 1.0),
    }
    taken = {
        f"{query}.{kind}": took for query in (*pipeline_sealed.QUERIES, "light_all") for kind, took in seconds.items()
    }
    ratios = pipeline.ratios({name: one.wall_s for name, one in taken.items()})
    assert (ratios["noop_of_parquet"], ratios["light_of_parquet"], ratios["full_of_rows"]) == (0.5, 0.5, 4.0)
    sealed = pipeline_sealed.ratios(taken)
    assert sorted(sealed) == ["full", "full_closed", "light", "light_closed", "noop", "noop_closed"]
    assert (sealed["noop"], sealed["noop_closed"]) == ({"wall": 0.5, "cpu": 0.5}, {"wall": 1.0, "cpu": 2.0})


def test_figures_of_a_start_are_medians_and_their_ratio() -> None:
    cold, warm = [Took(9.0, 20.0), Took(7.0, 14.0), Took(8.0, 15.0)], [Took(2.0, 1.5), Took(1.5, 1.0), Took(2.5, 2.0)]
    assert pipeline_start.figures_of(cold, warm) == {
        "cold_s": 8.0,
        "cold_cpu_s": 15.0,
        "warm_s": 2.0,
        "warm_cpu_s": 1.5,
        "cold_of_warm": 4.0,
    }


@pytest.mark.wide
def test_a_command_starts_cold_and_warm_and_the_kept_process_ends(tmp_path: Path) -> None:
    figures = pipeline_start.of_commands("smallest", tmp_path)
    assert all(figures[name] > 0 for name in ("messages", "cold_s", "cold_cpu_s", "warm_s", "warm_cpu_s"))
    assert figures["cold_of_warm"] == pytest.approx(figures["cold_s"] / figures["warm_s"], rel=0.05)
    assert session_in(tmp_path / "pipeline" / ".spark") is None


@pytest.mark.wide
def test_a_small_store_is_read_in_every_way_in_spark() -> None:
    figures = pipeline.of_stores("smallest")
    queries = {f"{query}.{kind}" for query in ("noop", "full", "light") for kind in ("parquet", "sealed", "closed")}
    assert queries | {"noop.source", "full.rows", "light_all.source", "scan", "cat", "latency"} <= figures.keys()
    assert all(figures[name]["rows_s"] > 0 for name in queries)
    assert figures["latency"]["messages"] >= 0


@pytest.mark.wide
def test_a_small_class_is_graded_and_audited_in_spark() -> None:
    figures = pipeline.of_a_class("smallest")
    grading = figures["grading"]
    assert (grading["attempts"], grading["differences"]) == (2, 0)
    assert (grading["forged_named"], grading["edited_named"]) == (grading["forged"], grading["edited"]) == (10, 1)
    assert figures["delivery_audit"]["1"]["s_a_student"] > 0
