"""A process like a browser's worker: it renders all of a sandbox's pages without Django's settings module.

python -m tests.web.lite_child HOME FIRST_PORT  →  JSON: answers, modules, templates
"""

import asyncio
import json
import re
import sys
from pathlib import Path
from typing import Any

from queueviz.lite.configuration import templates
from queueviz.lite.site import Site
from sandbox.cluster.config import HostConfig
from sandbox.hosting.engine import Engine

TEMPLATES = ("flights", "orders", "payments", "cluster", "retries", "index", "shrink", "empty")
LANGUAGES = ("en", "zh-hans")
CHINESE = re.compile("[\u4e00-\u9fff]")
API = ("api", "api/journal?most=5", "api/events?most=5", "api/stretches", "api/ask/lab-state")


def paths(snapshot: dict[str, Any]) -> list[str]:
    """Return the paths of all boards, panels and dialogs of a sandbox."""
    from queueviz.boards import BOARDS, PARTS

    asks = Path(__file__).parents[2] / "templates" / "queueviz" / "asks"
    boards = [board.path for board in BOARDS.values() if board.name not in ("client", "message", "connect")]
    twins = [f"part/{board.name}/" for board in BOARDS.values() if board.twin]
    dialogs = [f"part/ask/?form={path.stem}" for path in sorted(asks.glob("*.html"))]
    clients = [f"clients/{row['actor']}/" for row in snapshot["producers"][:1]]
    return ["", *boards, *clients, *(f"part/{name}/" for name in PARTS), *twins, *dialogs, *API]


async def render(site: Site) -> list[tuple[str, str, int, int, int]]:
    """Return path, language, status, length and number of Chinese characters of each page."""
    snapshot = json.loads((await site.answer("GET", "api")).body)
    answers = []
    for language in LANGUAGES:
        for path in paths(snapshot):
            answer = await site.answer("GET", path, language=language)
            answers.append((path, language, answer.status, len(answer.body), len(CHINESE.findall(answer.body))))
    return answers


async def act(site: Site) -> list[Any]:
    """Return the answers to an action, to a refused one, and to requests that no page answers."""
    before = json.loads((await site.answer("GET", "api")).body)["seq"]
    done = await site.answer("POST", "actions/", "action=CrashActor&actor=A")
    states = {
        member["actor"]: member["state"]
        for group in json.loads((await site.answer("GET", "api")).body)["groups"]
        for member in group["members"]
    }
    refused = await site.answer("POST", "actions/", "action=CrashActor&actor=nobody", language="zh-hans")
    unknown = await site.answer("GET", "nothing/")
    server = await site.answer("GET", "connect/")
    question = await site.answer("GET", "api/ask/nothing")
    return [before, done, states, refused, unknown, server, question]


def main(home: str, first_port: str) -> None:
    engine = Engine(Path(home), HostConfig(first_port=int(first_port))).start()
    pages = {}
    try:
        for template in TEMPLATES:
            engine.port.create(template, template).result(20)
            site = Site(engine.port, template, root=f"/lite/{template}/", static="/static/")
            pages[template] = asyncio.run(render(site))
            if template == "orders":
                acted = asyncio.run(act(site))
            engine.port.delete(template).result(20)
    finally:
        engine.stop()
    loader = templates().template_loaders[0]
    drawn = sorted(name for name in loader.get_template_cache if isinstance(name, str))  # type: ignore[attr-defined]
    print(json.dumps({"pages": pages, "acted": acted, "modules": sorted(sys.modules), "templates": drawn}))


if __name__ == "__main__":
    main(*sys.argv[1:])
