"""Pages without a drawing of their own: Topics, Journal, Settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from queueviz.boards.board import live_config
from queueviz.boards.js_texts import texts
from queueviz.boards.page import BoardPage, Part, Place

PRESET_KEYS = (
    ("commit_log_file_bytes", "1 GiB", "1 MiB"),
    ("consume_queue_file_entries", "300 000", "1 000"),
    ("index_slots", "5 000 000", "1 000"),
    ("index_entries", "20 000 000", "4 000"),
    ("max_message_bytes", "4 MiB", "256 KiB"),
    ("memory_bytes", None, "64 MiB"),
)


def topic_rows(place: Place) -> list[dict[str, Any]]:
    """Topics with one row per broker behind them, and the brackets of writable and readable ids."""
    found = []
    for topic in sorted(place.topics, key=lambda t: (t.get("kind", "normal") != "normal", t["topic"])):
        read, write = topic["read_queues"], topic["write_queues"]
        queues = topic.get("queues", ())
        found.append(
            {
                **topic,
                "brokers": sorted({queue["broker"] for queue in queues}),
                "messages": sum(int(q["max"]) - int(q["min"]) for q in queues if q.get("max") is not None),
                "rate": sum(q.get("rate_per_s") or 0 for q in queues),
                "ids": [_bracket(i, read, write) for i in range(max(read, write))],
                "stranded": max(0, write - read),
                "starved": max(0, read - write),
            }
        )
    return found


def _bracket(queue_id: int, read: int, write: int) -> str:
    return "rw" if queue_id < read and queue_id < write else "ro" if queue_id < read else "wo"


def _live(place: Place, readings: Mapping[str, Any], tab: str) -> dict[str, Any]:
    return {"live": live_config(place, readings, {}, tab=tab), "texts": texts()}


def _topics(place: Place, readings: Mapping[str, Any]) -> dict[str, Any]:
    return {"topic_rows": topic_rows(place), "chosen": place.query.get("topic")} | _live(place, readings, "topics")


def _settings(place: Place, readings: Mapping[str, Any]) -> dict[str, Any]:
    return {"preset_keys": PRESET_KEYS} | _live(place, readings, "settings")


def _nothing(place: Place) -> list[str]:
    return []


TOPICS = BoardPage(
    name="topics", path="topics/", template="queueviz/boards/topics.html", twin="queueviz/partials/topics_table.html",
    channels=_nothing, context=_topics,
)  # fmt: skip
JOURNAL = BoardPage(
    name="journal", path="journal/", template="queueviz/boards/journal.html", channels=_nothing,
    context=lambda place, readings: _live(place, readings, "journal"),
)  # fmt: skip
SETTINGS = BoardPage(
    name="settings", path="settings/", template="queueviz/boards/settings.html", channels=_nothing, context=_settings
)
TOPIC_FORM = Part(
    name="topic-form", template="queueviz/partials/topic_form.html", channels=_nothing,
    context=lambda place, readings: {
        "chosen": next((t for t in place.topics if t["topic"] == place.query.get("topic")), None)
    },
)  # fmt: skip
