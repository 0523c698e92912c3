"""Contents of an archive with Lite's site: `python -m queueviz.lite.contents` prints them as JSON.

`files`: path in the archive → file on this machine.  `written`: path in the archive → text of a file that is written
for it.  The archive holds `queueviz/`, so its root is the folder of `templates/` and `static/` (`configuration`).

It runs in a process of its own, since it lists what is loaded there.  Names of templates are followed from one to the
next through every branch, so the list does not depend on what a sandbox shows.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings
from django.template import Template
from django.template.base import Node
from django.template.library import InclusionNode
from django.template.loader_tags import ExtendsNode, IncludeNode
from django.utils import formats, translation

import queueviz.lite.site  # noqa: F401  it is listed with all that it loads
from queueviz import refusal_texts
from queueviz.boards import BOARDS, PARTS, lab_board
from queueviz.boards.htmx_answers import answer_template
from queueviz.lite.configuration import LANGUAGES, configure, templates
from queueviz.lite.pages import NOT_LITE, REFUSED, REPLAY
from queueviz.operations.module_graph import WRITTEN, direct_imports
from sandbox.control.questions import BY_NAME as QUESTIONS

PACKAGES = ("asgiref", "django", "queueviz")
DATA = (
    ("django", "conf/locale/en/LC_MESSAGES/django.mo"),
    ("django", "conf/locale/zh_Hans/LC_MESSAGES/django.mo"),
    ("queueviz", "locale/*/LC_MESSAGES/django.mo"),
    ("queueviz", "fidelity/claims/*.toml"),
)
"""Files beside modules, by package."""

VENDOR = "static/vendor/VENDOR.json"


def first_templates() -> list[str]:
    """Return the templates that the site renders by name."""
    boards = [board for board in BOARDS.values() if board.name not in NOT_LITE]
    root = settings.SITE / "templates"
    asks = sorted(path.relative_to(root).as_posix() for path in root.glob("queueviz/asks/*.html"))
    answers = [name for question in QUESTIONS if (root / (name := answer_template(question))).exists()]
    return [
        *(board.template for board in boards),
        *(board.twin for board in boards if board.twin),
        *(part.template for part in PARTS.values()),
        *asks,
        *answers,
        lab_board.PAGE,
        lab_board.PANEL,
        REFUSED,
        REPLAY,
        refusal_texts.PARTIAL,
    ]


def all_templates() -> list[str]:
    """Return the templates of the site, with those that they include and extend."""
    names = list(dict.fromkeys(first_templates()))
    for name in names:  # grows
        names += [other for other in dict.fromkeys(_named_in(templates().get_template(name))) if other not in names]
    return sorted(names)


def modules() -> list[str]:
    """Return the modules of `PACKAGES` that are loaded, once every template and language is."""
    all_templates()
    for language, _ in LANGUAGES:
        with translation.override(language):
            translation.gettext("Board")
            formats.get_format("DECIMAL_SEPARATOR")
    return sorted(name for name in sys.modules if name.partition(".")[0] in PACKAGES and name != __name__)


def files() -> dict[str, Path]:
    """Return the files of the archive by their paths there."""
    listed = {name: settings.SITE / name for name in (VENDOR, *(f"templates/{name}" for name in all_templates()))}
    for name in modules():
        source = sys.modules[name].__file__
        if source is not None:
            path = name.replace(".", "/")
            listed[f"{path}/__init__.py" if source.endswith("__init__.py") else f"{path}.py"] = Path(source)
    for package, pattern in DATA:
        root = Path(str(sys.modules[package].__file__)).parent
        listed |= {f"{package}/{path.relative_to(root).as_posix()}": path for path in root.glob(pattern)}
    return listed


def _named_in(template: Template) -> Iterator[str]:
    """Yield the names of templates in a template.  A name that is computed at run time is the site's own choice."""
    for node in template.nodelist.get_nodes_by_type(Node):
        named = (
            node.template
            if isinstance(node, IncludeNode)
            else node.parent_name
            if isinstance(node, ExtendsNode)
            else node.filename
            if isinstance(node, InclusionNode)
            else None
        )
        name = getattr(named, "var", named)
        if isinstance(name, str):
            yield str(name)


if __name__ == "__main__":
    configure("/static/")
    paths = {name: str(path) for name, path in sorted(files().items())}
    print(json.dumps({"files": paths, "written": {WRITTEN: json.dumps(direct_imports())}}))
