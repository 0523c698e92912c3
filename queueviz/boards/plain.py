"""Pages without a drawing of their own: Journal, Settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from queueviz.boards.board import live_config
from queueviz.boards.js_texts import texts
from queueviz.boards.page import BoardPage, Place

PRESET_KEYS = (
    ("commit_log_file_bytes", "1 GiB", "1 MiB"),
    ("consume_queue_file_entries", "300 000", "1 000"),
    ("index_slots", "5 000 000", "1 000"),
    ("index_entries", "20 000 000", "4 000"),
    ("max_message_bytes", "4 MiB", "256 KiB"),
    ("memory_bytes", None, "64 MiB"),
    ("file_reserved_hours", "72", "72"),
)


def _live(place: Place, readings: Mapping[str, Any], tab: str) -> dict[str, Any]:
    return {"live": live_config(place, readings, {}, tab=tab), "texts": texts()}


def _settings(place: Place, readings: Mapping[str, Any]) -> dict[str, Any]:
    return {"preset_keys": PRESET_KEYS} | _live(place, readings, "settings")


def _nothing(place: Place) -> list[str]:
    return []


JOURNAL = BoardPage(
    name="journal", path="journal/", attached=True, template="queueviz/boards/journal.html", channels=_nothing,
    context=lambda place, readings: _live(place, readings, "journal"),
)  # fmt: skip
SETTINGS = BoardPage(
    name="settings", path="settings/", template="queueviz/boards/settings.html", channels=_nothing, context=_settings
)
