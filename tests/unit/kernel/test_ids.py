"""Names that must not collide."""

import uuid

import pytest

from sandbox.kernel.ids import random_uuid


@pytest.mark.parametrize("drawn", [0, 1, 2**64, 2**128 - 1, 0x0123456789ABCDEF_FEDCBA9876543210])
def test_a_drawn_number_becomes_a_uuid_of_version_4(drawn: int) -> None:
    assert random_uuid(drawn) == str(uuid.UUID(int=drawn, version=4))
