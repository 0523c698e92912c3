"""The packages by which Spark 4 finds the formats, and the wheels that have them at the top level."""

import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from pyspark.sql.datasource import CaseInsensitiveDict, DataSource

from sandbox.pipeline import spark_packages
from sandbox.pipeline.rocketmq import RocketMQ
from sandbox.pipeline.sources.journal import JournalSource
from sandbox.pipeline.sources.store import StoreSource
from tests.server.server import ROOT

FOLDER = Path(spark_packages.__path__[0])
NAMES = sorted(path.name for path in FOLDER.glob("pyspark_*"))
SOURCES: dict[str, type[DataSource]] = {
    "pyspark_rocketmq": RocketMQ,
    "pyspark_rocketmq_journal": JournalSource,
    "pyspark_rocketmq_store": StoreSource,
}
LOOK_UP = """
import sys
import pyspark.sql.worker.lookup_data_sources
before = set(sys.modules)
for name in sys.argv[2:]:
    sys.path.insert(0, sys.argv[1])
    assert issubclass(__import__(name).DefaultSource, pyspark.sql.datasource.DataSource)
print(*sorted(set(sys.modules) - before))
"""


def project(path: str) -> Any:
    return tomllib.loads((ROOT / path).read_text("utf-8"))


def test_every_format_has_its_package() -> None:
    assert sorted(SOURCES) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_package_makes_the_source_of_its_format(name: str) -> None:
    package = import_module(f"sandbox.pipeline.spark_packages.{name}")
    options = CaseInsensitiveDict({"Path": "/srv"})
    source = package.DefaultSource(options=options)
    assert type(source) is SOURCES[name]
    assert package.DefaultSource.name() == source.name()
    assert source.options is options


def test_looking_up_formats_loads_the_packages_alone() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOOK_UP, FOLDER, *NAMES], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split() == NAMES, "every Spark program of the environment pays for these imports"


@pytest.mark.parametrize("path", ["pyproject.toml", "script/spark_wheel/pyproject.toml"])
def test_the_wheels_have_the_packages_at_the_top_level(path: str) -> None:
    included = project(path)["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    paths = {name: Path(source) for source, name in included.items() if name in NAMES}
    assert {name: ((ROOT / path).parent / source).resolve() for name, source in paths.items()} == {
        name: FOLDER / name for name in NAMES
    }


def test_both_wheels_require_the_same_versions() -> None:
    whole, small = (project(path)["project"] for path in ("pyproject.toml", "script/spark_wheel/pyproject.toml"))
    versions = {name: of.specifier for of in map(Requirement, whole["dependencies"]) if (name := of.name)}
    own = [Requirement(text) for text in small["dependencies"]]
    assert [str(of) for of in own if versions.get(of.name, of.specifier) != of.specifier] == []
    assert {of.name for of in own} - set(versions) == {"numpy", "pyarrow"}, "of the extra sql of pyspark"
    assert small["requires-python"] == whole["requires-python"]
