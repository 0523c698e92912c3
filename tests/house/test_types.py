"""Everything in the engine is typed strictly."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_engine_is_typed_strictly() -> None:
    command = [sys.executable, "-m", "mypy", "--strict", "sandbox"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
