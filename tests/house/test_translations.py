"""Every sentence exists in both languages, with the same values in it; every action and every fact has one."""

import os
import re
from gettext import GNUTranslations
from pathlib import Path

from queueviz.boards.action_texts import ACTIONS
from queueviz.boards.fact_texts import FACTS
from queueviz.translations import compile_translations
from sandbox.control.actions import BY_NAME as ACTION_NAMES
from sandbox.journal.events import BY_NAME, FLOW
from tests.house.conftest import NeededForRelease

CATALOGUE = Path(__file__).parents[2] / "queueviz" / "locale" / "zh_Hans" / "LC_MESSAGES" / "django.po"
LINES = r'(?:".*"\n)+'
ENTRY = re.compile(rf"^msgid (?P<en>{LINES})(?:msgid_plural (?P<many>{LINES}))?msgstr(?:\[0\])? (?P<zh>{LINES})", re.M)
VALUE = re.compile(r"\{\w+\}|%\(\w+\)s|<b [^>]*>|\*\*")


def entries() -> list[tuple[str, str]]:
    text = CATALOGUE.read_text("utf-8").split("\n\n", 1)[1] + "\n"
    return [("".join(m["many"] or m["en"]), "".join(m["zh"])) for m in ENTRY.finditer(text)]


def test_every_sentence_is_translated(needed_for_release: NeededForRelease) -> None:
    assert len(entries()) > 500
    needed_for_release([en for en, zh in entries() if zh.strip() == '""'], f"translate the texts of {CATALOGUE.name}")


def test_translations_keep_their_values() -> None:
    lost = [(en, zh) for en, zh in entries() if zh.strip() != '""' and set(VALUE.findall(zh)) != set(VALUE.findall(en))]
    assert lost == []


def test_a_text_without_a_translation_is_shown_in_english_and_a_newer_source_is_compiled_again(tmp_path: Path) -> None:
    folder = tmp_path / "zh_Hans" / "LC_MESSAGES"
    folder.mkdir(parents=True)
    source, compiled = folder / "django.po", folder / "django.mo"
    head = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n'
    source.write_text(f'{head}msgid "Lag"\nmsgstr "堆积"\n\nmsgid "New"\nmsgstr ""\n')
    assert compile_translations(tmp_path) == [compiled]
    assert compile_translations(tmp_path) == []
    with compiled.open("rb") as file:
        texts = GNUTranslations(file)
    assert (texts.gettext("Lag"), texts.gettext("New")) == ("堆积", "New")
    newer_s = compiled.stat().st_mtime + 1
    os.utime(source, (newer_s, newer_s))
    assert compile_translations(tmp_path) == [compiled]
    assert [path.name for path in folder.iterdir()].count("django.mo") == len(list(folder.iterdir())) - 1


def test_every_action_and_every_fact_has_a_sentence() -> None:
    """Flow is not written one by one; everything else is, in plain words."""
    reported = {name.partition(":")[0] for name in FACTS}
    assert {event.__name__ for event in set(BY_NAME.values()) - FLOW} - reported == set()
    assert set(ACTION_NAMES) - {name.partition(":")[0] for name in ACTIONS} == set()
