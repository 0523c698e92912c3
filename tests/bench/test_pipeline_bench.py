"""What the pipeline's bench compares does the same work; its goals are for `manage.py bench pipeline`."""

from pathlib import Path

import pytest

from sandbox.pipeline.sources.places import log_files
from sandbox.pipeline.sources.records import rows_of
from tests.bench import pipeline, pipeline_course, pipeline_sealed
from tests.bench.pipeline_rows import rows_in
from tests.bench.pipeline_sealed import Took, took
from tests.bench.pipeline_store import fill, trickle


def test_the_loop_it_is_compared_with_reads_the_same_rows(tmp_path: Path) -> None:
    messages = fill(tmp_path, 300_000, 1 << 20)
    ours = [tuple(row.values()) for batch in rows_of(tmp_path) for row in batch.to_pylist()]
    theirs = [(*row[:8], list(row[8].items()), *row[9:])
              for log in log_files(tmp_path) for row in rows_in(Path(log.path))]
    assert ours == theirs
    assert len(ours) == messages == pipeline.scan(tmp_path) == pipeline.struct_loop(tmp_path)


def test_a_trickle_puts_as_many_as_it_says(tmp_path: Path) -> None:
    assert trickle(tmp_path, 100, 0.1) == sum(len(batch) for batch in rows_of(tmp_path)) == 10


def test_works_take_turns_and_none_counts_its_first() -> None:
    done: list[str] = []
    taken = pipeline.in_turns({"a": (3, lambda: done.append("a")), "b": (1, lambda: done.append("b"))})
    assert (done.count("a"), done.count("b"), sorted(taken)) == (4, 2, ["a", "b"])


def test_ratios_are_how_many_times_as_fast_ours_is() -> None:
    taken = {f"{query}.{source}": seconds for query in ("noop", "full", "light", "light_all")
             for source, seconds in (("source", 2.0), ("parquet", 1.0), ("rows", 8.0))}
    found = pipeline.ratios(taken)
    assert (found["noop_of_parquet"], found["light_of_parquet"], found["full_of_rows"]) == (0.5, 0.5, 4.0)


def test_sealed_files_are_compared_by_time_and_by_processors() -> None:
    taken = {f"{query}.{kind}": Took(*seconds) for query in ("noop", "full", "light")
             for kind, seconds in (("sealed", (2.0, 4.0)), ("closed", (1.0, 1.0)), ("parquet", (1.0, 2.0)))}
    found = pipeline_sealed.ratios(taken)
    assert sorted(found) == ["full", "full_closed", "light", "light_closed", "noop", "noop_closed"]
    assert (found["noop"], found["noop_closed"]) == ({"wall": 0.5, "cpu": 0.5}, {"wall": 1.0, "cpu": 2.0})
    assert took(lambda: sum(range(3_000_000))).cpu_s > 0


@pytest.mark.in_turn
def test_journals_of_a_course_are_graded_as_they_were_played_and_the_changed_ones_are_named(tmp_path: Path) -> None:
    found = pipeline_course.run(tmp_path, quick=True)
    assert (found["attempts"], found["differences"]) == (18, 0)
    assert (found["forged_named"], found["edited_named"]) == (found["forged"], found["edited"]) == (10, 5)
