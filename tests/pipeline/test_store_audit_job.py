"""The audit on Spark: what the plain one says, as tables."""

from collections import Counter
from pathlib import Path

import pytest

from sandbox.pipeline.sources.records import rows_of
from sandbox.store_audit.one_process import audit
from tests.golden.golden_stores import unpack
from tests.pipeline.audits import table
from tests.pipeline.conftest import Run
from tests.pipeline.damaged import damaged
from tests.pipeline.without_spark.test_store_audit import cut_the_log, flip_a_body, misdirect_an_entry, zero_a_unit

pytestmark = pytest.mark.pipeline

DAMAGED = 12


def test_a_clean_store_has_no_findings_and_says_how_much_was_looked_at(run: Run, golden: Path, tmp_path: Path) -> None:
    *_, last = run("store_audit", store=golden)
    assert (last["state"], last["tables"]["findings"]) == ("done", 0)
    [verdict] = audit({"broker-a": golden})
    assert {row["what"]: row["items"] for row in table(tmp_path / "out", "checked")} == verdict.checked
    assert table(tmp_path / "out", "findings") == []


def test_four_damages_are_four_rows_with_file_and_byte(run: Run, tmp_path: Path) -> None:
    root = unpack("basic-crash", tmp_path)
    damages = [cut_the_log(root), flip_a_body(root), zero_a_unit(root), misdirect_an_entry(root)]
    run("store_audit", store=root)
    rows = table(tmp_path / "out", "findings")
    assert sorted((row["kind"], row["file"], row["position"]) for row in rows) == sorted(damages)
    [unit] = [row for row in rows if row["kind"] == "missing_unit"]
    assert [unit[name] for name in ("sandbox", "store", "topic", "queue", "queue_offset")] == [
        "broker-a",
        "broker-a",
        "GoldenBasic",
        "broker-a:0",
        4,
    ]
    assert str(unit["says"]).startswith("offset 4: no unit for the record at ")
    [torn] = [row for row in rows if row["kind"] == "torn_record"]
    assert "1 queue units and 2 index entries lead there" in str(torn["says"])


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"delay_levels": "soon"}, "--option delay_levels must be a broker's messageDelayLevel, such as 1s 5s 10s: "),
        ({"index_slots": "0"}, "--option index_slots must be a number of slots, as a broker's maxHashSlotNum, not 0."),
        ({"levels": "1s"}, "store_audit has no option levels. Options are: delay_levels, index_slots."),
    ],
)
def test_a_wrong_wish_is_answered_with_what_would_be_right(
    run: Run, golden: Path, options: dict[str, str], why: str
) -> None:
    *_, last = run("store_audit", store=golden, **options)
    assert last["state"] == "failed"
    assert last["why"].startswith(why)


def test_where_there_is_no_store_a_sentence_says_so(run: Run, tmp_path: Path) -> None:
    *_, last = run("store_audit", store=tmp_path / "nowhere")
    assert last["why"].startswith(f"{tmp_path}/nowhere is not a store: it has no directory commitlog.")
    *_, last = run("store_audit")
    assert last["why"] == "No store to audit: no broker of this sandbox has stored a message yet."


def test_the_jobs_end_on_damaged_stores_and_say_what_plain_readers_say(run: Run, tmp_path: Path) -> None:
    roots = {f"s-{seed}/broker-a": tmp_path / str(seed) for seed in range(DAMAGED)}
    for seed, root in enumerate(roots.values()):
        damaged(seed, root)
    sorted((roots["s-9/broker-a"] / "index").iterdir())[3].unlink()  # C24
    *_, last = run("store_audit", stores=roots, out=tmp_path / "audit")
    assert last["state"] == "done", last
    reported = {name: verdict.findings for name, verdict in zip(sorted(roots), audit(roots), strict=True)}
    assert Counter(
        (row["store"], row["kind"], row["severity"], row["says"]) for row in table(tmp_path / "audit", "findings")
    ) == Counter(
        (name, found.kind, found.severity, found.says) for name, findings in reported.items() for found in findings
    )
    assert {found.kind for found in reported["s-9/broker-a"]} >= {"missing_entry"}
    *_, last = run("export", stores=roots, format="ndjson", out=tmp_path / "export")
    assert last["tables"] == {"messages": sum(len(made) for root in roots.values() for made in rows_of(root))}
