"""Every page names all modules it needs, so that they are fetched at once and not import by import."""

import re
from pathlib import Path

import pytest
from django.template import Context, Template
from django.test import Client

from queueviz.operations.module_graph import imported
from tests.web.fake_port import FakePort

ROOT = Path(__file__).parents[2]
MODULES = ROOT / "static" / "queueviz" / "js"
PRELOAD = re.compile(r'<link rel="modulepreload" href="[^"]*/js/(\w+)\.(?:\w+\.)?js">')
PAGES = sorted(path.name for path in MODULES.glob("page_*.js"))


def needs(name: str) -> set[str]:
    """The modules a module imports before it runs, and theirs, read statement by statement."""
    seen: set[str] = set()
    todo = [name]
    while todo:
        statement = ""
        for line in (MODULES / todo.pop()).read_text("utf-8").splitlines():
            statement = f"{statement} {line}" if statement or line.startswith(("import ", "import{")) else ""
            if statement.endswith(";"):
                module = statement.rsplit("/", 1)[-1].rstrip("\"';")
                todo += {module} - seen
                seen.add(module)
                statement = ""
    return seen


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_preceded_by_every_module_it_imports(page: str) -> None:
    drawn = Template("{% load pages %}{% page_script page %}").render(Context({"page": page}))
    links = PRELOAD.findall(drawn)
    assert len(links) == len(set(links))
    assert {f"{name}.js" for name in links} == needs(page)
    assert not links or drawn.rindex("modulepreload") < drawn.index("<script")


def test_what_is_loaded_on_demand_is_no_part_of_it() -> None:
    assert "live.js" in imported("page_board.js")
    assert not {"ask_dialog.js", "heat_map.js", "reset.js", "strip_peek.js"} & set(imported("page_board.js"))


def test_the_board_names_every_module_it_imports(visitor: Client, port: FakePort, mine: str) -> None:
    page = visitor.get(f"/s/{mine}/").content.decode()
    assert {f"{name}.js" for name in PRELOAD.findall(page)} == needs("page_board.js")
    assert page.count('type="module"') == 1
