"""nbgrader and Otter in an environment of their own, made at first need; ours lies beneath it, for the kernel."""

import hashlib
import os
import subprocess
import sys
import venv
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from tests.server.server import ROOT

REQUIREMENTS = Path(__file__).with_name("requirements.txt")
HOME = ROOT / "var" / "graders"
MADE = HOME / ".requirements"
INSTALL_S, RUN_S = 900, 300


class Unavailable(Exception):
    """The registry cannot be reached."""


def make() -> Path:
    """Its programs' directory.  Raises Unavailable."""
    programs = HOME / "bin"
    wanted = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()
    if MADE.is_file() and MADE.read_text() == wanted:
        return programs
    venv.create(HOME, clear=True, with_pip=True)
    done = subprocess.run(
        [programs / "pip", "install", "--quiet", "--disable-pip-version-check", "-r", REQUIREMENTS],
        capture_output=True,
        text=True,
        timeout=INSTALL_S,
        check=False,
    )
    if done.returncode != 0:
        raise Unavailable(f"nbgrader and Otter cannot be installed here: {done.stderr.strip()[-300:]}")
    [packages] = (HOME / "lib").glob("python3*/site-packages")
    ours = next(path for path in sys.path if path.endswith("site-packages"))
    (packages / "queueviz.pth").write_text(f"{ROOT}\n{ours}\n")
    MADE.write_text(wanted)
    return programs


def run(programs: Path, where: Path, *command: str, environment: Mapping[str, str] = MappingProxyType({})) -> str:
    """Run a command and return its output.  `environment`: further variables."""
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    surroundings = {**os.environ, "HOME": str(where), "PATH": path, **environment}
    done = subprocess.run(
        [str(programs / command[0]), *command[1:]],
        cwd=where,
        env=surroundings,
        capture_output=True,
        text=True,
        timeout=RUN_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout
