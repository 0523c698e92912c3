"""A recording and its player as one HTML file without requests: for mail, slides, machines without a network."""

import base64
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from django.contrib.staticfiles import finders
from django.template.loader import render_to_string
from django.utils.html import json_script
from django.utils.safestring import mark_safe

from queueviz.boards.js_texts import PageTexts, texts
from queueviz.boards.player_texts import PLAYER_WORDS
from queueviz.links.share_links import Note
from queueviz.operations.module_graph import imported

MAIN = "page_offline.js"
STYLES = ("tokens", "base", "strip", "board", "player")
FROM = re.compile(r"""(\bfrom|\bimport)\s*(["'])\./(\w+\.js)\2""")
KEY = re.compile(r"""["`](\w+\.[\w ]+)["`]""")  # of a text, as "strip.head"
FAMILY = re.compile(r"""["`](\w+)\.(?:[\w ]*\$\{|["`])""")  # of texts whose keys are computed, as `strip.${name}`
FONT = re.compile(r"@font-face\s*\{[^}]*\}\s*")
COMMENT = re.compile(r"/\*.*?\*/\s*", re.DOTALL)
SPACE = re.compile(r" (?=[{}>])|(?<=[{};:,>])\s+|;\s*(?=})")  # in a style sheet: none of them means anything
INDENT = re.compile(r"^[ \t]+|^[ \t]*//[^\n]*\n|^\n", re.MULTILINE)
BREAK = re.compile(r"^((?!.*//).*[{;,])\n", re.MULTILINE)  # of lines that need none: 3 bytes in an address
LEFT_ALONE = " !\"$&'()*+,-./:;=?@[\\]^_`{|}~<>"  # in a data address: what is written as it is


class Letters(json.JSONEncoder):
    """A JSON encoder for small files: without spaces, and without escapes of letters, which have twice the bytes."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "ensure_ascii": False, "separators": (",", ":")})


def offline_page(recording: bytes, *, title: str, language: str, notes: Sequence[Note] = ()) -> str:
    """Return the HTML file.  Its modules import each other through an import map of data addresses.

    `notes`: the player shows them, and pauses there.
    """
    modules = {f"queueviz/{name}": _address(name) for name in (MAIN, *imported(MAIN))}
    context = {
        "title": title,
        "language": language,
        "main": f"queueviz/{MAIN}",
        "texts": json_script(_said(), "texts", Letters),
        "notes": json_script([note._asdict() for note in notes], "notes", Letters),
        "styles": mark_safe("\n".join(map(_style, STYLES))),
        "modules": mark_safe(json.dumps({"imports": modules}, cls=Letters).replace("</", "<\\/")),
        "recording": base64.b64encode(recording).decode(),
    }
    return render_to_string("queueviz/pages/offline.html", context)


def _address(module: str) -> str:
    source = BREAK.sub(r"\1", FROM.sub(r"\1 \2queueviz/\3\2", _shortened(_read(f"js/{module}"))))
    return f"data:text/javascript,{quote(source, safe=LEFT_ALONE)}"


def _said() -> PageTexts:
    """Return the texts that the modules name."""
    source = "".join(_read(f"js/{name}") for name in (MAIN, *imported(MAIN)))
    keys, families = set(KEY.findall(source)), set(FAMILY.findall(source))
    words = texts(PLAYER_WORDS)
    return {
        **words,
        "texts": {
            key: text for key, text in words["texts"].items() if key in keys or key.partition(".")[0] in families
        },
    }


def _style(name: str) -> str:
    return SPACE.sub("", _shortened(FONT.sub("", _read(f"css/{name}.css"))))


def _shortened(source: str) -> str:
    """Return the source without comments, indentation and empty lines."""
    return INDENT.sub("", COMMENT.sub("", source))


def _read(path: str) -> str:
    return Path(str(finders.find(f"queueviz/{path}"))).read_text("utf-8")
