"""Size of the player, and of the file that holds it with a recording."""

import gzip
import re
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from queueviz.operations.module_graph import imported
from queueviz.operations.static_files import without_comments

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden" / "recordings" / "0.1.0.qvr"


def test_the_player_with_all_it_imports_has_at_most_26_kb_packed_as_it_is_served() -> None:
    names = ("player.js", *imported("player.js"))
    assert len(names) > 10
    sources = ((ROOT / "static" / "queueviz" / "js" / name).read_text("utf-8") for name in names)
    assert len(gzip.compress("".join(map(without_comments, sources)).encode(), 9)) <= 26_000


def test_an_offline_file_has_at_most_150_kb_beside_its_recording_and_names_no_address(tmp_path: Path) -> None:
    page = tmp_path / "a.html"
    call_command("recording", "page", str(GOLDEN), str(page), "--title", "Locks <b>", "--language", "zh-hans")
    text = page.read_text("utf-8")
    assert '<script id="notes" type="application/json">[]</script>' in text
    packed_bytes = -(-GOLDEN.stat().st_size // 3) * 4
    assert len(text.encode()) - packed_bytes <= 150_000
    assert "<title>Locks &lt;b&gt;</title>" in text
    assert not re.search(r"""(?:src|href)=["'](?!data:|#)|url\((?!#|data:)|https?://(?!www\.w3\.org/)""", text)


def test_an_offline_file_keeps_the_notes(tmp_path: Path) -> None:
    page, notes = tmp_path / "a.html", tmp_path / "notes.txt"
    notes.write_text("#40 Which member acquires q6?\n", "utf-8")
    call_command("recording", "page", str(GOLDEN), str(page), "--notes", str(notes))
    assert '[{"seq":40,"text":"Which member acquires q6?"}]' in page.read_text("utf-8")
    notes.write_text("no event number", "utf-8")
    with pytest.raises(CommandError, match="A note is a line with an event number and a text"):
        call_command("recording", "page", str(GOLDEN), str(page), "--notes", str(notes))
