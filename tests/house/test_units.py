"""Grouping of tests on a worker and their order."""

import pytest

from tests.units import FIRST, place_of, unit_of


def test_a_unit_is_a_file() -> None:
    assert unit_of("tests/web/test_x.py::test_a[1]") == unit_of("tests/web/test_x.py::test_b") == "tests/web/test_x.py"


def test_the_tests_of_one_spark_are_one_unit() -> None:
    assert unit_of("tests/pipeline/test_x.py::test_a") == unit_of("tests/pipeline/test_y.py::test_b")
    assert unit_of("tests/server/test_pipeline_at_work.py::test_a") != unit_of("tests/pipeline/test_y.py::test_b")


@pytest.mark.parametrize("folder", ["without_spark", "own_spark"])
def test_what_does_without_that_spark_is_a_unit_of_its_file(folder: str) -> None:
    assert unit_of(f"tests/pipeline/{folder}/test_x.py::test_a") == f"tests/pipeline/{folder}/test_x.py"


def test_what_is_about_one_peer_is_a_unit_of_its_file() -> None:
    java = [f"tests/interop/test_x.py::test_{name}[java-4.9.8{more}]" for name, more in (("a", ""), ("b", "-stopped"))]
    assert len({unit_of(test) for test in java}) == 1
    others = [f"tests/interop/test_x.py::test_a[{peer}]" for peer in ("java-5.3.3", "4.9.8", "ours", "signed-Java")]
    assert len({unit_of(test) for test in [*java, *others]}) == 5
    ours = [unit_of(f"tests/interop/ours/test_{name}.py::test_a[ours]") for name in "xy"]
    assert ours[0] == ours[1]


def test_long_units_begin_first() -> None:
    places = [place_of(f"tests/{folder}/test_x.py::test_a[a/b]") for folder in (*FIRST, "unit")]
    assert places == sorted(set(places))
    assert place_of("tests/web/test_x.py::test_a[/pipeline/]") == place_of("tests/unit/test_y.py::test_b")
    assert place_of("tests/pipeline/without_spark/test_x.py::test_a") == place_of("tests/unit/test_y.py::test_b")
