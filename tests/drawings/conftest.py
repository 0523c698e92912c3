import shutil
from collections.abc import Iterator

import pytest

from tests.drawings.modules import Modules


@pytest.fixture(scope="session")
def modules() -> Iterator[Modules]:
    node = shutil.which("node")
    if node is None:
        pytest.skip("no Node.js on this machine")
    running = Modules(node)
    yield running
    running.end()
