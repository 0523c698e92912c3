"""Presets: three sets of sizes, single keys changed within bounds."""

import pytest

from sandbox.cluster.presets import PRESETS, preset_of
from sandbox.kernel.errors import ActionRefused


def test_timers_and_flush_are_real_in_every_preset() -> None:
    assert {(preset.flush, preset.replication) for preset in PRESETS.values()} == {("ASYNC_FLUSH", "ASYNC_MASTER")}


def test_a_single_key_can_be_changed() -> None:
    assert preset_of("sandbox", {"index_slots": "97"}).index_slots == 97
    assert preset_of("sandbox", {"flush": "SYNC_FLUSH"}).flush == "SYNC_FLUSH"


@pytest.mark.parametrize(
    ("key", "value"), [("index_slots", 3), ("index_slots", "many"), ("flush", "SOMETIMES"), ("x", 1)]
)
def test_unknown_keys_and_values_out_of_range_are_refused(key: str, value: object) -> None:
    with pytest.raises(ActionRefused) as refusal:
        preset_of("sandbox", {key: value})
    assert refusal.value.status == 422
    assert refusal.value.field == key
