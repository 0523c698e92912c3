"""The QR picture of a join address: square, with a light margin, and the same for the same address."""

import re

from queueviz.courses.join_picture import QUIET, join_picture


def test_the_picture_has_a_light_margin_and_three_corners() -> None:
    picture = join_picture("https://queueviz.example/join/?code=KTRMWQ")
    dark = {(int(x), int(y)) for x, y in re.findall(r"M(\d+) (\d+)h1v1h-1z", picture.path)}
    last = picture.side - QUIET - 1
    assert {value for module in dark for value in module} <= set(range(QUIET, last + 1))
    assert {(QUIET, QUIET), (last, QUIET), (QUIET, last)} <= dark
    assert picture == join_picture("https://queueviz.example/join/?code=KTRMWQ")
