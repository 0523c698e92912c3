"""All boards and parts, by name."""

from __future__ import annotations

from typing import NamedTuple

from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from queueviz.boards.asks import ASK
from queueviz.boards.board import BOARD, PEEK, RAIL, WHY
from queueviz.boards.client import CLIENT
from queueviz.boards.cluster import STATE, TROUBLE
from queueviz.boards.connect import CONNECT
from queueviz.boards.frames import FRAMES
from queueviz.boards.groups import GROUPS
from queueviz.boards.index import INDEX
from queueviz.boards.journal import JOURNAL
from queueviz.boards.locks import LOCKS
from queueviz.boards.message import LIFE, MESSAGE
from queueviz.boards.messages import MESSAGES
from queueviz.boards.page import BoardPage, Part
from queueviz.boards.plain import SETTINGS
from queueviz.boards.rebalance import REBALANCE
from queueviz.boards.reset import DIALOG, RESET
from queueviz.boards.side import SIDE
from queueviz.boards.store import STORE
from queueviz.boards.topics import TOPIC_FORM, TOPIC_SHEET, TOPICS
from queueviz.boards.topology import MAP, PANEL, TOPOLOGY


class Tab(NamedTuple):
    name: str
    path: str
    title: object


BOARDS: dict[str, BoardPage] = {
    page.name: page for page in (BOARD, GROUPS, REBALANCE, LOCKS, STORE, INDEX, RESET, TOPOLOGY, TOPICS, JOURNAL,
                                 SETTINGS, CLIENT, FRAMES, CONNECT, MESSAGES, MESSAGE)
}
PARTS: dict[str, Part] = {part.name: part for part in (RAIL, ASK, DIALOG, PEEK, WHY, SIDE, TOPIC_FORM, TOPIC_SHEET, MAP,
                                                 PANEL, STATE, TROUBLE, LIFE)}
TABS = (
    Tab("board", "", _("Board")),
    Tab("groups", "groups/", pgettext_lazy("page", "Groups")),
    Tab("rebalance", "rebalance/", _("Rebalance")),
    Tab("locks", "locks/", _("Locks")),
    Tab("store", "store/", _("Store")),
    Tab("index", "index/", _("Index")),
    Tab("messages", "messages/", pgettext_lazy("page", "Messages")),
    Tab("topology", "topology/", _("Topology")),
    Tab("topics", "topics/", _("Topics")),
    Tab("journal", "journal/", _("Journal")),
)
