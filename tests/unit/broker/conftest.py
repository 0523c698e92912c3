"""The stage most tests of the broker play on."""

import pytest

from tests.unit.broker.stage import Client, Stage


@pytest.fixture
def stage() -> Stage:
    """A broker and a name server in virtual time, with the topic `orders`."""
    stage = Stage()
    stage.topic("orders")
    return stage


@pytest.fixture
def admin(stage: Stage) -> Client:
    return stage.client()
