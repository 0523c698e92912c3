"""Packed bytes of the Board's own scripts and styles: the first warning before the browser's measure.

`tests/browser/test_frugal_pages_in_a_browser.py` measures the first view with fonts, libraries and hashed names against
the 120 kB of product.md 6.4; it is not in each run.
"""

import gzip
import re
from pathlib import Path

from django.test import Client

from queueviz.operations.module_graph import imported
from queueviz.operations.static_files import without_comments

OURS = Path(__file__).parents[2] / "static" / "queueviz"
MOST_BYTES = 76_300  # 46,500 more are fonts, libraries and the hashes in names


def packed_bytes(name: str) -> int:
    return len(gzip.compress(without_comments((OURS / name).read_text("utf-8")).encode(), 9))


def test_scripts_and_styles_of_the_board_leave_room_for_fonts_and_libraries(visitor: Client, mine: str) -> None:
    page = visitor.get(f"/s/{mine}/").content.decode()
    styles = set(re.findall(r'rel="stylesheet" href="[^"]*queueviz/(css/\w+)', page))
    assert {"css/board", "css/findings"} <= styles
    scripts = {"page_board.js", *imported("page_board.js")}
    assert len(scripts) > 40
    names = [*(f"{name}.css" for name in styles), *(f"js/{name}" for name in scripts)]
    assert sum(map(packed_bytes, names)) <= MOST_BYTES
