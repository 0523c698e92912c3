"""A name server with its broker, and a client of it."""

import pytest

from tests.unit.broker.stage import NAME_SERVER, Client, Stage, stage_with

stage = stage_with()


@pytest.fixture
def client(stage: Stage) -> Client:
    return stage.client(address=NAME_SERVER)
