from pathlib import Path

import pytest

from queueviz.operations.lite_build import NotBuilt
from sandbox.cluster.actors.feeds import prepare_flights
from tests.lite.node_runs import NodeRuns


@pytest.fixture(scope="session")
def feeds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepare_flights(tmp_path_factory.mktemp("feeds")).parent


@pytest.fixture(scope="session")
def node_runs(tmp_path_factory: pytest.TempPathFactory, feeds: Path) -> NodeRuns:
    try:
        return NodeRuns(tmp_path_factory.mktemp("archives"), feeds)
    except NotBuilt as error:
        pytest.skip(str(error))
