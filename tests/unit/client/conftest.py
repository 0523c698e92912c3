"""One scripted cluster per test."""

from collections.abc import Iterator

import pytest

from tests.unit.client.fake_cluster import FakeCluster


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    cluster = FakeCluster(T=4)
    yield cluster
    cluster.loop.close()
