"""The Settings page, a page without a drawing."""

from __future__ import annotations

from queueviz.boards.board import live_config
from queueviz.boards.js_texts import texts
from queueviz.boards.page import BoardPage, Context, Place, Readings

PRESET_KEYS = (
    ("commit_log_file_bytes", "1 GiB", "1 MiB"),
    ("consume_queue_file_entries", "300 000", "1 000"),
    ("index_slots", "5 000 000", "1 000"),
    ("index_entries", "20 000 000", "4 000"),
    ("max_message_bytes", "4 MiB", "256 KiB"),
    ("memory_bytes", None, "64 MiB"),
    ("file_reserved_hours", "72", "72"),
)


def _settings(place: Place, readings: Readings) -> Context:
    live = live_config(place, readings, {}, tab="settings")
    return {"preset_keys": PRESET_KEYS, "live": live, "texts": texts()}


def _nothing(place: Place) -> list[str]:
    return []


SETTINGS = BoardPage(
    name="settings", path="settings/", template="queueviz/boards/settings.html", channels=_nothing, context=_settings
)
