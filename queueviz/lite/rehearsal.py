"""A rehearsal of Lite in this process: it draws the pages of a sandbox and prints what this loads of packages.

    python -m queueviz.lite.rehearsal
"""

import asyncio
import sys
import tempfile
from pathlib import Path

import django

from queueviz.boards import BOARDS, PARTS
from queueviz.lite.site import Site
from sandbox.lite.entry import Lite

SLUG, TEMPLATE = "rehearsal", "orders"
LANGUAGES = ("en", "zh-hans")
FORMS = ("crash", "consumer", "fault", "topic")


async def draw_all(home: str) -> None:
    """Create a sandbox and draw its pages, panels and dialogs; execute an action and a refused one."""
    lite = Lite(home, lambda number, text: None, lambda number, code: None)
    await lite.begin(SLUG, "template", TEMPLATE)
    site = Site(lite.port, SLUG, root="/", static="/static/")
    paths = [board.path for board in BOARDS.values()] + [f"part/{name}/" for name in (*PARTS, *BOARDS)]
    paths += [f"part/ask/?form={form}" for form in FORMS] + ["nothing/", "api", "api/journal?most=5", "labs/1/"]
    for language in LANGUAGES:
        for path in paths:
            await site.answer("GET", path, language=language)
        for actor in ("A", "nobody"):
            await site.answer("POST", "actions/", f"action=CrashActor&actor={actor}", language=language)
    await lite.end()


def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        asyncio.run(draw_all(home))
    above = Path(django.__file__).parents[1]
    files = (Path(module.__file__) for module in list(sys.modules.values()) if getattr(module, "__file__", None))
    print("\n".join(sorted(str(file) for file in files if file.suffix == ".py" and file.is_relative_to(above))))


if __name__ == "__main__":
    main()
