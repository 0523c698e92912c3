"""Shared fixtures of broker tests."""

import pytest

from tests.unit.broker.stage import Client, Stage, stage_with
from tests.unit.broker.transactions import Transactor
from tests.unit.broker.world import Time

stage = stage_with(queues=4)


@pytest.fixture
def client(stage: Stage) -> Client:
    return stage.client()


@pytest.fixture
def admin(stage: Stage) -> Client:
    return stage.client()


@pytest.fixture
def shop(stage: Stage) -> Transactor:
    return Transactor(stage)


@pytest.fixture
def time() -> Time:
    return Time()
