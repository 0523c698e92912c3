"""`simulate_class`: students who are different, and the same again for the same seed, laid out as sandboxes are."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from queueviz.runs.directories import sources_of_class
from sandbox.cluster import record as records
from sandbox.pipeline.sources.records import rows_of
from sandbox.simulation.classroom.class_directories import Lesson, make_class, make_student, write_sparse
from sandbox.store.reader import StoreReader
from tests.server.server import run

MINUTES = 0.75


def content(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes() for path in sorted(directory.rglob("*")) if path.is_file()
    }


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three students, made side by side by the command."""
    out = tmp_path_factory.mktemp("class") / "new"
    done = run(
        "simulate_class",
        "--students",
        "3",
        "--minutes",
        str(MINUTES),
        "--seed",
        "7",
        "--out",
        out,
        "--json",
        "--processes",
        "2",
        home=out.parent / "home",
    )
    assert done.returncode == 0, done.stderr
    figures: dict[str, Any] = orjson.loads(done.stdout)
    assert (figures["students"], figures["minutes"]) == (3, MINUTES)
    return out


def test_the_same_seed_gives_the_same_bytes_whatever_else_is_in_the_class(out: Path, tmp_path: Path) -> None:
    again = make_student(Lesson(1_000, MINUTES, "7"), "student-02", tmp_path)
    assert content(tmp_path / "student-02") == content(out / "student-02")
    assert again._asdict() == orjson.loads((out / "class.json").read_bytes())["made"][1]


def test_students_and_seeds_differ(out: Path, tmp_path: Path) -> None:
    [other] = make_class(Lesson(1, MINUTES, "8"), tmp_path, processes=1)
    journals = [
        b"".join(value for name, value in content(directory).items() if name.startswith("journal/"))
        for directory in (*sorted(out.glob("student-*")), tmp_path / other.name)
    ]
    assert len(journals) == len(set(journals)) == 4
    assert all(journals)


def test_every_directory_is_a_sandbox_s_and_its_stores_can_be_read(out: Path) -> None:
    sources = sources_of_class(out)
    assert sources is not None
    assert set(sources.journals) == {"student-01", "student-02", "student-03"}
    made = {one["name"]: one for one in orjson.loads((out / "class.json").read_bytes())["made"]}
    for name, one in made.items():
        record = records.load(out / name)
        assert (record.slug, record.template, record.running) == (name, one["template"], one["killed"])
        stores = {key: Path(path) for key, path in sources.stores.items() if key.startswith(f"{name}/")}
        assert set(stores) == {f"{name}/{node.directory}" for node in record.nodes if node.kind == "broker"}
        for root in stores.values():
            with StoreReader(root) as reader:
                assert sum(batch.num_rows for batch in rows_of(root)) == sum(1 for _ in reader.records())
        masters = [path for key, path in stores.items() if not key.endswith(".1")]
        assert sum(batch.num_rows for root in masters for batch in rows_of(root)) >= one["messages"] > 0


def test_a_directory_with_something_in_it_is_left_alone(out: Path, tmp_path: Path) -> None:
    wishes = [
        ("1", out, f"{out} is not empty. Choose an empty or new directory."),
        ("0", tmp_path, "--students takes 1 to 10000; --minutes more than 0"),
        ("1", out / "class.json", "is a file. Choose an empty or new directory."),
    ]
    before = content(out)
    for students, where, says in wishes:
        done = run("simulate_class", "--students", students, "--minutes", "1", "--out", where, home=tmp_path)
        assert done.returncode == 1
        assert says in done.stderr
    assert content(out) == before


@pytest.mark.parametrize("data", [b"", b"x", bytes(10_000), bytes(5_000) + b"x" + bytes(9_000), b"y" * 4_096 + b"\0"])
def test_zeros_take_no_room_and_come_back(data: bytes, tmp_path: Path) -> None:
    write_sparse(tmp_path / "a" / "file", data)
    assert (tmp_path / "a" / "file").read_bytes() == data
