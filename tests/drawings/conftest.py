import shutil
from collections.abc import Iterator

import pytest

from tests.drawings.modules import Modules


@pytest.fixture(scope="session")
def node() -> str:
    executable = shutil.which("node")
    if executable is None:
        pytest.skip("no Node.js on this machine")
    return executable


@pytest.fixture(scope="session")
def modules(node: str) -> Iterator[Modules]:
    running = Modules(node)
    yield running
    running.end()
