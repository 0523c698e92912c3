"""A rehearsal of Lite in this process: it draws every page of a sandbox and prints the files of Django that this loads.

    python -m queueviz.lite.rehearsal
"""

import asyncio
import sys
import tempfile

from queueviz.boards import BOARDS, PARTS
from queueviz.lite.site import Site
from sandbox.lite.entry import Lite

SLUG, TEMPLATE = "rehearsal", "orders"
LANGUAGES = ("en", "zh-hans")
FORMS = ("crash", "consumer", "fault", "topic")


async def draw_all(home: str) -> None:
    """Create a sandbox and draw its pages, panels and dialogs; execute an action and a refused one."""
    lite = Lite(home, lambda number, text: None, lambda number, code: None)
    await lite.begin(SLUG, TEMPLATE, "rehearsal")
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
    files = (module.__file__ for name, module in sys.modules.items() if name.partition(".")[0] == "django")
    print("\n".join(sorted(file for file in files if file)))


if __name__ == "__main__":
    main()
