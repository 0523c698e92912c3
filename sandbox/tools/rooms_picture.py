"""The drawing `docs/images/rooms.svg`: packages by layer with their imports, from the import graph.

An arrow that follows from others (a to c, where a imports b and b imports c) is left out.
"""

import textwrap
import tomllib
from collections.abc import Iterator
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

NAME = "images/rooms.svg"  # below docs
WIDTH, MARGIN, GAP = 1080, 110, 56
BOX_HEIGHT, BOX_GAP, WIDEST_BOX = 64, 20, 420
LEFT, RIGHT = -1, 1
LANE = 9  # between two arrows beside the boxes
CHAR_WIDTH = 6.1  # of a description, at 11 px
STYLE = """
  :root { color-scheme: light dark }
  rect { fill: #fff; stroke: #8a94a6 } path { fill: none; stroke: #8a94a6; stroke-width: 1.2; marker-end: url(#tip) }
  marker path { fill: #8a94a6; stroke: none }
  text { fill: #1c2430; text-anchor: middle; font: 11px system-ui, sans-serif }
  .name { font: 600 14px ui-monospace, monospace }
  @media (prefers-color-scheme: dark) { rect { fill: #161b24; stroke: #6b7688 } text { fill: #e6eaf0 } }
"""


class Box(NamedTuple):
    room: str
    x: float
    y: float
    width: float

    @property
    def middle(self) -> float:
        return self.x + self.width / 2


def picture(root: Path) -> str:
    """Return the SVG.  `root`: the checkout, whose pyproject.toml lists the layers for import-linter."""
    rows = layers(root)
    boxes = {box.room: box for number, row in enumerate(rows) for box in _row(row, number)}
    height = len(rows) * (BOX_HEIGHT + GAP) - GAP + 2
    drawn: list[str] = []
    lanes: dict[int, Iterator[int]] = {LEFT: count(1), RIGHT: count(1)}
    pairs = sorted(arrows(imports(list(boxes))))
    for above, below in sorted(pairs, key=lambda pair: boxes[pair[1]].y - boxes[pair[0]].y):
        drawn.append(_arrow(boxes[above], boxes[below], lanes))
    drawn += [line for box in boxes.values() for line in _box(box)]
    view = f"{-MARGIN} 0 {WIDTH + 2 * MARGIN} {height}"
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{view}" role="img">',
            "<title>Rooms, and which one imports which</title>",
            f"<style>{STYLE}</style>",
            '<marker id="tip" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto">'
            '<path d="M0 0L8 4L0 8z"/></marker>',
            *drawn,
            "</svg>",
            "",
        )
    )


def layers(root: Path) -> list[list[str]]:
    """Return the packages by layer, the highest first."""
    contracts = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    [rooms] = [contract["layers"] for contract in contracts if contract["type"] == "layers"]
    return [row.split(" | ") for row in rooms]


def imports(rooms: list[str]) -> set[tuple[str, str]]:
    """Return pairs of importing and imported package, type imports included."""
    import grimp  # for the documentation only

    graph = grimp.build_graph("sandbox", "queueviz", cache_dir=None)
    return {
        (above, below)
        for above in rooms
        for below in rooms
        if above != below
        and graph.find_shortest_chain(above, below, as_packages=True) is not None
        and graph.find_matching_direct_imports(import_expression=f"{above}.** -> {below}.**")
    }


def arrows(pairs: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return the pairs without those that follow from others."""
    reached = set(pairs)
    while more := {(a, d) for a, b in reached for c, d in pairs if b == c} - reached:
        reached |= more
    between = {below for _, below in pairs}
    return {(a, c) for a, c in pairs if not any((a, b) in pairs and (b, c) in reached for b in between)}


def _row(rooms: list[str], number: int) -> list[Box]:
    width = min(WIDEST_BOX, (WIDTH - BOX_GAP * (len(rooms) - 1) - 2) / len(rooms))
    left = (WIDTH - width * len(rooms) - BOX_GAP * (len(rooms) - 1)) / 2
    top = number * (BOX_HEIGHT + GAP) + 1
    return [Box(room, left + at * (width + BOX_GAP), top, width) for at, room in enumerate(rooms)]


def _box(box: Box) -> list[str]:
    """Return the SVG elements of a package: a box with its name and the first sentence of its docstring."""
    text = (import_module(box.room).__doc__ or "").split("\n\n")[0].replace("\n", " ")
    sentence, letters = text.split(".  ")[0].rstrip("."), int((box.width - 16) / CHAR_WIDTH)
    words = textwrap.wrap(sentence, letters, max_lines=2, placeholder=" …")
    return [
        f'<rect x="{box.x:g}" y="{box.y:g}" width="{box.width:g}" height="{BOX_HEIGHT}" rx="8"/>',
        f'<text class="name" x="{box.middle:g}" y="{box.y + 21:g}">{box.room.removeprefix("sandbox.")}</text>',
        *(
            f'<text x="{box.middle:g}" y="{box.y + 38 + 15 * line:g}">{escape(part)}</text>'
            for line, part in enumerate(words)
        ),
    ]


def _arrow(above: Box, below: Box, lanes: dict[int, Iterator[int]]) -> str:
    """Return the SVG path of an arrow to the upper edge of a box.

    It goes straight down, or beside the boxes if others are between.
    """
    end = f"{below.middle:g} {below.y - GAP:g} {below.middle:g} {below.y:g}"
    from_y = above.y + BOX_HEIGHT
    if below.y - from_y <= GAP:
        return f'<path d="M{above.middle:g} {from_y:g}C{above.middle:g} {below.y:g} {end}"/>'
    side = LEFT if above.middle < WIDTH / 2 else RIGHT
    edge = above.x if side == LEFT else above.x + above.width
    lane = (0 if side == LEFT else WIDTH) + side * LANE * next(lanes[side])
    middle = above.y + BOX_HEIGHT / 2
    return (
        f'<path d="M{edge:g} {middle:g}C{lane:g} {middle:g} {lane:g} {middle:g} {lane:g} {from_y + GAP:g}'
        f'V{below.y - GAP:g}C{lane:g} {below.y - GAP / 2:g} {end}"/>'
    )
