"""Wheels built from this tree, in environments that hold nothing but them and the packages that they require."""

import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.server.server import ROOT, environment

PIP = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
SPARK_WHEEL = ROOT / "script" / "spark_wheel"


def run(*command: str | Path, cwd: Path, timeout_s: float = 120.0) -> str:
    done = subprocess.run(
        command, cwd=cwd, env=environment(cwd / "home"), capture_output=True, text=True, timeout=timeout_s, check=False
    )
    if "No matching distribution found for hatchling" in done.stderr:
        pytest.skip("the registry that holds the build backend cannot be reached")
    assert done.returncode == 0, done.stderr
    return done.stdout


def installed(source: Path, directory: Path, *extras: str) -> Path:
    """Return the programs of an environment in `directory` that holds the wheel of `source` and what it requires.

    The required packages are links to those of the tests' environment.
    """
    run(*PIP, "wheel", "--no-deps", "--wheel-dir", directory, source, cwd=directory)
    [wheel] = directory.glob("*.whl")
    venv.create(directory / "venv", with_pip=False)
    run(*PIP, "--python", directory / "venv", "install", "--no-deps", "--no-index", wheel, cwd=directory)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(directory / "venv")}))
    [information] = packages.glob("queueviz*.dist-info")
    for required in closure(Distribution.at(information), frozenset(extras)):
        for name in {file.parts[0] for file in required.files or ()} - {"..", "__pycache__"}:
            if not (packages / name).exists():
                (packages / name).symlink_to(Path(str(required.locate_file(name))))
    return directory / "venv" / "bin"


def closure(root: Distribution, extras: frozenset[str]) -> Iterator[Distribution]:
    """Yield the distributions that one requires, directly and indirectly, each once."""
    waiting, done = [(root, extras)], set()
    while waiting:
        of, chosen = waiting.pop()
        for text in of.requires or ():
            requirement = Requirement(text)
            key = (requirement.name.lower(), frozenset(requirement.extras))
            marker = requirement.marker
            if key in done or (marker and not any(marker.evaluate({"extra": extra}) for extra in {"", *chosen})):
                continue
            done.add(key)
            required = distribution(requirement.name)
            assert requirement.specifier.contains(required.version, prereleases=True), text
            waiting.append((required, key[1]))
            yield required
