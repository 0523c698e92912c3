"""Every sentence exists in both languages, with the same values in it; every action and every fact has one."""

import re
from pathlib import Path

from queueviz.boards.action_texts import ACTIONS
from queueviz.boards.fact_texts import FACTS
from sandbox.control.actions import BY_NAME as ACTION_NAMES
from sandbox.journal.events import BY_NAME, FLOW

CATALOGUE = Path(__file__).parents[2] / "queueviz" / "locale" / "zh_Hans" / "LC_MESSAGES" / "django.po"
LINES = r'(?:".*"\n)+'
ENTRY = re.compile(rf"^msgid (?P<en>{LINES})(?:msgid_plural (?P<many>{LINES}))?msgstr(?:\[0\])? (?P<zh>{LINES})", re.M)
VALUE = re.compile(r"\{\w+\}|%\(\w+\)s|<b [^>]*>|\*\*")


def entries() -> list[tuple[str, str]]:
    text = CATALOGUE.read_text("utf-8").split("\n\n", 1)[1] + "\n"
    return [("".join(m["many"] or m["en"]), "".join(m["zh"])) for m in ENTRY.finditer(text)]


def test_every_sentence_is_translated() -> None:
    missing = [en for en, zh in entries() if zh.strip() == '""']
    assert len(entries()) > 500
    assert missing == []


def test_translations_keep_their_values() -> None:
    lost = [(en, zh) for en, zh in entries() if set(VALUE.findall(zh)) != set(VALUE.findall(en))]
    assert lost == []


def test_every_action_and_every_fact_has_a_sentence() -> None:
    """Flow is not written one by one; everything else is, in plain words."""
    reported = {name.partition(":")[0] for name in FACTS}
    assert {event.__name__ for event in set(BY_NAME.values()) - FLOW} - reported == set()
    assert set(ACTION_NAMES) - {name.partition(":")[0] for name in ACTIONS} == set()
