"""The registry of all boards and parts, by name."""

from __future__ import annotations

from queueviz.boards.board import BOARD, PEEK, RAIL, WHY
from queueviz.boards.client import CLIENT
from queueviz.boards.cluster import STATE, TROUBLE
from queueviz.boards.connect import CONNECT
from queueviz.boards.dialog_forms import ASK
from queueviz.boards.findings import FINDINGS, LINE
from queueviz.boards.frames import FRAMES
from queueviz.boards.groups import GROUPS
from queueviz.boards.index import INDEX
from queueviz.boards.journal import JOURNAL
from queueviz.boards.locks import LOCKS
from queueviz.boards.message import LIFE, MESSAGE
from queueviz.boards.messages import MESSAGES
from queueviz.boards.page import BoardPage, Part
from queueviz.boards.rebalance import REBALANCE
from queueviz.boards.reset import DIALOG, RESET
from queueviz.boards.retry_queues import SIDE
from queueviz.boards.settings_page import SETTINGS
from queueviz.boards.store import STORE
from queueviz.boards.topics import TOPIC_FORM, TOPIC_SHEET, TOPICS
from queueviz.boards.topology import MAP, PANEL, TOPOLOGY

BOARDS: dict[str, BoardPage] = {  # those with a title in the order of the navigation
    page.name: page
    for page in (
        BOARD,
        FINDINGS,
        GROUPS,
        REBALANCE,
        LOCKS,
        STORE,
        INDEX,
        MESSAGES,
        TOPOLOGY,
        TOPICS,
        JOURNAL,
        RESET,
        SETTINGS,
        CLIENT,
        FRAMES,
        CONNECT,
        MESSAGE,
    )
}
TABS = tuple(page for page in BOARDS.values() if page.title is not None)
PARTS: dict[str, Part] = {
    part.name: part
    for part in (RAIL, LINE, ASK, DIALOG, PEEK, WHY, SIDE, TOPIC_FORM, TOPIC_SHEET, MAP, PANEL, STATE, TROUBLE, LIFE)
}


def part_of(name: str) -> tuple[BoardPage | Part, str] | None:
    """Return a panel, or a page as its table twin, with the template that shows it.  None if neither exists."""
    if name in PARTS:
        return PARTS[name], PARTS[name].template
    page = BOARDS.get(name)
    return None if page is None or page.twin is None else (page, page.twin)
