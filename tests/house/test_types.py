"""Engine and web are typed strictly."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_engine_and_web_are_typed_strictly(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mypy", "--strict", "-p", "sandbox", "-p", "queueviz"]
    environ = os.environ | {"QUEUEVIZ_HOME": str(tmp_path)}  # mypy's plugin reads the settings, which make their home
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
