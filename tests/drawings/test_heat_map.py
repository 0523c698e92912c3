"""The heat map: with more queues than fit, strips show those with the largest lag."""

from tests.drawings.modules import Modules


def test_the_strips_are_of_the_twelve_queues_furthest_behind(modules: Modules) -> None:
    lags = {f"broker-a:{number}": str(number * 7 % 96) for number in range(96)}
    rows = {key: {"max": lag, "committed": "0"} for key, lag in lags.items()}
    rows["broker-b:1"] = {"max": None, "committed": None}
    found = modules("heat_map", "({ furthestBehind }, rows) => furthestBehind(rows)", rows)
    assert [lags.get(key) for key in found] == [str(lag) for lag in range(95, 83, -1)]
