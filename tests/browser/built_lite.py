"""The files of Lite for browser tests, built once for all processes that need them."""

import fcntl
import shutil
from pathlib import Path

import pytest

from queueviz.operations.lite_build import Built, NotBuilt, build
from tests.browser.conftest import ROOT

STATIC = ROOT / "var" / "static"


def built_lite() -> Built:
    """Return the files below `STATIC`; skip the test without Node.js or its packages."""
    if shutil.which("node") is None:
        pytest.skip("no Node.js on this machine: script/setup node")
    STATIC.mkdir(parents=True, exist_ok=True)
    with Path(STATIC, "lite.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            return build(ROOT, ROOT / "var", quick=True, static=STATIC)
        except NotBuilt as error:
            pytest.skip(str(error))
